#include "fabric_emul/simulation/model.h"

#include <unordered_map>
#include <utility>

namespace splitnic::fabric::simulation {

Model::Model(const Topology& topology, const Settings& settings)
    : switches(topology.switches.size()),
      lanes(settings.lanes_of_line()),
      whole_(graph_of(topology)),
      layers_lanes_(settings.layers_lanes) {
  std::unordered_map<std::string, std::uint32_t> vertices;
  for (const Topology::Switch& one : topology.switches) {
    vertices.emplace(one.name, static_cast<std::uint32_t>(names.size()));
    names.push_back(one.name);
  }
  for (const Topology::Node& node : topology.nodes) {
    names.push_back(node.name);
    node_lids.push_back(node.lid);
  }
  is_vertex_up.assign(names.size(), true);
  line_by_port.assign(names.size() * (kSwitchPortsMax + 1), kNone);
  for (const Topology::Cable& cable : topology.cables) {
    add_cable(vertices.at(cable.a.of_switch), cable.a.port, vertices.at(cable.b.of_switch),
              cable.b.port, settings);
  }
  for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
    const PortPlace& at = topology.nodes[node].at;
    add_cable(node_vertex(static_cast<std::uint16_t>(node)), 0, vertices.at(at.of_switch), at.port,
              settings);
  }
  first_queue = buffers.size();
  for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
    for (std::uint8_t lane = 0; lane < settings.lanes_of_line(); ++lane) {
      InputBuffer& queue = buffers.emplace_back();
      queue.vertex = node_vertex(static_cast<std::uint16_t>(node));
      queue.lane = lane;
      queue.cells.resize(settings.queue_cells);
    }
  }
}

void Model::add_cable(std::uint32_t a, std::uint8_t a_port, std::uint32_t b, std::uint8_t b_port,
                      const Settings& settings) {
  add_line(a, a_port, b, b_port, settings);
  add_line(b, b_port, a, a_port, settings);
}

void Model::add_line(std::uint32_t from, std::uint8_t from_port, std::uint32_t to,
                     std::uint8_t to_port, const Settings& settings) {
  const auto number = static_cast<std::uint32_t>(lines.size());
  line_by_port[std::size_t{from} * (kSwitchPortsMax + 1) + from_port] = number;
  Line& line = lines.emplace_back();
  line.from = from;
  line.to = to;
  line.from_port = from_port;
  line.to_port = to_port;
  line.to_node = !is_switch(to);
  line.first_buffer = static_cast<std::uint32_t>(buffers.size());
  line.first_lane = static_cast<std::uint32_t>(outputs.size());
  for (std::uint8_t lane = 0; lane < settings.lanes_of_line(); ++lane) {
    outputs.push_back({.credits = settings.buffer_cells});
    // A node takes what comes at once and has credits only.
    if (line.to_node) continue;
    InputBuffer& buffer = buffers.emplace_back();
    buffer.vertex = to;
    buffer.fed_by = number;
    buffer.lane = lane;
    buffer.cells.resize(settings.buffer_cells);
  }
}

// As Switch::lane_of() has it: what a node sends is in the first layer.
std::uint8_t Model::lane_on(const Line& line, const InputBuffer& buffer) const {
  if (!layers_lanes_ || line.to_node || buffer.fed_by == kNone) return buffer.lane;
  const std::uint32_t before = lines[buffer.fed_by].from;
  if (!is_switch(before) || !dips_at(lid_of(line.from), lid_of(before), lid_of(line.to))) {
    return buffer.lane;
  }
  return in_layer(buffer.lane, layer_behind_dip(layer_of(buffer.lane)));
}

std::string Model::name_of(std::uint32_t vertex, std::uint8_t port) const {
  return is_switch(vertex) ? names[vertex] + ":" + std::to_string(port) : names[vertex];
}

SubnetGraph Model::graph() const {
  SubnetGraph up = whole_;
  for (std::uint32_t at = 0; at < switches; ++at) {
    std::erase_if(up.switches[at].cables, [&](const SubnetGraph::Cable& cable) {
      return !lines[line_at(at, cable.port)].is_up;
    });
  }
  std::erase_if(up.nodes, [&](const SubnetGraph::Node& node) {
    return !lines[line_at(node.at, node.port)].is_up;
  });
  return up;
}

}  // namespace splitnic::fabric::simulation
