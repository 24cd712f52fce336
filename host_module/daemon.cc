#include "host_module/daemon.h"

#include <algorithm>
#include <memory>

#include "base/log.h"
#include "base/random.h"
#include "control/control_thread.h"
#include "control/identity.h"
#include "control/sd_notify.h"
#include "fabric_emul/underlay/capture_underlay.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/underlay/shm_underlay.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "host_module/admin.h"
#include "host_module/host.h"
#include "host_module/local_addresses.h"
#include "host_module/route_check.h"
#include "lan_bridge/ports/port_factory.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kSilenceMax = std::chrono::seconds(3);

struct Daemon {
  base::SystemClock clock;
  base::OsRandom random;
  control::CommandQueue commands;
  std::unique_ptr<control::ControlThread> control;
  std::unique_ptr<fabric::Underlay> underlay;
  fabric::PeerAddress unit_address;
  std::unique_ptr<fabric::PcapngWriter> capture_file;
  std::unique_ptr<fabric::CaptureUnderlay> capture;
  std::unique_ptr<fabric::Adapter> adapter;
  fabric::Port* port = nullptr;
  const fabric::Link* link = nullptr;  // to the I/O unit
  std::unique_ptr<lan::FramePort> tap;
  std::unique_ptr<Host> host;
  std::unique_ptr<Admin> admin;
};

messaging::PairConfig pair_config(const control::CommonOptions& common) {
  messaging::PairConfig config;
  config.mode =
      common.mode == control::TransferMode::kRdma ? messaging::Mode::kRdma : messaging::Mode::kSend;
  config.pools.clear();
  for (const control::PoolShape& pool : common.pools)
    config.pools.push_back({pool.count, pool.size});
  // Of the frame; the pair counts the vnet header in front of it too.
  if (common.send_threshold != 0) {
    config.send_threshold =
        common.send_threshold + static_cast<std::uint32_t>(lan::kVnetHeaderBytes);
  }
  config.node_name = common.name;
  return config;
}

// The longest super-frame that one send call of the underlay carries (performance P2.1).
std::uint32_t super_frame_bytes(std::size_t datagram_bytes_max) {
  const std::size_t stride =
      std::min<std::size_t>(datagram_bytes_max - fabric::kSessionReserveBytes, 65000);
  const std::size_t mcp = (stride - fabric::kStrideOverhead) & ~std::size_t{3};
  const std::size_t carried = 65507 / stride * mcp;
  return static_cast<std::uint32_t>(std::min<std::size_t>(carried, 65536) - 64);
}

base::Status open_tap(Daemon& d, const HostOptions& options, std::uint32_t super_frame_max) {
  lan::MacAddress mac = options.mac.kind == MacChoice::Kind::kGiven
                            ? lan::MacAddress(options.mac.given)
                            : control::stable_mac(options.common.name);
  if (options.tap.kind == control::PortSpec::Kind::kFile) {
    lan::PortOptions file;
    file.mtu = options.common.mtu.value_or(0);
    file.mac = mac;
    auto opened = lan::open_port(options.tap.text, file, d.clock);
    if (!opened) return opened.error();
    d.tap = std::move(*opened);
    return {};
  }
  lan::TapOptions tap;
  tap.name = options.tap.interface;
  tap.keep = options.keeps_tap;
  tap.mtu = options.common.mtu.value_or(0);
  tap.mac = mac;
  // Across a restart the address stays what the user made of it.
  tap.keeps_adopted_mac = options.mac.kind != MacChoice::Kind::kGiven;
  tap.gso_max = super_frame_max;
  if (options.has_no_uso) tap.offloads &= ~lan::kOffloadUso;
  tap.has_carrier = false;
  auto opened = lan::TapPort::open(tap);
  if (!opened) return opened.error();
  d.tap = std::move(*opened);
  return {};
}

base::Status open_udp(Daemon& d, const HostOptions& options) {
  fabric::UdpConfig udp;
  udp.connect = control::udp_text(options.connect);
  udp.bind_device = options.fabric_device;
  udp.segment = udp.gather = !options.common.has_no_gso;
  auto opened = fabric::UdpUnderlay::open(udp);
  if (!opened) return opened.error().within("connecting to " + options.connect.text());
  const std::string local = (*opened)->name_of((*opened)->local_address());
  if (options.tap.kind == control::PortSpec::Kind::kTap &&
      interface_of(local) == options.tap.interface) {
    return base::Error("the route to " + options.connect.text() + " leads through " +
                       options.tap.interface +
                       " itself: give the fabric a route of its own, or --fabric-dev");
  }
  d.unit_address = (*opened)->connected_to();
  d.underlay = std::move(*opened);
  return {};
}

base::Status open_shm(Daemon& d, const HostOptions& options) {
  fabric::ShmConfig shm;
  shm.name = options.connect.host;
  auto opened = fabric::ShmUnderlay::open(shm);
  if (!opened) return opened.error().within("connecting to " + options.connect.text());
  d.unit_address = fabric::ShmUnderlay::listener_address();
  d.underlay = std::move(*opened);
  return {};
}

