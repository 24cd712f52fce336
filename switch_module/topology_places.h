// The places of a topology file, SWITCH:PORT: each is taken once, and is at a switch of the file.
// Thread: its owner.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "control/config/toml.h"
#include "control/config/toml_field.h"
#include "fabric_emul/switching/topology.h"

namespace splitnic::fabric_switch {

class TopologyPlaces {
 public:
  // Takes the place that the text names. An error at `field`: it is none, or is taken.
  base::Result<fabric::PortPlace> take(const control::TomlField& field, std::string_view text);
  // Takes one place, or those of a list, of one for each queue of a node.
  base::Result<std::vector<fabric::PortPlace>> take_all(const control::TomlValue& value,
                                                        const control::TomlField& field);
  // An error at the first one at a switch that is none of these.
  base::Status check(const std::set<std::string_view>& switches) const;

 private:
  struct Used {
    control::TomlField field;
    fabric::PortPlace place;
  };
  std::map<fabric::PortPlace, control::TomlPlace> taken_;
  std::vector<Used> used_;  // in the order of the file
};

}  // namespace splitnic::fabric_switch
