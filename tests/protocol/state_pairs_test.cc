// Every pair of states of real queue pairs, with what a change must carry, may carry, and may not.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::state_pairs_test {

constexpr QpState state(std::size_t i) { return static_cast<QpState>(i); }

class StatePairs : public ::testing::TestWithParam<Service> {
 protected:
  Service service() const { return GetParam(); }
  // SQE is entered by a local error only, and never on RC.
  bool exists(QpState s) const { return s != QpState::kSqe || service() != Service::kRc; }

  base::Status change(Qpn qpn, QpState to, AttrMask given, const QpAttr& values) {
    return pair_.b().adapter->modify_qp(qpn, to, given, values);
  }
  // Legal for every change: this adapter has one link.
  QpAttr values() {
    QpAttr v;
    v.rights = kRemoteRead;
    v.sl = 3;
    v.remote_lid = pair_.b().link().remote_lid();
    v.remote_qpn = Qpn(0x1234);
    v.mcp = 1364;
    v.receive_psn = Psn(0x100);
    v.receive_lcn = Lcn(0x200);
    v.min_rnr_timer = 77;
    v.selective_repeat = false;
    v.send_psn = Psn(0x300);
    v.send_lcn = Lcn(0x400);
    v.max_outstanding = 4;
    v.retry_count = 2;
    v.rnr_retry = 3;
    v.ack_interval = 8;
    v.max_dest_rd_atomic = 5;
    v.max_rd_atomic = 6;
    return v;
  }
  void step(Qpn qpn, QpState to) {
    const QpState from = pair_.b().qp(qpn).state();
    const auto done = change(qpn, to, required_attributes(service(), from, to), values());
    ASSERT_TRUE(done) << done.error().text();
  }
  // A new queue pair in the state.
  Qpn make(QpState wanted) {
    End& b = pair_.b();
    QpInit init;
    init.service = service();
    init.common.pd = b.pd;
    init.common.send_cq = b.send_cq;
    init.common.recv_cq = b.recv_cq;
    init.common.mcp = 256;
    const Qpn qpn = b.adapter->create_qp(init, pair_.now()).value();
    if (wanted == QpState::kReset) return qpn;
    step(qpn, QpState::kInit);
    if (wanted == QpState::kInit) return qpn;
    if (wanted == QpState::kErr) {
      step(qpn, QpState::kErr);
      return qpn;
    }
    step(qpn, QpState::kRtr);
    if (wanted == QpState::kRtr) return qpn;
    step(qpn, QpState::kRts);
    if (wanted == QpState::kSqd) step(qpn, QpState::kSqd);
    if (wanted == QpState::kSqe) {
      SendWr wr;
      const std::vector<Sge> nowhere{Sge{VirtualAddress(64), 8, MemoryHandle(0)}};
      wr.gather = nowhere;
      wr.destination_lid = pair_.b().link().remote_lid();
      wr.destination_qpn = Qpn(99);
      EXPECT_TRUE(b.adapter->post_send(qpn, wr));
      b.adapter->transmit(pair_.now());
    }
    EXPECT_EQ(b.qp(qpn).state(), wanted);
    return qpn;
  }

  static bool is_same(const QpAttr& x, const QpAttr& y) { return differences(x, y) == 0; }
  // Of what no change may carry [S000-16].
  static constexpr AttrMask kNeverGiven = 1U << 31;
  static AttrMask differences(const QpAttr& x, const QpAttr& y) {
    AttrMask mask = 0;
    const auto compare = [&](AttrMask bit, auto member) {
      if (!(x.*member == y.*member)) mask |= bit;
    };
    compare(kAttrRights, &QpAttr::rights);
    compare(kAttrSl, &QpAttr::sl);
    compare(kAttrRemoteLid, &QpAttr::remote_lid);
    compare(kAttrRemoteQpn, &QpAttr::remote_qpn);
    compare(kAttrMcp, &QpAttr::mcp);
    compare(kAttrReceivePsn, &QpAttr::receive_psn);
    compare(kAttrReceiveLcn, &QpAttr::receive_lcn);
    compare(kAttrMinRnrTimer, &QpAttr::min_rnr_timer);
    compare(kAttrSelectiveRepeat, &QpAttr::selective_repeat);
    compare(kAttrSendPsn, &QpAttr::send_psn);
    compare(kAttrSendLcn, &QpAttr::send_lcn);
    compare(kNeverGiven, &QpAttr::max_outstanding);
    compare(kAttrRetryCount, &QpAttr::retry_count);
    compare(kAttrRnrRetry, &QpAttr::rnr_retry);
    compare(kAttrAckInterval, &QpAttr::ack_interval);
    compare(kAttrMaxDestRdAtomic, &QpAttr::max_dest_rd_atomic);
    compare(kAttrMaxRdAtomic, &QpAttr::max_rd_atomic);
    return mask;
  }

