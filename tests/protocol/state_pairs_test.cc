// Every pair of states of real queue pairs, with what a change must carry, may carry, and may not.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/qp_values.h"

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
    QpAttr v = other_values();
    v.remote_lid = pair_.b().link().remote_lid();
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
    EXPECT_EQ(difference(qp.attr(), other) & given, 0U) << where(from, to, given);
    // RESET draws the start numbers of the next connection.
    const AttrMask drawn = to == QpState::kReset ? kAttrSendPsn | kAttrSendLcn : AttrMask{0};
    EXPECT_EQ(difference(qp.attr(), before) & ~(given | drawn), 0U) << where(from, to, given);
    pair_.b().adapter->destroy_qp(qpn, pair_.now());
  }
  void expect_refused(QpState from, QpState to, AttrMask given) {
    const Qpn qpn = make(from);
    const QpAttr before = pair_.b().qp(qpn).attr();
    const auto refused = change(qpn, to, given, values());
    ASSERT_FALSE(refused) << where(from, to, given);
    EXPECT_EQ(refused.error().errno_value(), EINVAL) << where(from, to, given);
    EXPECT_EQ(pair_.b().qp(qpn).state(), from) << where(from, to, given);
    EXPECT_EQ(difference(pair_.b().qp(qpn).attr(), before), 0U) << where(from, to, given);
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
