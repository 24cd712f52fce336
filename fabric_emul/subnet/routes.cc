#include "fabric_emul/subnet/routes.h"

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

std::map<std::string, ForwardingTables> routes_of(const Topology& topology,
                                                  const std::vector<StandIn>& stand_ins) {
  const SubnetGraph graph = graph_of(topology);
  auto found = make_routing(topology.routing, topology.tables_per)->tables(graph);
  // The rest of a fat tree may be none, and that of a mesh may have routes with two dips: up*/down*
  // is for every form, and has no deadlock either. Switches that layer lanes change nothing in
  // that: cells go from layer 0 to layer 1 only, and within a layer wait for each other as without.
  if (!found) found = make_routing(RoutingKind::kUpDown, topology.tables_per)->tables(graph);
  std::map<std::string, ForwardingTables> tables;
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    ForwardingTables& of = tables[topology.switches[i].name] = std::move(found.value()[i]);
    const std::size_t inputs = of.per() == TablesPer::kSwitch ? 1 : kSwitchPortsMax + 1;
    for (std::size_t input = 0; input < inputs; ++input) {
      ForwardingTable& table = of.of(static_cast<std::uint8_t>(input));
      for (const StandIn& one : stand_ins) table.set(one.of, table.port_of(one.by));
    }
  }
  return tables;
}

}  // namespace splitnic::fabric
