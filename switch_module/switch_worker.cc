#include "switch_module/switch_worker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "control/identity.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::fabric_switch {
namespace {

// Nodes that have a link to the leg to a LAN.
constexpr std::size_t kNodesOfLeg = 1024;

// A switch has no queue pairs: its adapter is empty, but for a leg to a LAN.
fabric::AdapterLimits adapter_limits(const SwitchOptions& options) {
  if (!options.lan.empty()) return control::RawLeg::limits();
  return {.qps = 1, .memory_entries = 1, .att_pages = 1, .cqs = 1, .ports = 0};
}

}  // namespace

SwitchWorker::SwitchWorker(const control::Process& process, const SwitchOptions& options)
    : Worker(process, options.common, adapter_limits(options), 0),
      options_(options),
      admin_(options, clock_,
             [this](const base::CounterVisitor& visitor) { visit_all_carriers(visitor); }) {
  keyed_.report_unknown_keys("if it is a neighbour, add the key to the topology file");
}

base::Status SwitchWorker::read() {
  if (auto read = read_files(); !read) return read;
  if (auto checked = check_router(); !checked) return checked;
  if (auto made = make_switches(); !made) return made;
  make_management();
  return {};
}

base::Status SwitchWorker::read_files() {
  for (const std::string& path : options_.topologies) {
    auto file = read_topology(path);
    if (!file) return file.error().within("--topology");
    // Without credits an input waits with all of its lanes, so layers of them separate nothing.
    const bool has_credits =
        options_.common.port.profile == fabric::LinkProfile::kFull && !is_shm();
    if (file->topology.routing == fabric::RoutingKind::kLayered && !has_credits) {
      return base::Error("--topology: " + path +
                         " has routing = \"layered\", which needs lanes with credits: start all of "
                         "the subnet with --link-profile full, or take updown");
    }
    auto subnet = std::make_unique<Subnet>();
    subnet->path = path;
    subnet->file = *std::move(file);
    subnets_.push_back(std::move(subnet));
  }
  return {};
}

// Nodes of a subnet take from other subnets what comes by a switch that a route names.
base::Status SwitchWorker::check_router() const {
  if (subnets_.size() == 1) return {};
  for (const auto& subnet : subnets_) {
    const std::string& where = subnet->path;
    const auto& network = subnet->file.topology.network;
    if (!network)
      return base::Error("--topology: " + where + " has no prefix, and a router needs it");
    const bool is_router =
        std::ranges::any_of(network->routes, [name = options_.common.name()](const auto& route) {
          return route.via == name || std::ranges::find(route.others, name) != route.others.end();
        });
    if (!is_router) {
      return base::Error("--topology: no route of " + where + " leads by " +
                         options_.common.name());
    }
    for (const auto& other : subnets_) {
      if (other == subnet) break;
      if (is_same_subnet(other->file.topology.network->subnet, network->subnet)) {
        return base::Error("--topology: " + other->path + " and " + where + " have one prefix");
      }
    }
  }
  return {};
}

base::Status SwitchWorker::make_switches() {
  std::vector<fabric::SwitchPlan> plans;
  std::size_t used = 0;
  for (const auto& subnet : subnets_) {
    auto plan = fabric::plan_of(subnet->file.topology, options_.common.name());
    if (!plan) return plan.error().within("--topology: " + subnet->path);
    used += plan->used_ports();
    plans.push_back(*std::move(plan));
  }
  std::vector<fabric::Switch*> switches;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].ports_beyond = used - plans[i].used_ports();
    subnets_[i]->at = std::make_unique<fabric::Switch>(std::move(plans[i]), random_);
    switches.push_back(subnets_[i]->at.get());
  }
  for (const auto& subnet : subnets_) {
    if (auto own = check_own_key(*subnet); !own) return own;
    for (std::uint8_t number = 1; number <= fabric::kSwitchPortsMax; ++number) {
      if (auto checked = check_port(*subnet, number); !checked) return checked;
    }
  }
  if (auto lan = check_lan(); !lan) return lan;
  if (switches.size() > 1) router_.emplace(switches);
  return {};
}

