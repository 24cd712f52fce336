#include "fabric_emul/subnet/node_setup.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "fabric_emul/wire/smp_lids.h"

namespace splitnic::fabric {

// A node that lacks LIDs again is one that has come again, or has not replied.
void NodeSetup::update(const SubnetView& view, const Routes& routes, base::Time now) {
  std::map<PortPlace, Node> before = std::exchange(nodes_, {});
  waiting_.clear();
  has_sweep_ = true;
  for (const Topology::Node& one : view.file().nodes) {
    const SmpNode::PortInfo* const info = view.port_up(one.at);
    const auto route = routes.find(one.at.of_switch);
    if (info == nullptr || route == routes.end() || route->second.hops == kSmpHopsMax) continue;
    Node& node = nodes_[one.at];
    const auto known = before.find(one.at);
    if (known != before.end() && known->second.eui64 == info->eui64) node = known->second;
    SmpRoute to_node = route->second;
    to_node.ports[to_node.hops++] = one.at.port;
    if (node.route != to_node) node.request.stop();
    node.name = one.name;
    node.lids = one.lids();
    node.route = to_node;
    node.eui64 = info->eui64;
    node.lacks_lids = info->state == SmpNode::PortState::kUnset;
    if (node.lacks_lids && !node.is_silent) {  // it has come again
      node.is_named = false;
      node.program.clear();
    }
    if (node.request.is_waiting()) waiting_.emplace(node.transaction, one.at);
  }
  wake_at_ = now;
  step(now);
}

void NodeSetup::stop() {
  nodes_.clear();
  waiting_.clear();
  wake_at_ = base::kNever;
  has_sweep_ = false;
}

// LIDs first: without them a node has no traffic.
void NodeSetup::request(const PortPlace& at, Node& node, base::Time now) {
  Smp smp;
  smp.manager = id_;
  smp.attribute = node.lacks_lids ? SmpAttribute::kPort : SmpAttribute::kNode;
  smp.method = node.lacks_lids ? SmpMethod::kSet : SmpMethod::kGet;
  smp.transaction = node.transaction = ++transaction_;
  smp.route = node.route;
  std::array<std::byte, kSmpPortBodyBytes> body;
  if (node.lacks_lids) {
    smp.body = base::Bytes(body).first(emit_smp_port(body, node.lids));
  }
  waiting_.emplace(node.transaction, at);
  node.request.start(smp, agent_, now);
}

void NodeSetup::end_request(Node& node) {
  node.request.stop();
  waiting_.erase(node.transaction);
}

bool NodeSetup::on_smp(const Smp& reply) {
  const auto waiting = waiting_.find(reply.transaction);
  if (waiting == waiting_.end()) return false;
  const PortPlace at = waiting->second;
  Node& node = nodes_.at(at);
  if (!node.request.is_reply(reply)) return false;
  end_request(node);
  wake_at_ = base::Time{};
  if (reply.attribute == SmpAttribute::kPort) {
    if (reply.status != SmpStatus::kDone) {
      on_silent(at, node);
    } else {
      node.lacks_lids = node.is_silent = false;
      node.is_named = !node.program.empty();  // or it was silent
    }
    return true;
  }
  SmpNode of_node;
  node.is_named = true;
  if (reply.status == SmpStatus::kDone && parse_smp_node(reply.body, of_node) == SmpError::kNone) {
    node.program = of_node.name;
  }
  return true;
}

// One that gets no LIDs is asked again after the next sweep.
void NodeSetup::on_silent(const PortPlace& at, Node& node) {
  node.is_named = true;
  if (!std::exchange(node.lacks_lids, false)) return;
  if (std::exchange(node.is_silent, true)) return;
  base::log_warn(
      "node " + node.name + " at port " + std::to_string(at.port) + " of switch " + at.of_switch +
      " does not accept LIDs from the subnet manager: its program may be too old for that");
}

void NodeSetup::step(base::Time now) {
  if (now < wake_at_) return;
  wake_at_ = base::kNever;
  for (auto& [at, node] : nodes_) {
    if (!node.request.repeat(agent_, now)) {
      end_request(node);
      on_silent(at, node);
      wake_at_ = now;  // another one may be asked
    }
    if (!node.request.is_waiting() && !is_done(node) && waiting_.size() < kAtOnce) {
      request(at, node, now);
    }
    if (node.request.is_waiting()) wake_at_ = std::min(wake_at_, node.request.repeat_at());
  }
}

NodeSetup::Programs NodeSetup::programs() const {
  Programs all;
  for (const auto& [at, node] : nodes_) {
    if (!node.program.empty()) all.emplace(at, node.program);
  }
  return all;
}

}  // namespace splitnic::fabric
