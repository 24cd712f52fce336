#include "fabric_emul/transport/send_wqe.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/unit/fabric_emul/mem/mrwt_fixture.h"

namespace splitnic::fabric::testing::send_wqe_test {

using namespace mrwt_fixture;

TEST(SendWqeTest, sends_and_writes_with_idata_consume_a_receive) {
  const std::vector<WrOp> sends{WrOp::kSend, WrOp::kSendDereg, WrOp::kRegisterSend};
  const std::vector<WrOp> others{WrOp::kRdmaWrite, WrOp::kRdmaRead, WrOp::kFetchOp, WrOp::kBind,
                                 WrOp::kUnbind,    WrOp::kDelay,    WrOp::kRegister};
  SendWqe w;
  for (const WrOp op : sends) {
    w.op = op;
    EXPECT_TRUE(w.consumes_receive()) << static_cast<int>(op);
  }
  for (const WrOp op : others) {
    w.op = op;
    EXPECT_FALSE(w.consumes_receive()) << static_cast<int>(op);
  }
  w.op = WrOp::kRdmaWrite;
  w.idata = 0;
  EXPECT_TRUE(w.consumes_receive()) << "idata of 0 is idata";
}

TEST(SendWqeTest, each_operation_on_the_wire) {
  EXPECT_EQ(wire_op(WrOp::kSend), Op::kSend);
  EXPECT_EQ(wire_op(WrOp::kRegisterSend), Op::kSend);
  EXPECT_EQ(wire_op(WrOp::kSendDereg), Op::kSendDereg);
  EXPECT_EQ(wire_op(WrOp::kRdmaWrite), Op::kRdmaWrite);
  EXPECT_EQ(wire_op(WrOp::kRdmaRead), Op::kRdmaReadReq);
  EXPECT_EQ(wire_op(WrOp::kFetchOp), Op::kFetchOpReq);
}

TEST(SendWqeTest, the_cells_of_a_packet_hold_all_of_it_and_only_the_last_is_shorter) {
  for (const std::uint64_t mcp : {4U, 256U, 1364U}) {
    for (const std::uint64_t bytes :
         {std::uint64_t{1}, mcp - 1, mcp, mcp + 1, 3 * mcp - 1, 3 * mcp}) {
      const std::uint64_t cells = cells_of(bytes, mcp);
      std::uint64_t sum = 0;
      for (std::uint32_t csn = 0; csn < cells; ++csn) {
        const std::uint64_t payload = payload_of(bytes, csn, mcp);
        EXPECT_GT(payload, 0U) << bytes << " in cells of " << mcp;
        if (csn + 1 < cells) {
          EXPECT_EQ(payload, mcp);
        }
        sum += payload;
      }
      EXPECT_EQ(sum, bytes) << "in cells of " << mcp;
    }
  }
}

TEST(SendWqeTest, an_empty_packet_is_one_empty_cell) {
  EXPECT_EQ(cells_of(0, 256), 1U);
  EXPECT_EQ(payload_of(0, 0, 256), 0U);
}

TEST(SendWqeTest, the_longest_packet_in_the_smallest_cells) {
  const std::uint64_t cells = cells_of(kPacketBytesMax, 4);
  EXPECT_EQ(cells, kPacketBytesMax / 4);
  EXPECT_EQ(payload_of(kPacketBytesMax, static_cast<std::uint32_t>(cells - 1), 4), 4U);
  EXPECT_EQ(payload_of(kPacketBytesMax - 1, static_cast<std::uint32_t>(cells - 1), 4), 3U);
}

class AccessibleTest : public MrwtTest {
 protected:
  struct Context {
    Mrwt& mrwt;
    PdId pd;
    Qpn qpn;
  };
  bool accessible(const std::vector<Sge>& pieces, AccessKind kind = AccessKind::kLocalRead,
                  PdId pd = kPd) {
    SgeList list;
    EXPECT_TRUE(list.assign(pieces));
    return is_accessible(Context{table_, pd, kQp}, list, kind);
  }
};

TEST_F(AccessibleTest, S002_19_every_piece_of_a_list_is_checked) {
  const MemoryHandle handle = region(kLocalRead);
  const Sge whole{kStart, kLength, handle};
  const Sge last{kStart + (kLength - 1), 1, handle};
  const Sge outside{kStart + (kLength - 1), 2, handle};
  EXPECT_TRUE(accessible({}));
  EXPECT_TRUE(accessible({whole, last, whole, last}));
  for (std::size_t bad = 0; bad < kSgeMax; ++bad) {
    std::vector<Sge> pieces(kSgeMax, whole);
    pieces[bad] = outside;
    EXPECT_FALSE(accessible(pieces)) << bad;
  }
}

TEST_F(AccessibleTest, S002_19_for_the_kind_of_access_and_the_domain_of_the_queue_pair) {
  const Sge readable{kStart, 8, region(kLocalRead)};
  EXPECT_TRUE(accessible({readable}));
  EXPECT_FALSE(accessible({readable}, AccessKind::kLocalWrite));
  EXPECT_FALSE(accessible({readable}, AccessKind::kLocalRead, kOtherPd));
}

TEST_F(AccessibleTest, an_empty_piece_needs_no_memory) {
  const Sge empty{VirtualAddress(7), 0, MemoryHandle(0xDEAD)};
  const Sge one{VirtualAddress(7), 1, MemoryHandle(0xDEAD)};
  EXPECT_TRUE(accessible({empty}));
  EXPECT_FALSE(accessible({one}));
}

}  // namespace splitnic::fabric::testing::send_wqe_test
