// The forwarding tables of one switch: the port by which each LID leaves, for all inputs or for
// each one [S000-36].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Ports of one switch, numbered from 1.
inline constexpr std::size_t kSwitchPortsMax = 32;

// The input of cells that a switch or router forwards and that came by no port of this subnet.
inline constexpr std::uint8_t kNoInput = 0;

class ForwardingTable {
 public:
  // 0: none. Any LID, also one from a cell.
  std::uint8_t port_of(Lid lid) const { return lid.value < ports_.size() ? ports_[lid.value] : 0; }
  void set(Lid lid, std::uint8_t port) {
    if (lid.value >= ports_.size()) ports_.resize(std::size_t{lid.value} + 1);
    ports_[lid.value] = port;
  }
  // By LID, up to the highest that was set.
  std::span<const std::uint8_t> ports() const { return ports_; }
  bool is_empty() const {
    return std::ranges::all_of(ports_, [](std::uint8_t port) { return port == 0; });
  }

 private:
  std::vector<std::uint8_t> ports_;
};

// The number of tables of a switch: one, or one per input.
enum class TablesPer : std::uint8_t { kSwitch, kInput };

class ForwardingTables {
 public:
  ForwardingTables() = default;  // one
  explicit ForwardingTables(TablesPer per)
      : tables_(per == TablesPer::kSwitch ? 1 : kSwitchPortsMax + 1) {}

  TablesPer per() const { return tables_.size() == 1 ? TablesPer::kSwitch : TablesPer::kInput; }
  // REQUIRES input <= kSwitchPortsMax.
  const ForwardingTable& of(std::uint8_t input) const { return tables_[index_of(input)]; }
  ForwardingTable& of(std::uint8_t input) { return tables_[index_of(input)]; }
  std::uint8_t port_of(Lid lid, std::uint8_t input = kNoInput) const {
    return of(input).port_of(lid);
  }

 private:
  std::size_t index_of(std::uint8_t input) const { return tables_.size() == 1 ? 0 : input; }

  std::vector<ForwardingTable> tables_{1};  // one, or by input
};

}  // namespace splitnic::fabric
