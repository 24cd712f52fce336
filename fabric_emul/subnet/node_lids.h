// The LIDs of all nodes of a subnet as SMPs carry them to a switch: in ascending order of names, in
// parts, with a check value over names and LIDs. They come into force as a whole, so a switch never
// mixes those of two managers or files. Pure. Thread: the data thread. docs/protocol/subnet.md
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/port_lids.h"
#include "fabric_emul/wire/smp_lids.h"

namespace splitnic::fabric {

using NodeLids = std::map<std::string, PortLids, std::less<>>;

NodeLids lids_of(const Topology& topology);
// Returns the CRC-32C over each name, a zero byte, base LID and LMC, ascending by name.
std::uint32_t check_of(const NodeLids& nodes);

// The LIDs of a subnet in the parts that a manager sets. REQUIRES at most UINT16_MAX nodes.
class LidParts {
 public:
  explicit LidParts(const NodeLids& nodes);
  std::size_t nodes() const { return lids_.size(); }
  std::uint32_t check() const { return check_; }
  std::size_t count() const;
  SmpLids part(std::size_t number) const;  // REQUIRES number < count()

 private:
  std::vector<PortLids> lids_;  // ascending by name
  std::uint32_t check_;
};

// The parts that a switch has of one set.
class StagedLids {
 public:
  // Takes one. They come in whatever order, and each as often as it does; a part of another set
  // replaces those before. `nodes` are those of the subnet. kBad: it has another number of them.
  // kStale: all parts are there, and the check is wrong. REQUIRES entries.
  SmpStatus take(const SmpLids& part, const NodeLids& nodes);
  bool is_complete() const { return is_complete_; }
  // Of all nodes, ascending by name. REQUIRES is_complete().
  const std::vector<PortLids>& lids() const { return lids_; }

 private:
  std::uint32_t check_ = 0;
  std::vector<PortLids> lids_;  // base 0: not there yet
  bool is_complete_ = false;
};

}  // namespace splitnic::fabric