fabric::PortConfig SwitchWorker::port_config() const {
  fabric::PortConfig config = options_.common.port;
  config.eui64 = fabric::Eui64(control::node_eui64(options_.common.name(), "switch"));
  config.instance = instance_;
  return config;
}

void SwitchWorker::make_management() {
  const fabric::Eui64 eui64 = port_config().eui64;
  std::vector<SwitchAdmin::Subnet> shown;
  for (const auto& subnet : subnets_) {
    const fabric::Topology& topology = subnet->file.topology;
    subnet->agent.emplace(*subnet->at, eui64);
    if (options_.manage) {
      subnet->manager.emplace(topology, options_.common.name(), *options_.manage, *subnet->agent,
                              random_);
    }
    if (topology.policy_from == fabric::GivenBy::kManager) {
      base::log_info(
          "nodes at this switch reach nobody until the subnet manager has set its lanes " +
          std::string("and partitions"));
    }
    shown.push_back({subnet->at.get(), &*subnet->agent, &topology,
                     subnet->manager ? &*subnet->manager : nullptr});
  }
  admin_.attach(std::move(shown), router_ ? &*router_ : nullptr);
}

bool SwitchWorker::step(base::Time now) {
  bool made_progress = false;
  for (const auto& subnet : subnets_) {
    subnet->agent->step(now);
    if (subnet->manager) subnet->manager->step(now);
    made_progress |= subnet->at->step(now);
  }
  if (leg_) made_progress |= leg_->step(now);
  if (!names_.empty()) follow_names(now);
  return made_progress || has_inner_traffic();
}

base::Time SwitchWorker::deadline() const {
  base::Time at = names_.deadline();
  if (leg_) at = std::min(at, adapter_.deadline());
  for (const auto& subnet : subnets_) {
    at = std::min({at, subnet->at->deadline(), subnet->agent->deadline()});
    if (subnet->manager) at = std::min(at, subnet->manager->deadline());
  }
  return at;
}

std::uint64_t SwitchWorker::bytes_processed() const {
  std::uint64_t bytes = 0;
  for (const auto& subnet : subnets_) bytes += subnet->at->bytes_forwarded();
  if (leg_) bytes += leg_->bytes();
  return bytes;
}

std::string SwitchWorker::status() const {
  std::size_t up = 0;
  std::size_t all = 0;
  for (const auto& subnet : subnets_) {
    const auto ports = subnet->at->ports();
    all += ports.size();
    up += static_cast<std::size_t>(std::ranges::count_if(
        ports, [](const auto& port) { return port.link != nullptr && port.link->up(); }));
  }
  return std::to_string(up) + " of " + std::to_string(all) + " ports up";
}

bool SwitchWorker::is_drained() const {
  return std::ranges::all_of(subnets_,
                             [](const auto& subnet) { return subnet->at->waiting_cells() == 0; });
}

void SwitchWorker::stop(base::Time now) {
  if (leg_) {
    leg_->stop(now);
    step(now);
  }
  for (const auto& subnet : subnets_) subnet->at->send_bye(now);
}

const SwitchWorker::Subnet* SwitchWorker::at_port(std::uint8_t number) const {
  const auto found = std::ranges::find_if(subnets_, [&](const auto& subnet) {
    return !subnet->at->plan().ports.at(number).peer.empty();
  });
  return found == subnets_.end() ? nullptr : found->get();
}

