// Policies of switches as bytes, and the SMPs that have their parts.
#include "fabric_emul/wire/smp_policy.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/smp.h"
#include "tests/unit/fabric_emul/wire/codec.h"
#include "tests/unit/fabric_emul/wire/smp_cells.h"

namespace splitnic::fabric {
namespace smp_policy_test {

using golden::Bytes;
using smp_cells::bytes_of;
using smp_cells::cell_of;

Bytes body_of(const SmpPolicy& part) { return golden::emitted(part, emit_smp_policy); }

// The SMPs of docs/protocol/subnet.md.
Smp with_body(SmpMethod method, const Bytes& body) {
  Smp smp;
  smp.method = method;
  smp.attribute = SmpAttribute::kPolicy;
  smp.manager = {Lid(1), 5};
  smp.transaction = 0x1122334455667788;
  smp.route.hops = 1;
  smp.route.ports[0] = 2;
  smp.hop = 1;
  smp.body = body;
  return smp;
}

SwitchPolicy with_a_key() {
  SwitchPolicy out;
  out.has_partitions = true;
  out.ports.push_back({3, {PartitionKey(0x8001)}});
  return out;
}

SwitchPolicy largest() {
  SwitchPolicy out;
  out.lanes.fill(3);
  out.has_partitions = true;
  for (std::uint8_t number = 1; number <= kSmpPortsMax; ++number) {
    out.ports.push_back({number, {}});
    for (unsigned key = 0; key < PartitionTable::kKeysMax; ++key) {
      const unsigned value = key % 2 * kFullMember + number * 16U + key;
      out.ports.back().keys.emplace_back(static_cast<std::uint16_t>(value));
    }
  }
  return out;
}

TEST(SmpPolicyTest, P_SUBN_29_golden_cells_of_a_policy_and_its_reply) {
  const Bytes all = emit_policy(with_a_key());
  EXPECT_EQ(golden::hex_of(all), "00010203 00010203 00010203 00010203 01030180 01");
  SmpPolicy part = policy_part(all, base::crc32c(all), 0);
  const Bytes of_set = body_of(part);
  EXPECT_EQ(cell_of(Lid(1), Lid(2), with_body(SmpMethod::kSet, of_set)),
            "10d80200 00020001 f0000002 00000002 00000000 00000032 ffff0000 01020600 00010500 "
            "11223344 55667788 0101001d 02000000 15471423 79000102 03000102 03000102 03000102 "
            "03010301 80010000 89163584");
  part.data = {};
  const Bytes of_reply = body_of(part);
  Smp reply = with_body(SmpMethod::kReply, of_reply);
  reply.route.ports[0] = 1;
  EXPECT_EQ(cell_of(Lid(2), Lid(1), reply),
            "10d80300 00010002 f0000002 00000002 00000000 0000001d ffff0000 01030600 00010500 "
            "11223344 55667788 01010008 01000000 15471423 79000000 c1bb8b6e");
  EXPECT_EQ(name(SmpAttribute::kPolicy), "POLICY");
}

TEST(SmpPolicyTest, P_SUBN_1_all_parts_of_the_largest_policy_survive_a_round_trip) {
  const Bytes all = emit_policy(largest());
  ASSERT_EQ(all.size(), 1105U);
  EXPECT_EQ(kPolicyBytesMax, 1105U);
  ASSERT_EQ(policy_parts(all.size()), 5U);
  Bytes joined;
  for (std::size_t number = 0; number < 5; ++number) {
    const Bytes body = body_of(policy_part(all, 0xCAFE0001, number));
    const Bytes bytes = bytes_of(with_body(SmpMethod::kSet, body));
    Smp smp;
    SmpPolicy out;
    ASSERT_EQ(parse_smp(bytes, smp), SmpError::kNone) << number;
    EXPECT_EQ(bytes_of(smp), bytes);
    ASSERT_EQ(parse_smp_policy(smp.body, out), SmpError::kNone);
    EXPECT_EQ(out.first, number * 256);
    EXPECT_EQ(out.count, 1105);
    EXPECT_EQ(out.check, 0xCAFE0001);
    EXPECT_EQ(out.data.size(), number == 4 ? 81U : 256U);
    joined.insert(joined.end(), out.data.begin(), out.data.end());
  }
  EXPECT_EQ(joined, all);
}

TEST(SmpPolicyTest, P_SUBN_1_a_policy_has_a_part_for_each_256_bytes) {
  EXPECT_EQ(policy_parts(17), 1U);
  EXPECT_EQ(policy_parts(256), 1U);
  EXPECT_EQ(policy_parts(257), 2U);
  EXPECT_EQ(policy_parts(512), 2U);
}

// A body with these numbers, and this many bytes of a policy.
Bytes body_with(std::uint16_t first, std::uint16_t count, std::size_t bytes) {
  const Bytes policy(bytes);
  return body_of({first, count, 0xCAFE0001, policy});
}

SmpError error_of(SmpMethod method, const Bytes& body) {
  return golden::error_of(bytes_of(with_body(method, body)), parse_smp);
}

TEST(SmpPolicyTest, P_SUBN_1_only_set_has_a_part) {
  using enum SmpMethod;
  EXPECT_EQ(error_of(kGet, body_with(0, 0, 0)), SmpError::kNone);
  EXPECT_EQ(error_of(kReply, body_with(0, 0, 0)), SmpError::kNone);
  EXPECT_EQ(error_of(kReply, body_with(0, 21, 0)), SmpError::kNone);
  EXPECT_EQ(error_of(kSet, body_with(0, 21, 21)), SmpError::kNone);
  EXPECT_EQ(error_of(kSet, body_with(0, 21, 0)), SmpError::kBody);
  EXPECT_EQ(error_of(kGet, body_with(0, 21, 21)), SmpError::kBody);
  EXPECT_EQ(error_of(kReply, body_with(0, 21, 21)), SmpError::kBody);
  EXPECT_EQ(error_of(kTrap, Bytes()), SmpError::kNone);
  EXPECT_EQ(error_of(kTrap, body_with(0, 0, 0)), SmpError::kBody);
}

TEST(SmpPolicyTest, P_SUBN_2_illegal_bodies_are_refused) {
  using enum SmpMethod;
  for (std::size_t size = 0; size < kSmpPolicyBytes; ++size) {
    for (const SmpMethod method : {kGet, kSet, kReply})
      EXPECT_EQ(error_of(method, Bytes(size)), SmpError::kBody) << size;
  }
  const auto set = [](std::uint16_t first, std::uint16_t count, std::size_t bytes) {
    return error_of(kSet, body_with(first, count, bytes));
  };
  EXPECT_EQ(set(0, 256, 256), SmpError::kNone);
  EXPECT_EQ(set(256, 1105, 256), SmpError::kNone);
  EXPECT_EQ(set(1024, 1105, 81), SmpError::kNone);
  EXPECT_EQ(set(1, 1105, 256), SmpError::kBody) << "no multiple of 256";
  EXPECT_EQ(set(255, 1105, 256), SmpError::kBody) << "no multiple of 256";
  EXPECT_EQ(set(256, 256, 256), SmpError::kBody) << "behind the end";
  EXPECT_EQ(set(512, 256, 256), SmpError::kBody) << "behind the end";
  EXPECT_EQ(set(0, 1105, 255), SmpError::kBody) << "short";
  EXPECT_EQ(set(0, 1105, 257), SmpError::kBody) << "long";
  EXPECT_EQ(set(0, 21, 20), SmpError::kBody) << "short";
  EXPECT_EQ(set(0, 21, 22), SmpError::kBody) << "long";
  EXPECT_EQ(set(1024, 1105, 80), SmpError::kBody) << "short";
  EXPECT_EQ(set(1024, 1105, 82), SmpError::kBody) << "long";
  EXPECT_EQ(set(1024, 1106, 82), SmpError::kBody) << "more than a policy has";
  EXPECT_EQ(error_of(kReply, body_with(0, 1105, 0)), SmpError::kNone);
  EXPECT_EQ(error_of(kReply, body_with(0, 1106, 0)), SmpError::kBody);
  EXPECT_EQ(error_of(kGet, body_with(0, 0xFFFF, 0)), SmpError::kBody);
}

TEST(SmpPolicyTest, P_SUBN_1_policies_survive_a_round_trip) {
  SwitchPolicy out = with_a_key();  // what it was before does not matter
  for (const SwitchPolicy& policy : {largest(), SwitchPolicy(), with_a_key()}) {
    const Bytes bytes = emit_policy(policy);
    ASSERT_TRUE(parse_policy(bytes, out)) << bytes.size();
    EXPECT_TRUE(out == policy) << bytes.size();
  }
  EXPECT_EQ(emit_policy(SwitchPolicy()).size(), kPolicyFixedBytes);
}

bool is_policy(const Bytes& bytes) {
  SwitchPolicy out;
  return parse_policy(bytes, out);
}
// Behind the default lanes.
bool is_policy(std::string_view ports) {
  constexpr std::string_view kLanes = "00010203 00010203 00010203 00010203";
  return is_policy(golden::bytes_of(std::string(kLanes) + std::string(ports)));
}

TEST(SmpPolicyTest, P_SUBN_2_every_truncation_and_every_extra_byte_is_refused) {
  for (const SwitchPolicy& policy : {largest(), with_a_key(), SwitchPolicy()}) {
    Bytes bytes = emit_policy(policy);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
      EXPECT_FALSE(is_policy(cut)) << size;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(is_policy(bytes)) << bytes.size();
  }
}

TEST(SmpPolicyTest, P_SUBN_2_illegal_ports_are_refused) {
  EXPECT_TRUE(is_policy("00"));
  EXPECT_TRUE(is_policy("ff")) << "no partitions";
  EXPECT_FALSE(is_policy("fe"));
  EXPECT_FALSE(is_policy("ff 0101 8001")) << "no partitions, and keys";
  EXPECT_TRUE(is_policy("01 0101 8001"));
  EXPECT_TRUE(is_policy("01 2001 8001"));
  EXPECT_TRUE(is_policy("02 0301 8001 0401 8001"));
  EXPECT_FALSE(is_policy("01 0001 8001")) << "port 0";
  EXPECT_FALSE(is_policy("01 2101 8001")) << "port 33";
  EXPECT_FALSE(is_policy("02 0401 8001 0301 8001")) << "not ascending";
  EXPECT_FALSE(is_policy("02 0301 8001 0301 8002")) << "a port twice";
  EXPECT_FALSE(is_policy("02 0301 8001")) << "fewer than counted";
  EXPECT_FALSE(is_policy("01 0301 8001 0401 8001")) << "more than counted";
  Bytes many = emit_policy(largest());
  many[kPolicyFixedBytes - 1] = std::byte{33};
  const Bytes port_33 = golden::bytes_of("2101 8001");
  many.insert(many.end(), port_33.begin(), port_33.end());
  EXPECT_FALSE(is_policy(many)) << "33 ports";
}

TEST(SmpPolicyTest, P_SUBN_2_illegal_keys_are_refused) {
  EXPECT_TRUE(is_policy("01 0302 8001 0002"));
  EXPECT_FALSE(is_policy("01 0300")) << "no key";
  EXPECT_FALSE(is_policy("01 0302 8001")) << "fewer than counted";
  EXPECT_FALSE(is_policy("01 0301 0000")) << "number 0";
  EXPECT_FALSE(is_policy("01 0301 8000")) << "number 0";
  EXPECT_FALSE(is_policy("01 0302 8001 8001")) << "a key twice";
  EXPECT_FALSE(is_policy("01 0302 8001 0001")) << "a number twice";
  SwitchPolicy policy = with_a_key();
  policy.ports[0].keys = largest().ports[0].keys;
  Bytes many = emit_policy(policy);
  EXPECT_TRUE(is_policy(many)) << "16 keys";
  many[kPolicyFixedBytes + 1] = std::byte{17};
  many.insert(many.end(), 2, std::byte{0x7F});
  EXPECT_FALSE(is_policy(many)) << "17 keys";
}

}  // namespace smp_policy_test
}  // namespace splitnic::fabric
