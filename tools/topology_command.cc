#include "tools/topology_command.h"

#include "control/report/fabric_map.h"
#include "tools/commands.h"

namespace splitnic::tools {

void add_topology(CLI::App& show, TopologyArguments& into) {
  auto* topology = show.add_subcommand("topology",
                                       "Switches, nodes and cables of the fabric and their load, "
                                       "as its subnet manager has found them");
  topology
      ->add_option("node", into.node,
                   "Its --name: the switch with the manager (default: the only program there is)")
      ->type_name("NODE");
  auto* json = topology->add_flag("-j,--json", into.json, "As JSON");
  auto* dot = topology->add_flag("--dot", into.dot, "Print as Graphviz (dot -Tsvg)");
  dot->excludes(json);
  topology->add_flag("--svg", into.svg, "As a picture (SVG): each link in the colour of its load")
      ->excludes(json)
      ->excludes(dot);
  topology->add_option("--control", into.socket, "Control socket of the program, or its --name")
      ->type_name("PATH");
}

int run_topology(const TopologyArguments& typed) {
  const auto socket = socket_of("show topology", typed.node, typed.socket);
  if (!socket) return bad_usage(socket.error().text());
  using control::FabricMapForm;
  const FabricMapForm form = typed.json  ? FabricMapForm::kJson
                             : typed.dot ? FabricMapForm::kDot
                             : typed.svg ? FabricMapForm::kSvg
                                         : FabricMapForm::kText;
  control::Request request;
  request.command = control::Command::kTopology;
  request.what = name(form);
  return ask_and_print(*socket, request);
}

}  // namespace splitnic::tools
