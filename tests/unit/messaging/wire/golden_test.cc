// The golden bytes of every message: emit writes them and parse reads them.
#include <gtest/gtest.h>

#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/send_data.h"
#include "tests/unit/messaging/wire_support.h"

namespace splitnic::messaging::golden_test {
using namespace test;

// Emits into a buffer full of 0xEE, so that an unwritten byte is visible.
template <typename Emit>
std::string emitted(Emit emit) {
  Message out(4096, std::byte{0xEE});
  const std::size_t n = emit(base::MutableBytes(out));
  return hex(base::Bytes(out).first(n));
}

TEST(GoldenTest, S001_09_S001_11_S001_12_buffer_recv_pool) {
  const PoolRecord pool{PoolRef(7),
                        64,
                        2048,
                        fabric::MemoryHandle(0x2A01),
                        fabric::VirtualAddress(0x00007F0012340000),
                        0x1F9000160A630002};
  const std::string golden =
      "00010001 11223344 55667788 00000007 00000040 00000800 00002a01 00007f00 12340000 1f900016 "
      "0a630002";
  EXPECT_EQ(emitted([&](auto out) {
              return BufferRecvPool::emit(kGoldenContext, std::span(&pool, 1), out);
            }),
            golden);
  const Message bytes = words({0x00010001, 0x11223344, 0x55667788, 7, 0x40, 0x800, 0x2a01, 0x7f00,
                               0x12340000, 0x1f900016, 0x0a630002});
  EXPECT_EQ(bytes.size(), 44U);
  const auto view = BufferRecvPool::parse(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->context(), kGoldenContext);
  ASSERT_EQ(view->size(), 1U);
  EXPECT_EQ((*view)[0], pool);
  EXPECT_EQ((*view)[0].element_address(5).value, 0x00007F0012342800U);
}

TEST(GoldenTest, S001_09_S001_13_buffer_recv_pool_get) {
  const BufferRecvPoolGet get{kGoldenContext, 1536, 64};
  EXPECT_EQ(emitted([&](auto out) { return get.emit(out); }),
            "00020001 11223344 55667788 00000600 00000040");
  const auto parsed =
      BufferRecvPoolGet::parse(words({0x00020001, 0x11223344, 0x55667788, 0x600, 0x40}));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, get);
}

TEST(GoldenTest, S001_09_S001_15_buffer_recv_pool_update) {
  const std::array ranges{ElementRange{PoolRef(7), 5, 1}, ElementRange{PoolRef(9), 0, 0}};
  EXPECT_EQ(
      emitted([&](auto out) { return BufferRecvPoolUpdate::emit(kGoldenContext, ranges, out); }),
      "00030001 11223344 55667788 00000007 00000005 00000001 00000009 00000000 00000000");
  const Message bytes = words({0x00030001, 0x11223344, 0x55667788, 7, 5, 1, 9, 0, 0});
  const auto view = BufferRecvPoolUpdate::parse(bytes);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->size(), 2U);
  EXPECT_EQ((*view)[0], ranges[0]);
  EXPECT_EQ((*view)[1], ranges[1]);
}

TEST(GoldenTest, S001_09_S001_16_flush_request_and_reply) {
  const std::array refs{FlushRecord{PoolRef(7)}, FlushRecord{PoolRef(9)}};
  EXPECT_EQ(
      emitted([&](auto out) { return BufferPoolFlushRequest::emit(kGoldenContext, refs, out); }),
      "00040001 11223344 55667788 00000007 00000009");
  const Message request = words({0x00040001, 0x11223344, 0x55667788, 7, 9});
  const auto view = BufferPoolFlushRequest::parse(request);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->size(), 2U);
  EXPECT_EQ((*view)[1], refs[1]);

  const BufferPoolFlushReply reply{kGoldenContext};
  EXPECT_EQ(emitted([&](auto out) { return reply.emit(out); }), "00050001 11223344 55667788");
  const auto parsed = BufferPoolFlushReply::parse(words({0x00050001, 0x11223344, 0x55667788}));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, reply);
}

TEST(GoldenTest, S001_09_S001_23_send_data) {
  const SendData send{kGoldenContext, base::as_bytes("hello")};
  EXPECT_EQ(emitted([&](auto out) { return send.emit(out).value(); }),
            "00060001 11223344 55667788 00000005 68656c6c 6f000000");
  const Message bytes = words({0x00060001, 0x11223344, 0x55667788, 5, 0x68656c6c, 0x6f000000});
  const auto parsed = SendData::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->context, kGoldenContext);
  EXPECT_EQ(base::as_text(parsed->data), "hello");
}

