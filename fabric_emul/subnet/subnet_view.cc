#include "fabric_emul/subnet/subnet_view.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace splitnic::fabric {
namespace {

std::string lid_text(Lid lid) { return "LID " + std::to_string(lid.value); }

}  // namespace

SubnetView::SubnetView(const Topology& file) : file_(file) {
  for (const Topology::Switch& one : file_.switches) switches_[one.name] = &one;
  for (const Topology::Node& node : file_.nodes) nodes_[node.at] = &node;
  for (const Topology::Cable& cable : file_.cables) {
    cables_[cable.a] = cable.b;
    cables_[cable.b] = cable.a;
  }
}

void SubnetView::on_report(const Topology::Switch& expected, const SmpNode& node) {
  const PortPlace whole{expected.name, 0};
  if (node.lid != expected.lid || node.name != expected.name) {
    return refuse(whole, node.name + " (" + lid_text(node.lid) +
                             ") is where the topology file has " + expected.name + " (" +
                             lid_text(expected.lid) + ")");
  }
  refused_.erase(whole);
  if (const auto at = rejecting_.find(expected.name); at != rejecting_.end()) {
    if (without_nodes(at->second) == without_nodes(node)) return;
    rejecting_.erase(at);
  }
  SmpNode& report = reports_[expected.name] = node;
  for (SmpNode::PortInfo& info : report.ports) check_port({expected.name, info.number}, info);
}

void SubnetView::refuse_copies() {
  std::map<Eui64, std::string> first;
  std::set<std::string> copies;
  for (const Topology::Switch& one : file_.switches) {
    const SmpNode* const report = report_of(one.name);
    if (report == nullptr) continue;
    const auto [at, is_first] = first.emplace(report->eui64, one.name);
    if (is_first) continue;
    copies.insert(one.name);
    reports_.erase(one.name);
    if (copies_.contains(one.name)) continue;
    base::log_warn("refused by the subnet manager: switch " + one.name +
                   " has the EUI-64 of switch " + at->second + ": stop the copy");
  }
  copies_ = std::move(copies);
}

void SubnetView::check_port(const PortPlace& place, const SmpNode::PortInfo& info) {
  if (place.port == 0 || info.state == SmpNode::PortState::kDown) return;
  const auto expected = expected_at(place);
  if (expected == info.lid) {
    refused_.erase(place);
    return;
  }
  refuse(place, place.of_switch + " reports " + lid_text(info.lid) + " at its port " +
                    std::to_string(place.port) + ", where the topology file has " +
                    (expected ? lid_text(*expected) : "nothing"));
}

std::optional<Lid> SubnetView::expected_at(const PortPlace& place) const {
  if (const auto node = nodes_.find(place); node != nodes_.end()) return node->second->lid;
  const auto cable = cables_.find(place);
  if (cable == cables_.end()) return std::nullopt;
  return switches_.at(cable->second.of_switch)->lid;
}

void SubnetView::refuse(const PortPlace& place, const std::string& line) {
  if (!refused_.insert(place).second) return;
  base::log_warn("refused by the subnet manager: " + line +
                 ": start all switches with the same topology file");
}

const SmpNode* SubnetView::report_of(const std::string& name) const {
  const auto at = reports_.find(name);
  return at == reports_.end() ? nullptr : &at->second;
}

const Topology::Switch* SubnetView::find(const std::string& name) const {
  const auto at = switches_.find(name);
  return at == switches_.end() ? nullptr : at->second;
}

const SmpNode::PortInfo* SubnetView::port_up(const PortPlace& place) const {
  const SmpNode* report = report_of(place.of_switch);
  if (report == nullptr) return nullptr;
  const auto info = std::ranges::find(report->used_ports(), place.port, &SmpNode::PortInfo::number);
  const bool is_up = info != report->used_ports().end() &&
                     info->state != SmpNode::PortState::kDown && expected_at(place) == info->lid;
  return is_up ? &*info : nullptr;
}

SmpNode SubnetView::without_nodes(SmpNode node) const {
  for (std::size_t i = 0; i < node.port_count; ++i) {
    SmpNode::PortInfo& info = node.ports[i];
    if (cables_.contains({node.name, info.number})) continue;
    info.state = SmpNode::PortState::kDown;
    info.eui64 = Eui64();
  }
  return node;
}

bool SubnetView::has_same_tables(const Reports& before) const {
  return std::ranges::equal(reports_, before, [&](const auto& a, const auto& b) {
    return a.first == b.first && without_nodes(a.second) == without_nodes(b.second);
  });
}

bool SubnetView::lacks_lids() const {
  return std::ranges::any_of(reports_, [](const auto& one) {
    return std::ranges::any_of(one.second.used_ports(), [](const SmpNode::PortInfo& info) {
      return info.state == SmpNode::PortState::kUnset;
    });
  });
}

bool SubnetView::is_up(const Topology::Cable& cable) const {
  return is_up(cable.a) && is_up(cable.b);
}

std::vector<SubnetView::Neighbour> SubnetView::neighbours_of(const std::string& name) const {
  std::vector<Neighbour> all;
  for (std::uint8_t port = 1; port <= kSwitchPortsMax; ++port) {
    const auto cable = cables_.find({name, port});
    if (cable == cables_.end() || !is_up(cable->first)) continue;
    all.push_back({port, find(cable->second.of_switch)});
  }
  return all;
}

bool SubnetView::routes(const std::string& router) const {
  const SmpNode* report = report_of(router);
  return report != nullptr && !report->is_cut_off;
}

// Of a router in several routes the first counts for all: who stands in for it has routes for the
// rest.
std::vector<StandIn> SubnetView::stand_ins() const {
  std::vector<StandIn> all;
  if (!file_.network) return all;
  for (const Topology::Network::Route& route : file_.network->routes) {
    std::vector<std::string> routers{route.via};
    routers.insert(routers.end(), route.others.begin(), route.others.end());
    const auto by =
        std::ranges::find_if(routers, [this](const std::string& one) { return routes(one); });
    if (by == routers.end()) continue;
    for (const std::string& one : routers) {
      if (routes(one)) continue;
      const Lid of = find(one)->lid;
      if (std::ranges::find(all, of, &StandIn::of) == all.end())
        all.push_back({of, find(*by)->lid});
    }
  }
  return all;
}

// Whether the switch of this node has it at this port. One with another file may have a cable
// there, by which cells for the node would come back, or nothing, and then it takes no such table.
// LID 0: the node has none yet.
bool SubnetView::has_reported(const Topology::Node& node) const {
  const SmpNode* const report = report_of(node.at.of_switch);
  return report != nullptr &&
         std::ranges::any_of(report->used_ports(), [&](const SmpNode::PortInfo& info) {
           return info.number == node.at.port && (info.lid == node.lid || info.lid == Lid());
         });
}

Topology SubnetView::up() const {
  Topology out;
  for (const Topology::Switch& one : file_.switches) {
    if (report_of(one.name) != nullptr) out.switches.push_back(one);
  }
  out.routing = file_.routing;
  out.tables_per = file_.tables_per;
  for (const Topology::Node& node : file_.nodes) {
    if (has_reported(node)) out.nodes.push_back(node);
  }
  for (const Topology::Cable& cable : file_.cables) {
    if (is_up(cable)) out.cables.push_back(cable);
  }
  return out;
}

}  // namespace splitnic::fabric