// Neighbours know this switch by what the file has.
base::Status SwitchWorker::check_own_key(const Subnet& subnet) const {
  const auto stated = subnet.file.keys.find(options_.common.name());
  if (!options_.common.keys.are_given() || stated == subnet.file.keys.end()) return {};
  const auto own = fabric::session::read_key_file(options_.common.keys.key_file);
  if (!own) return own.error().within("--key-file");
  const fabric::session::PublicKey key = fabric::session::public_key_of(*own);
  if (key == stated->second) return {};
  return base::Error("--key-file: its public key is " + fabric::session::base64_of(key.bytes) +
                     ", and [switches." + options_.common.name() + "] in " + subnet.path +
                     " has another one");
}

// A port is keyed or plain as the option is, and the file must not mean the other.
base::Status SwitchWorker::check_port(const Subnet& subnet, std::uint8_t number) const {
  const fabric::SwitchPlan::Port& planned = subnet.at->plan().ports.at(number);
  if (planned.peer.empty()) return {};
  const std::string what =
      planned.peer + " is at port " + std::to_string(number) + " in " + subnet.path;
  if (at_port(number) != &subnet) {
    return base::Error("--port: " + what + ", and something else in " + at_port(number)->path);
  }
  if (number == options_.lan_port()) return {};
  if (number > options_.ports.size()) {
    return base::Error("--port: " + what + ", and there are " +
                       std::to_string(options_.ports.size()) + " ports");
  }
  if (options_.ports[number - 1U].at.is_shm()) return {};
  const bool has_key = subnet.file.keys.contains(planned.peer);
  if (has_key == options_.common.keys.are_given()) return {};
  return base::Error(has_key ? "--key-file is missing: " + what + " with a key"
                             : "--key-file: " + what + " without a key: add key = \"...\"");
}

base::Status SwitchWorker::open(const Endpoints& at) {
  for (; opened_ < options_.ports.size(); ++opened_) {
    const auto number = static_cast<std::uint8_t>(opened_ + 1);
    if (at_port(number) == nullptr) {
      base::log_warn("port " + std::to_string(number) + " is not opened: " +
                     (subnets_.size() == 1 ? subnets_.front()->path + " lists nothing there"
                                           : "no topology file lists anything there") +
                     ": add a node or cable");
      continue;
    }
    if (auto opened = open_port(number, options_.ports[opened_], *at[opened_]); !opened)
      return opened;
  }
  return options_.lan.empty() ? base::Status() : open_lan();
}

// The leg is a node of the subnet that has it at its port, where datagrams are checked by network
// address.
base::Status SwitchWorker::check_lan() const {
  if (options_.lan.empty()) return {};
  const std::uint8_t number = options_.lan_port();
  const Subnet* subnet = at_port(number);
  if (subnet == nullptr || !subnet->at->plan().ports.at(number).is_node()) {
    return base::Error("--lan: no node is at port " + std::to_string(number) +
                       " of this switch in any topology file");
  }
  if (!subnet->file.topology.network) {
    return base::Error("--lan: " + subnet->path + " has no prefix, and the leg to a LAN needs it");
  }
  return {};
}

std::vector<TopologyFile> SwitchWorker::topologies() const {
  std::vector<TopologyFile> files;
  for (const auto& subnet : subnets_) files.push_back(subnet->file);
  return files;
}

SwitchWorker::PolicyChange SwitchWorker::set_policy(std::size_t file, fabric::Topology topology) {
  Subnet& subnet = *subnets_.at(file);
  subnet.file.topology = std::move(topology);
  const fabric::Topology& now = subnet.file.topology;
  if (now.policy_from == fabric::GivenBy::kFile) {
    subnet.at->set_policy(fabric::policies_of(now).at(options_.common.name()));
    return PolicyChange::kDone;
  }
  if (!subnet.manager) return PolicyChange::kIsOfManager;
  subnet.manager->set_policy(now);
  return subnet.manager->is_master() ? PolicyChange::kDone : PolicyChange::kStandsBy;
}

