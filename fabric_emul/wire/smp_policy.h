// The policy of a switch, which is all that it does with cells apart from their route: the lane of
// each service level, and the partitions of the nodes at its ports. A subnet manager sets it as
// bytes, in the parts that the bodies of POLICY have. docs/protocol/subnet.md#policy
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

// The data lane of each service level at the outputs of a switch.
using SlToLane = std::array<std::uint8_t, kSlMax + 1>;
inline constexpr SlToLane kLaneOfSl{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};

struct SwitchPolicy {
  struct NodePort {
    std::uint8_t number = 0;
    std::vector<PartitionKey> keys{};  // 1 to PartitionTable::kKeysMax, no number twice
    friend bool operator==(const NodePort&, const NodePort&) = default;
  };
  SlToLane lanes = kLaneOfSl;
  bool has_partitions = false;    // false: the subnet has none, and all cells pass
  std::vector<NodePort> ports{};  // that nodes are at, ascending; only with partitions
  friend bool operator==(const SwitchPolicy&, const SwitchPolicy&) = default;
};

inline constexpr std::size_t kPolicyFixedBytes = kSlMax + 2;
inline constexpr std::size_t kPolicyBytesMax =
    kPolicyFixedBytes + kSmpPortsMax * (2 + 2 * PartitionTable::kKeysMax);

inline constexpr std::size_t kNoPartitions = 0xFF;  // in place of the number of ports

// REQUIRES ports and keys as above.
std::vector<std::byte> emit_policy(const SwitchPolicy& policy);
// Returns false if they are none: out is unspecified then. Whether there are such lanes and ports
// is decided by the switch.
bool parse_policy(base::Bytes in, SwitchPolicy& out);

inline constexpr std::size_t kSmpPolicyBytes = 8;
inline constexpr std::size_t kSmpPolicyPartBytes = 256;

// The body of what is about POLICY: some of the bytes of a policy.
struct SmpPolicy {
  std::uint16_t first = 0;  // of the bytes, a multiple of kSmpPolicyPartBytes; SET
  std::uint16_t count = 0;  // of all bytes. REPLY: 0 if no policy of a manager is in force
  std::uint32_t check = 0;  // SET: CRC-32C of all bytes. REPLY: of those in force
  base::Bytes data{};       // SET: those of this part; else none

  std::size_t bytes() const { return kSmpPolicyBytes + data.size(); }
};
// The bytes of part number n of `all`. REQUIRES that it has such a part.
SmpPolicy policy_part(base::Bytes all, std::uint32_t check, std::size_t number);
constexpr std::size_t policy_parts(std::size_t bytes) {
  return (bytes + kSmpPolicyPartBytes - 1) / kSmpPolicyPartBytes;
}
// Writes part.bytes() bytes. REQUIRES room.
std::size_t emit_smp_policy(base::MutableBytes out, const SmpPolicy& part);
SmpError parse_smp_policy(base::Bytes in, SmpPolicy& out);  // kBody, or kNone

}  // namespace splitnic::fabric
