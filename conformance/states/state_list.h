// The state tables of the protocol as a list of their edges: docs/protocol/states.json, which is
// built into the suite. A row of a page that has several states or events is several edges.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/role.h"

namespace splitnic::conformance {

struct Edge {
  std::string id{};  // within its table
  std::string from{}, event{}, to{};
  std::string row{};   // the states that the page has in this row
  std::string slow{};  // why no case drives it, although it could
  // The reason why the suite of a role does not drive its target over this edge, or cannot see it:
  // "" if it does both.
  std::string not_of_unit{}, not_of_host{}, not_of_manager{};

  // Of a suite of this role, whose target is the other end.
  const std::string& not_seen(Role role) const {
    if (role == Role::kSubnet) return not_of_manager;
    return role == Role::kHost ? not_of_unit : not_of_host;
  }
};

struct StateTable {
  std::string name{};
  std::string page{};          // in docs/protocol
  std::string heading{};       // of the section, or the line before the table
  bool is_keyed = false;       // of keyed links only
  bool is_of_manager = false;  // else of an end node
  std::vector<Edge> edges{};

  // Whether the target of a suite of this role has these states. A switch has none of an end node.
  bool is_of_target(Role role) const {
    return is_of_manager ? role == Role::kSubnet : role == Role::kHost || role == Role::kUnit;
  }
};

// Of the JSON that is built in. It ends the program if it is not what a test has checked.
const std::vector<StateTable>& state_tables();

}  // namespace splitnic::conformance
