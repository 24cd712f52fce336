// The body of LOAD, and the SMPs that have it.
#include "fabric_emul/wire/smp_load.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "fabric_emul/wire/pretty.h"
#include "fabric_emul/wire/smp.h"
#include "tests/unit/fabric_emul/wire/codec.h"
#include "tests/unit/fabric_emul/wire/smp_cells.h"

namespace splitnic::fabric {
namespace smp_load_test {

using golden::Bytes;
using smp_cells::bytes_of;
using smp_cells::cell_of;

Bytes body_of(const SmpLoad& load) { return golden::emitted(load, emit_smp_load); }

// The SMPs of docs/protocol/subnet.md.
Smp with_body(SmpMethod method, const Bytes& body, SmpStatus status = SmpStatus::kDone) {
  Smp smp;
  smp.method = method;
  smp.attribute = SmpAttribute::kLoad;
  smp.status = status;
  smp.manager = {Lid(1), 5};
  smp.transaction = 0x1122334455667788;
  smp.route.hops = 1;
  smp.route.ports[0] = method == SmpMethod::kReply ? 1 : 2;
  smp.hop = 1;
  smp.body = body;
  return smp;
}

SmpLoad of_two_ports() {
  SmpLoad out;
  out.port_count = 2;
  out.ports[0] = {1, 1200};
  out.ports[1] = {3, 0x100000002};
  return out;
}

SmpLoad largest() {
  SmpLoad out;
  out.port_count = kSmpPortsMax;
  for (std::size_t i = 0; i < out.port_count; ++i) {
    out.ports[i] = {static_cast<std::uint8_t>(i + 1), UINT64_MAX - i};
  }
  return out;
}

constexpr std::string_view kGoldenReply =
    "10d80100 00010002 f0000002 00000002 00000000 00000027 ffff0000 01030700 00010500 11223344 "
    "55667788 01010012 01010000 00000000 04b00300 00000100 00000200 a3b3f283";

TEST(SmpLoadTest, P_SUBN_30_golden_cells_of_a_request_and_its_reply) {
  EXPECT_EQ(cell_of(Lid(1), Lid(2), with_body(SmpMethod::kGet, Bytes())),
            "10d80300 00020001 f0000002 00000002 00000000 00000015 ffff0000 01010700 00010500 "
            "11223344 55667788 01010000 02000000 81b00449");
  const Bytes body = body_of(of_two_ports());
  EXPECT_EQ(golden::hex_of(body), "01000000 00000004 b0030000 00010000 0002");
  EXPECT_EQ(cell_of(Lid(2), Lid(1), with_body(SmpMethod::kReply, body)), kGoldenReply);
  EXPECT_EQ(name(SmpAttribute::kLoad), "LOAD");
}

TEST(SmpLoadTest, P_SUBN_30_the_text_of_a_cell_has_the_counts) {
  const std::string line = dump_cell(golden::bytes_of(kGoldenReply));
  EXPECT_NE(line.find(" REPLY LOAD done "), std::string::npos) << line;
  EXPECT_NE(line.find(" route 1 [cells 1:1200 3:4294967298]"), std::string::npos) << line;
}

TEST(SmpLoadTest, P_SUBN_1_loads_survive_a_round_trip) {
  for (const SmpLoad& load : {SmpLoad(), of_two_ports(), largest()}) {
    const Bytes body = body_of(load);
    const Bytes bytes = bytes_of(with_body(SmpMethod::kReply, body));
    Smp smp;
    SmpLoad out = of_two_ports();  // of before
    ASSERT_EQ(parse_smp(bytes, smp), SmpError::kNone) << load.port_count;
    EXPECT_EQ(bytes_of(smp), bytes);
    ASSERT_EQ(parse_smp_load(smp.body, out), SmpError::kNone);
    EXPECT_EQ(out.port_count, load.port_count);
    EXPECT_EQ(out.ports, load.ports);
  }
  EXPECT_EQ(body_of(largest()).size(), 288U);
}

SmpError error_of(SmpMethod method, const Bytes& body, SmpStatus status = SmpStatus::kDone) {
  return golden::error_of(bytes_of(with_body(method, body, status)), parse_smp);
}

TEST(SmpLoadTest, P_SUBN_1_only_a_reply_that_is_done_has_a_body) {
  const Bytes body = body_of(of_two_ports());
  for (const SmpMethod method : {SmpMethod::kGet, SmpMethod::kSet, SmpMethod::kTrap}) {
    EXPECT_EQ(error_of(method, Bytes()), SmpError::kNone) << name(method);
    EXPECT_EQ(error_of(method, body), SmpError::kBody) << name(method);
  }
  EXPECT_EQ(error_of(SmpMethod::kReply, body), SmpError::kNone);
  EXPECT_EQ(error_of(SmpMethod::kReply, Bytes(), SmpStatus::kBad), SmpError::kNone);
  EXPECT_EQ(error_of(SmpMethod::kReply, body, SmpStatus::kBad), SmpError::kBody);
}

bool is_load(const Bytes& bytes) {
  SmpLoad out;
  return parse_smp_load(bytes, out) == SmpError::kNone;
}

TEST(SmpLoadTest, P_SUBN_2_every_truncation_and_every_extra_byte_is_refused) {
  Bytes bytes = body_of(largest());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<long>(size));
    EXPECT_EQ(is_load(cut), size % kSmpLoadPortBytes == 0) << size;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(is_load(bytes));
}

TEST(SmpLoadTest, P_SUBN_2_illegal_ports_are_refused) {
  const auto with_ports = [](unsigned first, unsigned second) {
    Bytes bytes = body_of(of_two_ports());
    bytes[0] = static_cast<std::byte>(first);
    bytes[kSmpLoadPortBytes] = static_cast<std::byte>(second);
    return is_load(bytes);
  };
  EXPECT_TRUE(with_ports(1, 2));
  EXPECT_TRUE(with_ports(31, 32));
  EXPECT_FALSE(with_ports(0, 1)) << "port 0";
  EXPECT_FALSE(with_ports(1, 33)) << "port 33";
  EXPECT_FALSE(with_ports(2, 2)) << "a port twice";
  EXPECT_FALSE(with_ports(3, 2)) << "not ascending";
  Bytes many = body_of(largest());
  const Bytes port_33 = golden::bytes_of("21 00000000 00000000");
  many.insert(many.end(), port_33.begin(), port_33.end());
  EXPECT_FALSE(is_load(many)) << "33 ports";
}

}  // namespace smp_load_test
}  // namespace splitnic::fabric