TEST(GoldenTest, S001_09_S001_21_buffer_rdma_indicate) {
  const ConsumedRecord record{PoolRef(300), 2, 1, 70000};
  EXPECT_EQ(emitted([&](auto out) {
              return BufferRdmaIndicate::emit(kGoldenContext, std::span(&record, 1), out);
            }),
            "00070001 11223344 55667788 0000012c 00000002 00000001 00011170");
  const Message bytes = words({0x00070001, 0x11223344, 0x55667788, 0x12c, 2, 1, 0x11170});
  const auto view = BufferRdmaIndicate::parse(bytes);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->size(), 1U);
  EXPECT_EQ((*view)[0], record);
}

TEST(GoldenTest, S001_09_S001_24_cfg_util_request_and_reply) {
  cfg::SetMacRequest set_mac;
  set_mac.set_mac(std::string("\x02\x00\x00\x00\x00\x01", 6));
  const std::string data = set_mac.SerializeAsString();
  ASSERT_EQ(data.size(), 8U);
  const CfgUtilRequest request{kGoldenContext, CfgCode::kSetMac, base::as_bytes(data)};
  EXPECT_EQ(emitted([&](auto out) { return request.emit(out); }),
            "00080001 11223344 55667788 00010002 00000008 0a060200 00000001");
  const Message bytes =
      words({0x00080001, 0x11223344, 0x55667788, 0x00010002, 8, 0x0a060200, 0x00000001});
  const auto parsed = CfgUtilRequest::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->context, kGoldenContext);
  EXPECT_EQ(parsed->code, CfgCode::kSetMac);
  EXPECT_EQ(base::as_text(parsed->data), data);

  const CfgUtilReply reply{kGoldenContext, CfgCode::kSetMac, CfgStatus::kOk, {}};
  EXPECT_EQ(emitted([&](auto out) { return reply.emit(out); }),
            "00090001 11223344 55667788 00010002 00000000 00000000");
  const Message reply_bytes = words({0x00090001, 0x11223344, 0x55667788, 0x00010002, 0, 0});
  const auto parsed_reply = CfgUtilReply::parse(reply_bytes);
  ASSERT_TRUE(parsed_reply);
  EXPECT_EQ(parsed_reply->context, kGoldenContext);
  EXPECT_EQ(parsed_reply->status, CfgStatus::kOk);
  EXPECT_TRUE(parsed_reply->data.empty());
}

TEST(GoldenTest, S001_11_one_message_advertises_five_pools) {
  std::vector<PoolRecord> pools;
  for (std::uint32_t i = 0; i < 5; ++i) {
    pools.push_back({PoolRef(i * 10), i + 1, 2048U << i, fabric::MemoryHandle(i),
                     fabric::VirtualAddress(std::uint64_t{i} << 32), ~std::uint64_t{i}});
  }
  Message out(4096);
  const std::size_t n = BufferRecvPool::emit(kGoldenContext, pools, out);
  EXPECT_EQ(n, 12U + 5 * 32);
  const auto view = BufferRecvPool::parse(base::Bytes(out).first(n));
  ASSERT_TRUE(view);
  ASSERT_EQ(view->size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*view)[i], pools[i]);
}

TEST(GoldenTest, names_are_spelled_as_on_the_wire) {
  EXPECT_EQ(name(Function::kBufferRdmaIndicate), "BufferRDMAIndicate");
  EXPECT_EQ(name(Function::kCfgUtilReply), "CfgUtilReply");
  EXPECT_EQ(name(CfgCode::kInitNic), "INIT_NIC");
  EXPECT_EQ(name(CfgCode::kSetQos), "SET_QOS");
  EXPECT_EQ(name(CfgCode::kGetState), "GET_STATE");
  EXPECT_EQ(name(CfgCode::kListNics), "LIST_NICS");
  EXPECT_EQ(name(CfgCode{0x00020000}), "unknown");
  EXPECT_EQ(name(CfgCode{0x0002000B}), "unknown");
  EXPECT_EQ(name(CfgStatus::kVersion), "version");
  EXPECT_EQ(name(DropReason::kTooLong), "too_long");
}

}  // namespace splitnic::messaging::golden_test
