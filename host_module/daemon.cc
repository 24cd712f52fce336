#include "host_module/daemon.h"

#include <memory>

#include "base/log.h"
#include "control/daemon/daemon.h"
#include "control/identity.h"
#include "host_module/admin.h"
#include "host_module/host.h"
#include "host_module/local_addresses.h"
#include "host_module/route_check.h"
#include "lan_bridge/ports/port_factory.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kSilenceMax = std::chrono::seconds(3);
// Of one send call, for the vnet header, the Ethernet header and tags in front of the IP datagram.
constexpr std::uint32_t kFrameHeadRoom = 64;

fabric::AdapterLimits adapter_limits() {
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  return limits;
}

class HostDaemon final : public control::Daemon {
 public:
  explicit HostDaemon(const HostOptions& options)
      : Daemon("splitnic-host", options.common, adapter_limits()),
        options_(options),
        admin_(options, clock_,
               [this](const base::CounterVisitor& visitor) { carriers_.visit_counters(visitor); }) {
  }

 private:
  base::Status open() override;
  control::Admin& admin() override { return admin_; }
  std::size_t ports() const override { return 1; }
  lan::FramePort& port(std::size_t) override { return *tap_; }
  bool wants_input(std::size_t) override { return host_->wants_tap_input(); }
  bool wants_output(std::size_t) override { return host_->wants_tap_output(); }
  void on_port_event(std::size_t, base::Time now) override { host_->on_tap_event(now); }
  void set_readable(std::size_t, bool is_readable) override { is_readable_ = is_readable; }
  bool step(base::Time now) override;
  base::Time deadline() const override { return host_->deadline(); }
  std::uint64_t bytes_processed() const override { return host_->bytes_processed(); }
  void begin_stop() override { host_->begin_stop(); }
  bool is_drained() const override { return host_->is_drained(); }
  void stop(base::Time now) override { host_->stop(now); }

  bool is_tap() const { return options_.tap.kind == control::PortSpec::Kind::kTap; }
  base::Result<fabric::Port*> open_fabric();
  base::Status open_tap(std::uint32_t gso_bytes_max);
  HostConfig host_config() const;
  void warn_of_silence() const;

  const HostOptions& options_;
  Admin admin_;
  fabric::PeerAddress unit_address_;
  const fabric::Link* link_ = nullptr;  // to the I/O unit
  std::unique_ptr<lan::FramePort> tap_;
  std::unique_ptr<Host> host_;
  bool is_readable_ = false;
  base::Time silent_at_ = base::kNever;
};

base::Status HostDaemon::open() {
  const auto port = open_fabric();
  if (!port) return port.error();
  // One send call carries a GSO packet: 45 datagrams at MTU 1500.
  const auto call_bytes = static_cast<std::uint32_t>((*port)->batch_payload_max(unit_address_));
  if (auto opened = open_tap(call_bytes - kFrameHeadRoom); !opened) return opened;
  host_ = std::make_unique<Host>(host_config(), adapter_, *tap_, random_);
  admin_.attach(*host_, *tap_);
  link_ = &(*port)->connect(unit_address_, clock_.now());
  silent_at_ = clock_.now() + kSilenceMax;
  return {};
}

base::Result<fabric::Port*> HostDaemon::open_fabric() {
  const std::string unit = options_.connect.text();
  auto carrier = control::connect_carrier(
      options_.connect,
      {.bind_device = options_.fabric_device, .has_no_gso = options_.common.has_no_gso});
  if (!carrier) return carrier.error().within("connecting to " + unit);
  if (is_tap() && interface_of(carrier->local) == options_.tap.interface) {
    return base::Error("the route to " + unit + " leads through " + options_.tap.interface +
                       " itself: give the fabric a separate route, or --fabric-dev");
  }
  unit_address_ = carrier->peer;
  const auto underlay = carriers_.add(*std::move(carrier), unit);
  if (!underlay) return underlay.error();
  return add_port(**underlay, options_.common.port, "host", options_.connect.is_shm());
}

base::Status HostDaemon::open_tap(std::uint32_t gso_bytes_max) {
  const lan::MacAddress mac = options_.mac.kind == MacChoice::Kind::kGiven
                                  ? options_.mac.given
                                  : control::stable_mac(options_.common.name());
  if (!is_tap()) {
    lan::PortOptions file;
    file.mtu = options_.common.mtu.value_or(0);
    file.mac = mac;
    auto opened = lan::open_port(options_.tap.text, file, clock_);
    if (!opened) return opened.error();
    tap_ = *std::move(opened);
    return {};
  }
  lan::TapOptions tap;
  tap.name = options_.tap.interface;
  tap.keep = options_.keeps_tap;
  tap.mtu = options_.common.mtu.value_or(0);
  tap.mac = mac;
  // Across a restart the address stays as the user set it.
  tap.keeps_adopted_mac = options_.mac.kind != MacChoice::Kind::kGiven;
  tap.gso_max = gso_bytes_max;
  if (options_.has_no_uso) tap.offloads &= ~lan::kOffloadUso;
  tap.has_carrier = false;
  auto opened = lan::TapPort::open(tap);
  if (!opened) return opened.error();
  tap_ = *std::move(opened);
  return {};
}

HostConfig HostDaemon::host_config() const {
  HostConfig config;
  config.pair = options_.common.pair;
  config.pair.nic = options_.nic;
  config.pair.queues = options_.queues;
  config.takes_lan_mac = options_.mac.kind == MacChoice::Kind::kNic;
  config.mtu = options_.common.mtu;
  config.idle_release = std::chrono::seconds(options_.idle_release);
  if (is_tap()) {
    config.addresses = [name = options_.tap.interface] { return local_addresses(name); };
  }
  return config;
}

bool HostDaemon::step(base::Time now) {
  const bool made_progress = host_->step(now, is_readable_);
  if (now >= silent_at_) {
    silent_at_ = base::kNever;
    warn_of_silence();
  }
  return made_progress;
}

// Nothing has been heard since the start; the attempts continue.
void HostDaemon::warn_of_silence() const {
  if (host_->link() != nullptr || link_->refusal() != fabric::InitReason::kNone) return;
  base::log_warn("no reply from " + link_->peer_name() +
                 ", still trying: is splitnic-iou running there, do firewalls let its UDP port "
                 "pass, and does its --allow, if it has one, name this machine?");
}

}  // namespace

int run(const HostOptions& options) { return HostDaemon(options).run(); }

}  // namespace splitnic::host