base::Status SwitchWorker::open_lan() {
  if (leg_) return {};
  auto tun = lan::TunDevice::open(options_.lan, fabric::DatagramGate::kDatagramBytesMax);
  if (!tun) return tun.error().within("--lan");
  const std::uint8_t number = options_.lan_port();
  const InnerHop hop = attach_here("lan", is_shm());
  fabric::PortConfig config = port_config();
  config.crc_head_only = is_shm();
  config.profile = fabric::LinkProfile::kSpeed;
  at_port(number)->at->add_port(number, hop.of_switch, config, nullptr, clock_.now());
  fabric::PortConfig of_leg = options_.common.port;
  of_leg.listens = true;
  of_leg.links_max = kNodesOfLeg;
  const auto port = add_attached_port(hop.of_node, of_leg, "leg", is_shm());
  if (!port) return port.error().within("--lan");
  tun_ = *std::move(tun);
  leg_.emplace(adapter_, **port, hop.of_node, *tun_, fabric::GateSide::kLan);
  admin_.set_leg(*leg_);
  return leg_->open(clock_.now());
}

void SwitchWorker::follow_names(std::vector<std::unique_ptr<control::NameLookup>> lookups,
                                const Endpoints& at) {
  for (std::size_t carrier = 0; carrier < numbers_.size(); ++carrier) {
    const std::size_t index = numbers_[carrier] - 1U;
    links_.push_back(nullptr);
    if (!options_.ports[index].at.is_name()) continue;
    for (const auto& view : at_port(numbers_[carrier])->at->ports()) {
      if (view.number == numbers_[carrier]) links_.back() = view.link;
    }
    names_.add(carrier, std::move(lookups[index]), *at[index], clock_.now());
  }
}

void SwitchWorker::follow_names(base::Time now) {
  const auto heard = [this, now](std::size_t carrier) {
    return links_[carrier] == nullptr || is_heard(*links_[carrier], now);
  };
  while (const auto move = names_.next(heard, now)) {
    if (const auto led = move_carrier(move->peer, move->to); !led) {
      base::log_debug(led.error().text());
      names_.on_failed(move->peer);
      continue;
    }
    ++addresses_;
    base::log_debug("trying the switch of port " + std::to_string(numbers_[move->peer]) + " at " +
                    move->to.text());
  }
}

void SwitchWorker::visit_all_carriers(const base::CounterVisitor& visitor) const {
  visit_carrier_counters(visitor);
  if (!names_.empty()) visitor("switch.addresses", addresses_);
}

base::Status SwitchWorker::open_port(std::uint8_t number, const PortOption& port,
                                     const control::Endpoint& at) {
  const Subnet& subnet = *at_port(number);
  const control::CarrierConfig carrying{.uses_gso = options_.common.uses_gso,
                                        .reports_limits = number == 1,
                                        .clients_max = 1,
                                        .clock = &clock_};
  const std::string name = "port " + std::to_string(number) + " at " + port.at.text();
  auto carrier = port.connects ? control::connect_carrier(at, carrying)
                               : control::listen_carrier(at, carrying);
  if (!carrier) return carrier.error().within(name);
  std::optional<fabric::PeerAddress> peer;
  if (port.connects) peer = carrier->peer;
  const auto added = carriers_.add(*std::move(carrier), name);
  if (!added) return added.error();
  numbers_.push_back(number);
  fabric::Underlay* underlay = *added;
  fabric::PortConfig config = port_config();
  config.crc_head_only = port.at.is_shm();
  if (options_.common.keys.are_given()) {
    const auto& neighbour = subnet.file.keys.at(subnet.at->plan().ports.at(number).peer);
    const auto keyed = add_keys(*underlay, {&neighbour, 1}, peer);
    if (!keyed) return keyed.error().within(name);
    underlay = keyed->underlay;
    if (port.connects) peer = keyed->peers.front();
    config.eui64 = fabric::Eui64(keyed->eui64);
  }
  subnet.at->add_port(number, *underlay, config, peer ? &*peer : nullptr, clock_.now());
  return {};
}

}  // namespace splitnic::fabric_switch
