// The lane of what an adapter sends: each cell of a queue pair leaves on the lane that the table of
// its port has for the service level, whatever builds the cell.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::lane_test {

constexpr std::uint16_t kMcp = 256;
constexpr std::uint8_t kLevel = 1;
constexpr std::uint8_t kLane = 3;  // by default it would be 1

PairOptions moved(LinkProfile profile) {
  PairOptions options;
  options.profile = profile;
  options.mcp = kMcp;
  options.sl_to_vl.at(kLevel) = kLane;
  return options;
}

// The operations of the cells that this end sent. Expects all of its DATA flits on the lane.
std::set<Op> operations_on_the_lane(End& end) {
  std::set<Op> out;
  for (const TappedCell& flit : end.tap.cells) {
    if (!flit.sent) continue;
    EXPECT_EQ(flit.flit.vl, kLane);
    if ((flit.flit.ctl & kFlitSof) == 0) continue;
    out.insert(flit.header().op);
    EXPECT_EQ(flit.header().sl, kLevel);
  }
  return out;
}

class LaneTest : public ::testing::TestWithParam<LinkProfile> {};

TEST_P(LaneTest, S004_21_P_LINK_12_each_cell_of_a_queue_pair_has_the_lane_of_its_level) {
  AdapterPair pair(moved(GetParam()));
  QpInit init = reading();
  init.common.sl = kLevel;
  const QpPair qp = pair.connect(init);
  Memory& here = pair.b().memory(32 * kMcp, 1);
  Memory& there = pair.a().memory(32 * kMcp);
  ASSERT_TRUE(pair.a().post_recv(qp.a, {there.sge()}));
  pair.a().tap.is_recording = pair.b().tap.is_recording = true;
  ASSERT_TRUE(pair.b().post_write(qp.b, {here.sge()}, there.start, there.handle));
  ASSERT_TRUE(post_read(pair.b(), qp.b, {here.sge()}, there));
  ASSERT_TRUE(pair.b().post_send(qp.b, {here.sge()}));
  ASSERT_TRUE(pair.run_until([&] { return pair.b().sent.size() == 3; }));
  for (const Wc& wc : pair.b().sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(operations_on_the_lane(pair.b()),
            (std::set<Op>{Op::kRdmaWrite, Op::kRdmaReadReq, Op::kSend}));
  EXPECT_EQ(operations_on_the_lane(pair.a()), (std::set<Op>{Op::kAck, Op::kRdmaReadResp}));
  // The middle cells are those of a run, unless the packet has a CRC, as in the full profile.
  EXPECT_EQ(pair.b().count(TransportCounter::kTxPredicted) > 0, GetParam() == LinkProfile::kSpeed);
}

INSTANTIATE_TEST_SUITE_P(Profiles, LaneTest,
                         ::testing::Values(LinkProfile::kSpeed, LinkProfile::kFull),
                         [](const auto& given) {
                           return given.param == LinkProfile::kFull ? "full" : "speed";
                         });

}  // namespace splitnic::fabric::testing::lane_test
