// The LIDs of a topology file, each of which is at one place. Thread: its owner.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "control/config/toml.h"
#include "control/config/toml_field.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

class TakenLids {
 public:
  // An error at `field`: another one has it.
  base::Status take(const control::TomlField& field, fabric::Lid lid) {
    const auto [taken, is_new] = lids_.try_emplace(lid, field.at());
    if (is_new) return {};
    return field.error(std::to_string(lid.value) + " is taken in line " +
                       std::to_string(taken->second.line));
  }
  // The LIDs of a port behind its base, which is taken. `field` is that of the LMC.
  base::Status take_rest(const control::TomlField& field, const fabric::PortLids& lids) {
    if (lids.base.value % lids.count() != 0) {
      return field.error("lid " + std::to_string(lids.base.value) + " is no multiple of " +
                         std::to_string(lids.count()));
    }
    for (unsigned path = 1; path < lids.count(); ++path) {
      if (auto taken = take(field, lids.of_path(path)); !taken) return taken;
    }
    return {};
  }
  // An error at the first one that is not below this.
  base::Status check_below(fabric::Lid bound, const std::string& why) const {
    const auto beyond = lids_.lower_bound(bound);
    if (beyond == lids_.end()) return {};
    return control::error_at(beyond->second, "lid: " + std::to_string(beyond->first.value) +
                                                 " is not from 1 to " +
                                                 std::to_string(bound.value - 1) + why);
  }

 private:
  std::map<fabric::Lid, control::TomlPlace> lids_;
};

}  // namespace splitnic::fabric_switch
