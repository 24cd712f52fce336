#include "fabric_emul/switching/router.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "fabric_emul/link/received_cells.h"
#include "fabric_emul/wire/global_cell.h"

namespace splitnic::fabric {

Router::Router(std::span<Switch* const> switches) : cell_(ReceivedCells::kBatchBytesMax) {
  for (Switch* const at : switches) {
    const SwitchPlan& plan = at->plan();
    CHECK(plan.network && subnet_of(plan.network->subnet) == nullptr);
    Subnet subnet{at, {}};
    for (const auto& [name, lids] : plan.nodes) subnet.nodes.insert(lids.base);
    subnets_.push_back(std::move(subnet));
    for (const SwitchPlan::Network::Route& route : plan.network->routes) {
      const bool is_here = route.via == plan.lid || route.others.contains(plan.lid);
      if (!is_here) routes_.push_back({route.to, at, route.via});
    }
    at->set_global_receiver(this);
  }
  std::ranges::stable_sort(routes_, std::ranges::greater(),
                           [](const Route& route) { return route.to.bits; });
}

Router::~Router() {
  for (const Subnet& subnet : subnets_) subnet.at->set_global_receiver(nullptr);
}

const Router::Subnet* Router::subnet_of(const NetworkAddress& address) const {
  const auto at = std::ranges::find_if(subnets_, [&](const Subnet& subnet) {
    return is_same_subnet(subnet.at->plan().network->subnet, address);
  });
  return at == subnets_.end() ? nullptr : &*at;
}

// The switch of a node has checked its SLID, and other routers have checked theirs. The leg to a
// LAN sends datagrams from wherever its routes lead.
bool Router::is_origin(const SwitchPlan& plan, const MacHeader& header,
                       const NetworkAddress& source) const {
  const SwitchPlan::Network& network = *plan.network;
  const bool is_local = is_same_subnet(source, network.subnet);
  const bool may_be_of_lan = is_datagram(header) && is_routable(source);
  if (network.routers.contains(header.slid)) {
    return !is_local && (may_be_of_lan || lid_in(source));
  }
  if (source == network_address_of(network.subnet, header.slid)) return true;
  if (is_local || !may_be_of_lan || subnet_of(source) != nullptr) return false;
  const auto* route = network.route_to(source);
  return route != nullptr && route->via == header.slid;
}

bool Router::is_here(const NetworkAddress& address) const {
  return std::ranges::any_of(subnets_, [&](const Subnet& subnet) {
    const SwitchPlan& plan = subnet.at->plan();
    return address == network_address_of(plan.network->subnet, plan.lid);
  });
}

// The subnet by whose router a cell comes may be that of its destination: it is on its way there.
RouterCounter Router::check(const SwitchPlan& plan, const MacHeader& header, const Gnh& gnh) const {
  const NetworkAddress source{gnh.source}, destination{gnh.destination};
  if (!is_origin(plan, header, source)) return RouterCounter::kDropSource;
  if (is_here(destination) || is_same_subnet(source, destination)) {
    return RouterCounter::kDropDestination;
  }
  return gnh.hop_limit > 1 ? RouterCounter::kCell : RouterCounter::kDropHopLimit;
}

RouterCounter Router::find(const NetworkAddress& destination, Hop& hop) const {
  if (const Subnet* subnet = subnet_of(destination)) {
    const auto lid = lid_in(destination);
    if (!lid || !subnet->nodes.contains(*lid)) return RouterCounter::kDropNeighbour;
    hop = {subnet->at, *lid};
    return RouterCounter::kCell;
  }
  const auto route =
      std::ranges::find_if(routes_, [&](const Route& one) { return one.to.contains(destination); });
  if (route == routes_.end()) return RouterCounter::kDropRoute;
  hop = {route->at, route->via};
  return RouterCounter::kCell;
}

void Router::on_global(const Switch& at, SwitchPort& from, const ReceivedCell& cell,
                       const MacHeader& header) {
  const auto gnh = gnh_of(cell.bytes);
  if (!gnh) return counters_.add(RouterCounter::kDropHeader);
  RouterCounter result = check(at.plan(), header, *gnh);
  Hop hop{};
  if (result == RouterCounter::kCell) result = find(NetworkAddress{gnh->destination}, hop);
  counters_.add(result);
  if (result != RouterCounter::kCell) return;
  const std::size_t bytes =
      forward_global(cell_, cell.bytes, *gnh, {hop.to, hop.at->plan().lid}, cell.crc_head_only);
  MacHeader next;
  MacHeader::parse(cell_.data(), next);
  hop.at->forward(from, {{cell_.data(), bytes}, cell.vl, cell.crc_head_only, cell.blocks}, next);
}

bool Router::is_cut_off(const Switch& at) const {
  return std::ranges::any_of(subnets_, [&](const Subnet& subnet) {
    return subnet.at != &at && subnet.at->has_lost_cables();
  });
}

void Router::on_empty(std::uint8_t output, std::size_t lane) {
  for (const Subnet& subnet : subnets_) subnet.at->on_empty(output, lane);
}

}  // namespace splitnic::fabric
