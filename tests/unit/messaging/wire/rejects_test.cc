// Every parse refuses each truncation, each wrong length field and each violated field rule.
#include <gtest/gtest.h>

#include "messaging/wire/buffer_pool_flush.h"
#include "messaging/wire/buffer_rdma_indicate.h"
#include "messaging/wire/buffer_recv_pool.h"
#include "messaging/wire/buffer_recv_pool_get.h"
#include "messaging/wire/buffer_recv_pool_update.h"
#include "messaging/wire/cfg_util.h"
#include "messaging/wire/send_data.h"
#include "tests/unit/messaging/wire_support.h"

namespace splitnic::messaging::rejects_test {
using namespace test;
constexpr DropReason kAccepted = DropReason::kCount_;

// A legal message with two records (or with 5 bytes of data), the length rule and the minimum
// length of it.
template <typename T>
struct Case;
template <>
struct Case<BufferRecvPool> {
  static Message message() {
    return words({0x10001, 0, 1, 7, 64, 2048, 1, 0, 0x1000, 0, 0,  //
                  8, 64, 2048, 1, 0, 0x100000, 0, 0});
  }
  static constexpr std::size_t kLeast = 44, kStep = 32;
};
template <>
struct Case<BufferRecvPoolGet> {
  static Message message() { return words({0x20001, 0, 1, 1536, 64}); }
  static constexpr std::size_t kLeast = 20, kStep = 0;
};
template <>
struct Case<BufferRecvPoolUpdate> {
  static Message message() { return words({0x30001, 0, 1, 7, 5, 1, 9, 0, 0}); }
  static constexpr std::size_t kLeast = 24, kStep = 12;
};
template <>
struct Case<BufferPoolFlushRequest> {
  static Message message() { return words({0x40001, 0, 1, 7, 9}); }
  static constexpr std::size_t kLeast = 16, kStep = 4;
};
template <>
struct Case<BufferPoolFlushReply> {
  static Message message() { return words({0x50001, 0, 1}); }
  static constexpr std::size_t kLeast = 12, kStep = 0;
};
template <>
struct Case<SendData> {
  static Message message() { return words({0x60001, 0, 1, 5, 0x68656c6c, 0x6f000000}); }
  static constexpr std::size_t kLeast = 20, kStep = 0;
};
template <>
struct Case<BufferRdmaIndicate> {
  static Message message() { return words({0x70001, 0, 1, 300, 2, 1, 70000, 7, 0, 1, 1}); }
  static constexpr std::size_t kLeast = 28, kStep = 16;
};
template <>
struct Case<CfgUtilRequest> {
  static Message message() { return words({0x80001, 0, 1, 0x10002, 5, 0x68656c6c, 0x6f000000}); }
  static constexpr std::size_t kLeast = 20, kStep = 0;
};
template <>
struct Case<CfgUtilReply> {
  static Message message() { return words({0x90001, 0, 1, 0x10002, 0, 5, 0x68656c6c, 0x6f000000}); }
  static constexpr std::size_t kLeast = 24, kStep = 0;
};

template <typename T>
class RejectsTest : public testing::Test {};
using Messages = testing::Types<BufferRecvPool, BufferRecvPoolGet, BufferRecvPoolUpdate,
                                BufferPoolFlushRequest, BufferPoolFlushReply, SendData,
                                BufferRdmaIndicate, CfgUtilRequest, CfgUtilReply>;
TYPED_TEST_SUITE(RejectsTest, Messages);

TYPED_TEST(RejectsTest, P_37_every_truncation) {
  const Message message = Case<TypeParam>::message();
  ASSERT_EQ(refusal<TypeParam>(message), kAccepted);
  for (std::size_t n = 0; n < message.size(); ++n) {
    // A fresh allocation of exactly n bytes: ASan sees any read past it.
    const Message cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(n));
    const DropReason reason = refusal<TypeParam>(cut);
    if (n < Case<TypeParam>::kLeast) {
      EXPECT_EQ(reason, DropReason::kShort) << n;
    } else if (Case<TypeParam>::kStep != 0 && (n - kHeaderBytes) % Case<TypeParam>::kStep == 0) {
      EXPECT_EQ(reason, kAccepted) << n;  // a shorter message of the same kind
    } else {
      EXPECT_EQ(reason, DropReason::kAlign) << n;
    }
  }
}