base::Status open_fabric(Daemon& d, const HostOptions& options) {
  const bool is_shm = options.connect.kind == control::Endpoint::Kind::kShm;
  if (auto opened = is_shm ? open_shm(d, options) : open_udp(d, options); !opened) return opened;
  fabric::Underlay* underlay = d.underlay.get();
  if (const std::string& path = options.common.capture_path; !path.empty()) {
    auto file = fabric::PcapngWriter::open(path, "splitnic-host");
    if (!file) return file.error();
    d.capture_file = std::move(*file);
    d.capture = std::make_unique<fabric::CaptureUnderlay>(*underlay, *d.capture_file, d.clock,
                                                          options.connect.text());
    underlay = d.capture.get();
  }
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  d.adapter = std::make_unique<fabric::Adapter>(limits, d.random);
  fabric::PortConfig config;
  config.eui64 = fabric::Eui64(control::node_eui64(options.common.name, "host"));
  config.instance = d.random.next() | 1;
  config.mcp_wanted = options.common.cell_bytes.value_or(0);
  config.crc_head_only = is_shm;
  if (options.common.link_profile == control::LinkProfile::kFull) {
    config.profile = fabric::LinkProfile::kFull;
    config.full = fabric::full_between_processes();
  }
  auto port = d.adapter->add_port(*underlay, config);
  if (!port) return port.error();
  d.port = *port;
  return {};
}

base::Status start(Daemon& d, const HostOptions& options) {
  d.admin = std::make_unique<Admin>(options, d.clock);
  auto control = control::ControlThread::start(
      options.common.control_path, d.commands,
      [&admin = *d.admin](const control::Request& request, control::ReplyFunction reply) {
        admin.handle(request, std::move(reply));
      });
  if (!control) return control.error();
  d.control = std::move(*control);
  if (auto opened = open_fabric(d, options); !opened) return opened;
  // What one send call carries: 45 datagrams at MTU 1500, so that a super-frame needs one call.
  const std::size_t datagram = d.underlay->datagram_bytes_max(d.unit_address);
  if (auto opened = open_tap(d, options, super_frame_bytes(datagram)); !opened) return opened;
  HostConfig config;
  config.pair = pair_config(options.common);
  config.pair.nic = options.nic;
  config.pair.queues = options.queues;
  config.takes_lan_mac = options.mac.kind == MacChoice::Kind::kNic;
  config.mtu = options.common.mtu;
  config.idle_release = std::chrono::seconds(options.idle_release);
  if (options.tap.kind == control::PortSpec::Kind::kTap) {
    config.addresses = [name = options.tap.interface] { return local_addresses(name); };
  }
  d.host = std::make_unique<Host>(config, *d.adapter, *d.tap, d.random);
  d.admin->attach(*d.host, *d.tap);
  d.link = &d.port->connect(d.unit_address, d.clock.now());
  return {};
}

// Nothing was heard since the start: that is worth a line, and the attempts go on.
void warn_of_silence(const Daemon& d) {
  if (d.host->link() != nullptr || d.link->refusal() != fabric::InitReason::kNone) return;
  base::log_warn("no answer from " + d.link->peer_name() +
                 ", still trying: is splitnic-iou running there, do firewalls let its UDP port "
                 "pass, and does its --allow, if it has one, name this machine?");
}

// The loop is the map: sleep, commands, interface events, one turn. Ends when asked to stop and
// what was under way has arrived, or after Host::kStopMax; an error if the interface is gone.
base::Status loop(Daemon& d, bool busy_poll) {
  fabric::IdleWait waiting(busy_poll);
  waiting.add(*d.underlay);
  base::Poller& poller = waiting.poller();
  const std::size_t stop = poller.add(d.control->stop_fd());
  const std::size_t commands = poller.add(d.commands.fd());
  const std::size_t tap = poller.add(d.tap->fd(), true);
  const std::size_t events = poller.add(d.tap->event_fd());
  const bool always = d.tap->fd() < 0;
  bool made_progress = true;
  base::Time stop_at = base::kNever;
  base::Time silent_at = d.clock.now() + kSilenceMax;
  while (d.clock.now() < stop_at) {
    if (d.control->stop_requested()) {
      if (stop_at == base::kNever) stop_at = d.clock.now() + Host::kStopMax;
      poller.want(stop, false, false);  // it stays readable
      d.host->begin_stop();
      if (d.host->is_drained()) break;
    }
    poller.want(tap, d.host->wants_tap_input(), d.host->wants_tap_output());
    base::Time now = d.clock.now();
    waiting.wait(now, {.made_progress = made_progress,
                       .bytes_processed = d.host->bytes_processed(),
                       .wants_write = d.adapter->wants_write(),
                       .deadline = std::min(stop_at, d.host->deadline())});
    now = d.clock.now();
    if (poller.readable(commands)) d.commands.run();
    if (poller.readable(events)) d.host->on_tap_event(now);
    if (d.tap->is_gone()) return base::Error(d.tap->name() + " was deleted: start again");
    if (d.adapter->wants_write() && waiting.has_room()) d.adapter->on_writable(now);
    made_progress = d.host->step(now, always || poller.readable(tap));
    if (now >= silent_at) {
      silent_at = base::kNever;
      warn_of_silence(d);
    }
  }
  return {};
}

}  // namespace

int run(const HostOptions& options) {
  Daemon d;
  if (auto started = start(d, options); !started) {
    base::log_error("splitnic-host: " + started.error().text());
    d.control.reset();
    return 1;
  }
  control::notify_ready();
  const base::Status ended = loop(d, control::may_busy_poll(options.common));
  if (!ended) base::log_error("splitnic-host: " + ended.error().text());
  control::notify_stopping();
  d.control.reset();
  d.host->stop(d.clock.now());
  return ended ? 0 : 1;
}

}  // namespace splitnic::host
