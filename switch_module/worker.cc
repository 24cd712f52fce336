#include "switch_module/worker.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "control/identity.h"
#include "fabric_emul/session/keys.h"

namespace splitnic::fabric_switch {
namespace {

// A switch has no queue pairs: its adapter is empty.
fabric::AdapterLimits no_queue_pairs() {
  return {.qps = 1, .memory_entries = 1, .att_pages = 1, .cqs = 1, .ports = 0};
}

}  // namespace

SwitchWorker::SwitchWorker(const control::Process& process, const SwitchOptions& options)
    : Worker(process, options.common, no_queue_pairs(), 0),
      options_(options),
      admin_(options, clock_,
             [this](const base::CounterVisitor& visitor) { visit_carrier_counters(visitor); }) {}

lan::FramePort& SwitchWorker::port(std::size_t /*index*/) {
  CHECK(false);
  std::abort();
}

base::Status SwitchWorker::read() {
  auto file = read_topology(options_.topology_path);
  if (!file) return file.error().within("--topology");
  file_ = *std::move(file);
  auto plan = fabric::plan_of(file_.topology, options_.common.name());
  if (!plan) return plan.error().within("--topology: " + options_.topology_path);
  switch_ = std::make_unique<fabric::Switch>(*std::move(plan), random_);
  if (auto own = check_own_key(); !own) return own;
  for (std::uint8_t number = 1; number <= fabric::kSwitchPortsMax; ++number) {
    if (auto checked = check_port(number); !checked) return checked;
  }
  agent_.emplace(*switch_, fabric::Eui64(control::node_eui64(options_.common.name(), "switch")));
  if (options_.manage) {
    manager_.emplace(file_.topology, options_.common.name(), *options_.manage, *agent_, random_);
  }
  admin_.attach(*switch_, *agent_, file_.topology, manager_ ? &*manager_ : nullptr);
  return {};
}

bool SwitchWorker::step(base::Time now) {
  agent_->step(now);
  if (manager_) manager_->step(now);
  return switch_->step(now);
}

base::Time SwitchWorker::deadline() const {
  const base::Time at = std::min(switch_->deadline(), agent_->deadline());
  return manager_ ? std::min(at, manager_->deadline()) : at;
}

// Neighbours know this switch by what the file has.
base::Status SwitchWorker::check_own_key() const {
  const auto stated = file_.keys.find(options_.common.name());
  if (!options_.common.keys.are_given() || stated == file_.keys.end()) return {};
  const auto own = fabric::session::read_key_file(options_.common.keys.key_file);
  if (!own) return own.error().within("--key-file");
  const fabric::session::PublicKey key = fabric::session::public_key_of(*own);
  if (key == stated->second) return {};
  return base::Error("--key-file: its public key is " + fabric::session::base64_of(key.bytes) +
                     ", and [switches." + options_.common.name() + "] in " +
                     options_.topology_path + " has another one");
}

// A port is keyed or plain as the option is, and the file must not mean the other.
base::Status SwitchWorker::check_port(std::uint8_t number) const {
  const fabric::SwitchPlan::Port& planned = switch_->plan().ports.at(number);
  if (planned.peer.empty()) return {};
  const std::string what =
      planned.peer + " is at port " + std::to_string(number) + " in " + options_.topology_path;
  if (number > options_.ports.size()) {
    return base::Error("--port: " + what + ", and there are " +
                       std::to_string(options_.ports.size()) + " ports");
  }
  if (options_.ports[number - 1U].at.is_shm()) return {};
  const bool has_key = file_.keys.contains(planned.peer);
  if (has_key == options_.common.keys.are_given()) return {};
  return base::Error(has_key ? "--key-file is missing: " + what + " with a key"
                             : "--key-file: " + what + " without a key: add key = \"...\"");
}

base::Status SwitchWorker::open() {
  for (; opened_ < options_.ports.size(); ++opened_) {
    const auto number = static_cast<std::uint8_t>(opened_ + 1);
    if (switch_->plan().ports.at(number).peer.empty()) {
      base::log_warn("port " + std::to_string(number) + " is not opened: nothing is there in " +
                     options_.topology_path);
      continue;
    }
    if (auto opened = open_port(number, options_.ports[opened_]); !opened) return opened;
  }
  return {};
}

base::Status SwitchWorker::open_port(std::uint8_t number, const PortOption& port) {
  const control::CarrierConfig carrying{
      .uses_gso = options_.common.uses_gso, .reports_limits = number == 1, .clients_max = 1};
  const std::string name = "port " + std::to_string(number) + " at " + port.at.text();
  auto carrier = port.connects ? control::connect_carrier(port.at, carrying)
                               : control::listen_carrier(port.at, carrying);
  if (!carrier) return carrier.error().within(name);
  std::optional<fabric::PeerAddress> peer;
  if (port.connects) peer = carrier->peer;
  const auto added = carriers_.add(*std::move(carrier), name);
  if (!added) return added.error();
  numbers_.push_back(number);
  fabric::Underlay* underlay = *added;
  fabric::PortConfig config = options_.common.port;
  config.eui64 = fabric::Eui64(
      control::node_eui64(options_.common.name(), "switch/" + std::to_string(number)));
  config.instance = instance_;
  config.crc_head_only = port.at.is_shm();
  if (options_.common.keys.are_given()) {
    const auto& neighbour = file_.keys.at(switch_->plan().ports.at(number).peer);
    const auto keyed = add_keys(*underlay, {&neighbour, 1}, peer);
    if (!keyed) return keyed.error().within(name);
    underlay = keyed->underlay;
    if (port.connects) peer = keyed->peers.front();
    config.eui64 = fabric::Eui64(keyed->eui64);
  }
  switch_->add_port(number, *underlay, config, peer ? &*peer : nullptr, clock_.now());
  return {};
}

}  // namespace splitnic::fabric_switch