TYPED_TEST(RejectsTest, P_37_trailing_bytes) {
  for (std::size_t extra = 1; extra <= 3; ++extra) {
    Message message = Case<TypeParam>::message();
    message.resize(message.size() + extra);
    EXPECT_EQ(refusal<TypeParam>(message), DropReason::kAlign) << extra;
  }
}

TYPED_TEST(RejectsTest, S001_09_other_function_or_version) {
  Message message = Case<TypeParam>::message();
  const auto first = base::load_be<std::uint32_t>(message.data());
  for (const std::uint32_t function : {0U, 10U, 0x7FFFU, 0x8000U, 0xFFFFU}) {
    set_word(message, 0, function << 16 | 1);
    EXPECT_EQ(refusal<TypeParam>(message), DropReason::kFunction) << function;
  }
  for (const std::uint32_t version : {0U, 2U, 0x100U, 0xFFFFU}) {
    set_word(message, 0, (first & 0xFFFF0000U) | version);
    EXPECT_EQ(refusal<TypeParam>(message), DropReason::kVersion) << version;
  }
}

template <typename T>
void check_size_field(std::size_t word, DropReason zero) {
  Message message = Case<T>::message();
  for (const std::uint32_t size :
       {4U, 9U, 6U + 0xFFFFU, 0x7FFFFFFFU, 0xFFFFFFFCU, 0xFFFFFFFDU, 0xFFFFFFFFU}) {
    set_word(message, word, size);
    EXPECT_EQ(refusal<T>(message), DropReason::kAlign) << size;
  }
  for (const std::uint32_t size : {5U, 6U, 7U, 8U}) {  // the same length after padding
    set_word(message, word, size);
    EXPECT_EQ(refusal<T>(message), kAccepted) << size;
  }
  set_word(message, word, 0);
  EXPECT_EQ(refusal<T>(message), zero);
}

TEST(LengthFieldTest, P_37_send_data) { check_size_field<SendData>(3, DropReason::kRange); }
TEST(LengthFieldTest, P_37_cfg_util_request) {
  check_size_field<CfgUtilRequest>(4, DropReason::kAlign);
}
TEST(LengthFieldTest, P_37_cfg_util_reply) {
  check_size_field<CfgUtilReply>(5, DropReason::kAlign);
}

TEST(LengthFieldTest, padding_is_not_data_and_its_value_is_ignored) {
  Message message = Case<SendData>::message();
  message.back() = std::byte{0xFF};
  const auto parsed = SendData::parse(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(base::as_text(parsed->data), "hello");
}

TEST(LengthFieldTest, S001_23_one_byte_more_than_the_frame_is_refused_locally) {
  Message out(4096, std::byte{0xEE});
  const Message frame(4081, std::byte{1});
  const SendData largest{kUnsolicited, base::Bytes(frame).first(4080)};
  const SendData too_large{kUnsolicited, frame};
  const auto refused = too_large.emit(out);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), DropReason::kTooLong);
  EXPECT_EQ(out, Message(4096, std::byte{0xEE})) << "nothing may be written";
  ASSERT_TRUE(largest.emit(out));
  const auto parsed = SendData::parse(out);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->data.size(), 4080U);
  const SendData nothing{kUnsolicited, {}};
  EXPECT_EQ(nothing.emit(out).error(), DropReason::kRange);
}

