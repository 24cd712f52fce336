// State-table edges that the target has passed; the watches detect them (watch.h). Thread: one
// owner.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/states/state_list.h"

namespace splitnic::conformance {

// One table in a report. An edge that no suite sees counts nowhere.
struct TableCoverage {
  const StateTable* table = nullptr;
  std::size_t reached = 0, total = 0;          // edges
  std::size_t states_reached = 0, states = 0;  // that these edges lead to or from
  struct Missing {
    const Edge* edge = nullptr;
    std::string why{};
    bool is_out_of_reach = false;  // for any suite of this role: it counts nowhere
    // "UP to SILENT, nothing heard for too long: ..."
    std::string text() const;
  };
  std::vector<Missing> missing{};  // the edges that were not reached, and those that nobody sees
};

class Coverage {
 public:
  explicit Coverage(Role role = Role::kHost, bool is_keyed = false)
      : role_(role), is_keyed_(is_keyed) {}

  // REQUIRES an edge of the list. One that the list has as not seen in this role counts nowhere.
  void reach(std::string_view table, std::string_view edge);
  bool has(std::string_view table, std::string_view edge) const;

  // The tables that the role and the kind of link have.
  std::vector<TableCoverage> tables() const;
  // In whole percent, rounded down; 100 if there is no table.
  static unsigned percent_of(const std::vector<TableCoverage>& tables);

 private:
  Role role_;
  bool is_keyed_;
  std::set<std::pair<std::string, std::string>, std::less<>> reached_;
};

}  // namespace splitnic::conformance
