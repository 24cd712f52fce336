#include "control/daemon/carriers.h"

#include <cerrno>
#include <utility>

#include "base/log.h"

namespace splitnic::control {
namespace {

base::Result<Carrier> open_udp(fabric::UdpConfig udp, const CarrierConfig& config) {
  udp.bind_device = config.bind_device;
  udp.own_device = config.own_device;
  udp.segment = udp.gather = config.uses_gso;
  udp.reports_limits = config.reports_limits;
  auto opened = fabric::UdpUnderlay::open(udp);
  if (!opened) return opened.error();
  Carrier carrier;
  if (!udp.connect.empty()) carrier.peer = (*opened)->connected_to();
  carrier.local = (*opened)->name_of((*opened)->local_address());
  carrier.udp = opened->get();
  carrier.underlay = *std::move(opened);
  return carrier;
}

base::Result<Carrier> open_shm(const fabric::ShmConfig& config) {
  auto opened = fabric::ShmUnderlay::open(config);
  if (!opened) return opened.error();
  Carrier carrier;
  if (!config.listens) carrier.peer = fabric::ShmUnderlay::listener_address();
  carrier.shm = opened->get();
  carrier.underlay = *std::move(opened);
  return carrier;
}

}  // namespace

base::Result<Carrier> connect_carrier(const Endpoint& to, const CarrierConfig& config) {
  if (to.is_shm()) return open_shm({.name = to.host});
  fabric::UdpConfig udp;
  udp.connect = config.is_awaited ? "0.0.0.0:" + std::to_string(to.port) : to.udp_text();
  udp.is_awaited = config.is_awaited;
  return open_udp(std::move(udp), config);
}

base::Result<Carrier> listen_carrier(const Endpoint& at, const CarrierConfig& config) {
  if (at.is_shm()) {
    return open_shm({.name = at.host,
                     .listens = true,
                     .clients_max = config.clients_max,
                     .users = config.users,
                     .clock = config.clock});
  }
  fabric::UdpConfig udp;
  udp.bind = at.udp_text();
  udp.without_interfaces = config.without_interfaces;
  auto opened = open_udp(udp, config);
  if (opened || opened.error().errno_value() != EAFNOSUPPORT || at.host != "::") return opened;
  // [::] is every address of both families, and there is one family.
  udp.bind = "0.0.0.0:" + std::to_string(at.port);
  if (config.reports_limits) {
    base::log_warn("this kernel has no IPv6: " + at.text() + " is IPv4 only");
  }
  return open_udp(std::move(udp), config);
}

std::string shm_folder() { return fabric::shm_directory(); }

base::Result<fabric::Underlay*> Carriers::add(Carrier carrier, const std::string& name) {
  carriers_.push_back(std::move(carrier));
  fabric::Underlay* const underlay = carriers_.back().underlay.get();
  if (capture_path_.empty()) return underlay;
  if (!capture_file_) {
    auto file = fabric::PcapngWriter::open(capture_path_, program_);
    if (!file) return file.error();
    capture_file_ = *std::move(file);
  }
  captures_.push_back(
      std::make_unique<fabric::CaptureUnderlay>(*underlay, *capture_file_, clock_, name));
  return captures_.back().get();
}

void Carriers::set_without_interfaces(const std::vector<std::uint32_t>& indices) {
  for (const Carrier& each : carriers_) {
    const bool listens = each.peer == fabric::PeerAddress{};
    if (each.udp != nullptr && listens) each.udp->set_without_interfaces(indices);
  }
}

base::Status Carriers::move(std::size_t carrier, const Endpoint& to) {
  const auto address = fabric::UdpUnderlay::resolve(to.udp_text());
  if (!address) return address.error();
  return carriers_[carrier].udp->move_to(*address);
}

void Carriers::visit_counters(const base::CounterVisitor& visitor) const {
  for (const Carrier& carrier : carriers_) {
    if (carrier.shm != nullptr) carrier.shm->counters().visit(visitor);
    if (carrier.udp != nullptr) visitor("udp.rx.drop.lan", carrier.udp->dropped_of_interfaces());
  }
  if (capture_file_) capture_file_->counters().visit(visitor);
}

}  // namespace splitnic::control
