// Bytes of policies, and of the bodies of POLICY. docs/protocol/subnet.md#policy
#include "fabric_emul/wire/smp_policy.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct SmpPolicyWire {
  base::Be16 first;
  base::Be16 count;
  base::Be32 check;
};
static_assert(sizeof(SmpPolicyWire) == kSmpPolicyBytes && alignof(SmpPolicyWire) == 1);

}  // namespace wire

static_assert(kSmpPolicyBytes + kSmpPolicyPartBytes <= kSmpBytesMax - kSmpFixedBytes - kSmpHopsMax);
static_assert(kPolicyBytesMax <= UINT16_MAX);

namespace {

constexpr std::size_t kPortHeadBytes = 2;
constexpr std::size_t kKeyBytes = sizeof(std::uint16_t);

// Reads a port at the front of `in`, and removes it there. Returns false if there is none.
bool take_port(base::Bytes& in, SwitchPolicy::NodePort& out) {
  if (in.size() < kPortHeadBytes) return false;
  out.number = std::to_integer<std::uint8_t>(in[0]);
  const auto count = std::to_integer<std::size_t>(in[1]);
  const std::size_t bytes = kPortHeadBytes + count * kKeyBytes;
  if (count == 0 || count > PartitionTable::kKeysMax || in.size() < bytes) return false;
  std::set<std::uint16_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const PartitionKey key(base::load_be<std::uint16_t>(&in[kPortHeadBytes + i * kKeyBytes]));
    if (number_of(key) == 0 || !numbers.insert(number_of(key)).second) return false;
    out.keys.push_back(key);
  }
  in = in.subspan(bytes);
  return true;
}

}  // namespace

std::vector<std::byte> emit_policy(const SwitchPolicy& policy) {
  CHECK(policy.ports.size() <= kSmpPortsMax && (policy.has_partitions || policy.ports.empty()));
  std::vector<std::byte> out;
  for (const std::uint8_t lane : policy.lanes) out.push_back(static_cast<std::byte>(lane));
  out.push_back(
      static_cast<std::byte>(policy.has_partitions ? policy.ports.size() : kNoPartitions));
  for (const SwitchPolicy::NodePort& port : policy.ports) {
    CHECK(!port.keys.empty() && port.keys.size() <= PartitionTable::kKeysMax);
    out.push_back(static_cast<std::byte>(port.number));
    out.push_back(static_cast<std::byte>(port.keys.size()));
    for (const PartitionKey key : port.keys) {
      out.resize(out.size() + kKeyBytes);
      base::store_be(&out[out.size() - kKeyBytes], key.value);
    }
  }
  return out;
}

bool parse_policy(base::Bytes in, SwitchPolicy& out) {
  if (in.size() < kPolicyFixedBytes) return false;
  out = SwitchPolicy{};
  std::ranges::transform(in.first(out.lanes.size()), out.lanes.begin(),
                         [](std::byte lane) { return std::to_integer<std::uint8_t>(lane); });
  const auto count = std::to_integer<std::size_t>(in[out.lanes.size()]);
  out.has_partitions = count != kNoPartitions;
  if (!out.has_partitions) return in.size() == kPolicyFixedBytes;
  if (count > kSmpPortsMax) return false;
  in = in.subspan(kPolicyFixedBytes);
  for (std::size_t i = 0; i < count; ++i) {
    SwitchPolicy::NodePort port;
    const std::uint8_t last = out.ports.empty() ? 0 : out.ports.back().number;
    if (!take_port(in, port) || port.number <= last || port.number > kSmpPortsMax) return false;
    out.ports.push_back(std::move(port));
  }
  return in.empty();
}

SmpPolicy policy_part(base::Bytes all, std::uint32_t check, std::size_t number) {
  CHECK(all.size() <= kPolicyBytesMax && number < policy_parts(all.size()));
  const std::size_t first = number * kSmpPolicyPartBytes;
  return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(all.size()), check,
          all.subspan(first, std::min(kSmpPolicyPartBytes, all.size() - first))};
}

std::size_t emit_smp_policy(base::MutableBytes out, const SmpPolicy& part) {
  CHECK(part.bytes() <= out.size());
  wire::SmpPolicyWire bytes{};
  bytes.first.set(part.first);
  bytes.count.set(part.count);
  bytes.check.set(part.check);
  std::memcpy(out.data(), &bytes, sizeof(bytes));
  if (!part.data.empty()) {
    std::memcpy(out.data() + sizeof(bytes), part.data.data(), part.data.size());
  }
  return part.bytes();
}

// A part is as long as its place in the whole has it.
SmpError parse_smp_policy(base::Bytes in, SmpPolicy& out) {
  wire::SmpPolicyWire bytes;
  if (in.size() < sizeof(bytes)) return SmpError::kBody;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  out.first = bytes.first.get();
  out.count = bytes.count.get();
  out.check = bytes.check.get();
  out.data = in.subspan(sizeof(bytes));
  if (out.count > kPolicyBytesMax) return SmpError::kBody;
  if (out.data.empty()) return SmpError::kNone;
  const bool is_part =
      out.first % kSmpPolicyPartBytes == 0 && out.first < out.count &&
      out.data.size() == std::min<std::size_t>(kSmpPolicyPartBytes, out.count - out.first);
  return is_part ? SmpError::kNone : SmpError::kBody;
}

}  // namespace splitnic::fabric
