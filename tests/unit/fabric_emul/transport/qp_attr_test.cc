// Tests which attributes go with which change, and that a refused change is refused whole.
#include "fabric_emul/transport/qp_attr.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>

#include "tests/support/qp_values.h"

namespace splitnic::fabric {
namespace qp_attr_test {

using testing::difference;
using testing::kNeverGiven;
using testing::other_values;

constexpr std::array kServices{Service::kRc, Service::kUc, Service::kUd};

constexpr QpState state(std::size_t i) { return static_cast<QpState>(i); }

// A queue pair as far as a modify goes: check whole, then apply whole.
struct Pair {
  Service service;
  QpState state;
  QpAttr attr{};

  bool modify(QpState to, AttrMask given, const QpAttr& values) {
    if (!check_modify(service, state, to, given, values)) return false;
    apply_attributes(attr, given, values);
    state = to;
    return true;
  }
};

template <typename Visit>
void for_each_change(Visit&& visit) {
  for (const Service service : kServices) {
    for (std::size_t from = 0; from < kQpStates; ++from) {
      for (std::size_t to = 0; to < kQpStates; ++to) visit(service, state(from), state(to));
    }
  }
}

void expect_refused(Service service, QpState from, QpState to, AttrMask given,
                    const QpAttr& values) {
  Pair pair{service, from};
  EXPECT_FALSE(pair.modify(to, given, values))
      << name(from) << " to " << name(to) << " mask " << given;
  EXPECT_EQ(pair.state, from);
  EXPECT_EQ(difference(pair.attr, QpAttr{}), 0U) << "a refused modify changed something";
  EXPECT_EQ(check_modify(service, from, to, given, values).error().errno_value(), EINVAL);
}

TEST(QpAttrTest, T_14_exact_attributes_pass_on_22_pairs_of_each_service_and_no_others) {
  std::array<int, kServices.size()> legal{};
  for_each_change([&](Service service, QpState from, QpState to) {
    const AttrMask required = required_attributes(service, from, to);
    if (!is_legal(from, to)) {
      EXPECT_EQ(required | optional_attributes(service, from, to), 0U);
      expect_refused(service, from, to, 0, other_values());
      expect_refused(service, from, to, kAllAttrs, other_values());
      return;
    }
    ++legal[static_cast<std::size_t>(service == Service::kRc   ? 0
                                     : service == Service::kUc ? 1
                                                               : 2)];
    Pair pair{service, from};
    EXPECT_TRUE(pair.modify(to, required, other_values()));
    EXPECT_EQ(pair.state, to);
    EXPECT_EQ(difference(pair.attr, QpAttr{}), required) << "exactly the given ones were applied";
    EXPECT_EQ(difference(pair.attr, other_values()), (kAllAttrs & ~required) | kNeverGiven);
  });
  for (const int count : legal) EXPECT_EQ(count, 22);
}

TEST(QpAttrTest, T_14_each_missing_attribute_refuses_the_whole_change) {
  int variants = 0;
  for_each_change([&](Service service, QpState from, QpState to) {
    const AttrMask required = required_attributes(service, from, to);
    for (std::size_t i = 0; i < kQpAttrs; ++i) {
      const AttrMask bit = AttrMask{1} << i;
      if ((required & bit) == 0) continue;
      expect_refused(service, from, to, required & ~bit, other_values());
      const auto refused = check_modify(service, from, to, required & ~bit, other_values());
      EXPECT_NE(refused.error().text().find("lacks " + std::string(kQpAttrNames[i])),
                std::string::npos);
      ++variants;
    }
  });
  EXPECT_EQ(variants, 13 + 7 + 3) << "RC, UC, UD";
}

TEST(QpAttrTest, T_14_each_extra_attribute_refuses_the_whole_change) {
  for_each_change([&](Service service, QpState from, QpState to) {
    if (!is_legal(from, to)) return;
    const AttrMask required = required_attributes(service, from, to);
    const AttrMask allowed = required | optional_attributes(service, from, to);
    for (std::size_t i = 0; i < 32; ++i) {
      const AttrMask bit = AttrMask{1} << i;
      if ((allowed & bit) == 0) {
        expect_refused(service, from, to, required | bit, other_values());
        continue;
      }
      Pair pair{service, from};
      EXPECT_TRUE(pair.modify(to, required | bit, other_values()));
      EXPECT_EQ(difference(pair.attr, QpAttr{}), required | bit);
    }
  });
}

TEST(QpAttrTest, T_14_the_way_up_sets_all_that_the_service_needs) {
  const auto way_up = [](Service service) {
    return required_attributes(service, QpState::kReset, QpState::kInit) |
           required_attributes(service, QpState::kInit, QpState::kRtr) |
           required_attributes(service, QpState::kRtr, QpState::kRts);
  };
  EXPECT_EQ(way_up(Service::kRc),
            kAllAttrs & ~(kAttrAckInterval | kAttrMaxDestRdAtomic | kAttrMaxRdAtomic));
  EXPECT_EQ(way_up(Service::kUc), kAttrRights | kAttrSl | kAttrRemoteLid | kAttrRemoteQpn |
                                      kAttrMcp | kAttrReceivePsn | kAttrSendPsn);
  EXPECT_EQ(way_up(Service::kUd), kAttrSl | kAttrMcp | kAttrSendPsn);
  EXPECT_EQ(way_up(Service::kRaw), way_up(Service::kUd));
  EXPECT_EQ(way_up(Service::kRd),
            kAttrRights | kAttrSl | kAttrMcp | kAttrMinRnrTimer | kAttrRnrRetry);
}

TEST(QpAttrTest, S000_11_a_connected_pair_cannot_be_given_another_peer) {
  for (const Service service : {Service::kRc, Service::kUc}) {
    for (const QpState from : {QpState::kRtr, QpState::kRts, QpState::kSqd, QpState::kSqe}) {
      for (const QpState to : {QpState::kRts, QpState::kSqd}) {
        const AttrMask required = required_attributes(service, from, to);
        expect_refused(service, from, to, required | kAttrRemoteQpn, other_values());
        expect_refused(service, from, to, required | kAttrRemoteLid, other_values());
      }
    }
  }
}

TEST(QpAttrTest, T_14_leaving_to_reset_or_err_takes_no_attributes) {
  for_each_change([&](Service service, QpState from, QpState to) {
    if (to != QpState::kReset && to != QpState::kErr) return;
    EXPECT_EQ(required_attributes(service, from, to) | optional_attributes(service, from, to), 0U);
  });
}

TEST(QpAttrTest, services_without_queue_pair_states_are_refused) {
  for (const Service service :
       {Service::kStream, Service::kIscsi, Service::kMgmt, static_cast<Service>(9)}) {
    for (std::size_t to = 0; to < kQpStates; ++to) {
      expect_refused(service, QpState::kReset, state(to), 0, {});
    }
  }
}

TEST(QpAttrTest, states_that_do_not_exist_are_refused) {
  expect_refused(Service::kRc, QpState::kReset, QpState::kCount_, 0, {});
  expect_refused(Service::kRc, QpState::kCount_, QpState::kReset, 0, {});
  expect_refused(Service::kRc, static_cast<QpState>(200), QpState::kReset, 0, {});
}

struct BadValue {
  AttrMask bit;
  void (*spoil)(QpAttr&);
};

TEST(QpAttrTest, T_14_impossible_values_refuse_the_change_only_when_given) {
  const BadValue bad_values[] = {
      {kAttrRights, [](QpAttr& v) { v.rights = kLocalWrite; }},
      {kAttrRights, [](QpAttr& v) { v.rights = kRemoteRead | kWindowBind; }},
      {kAttrSl, [](QpAttr& v) { v.sl = 16; }},
      {kAttrRemoteQpn, [](QpAttr& v) { v.remote_qpn = Qpn(0); }},
      {kAttrRemoteQpn, [](QpAttr& v) { v.remote_qpn = Qpn(0x1000000); }},
      {kAttrMcp, [](QpAttr& v) { v.mcp = 0; }},
      {kAttrMcp, [](QpAttr& v) { v.mcp = 258; }},
      {kAttrMcp, [](QpAttr& v) { v.mcp = 65535; }},
      {kAttrRetryCount, [](QpAttr& v) { v.retry_count = 8; }},
      {kAttrRnrRetry, [](QpAttr& v) { v.rnr_retry = 8; }},
      {kAttrAckInterval, [](QpAttr& v) { v.ack_interval = 0; }},
      {kAttrAckInterval, [](QpAttr& v) { v.ack_interval = kLcnWindowMax + 1; }},
      {kAttrMaxDestRdAtomic, [](QpAttr& v) { v.max_dest_rd_atomic = kReadsMax + 1; }},
      {kAttrMaxRdAtomic, [](QpAttr& v) { v.max_rd_atomic = kReadsMax + 1; }},
  };
  for (const BadValue& bad : bad_values) {
    QpAttr values = other_values();
    bad.spoil(values);
    int given = 0;
    for_each_change([&](Service service, QpState from, QpState to) {
      if (!is_legal(from, to)) return;
      const AttrMask required = required_attributes(service, from, to);
      const AttrMask allowed = required | optional_attributes(service, from, to);
      if ((allowed & bad.bit) != 0) {
        expect_refused(service, from, to, required | bad.bit, values);
        ++given;
      }
      if ((required & bad.bit) == 0) {
        EXPECT_TRUE(check_modify(service, from, to, required, values));
      }
    });
    EXPECT_GT(given, 0) << "mask " << bad.bit;
  }
}

TEST(QpAttrTest, limits_themselves_are_legal) {
  constexpr AttrMask kAll = kAttrRetryCount | kAttrRnrRetry;
  QpAttr values = other_values();
  values.retry_count = 7;
  values.rnr_retry = 7;
  EXPECT_TRUE(check_modify(Service::kRc, QpState::kSqd, QpState::kSqd, kAll, values));
  values.retry_count = 0;
  values.rnr_retry = 0;
  EXPECT_TRUE(check_modify(Service::kRc, QpState::kSqd, QpState::kSqd, kAll, values));
  values.mcp = kMcpMax;
  EXPECT_TRUE(check_modify(Service::kUd, QpState::kInit, QpState::kRtr, kAttrMcp, values));
  values.mcp = kMcpMin;
  EXPECT_TRUE(check_modify(Service::kUd, QpState::kInit, QpState::kRtr, kAttrMcp, values));
}

}  // namespace qp_attr_test
}  // namespace splitnic::fabric