  void expect_taken(QpState from, QpState to, AttrMask given) {
    const Qpn qpn = make(from);
    const QpAttr before = pair_.b().qp(qpn).attr();
    // Values that no state before this one was given.
    QpAttr other = values();
    other.rights = kRemoteWrite;
    other.sl = 5;
    other.min_rnr_timer = 99;
    other.ack_interval = 16;
    other.max_dest_rd_atomic = 3;
    other.max_rd_atomic = 4;
    other.max_outstanding = 7;
    other.retry_count = 5;
    other.rnr_retry = 6;
    const auto done = change(qpn, to, given, other);
    EXPECT_TRUE(done) << where(from, to, given) << done.error().text();
    const Qp& qp = pair_.b().qp(qpn);
    EXPECT_EQ(qp.state(), to) << where(from, to, given);
    EXPECT_EQ(differences(qp.attr(), other) & given, 0U) << where(from, to, given);
    EXPECT_EQ(differences(qp.attr(), before) & ~given, 0U) << where(from, to, given);
    pair_.b().adapter->destroy_qp(qpn, pair_.now());
  }
  void expect_refused(QpState from, QpState to, AttrMask given) {
    const Qpn qpn = make(from);
    const QpAttr before = pair_.b().qp(qpn).attr();
    const auto refused = change(qpn, to, given, values());
    ASSERT_FALSE(refused) << where(from, to, given);
    EXPECT_EQ(refused.error().errno_value(), EINVAL) << where(from, to, given);
    EXPECT_EQ(pair_.b().qp(qpn).state(), from) << where(from, to, given);
    EXPECT_TRUE(is_same(pair_.b().qp(qpn).attr(), before)) << where(from, to, given);
    pair_.b().adapter->destroy_qp(qpn, pair_.now());
  }
  static std::string where(QpState from, QpState to, AttrMask given) {
    return std::string(name(from)) + " to " + std::string(name(to)) + " with " +
           std::to_string(given) + ": ";
  }
  static AttrMask lowest(AttrMask mask) { return mask & (~mask + 1); }

  AdapterPair pair_;
};

TEST_P(StatePairs, T_14_the_22_legal_pairs_with_three_sets_of_attributes) {
  int legal = 0, lacking = 0;
  for (const QpEdge& edge : kQpEdges) {
    if (!exists(edge.from)) continue;
    ++legal;
    const AttrMask required = required_attributes(service(), edge.from, edge.to);
    const AttrMask optional = optional_attributes(service(), edge.from, edge.to);
    expect_taken(edge.from, edge.to, required);
    expect_taken(edge.from, edge.to, required | optional);
    // One too many; and, where any is required, one too few.
    expect_refused(edge.from, edge.to, required | lowest(kAllAttrs & ~(required | optional)));
    if (required == 0) continue;
    ++lacking;
    expect_refused(edge.from, edge.to, required & ~lowest(required));
  }
  EXPECT_EQ(legal, service() == Service::kRc ? 19 : 22) << "RC has no SQE to leave";
  EXPECT_EQ(lacking, 3) << "the way from RESET to RTS";
}

TEST_P(StatePairs, T_14_the_27_illegal_pairs_with_three_sets_of_attributes) {
  int illegal = 0;
  for (std::size_t from = 0; from < kQpStates; ++from) {
    for (std::size_t to = 0; to < kQpStates; ++to) {
      if (!exists(state(from)) || is_legal(state(from), state(to))) continue;
      ++illegal;
      // The attributes of the change, from the state where it is legal.
      AttrMask usual = 0;
      for (const QpEdge& edge : kQpEdges) {
        if (edge.to == state(to)) usual |= required_attributes(service(), edge.from, edge.to);
      }
      expect_refused(state(from), state(to), 0);
      expect_refused(state(from), state(to), usual != 0 ? usual : AttrMask{kAttrRights});
      expect_refused(state(from), state(to), kAllAttrs);
    }
  }
  EXPECT_EQ(illegal, service() == Service::kRc ? 23 : 27);
}

INSTANTIATE_TEST_SUITE_P(Services, StatePairs,
                         ::testing::Values(Service::kRc, Service::kUc, Service::kUd),
                         [](const auto& service) { return std::string(name(service.param)); });

}  // namespace splitnic::fabric::testing::state_pairs_test