DropReason pool_refusal(std::uint32_t elements, std::uint32_t size, std::uint64_t address) {
  return refusal<BufferRecvPool>(
      words({0x10001, 0, 1, 7, elements, size, 1, static_cast<std::uint32_t>(address >> 32),
             static_cast<std::uint32_t>(address), 0, 0}));
}

TEST(RecordRulesTest, P_37_P_42_zero_overflow_and_wrap_of_a_pool) {
  EXPECT_EQ(pool_refusal(64, 2048, 0), kAccepted);
  EXPECT_EQ(pool_refusal(0, 2048, 0), DropReason::kRange);
  EXPECT_EQ(pool_refusal(64, 0, 0), DropReason::kRange);
  EXPECT_EQ(pool_refusal(0xFFFFFFFF, 0xFFFFFFFF, 0), DropReason::kRange);
  EXPECT_EQ(pool_refusal(1U << 24, 1U << 24, 0), kAccepted);  // exactly 2^48
  EXPECT_EQ(pool_refusal((1U << 24) + 1, 1U << 24, 0), DropReason::kRange);
  EXPECT_EQ(pool_refusal(2, 2048, ~std::uint64_t{0} - 4096), kAccepted);
  EXPECT_EQ(pool_refusal(2, 2048, ~std::uint64_t{0} - 4095), DropReason::kRange);
}

TEST(RecordRulesTest, P_42_one_bad_record_spoils_the_message) {
  Message message = Case<BufferRecvPool>::message();
  set_word(message, 12, 0);  // the second record's elements
  EXPECT_EQ(refusal<BufferRecvPool>(message), DropReason::kRange);
}

TEST(RecordRulesTest, zero_fields) {
  EXPECT_EQ(refusal<BufferRecvPoolGet>(words({0x20001, 0, 1, 0, 64})), DropReason::kRange);
  EXPECT_EQ(refusal<BufferRecvPoolGet>(words({0x20001, 0, 1, 1536, 0})), DropReason::kRange);
  EXPECT_EQ(refusal<BufferRdmaIndicate>(words({0x70001, 0, 1, 7, 0, 0, 5})), DropReason::kRange);
  EXPECT_EQ(refusal<BufferRdmaIndicate>(words({0x70001, 0, 1, 7, 0, 1, 0})), DropReason::kRange);
}

TEST(RecordRulesTest, S001_21_bytes_must_need_all_elements_and_fit_them) {
  EXPECT_TRUE((ConsumedRecord{PoolRef(1), 0, 2, 2049}.fits(2048)));
  EXPECT_TRUE((ConsumedRecord{PoolRef(1), 0, 2, 4096}.fits(2048)));
  EXPECT_FALSE((ConsumedRecord{PoolRef(1), 0, 2, 2048}.fits(2048)));
  EXPECT_FALSE((ConsumedRecord{PoolRef(1), 0, 2, 4097}.fits(2048)));
  EXPECT_FALSE((ConsumedRecord{PoolRef(1), 0, 0xFFFFFFFF, 0xFFFFFFFF}.fits(0xFFFFFFFF)));
}

TEST(CfgUtilRefusalTest, S001_24_readable_header_is_enough_for_a_reply) {
  const Message version = words({0x80002, 0x11223344, 0x55667788, 0x00020005, 0});
  const auto by_version = CfgUtilRefusal::of(version, DropReason::kVersion);
  EXPECT_EQ(by_version.status, CfgStatus::kVersion);
  EXPECT_EQ(by_version.code, CfgCode::kEcho);
  EXPECT_EQ(by_version.context, kGoldenContext);
  const auto by_length = CfgUtilRefusal::of(
      base::Bytes(version).first(12), refusal<CfgUtilRequest>(base::Bytes(version).first(12)));
  EXPECT_EQ(by_length.code, CfgCode{});
  const auto by_size = CfgUtilRefusal::of(version, DropReason::kAlign);
  EXPECT_EQ(by_size.status, CfgStatus::kBadSize);
}

}  // namespace splitnic::messaging::rejects_test
