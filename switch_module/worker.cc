#include "switch_module/worker.h"

#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "control/identity.h"
#include "switch_module/topology_file.h"

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

base::Status SwitchWorker::open() {
  const auto topology = read_topology(options_.topology_path);
  if (!topology) return topology.error().within("--topology");
  auto plan = fabric::plan_of(*topology, options_.common.name());
  if (!plan) return plan.error().within("--topology: " + options_.topology_path);
  for (std::size_t i = options_.ports.size() + 1; i <= fabric::kSwitchPortsMax; ++i) {
    if (plan->ports.at(i).peer.empty()) continue;
    return base::Error("--port: " + plan->ports.at(i).peer + " is at port " + std::to_string(i) +
                       " in " + options_.topology_path + ", and there are " +
                       std::to_string(options_.ports.size()) + " ports");
  }
  switch_ = std::make_unique<fabric::Switch>(*std::move(plan), random_);
  admin_.attach(*switch_);
  for (std::size_t i = 0; i < options_.ports.size(); ++i) {
    const auto number = static_cast<std::uint8_t>(i + 1);
    if (switch_->plan().ports.at(number).peer.empty()) {
      base::log_warn("port " + std::to_string(number) + " is not opened: nothing is there in " +
                     options_.topology_path);
      continue;
    }
    if (auto opened = open_port(number, options_.ports[i]); !opened) return opened;
  }
  return {};
}

base::Status SwitchWorker::open_port(std::uint8_t number, const PortOption& port) {
  const control::CarrierConfig carrying{
      .has_no_gso = options_.common.has_no_gso, .reports_limits = number == 1, .clients_max = 1};
  const std::string name = "port " + std::to_string(number) + " at " + port.at.text();
  auto carrier = port.connects ? control::connect_carrier(port.at, carrying)
                               : control::listen_carrier(port.at, carrying);
  if (!carrier) return carrier.error().within(name);
  const fabric::PeerAddress peer = carrier->peer;
  const auto underlay = carriers_.add(*std::move(carrier), name);
  if (!underlay) return underlay.error();
  fabric::PortConfig config = options_.common.port;
  config.eui64 = fabric::Eui64(
      control::node_eui64(options_.common.name(), "switch/" + std::to_string(number)));
  config.instance = instance_;
  config.crc_head_only = port.at.is_shm();
  numbers_.push_back(number);
  switch_->add_port(number, **underlay, config, port.connects ? &peer : nullptr, clock_.now());
  return {};
}

}  // namespace splitnic::fabric_switch
