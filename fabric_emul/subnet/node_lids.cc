#include "fabric_emul/subnet/node_lids.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"

namespace splitnic::fabric {

NodeLids lids_of(const Topology& topology) {
  NodeLids nodes;
  for (const Topology::Node& node : topology.nodes) nodes.emplace(node.name, node.lids());
  return nodes;
}

std::uint32_t check_of(const NodeLids& nodes) {
  base::Crc32c crc;
  for (const auto& [name, lids] : nodes) {
    crc.extend(base::as_bytes(name));
    std::array<std::byte, 4> rest{};  // a zero byte behind the name
    base::store_be(&rest[1], lids.base.value);
    rest[3] = static_cast<std::byte>(lids.lmc);
    crc.extend(rest);
  }
  return crc.value();
}

LidParts::LidParts(const NodeLids& nodes) : check_(check_of(nodes)) {
  CHECK(nodes.size() <= UINT16_MAX);
  for (const auto& [name, lids] : nodes) lids_.push_back(lids);
}

std::size_t LidParts::count() const {
  return (lids_.size() + kSmpLidsEntriesMax - 1) / kSmpLidsEntriesMax;
}

SmpLids LidParts::part(std::size_t number) const {
  CHECK(number < count());
  SmpLids out;
  const std::size_t first = number * kSmpLidsEntriesMax;
  out.first = static_cast<std::uint16_t>(first);
  out.count = static_cast<std::uint16_t>(lids_.size());
  out.check = check_;
  out.entry_count = std::min(kSmpLidsEntriesMax, lids_.size() - first);
  std::copy_n(lids_.begin() + static_cast<long>(first), out.entry_count, out.entries.begin());
  return out;
}

SmpStatus StagedLids::take(const SmpLids& part, const NodeLids& nodes) {
  if (part.count != nodes.size()) return SmpStatus::kBad;
  if (check_ != part.check || lids_.size() != part.count || is_complete_) {
    *this = {};
    check_ = part.check;
    lids_.resize(part.count);
  }
  std::ranges::copy(part.used_entries(), lids_.begin() + part.first);
  if (std::ranges::find(lids_, Lid(), &PortLids::base) != lids_.end()) return SmpStatus::kDone;
  NodeLids named;
  auto next = lids_.begin();
  for (const auto& [name, before] : nodes) named.emplace(name, *next++);
  if (check_of(named) != check_) {
    *this = {};
    return SmpStatus::kStale;
  }
  is_complete_ = true;
  return SmpStatus::kDone;
}

}  // namespace splitnic::fabric
