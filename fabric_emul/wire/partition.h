// Partitions keep nodes apart [S004-20]. A key has the number of a partition in its lower 15 bits,
// never 0, and the bit of full members above them. Who has a key takes the cells of another one if
// both are of one partition and at least one of the two is a full member: limited members, such as
// the hosts of an I/O unit, do not reach each other. Plain values. docs/protocol/partition.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

inline constexpr std::uint16_t kFullMember = 0x8000;
// That of nodes and queue pairs that are in no other one.
inline constexpr PartitionKey kDefaultPartition{0xFFFF};

constexpr std::uint16_t number_of(PartitionKey key) {
  return static_cast<std::uint16_t>(key.value & ~kFullMember);
}
constexpr bool is_full_member(PartitionKey key) { return (key.value & kFullMember) != 0; }
constexpr PartitionKey as_full_member(PartitionKey key) {
  return PartitionKey(static_cast<std::uint16_t>(key.value | kFullMember));
}
constexpr PartitionKey as_limited_member(PartitionKey key) { return PartitionKey(number_of(key)); }
// Whether one takes the cells of the other.
constexpr bool match(PartitionKey a, PartitionKey b) {
  return number_of(a) == number_of(b) && number_of(a) != 0 &&
         (is_full_member(a) || is_full_member(b));
}
// "0x8001"
std::string text_of(PartitionKey key);

// The keys of one node, one for each partition that it is a member of.
class PartitionTable {
 public:
  static constexpr std::size_t kKeysMax = 16;

  PartitionTable() = default;
  // REQUIRES 1 to kKeysMax keys, and no number 0 or twice.
  explicit PartitionTable(std::vector<PartitionKey> keys) : keys_(std::move(keys)) {
    CHECK(!keys_.empty() && keys_.size() <= kKeysMax);
  }

  PartitionKey first() const { return keys_.front(); }
  std::span<const PartitionKey> keys() const { return keys_; }
  bool has(PartitionKey key) const { return std::ranges::find(keys_, key) != keys_.end(); }
  // The key of this node with which it takes a cell of that key; nothing: it takes none.
  std::optional<PartitionKey> own(PartitionKey of_cell) const {
    const auto at =
        std::ranges::find_if(keys_, [&](PartitionKey key) { return match(key, of_cell); });
    return at == keys_.end() ? std::nullopt : std::optional(*at);
  }

 private:
  std::vector<PartitionKey> keys_{kDefaultPartition};
};

}  // namespace splitnic::fabric
