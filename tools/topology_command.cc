#include "tools/topology_command.h"

#include "control/report/fabric_map.h"
#include "tools/commands.h"

namespace splitnic::tools {

void add_topology(CLI::App& show, TopologyArguments& into) {
  auto* topology = show.add_subcommand(
      "topology", "Switches, nodes and cables of the fabric, as its subnet manager has found them");
  topology
      ->add_option("node", into.node,
                   "Its --name: the switch with the manager (default: the only program there is)")
      ->type_name("NODE");
  auto* json = topology->add_flag("-j,--json", into.json, "As JSON");
  topology->add_flag("--dot", into.dot, "Print as Graphviz (dot -Tsvg)")->excludes(json);
  topology->add_option("--control", into.socket, "Control socket of the program, or its --name")
      ->type_name("PATH");
}

int run_topology(const TopologyArguments& typed) {
  const auto socket = socket_of("show topology", typed.node, typed.socket);
  if (!socket) return bad_usage(socket.error().text());
  using control::FabricMapForm;
  const FabricMapForm form = typed.json  ? FabricMapForm::kJson
                             : typed.dot ? FabricMapForm::kDot
                                         : FabricMapForm::kText;
  control::Request request;
  request.command = control::Command::kTopology;
  request.what = name(form);
  return ask_and_print(*socket, request);
}

}  // namespace splitnic::tools
