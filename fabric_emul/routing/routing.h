// The seam of routing algorithms: from what is up of a subnet to the forwarding table of each
// switch. docs/topology_file.md describes those that there are. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric_emul/routing/forwarding_table.h"
#include "fabric_emul/routing/subnet_graph.h"

namespace splitnic::fabric {

enum class RoutingKind : std::uint8_t { kShortest, kUpDown, kFatTree, kLayered };

class Routing {
 public:
  virtual ~Routing() = default;
  // Returns the tables by the index of the switch: one each, or those of kNoInput and of each port
  // at which something is. A LID that no route leads to has no port, nor has that of the switch
  // itself. The tables follow from LIDs, ports and cables: not from the
  // order of switches and nodes in the graph. An error: the graph is not of the form that this one
  // is for. REQUIRES LIDs and ports that occur once, and cables that both ends have.
  virtual base::Result<std::vector<ForwardingTables>> tables(const SubnetGraph& graph) const = 0;
};

std::unique_ptr<const Routing> make_routing(RoutingKind kind, TablesPer per = TablesPer::kSwitch);

// Those of kRoutingNames, as people type them.
inline constexpr std::string_view kRoutingNames = "shortest, updown, fattree or layered";
std::string_view name(RoutingKind kind);
std::optional<RoutingKind> parse_routing(std::string_view text);
// "per_switch" or "per_input".
std::string_view name(TablesPer per);
std::optional<TablesPer> parse_tables_per(std::string_view text);

}  // namespace splitnic::fabric
