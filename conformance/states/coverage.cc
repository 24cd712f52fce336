#include "conformance/states/coverage.h"

#include <algorithm>

#include "base/check.h"

namespace splitnic::conformance {

std::string TableCoverage::Missing::text() const {
  return edge->from + " to " + edge->to + ", " + edge->event + ": " + why;
}

void Coverage::reach(std::string_view table, std::string_view edge) {
  const auto& all = state_tables();
  const auto found = std::ranges::find(all, table, &StateTable::name);
  CHECK(found != all.end() &&
        std::ranges::find(found->edges, edge, &Edge::id) != found->edges.end());
  reached_.emplace(table, edge);
}

bool Coverage::has(std::string_view table, std::string_view edge) const {
  return reached_.contains(std::pair(std::string(table), std::string(edge)));
}

std::vector<TableCoverage> Coverage::tables() const {
  std::vector<TableCoverage> out;
  for (const StateTable& table : state_tables()) {
    if (!table.is_of_target(role_) || (table.is_keyed && !is_keyed_)) continue;
    TableCoverage one{.table = &table};
    std::set<std::string_view> states, reached;
    for (const Edge& edge : table.edges) {
      if (!edge.not_seen(role_).empty()) {
        one.missing.push_back({&edge, edge.not_seen(role_), true});
        continue;
      }
      ++one.total;
      states.insert({edge.from, edge.to});
      if (has(table.name, edge.id)) {
        ++one.reached;
        reached.insert({edge.from, edge.to});
      } else {
        const std::string why =
            edge.slow.empty() ? "no case of this run has reached it" : edge.slow;
        one.missing.push_back({&edge, why, false});
      }
    }
    one.states = states.size();
    one.states_reached = reached.size();
    if (one.total > 0) out.push_back(std::move(one));
  }
  return out;
}

unsigned Coverage::percent_of(const std::vector<TableCoverage>& tables) {
  std::size_t reached = 0, total = 0;
  for (const TableCoverage& one : tables) {
    reached += one.reached;
    total += one.total;
  }
  return total == 0 ? 100 : static_cast<unsigned>(100 * reached / total);
}

}  // namespace splitnic::conformance
