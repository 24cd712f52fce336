// The settings that a subnet manager gives each switch apart from tables, where the topology file
// leaves them to the manager: the LIDs of nodes (LIDS), and lanes and partitions (POLICY). Both are
// read by their check value and set in parts. Pure. Thread: the data thread.
// docs/protocol/subnet.md#sweep
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "fabric_emul/subnet/node_lids.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/wire/smp.h"

namespace splitnic::fabric {

class SwitchSettings {
 public:
  explicit SwitchSettings(const Topology& file);
  // Lanes and partitions are those of this file from now on. REQUIRES that the files
  // differ_in_policy_only().
  void set_policy(const Topology& file);

  // The attributes that are the manager's, in the order in which a switch gets them.
  const std::vector<SmpAttribute>& attributes() const { return attributes_; }
  // "lanes and partitions"
  static std::string text_of(SmpAttribute attribute) {
    return attribute == SmpAttribute::kLids ? "LIDs of nodes" : "lanes and partitions";
  }
  // Of one of these attributes and a switch of the file. The body of GET, or of SET of a part:
  // writes it at out, and returns its bytes. REQUIRES room for a body of this attribute.
  static std::size_t write_get(SmpAttribute attribute, base::MutableBytes out);
  std::size_t write_part(SmpAttribute attribute, const std::string& of_switch, std::size_t number,
                         base::MutableBytes out) const;
  std::size_t parts(SmpAttribute attribute, const std::string& of_switch) const;
  // Whether the body of a reply states what the switch should have; nothing: it is none.
  std::optional<bool> is_in_force(SmpAttribute attribute, const std::string& of_switch,
                                  base::Bytes reply) const;

 private:
  struct Policy {
    std::vector<std::byte> bytes;
    std::uint32_t check = 0;
  };

  const LidParts lids_;
  std::vector<SmpAttribute> attributes_;
  std::map<std::string, Policy> policies_;  // of all switches, or of none
};

}  // namespace splitnic::fabric
