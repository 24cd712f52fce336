#include "fabric_emul/subnet/routes.h"

#include "fabric_emul/routing/routing.h"

namespace splitnic::fabric {

std::map<std::string, ForwardingTable> routes_of(const Topology& topology,
                                                 const std::vector<StandIn>& stand_ins) {
  const SubnetGraph graph = graph_of(topology);
  auto found = make_routing(topology.routing)->tables(graph);
  // The rest of a fat tree may be none: up*/down* is for every form, and has no deadlock either.
  if (!found) found = make_routing(RoutingKind::kUpDown)->tables(graph);
  std::map<std::string, ForwardingTable> tables;
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    ForwardingTable& table = tables[topology.switches[i].name] = std::move(found.value()[i]);
    for (const StandIn& one : stand_ins) table.set(one.of, table.port_of(one.by));
  }
  return tables;
}

}  // namespace splitnic::fabric
