// SMPs, their bodies and policies as values and as bytes: what is read is in range, and written as
// the same bytes, but for reserved ones. docs/protocol/subnet.md
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_load.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::fuzz {

// An SMP is written as the bytes that it was parsed from, but for the reserved byte.
inline void check_both_ways(base::Bytes bytes, const fabric::Smp& smp) {
  std::array<std::byte, fabric::kSmpBytesMax> out;
  CHECK(emit_smp(out, smp) == bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) CHECK(i == 7 || out[i] == bytes[i]);
  CHECK(name(smp.method) != "unknown" && name(smp.attribute) != "unknown");
  CHECK(name(smp.status) != "unknown");
}

// The bodies of LIDS and PORT, of which a byte of each entry is reserved.
inline void check_lids(base::Bytes bytes) {
  fabric::SmpLids lids;
  if (parse_smp_lids(bytes, lids) == fabric::SmpError::kNone) {
    std::vector<std::byte> out(lids.bytes());
    fabric::SmpLids again;
    CHECK(out.size() == bytes.size() && emit_smp_lids(out, lids) == out.size());
    CHECK(parse_smp_lids(out, again) == fabric::SmpError::kNone && again.check == lids.check);
    CHECK(std::ranges::equal(again.used_entries(), lids.used_entries()));
    CHECK(std::ranges::all_of(lids.used_entries(), fabric::is_valid));
  }
  fabric::PortLids port;
  if (fabric::parse_smp_port(bytes, port) == fabric::SmpError::kNone) {
    std::array<std::byte, fabric::kSmpPortBodyBytes> out;
    CHECK(emit_smp_port(out, port) == bytes.size() && std::equal(&out[0], &out[3], &bytes[0]));
  }
}

// The bodies of NODE and TABLE: what was read is written, and read again, as the same.
inline void check_bodies(base::Bytes bytes) {
  fabric::SmpNode node;
  if (parse_smp_node(bytes, node) == fabric::SmpError::kNone) {
    std::vector<std::byte> out(node.bytes());
    fabric::SmpNode again;
    CHECK(out.size() == bytes.size() && emit_smp_node(out, node) == out.size());
    CHECK(parse_smp_node(out, again) == fabric::SmpError::kNone && again == node);
    for (const auto& port : node.used_ports()) CHECK(name(port.state) != "unknown");
  }
  fabric::SmpTable table;
  if (parse_smp_table(bytes, table) == fabric::SmpError::kNone) {
    std::vector<std::byte> out(table.bytes());
    CHECK(out.size() == bytes.size() && emit_smp_table(out, table) == out.size());
    CHECK(std::ranges::equal(out, bytes) && name(table.stage) != "unknown");
  }
}

// The body of LOAD: ports by ascending number.
inline void check_load_body(base::Bytes bytes) {
  fabric::SmpLoad load;
  if (parse_smp_load(bytes, load) != fabric::SmpError::kNone) return;
  std::vector<std::byte> out(load.bytes());
  CHECK(out.size() == bytes.size() && emit_smp_load(out, load) == out.size());
  CHECK(std::ranges::equal(out, bytes));
  std::size_t last = 0;
  for (const auto& port : load.used_ports()) {
    CHECK(port.number > last && port.number <= fabric::kSmpPortsMax);
    last = port.number;
  }
}

// The body of POLICY: a part ends where the next one begins, or with the policy.
inline void check_policy_body(base::Bytes bytes) {
  fabric::SmpPolicy part;
  if (parse_smp_policy(bytes, part) != fabric::SmpError::kNone) return;
  std::vector<std::byte> out(part.bytes());
  CHECK(out.size() == bytes.size() && emit_smp_policy(out, part) == out.size());
  CHECK(std::ranges::equal(out, bytes) && part.count <= fabric::kPolicyBytesMax);
  const std::size_t size = part.data.size(), end = part.first + size;
  if (size == 0) return;
  CHECK(part.first % fabric::kSmpPolicyPartBytes == 0 && end <= part.count);
  CHECK(end == part.count || size == fabric::kSmpPolicyPartBytes);
}

// The bytes of a policy, which has 1 to 16 keys for each of its ports.
inline void check_policy(base::Bytes bytes) {
  fabric::SwitchPolicy policy;
  if (!fabric::parse_policy(bytes, policy)) return;
  CHECK(std::ranges::equal(emit_policy(policy), bytes));
  std::size_t last = 0;
  for (const auto& port : policy.ports) {
    CHECK(port.number > last && port.number <= fabric::kSmpPortsMax);
    last = port.number;
    std::set<std::uint16_t> numbers;
    for (const fabric::PartitionKey key : port.keys) numbers.insert(fabric::number_of(key));
    CHECK(!numbers.empty() && numbers.size() == port.keys.size() && numbers.size() <= 16);
    CHECK(!numbers.contains(0));
  }
}

}  // namespace splitnic::fuzz
