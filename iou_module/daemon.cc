#include "iou_module/daemon.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "control/control_thread.h"
#include "control/identity.h"
#include "control/sd_notify.h"
#include "fabric_emul/underlay/capture_underlay.h"
#include "fabric_emul/underlay/idle_wait.h"
#include "fabric_emul/underlay/shm_underlay.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "iou_module/admin.h"
#include "iou_module/allow_underlay.h"
#include "iou_module/iou.h"
#include "lan_bridge/ports/port_factory.h"

namespace splitnic::iou {
namespace {

constexpr auto kShmCounters = std::to_array<std::pair<std::string_view, fabric::ShmCounter>>(
    {{"shm.clients", fabric::ShmCounter::kClients},
     {"shm.clients_gone", fabric::ShmCounter::kClientsGone},
     {"shm.drop.broken", fabric::ShmCounter::kDropBroken},
     {"shm.drop.handshake", fabric::ShmCounter::kDropHandshake},
     {"shm.refused.full", fabric::ShmCounter::kRefusedFull},
     {"shm.refused.user", fabric::ShmCounter::kRefusedUser}});

struct Daemon {
  base::SystemClock clock;
  base::OsRandom random;
  control::CommandQueue commands;
  std::unique_ptr<control::ControlThread> control;
  std::vector<std::unique_ptr<fabric::Underlay>> underlays;
  std::vector<const fabric::ShmUnderlay*> shared;  // of these
  std::unique_ptr<fabric::PcapngWriter> capture_file;
  std::vector<std::unique_ptr<fabric::CaptureUnderlay>> captures;
  std::vector<std::unique_ptr<AllowUnderlay>> gates;
  std::unique_ptr<fabric::Adapter> adapter;
  std::vector<std::unique_ptr<lan::FramePort>> lans;
  std::unique_ptr<Iou> unit;
  std::unique_ptr<Admin> admin;
};

IouConfig unit_config(const IouOptions& options) {
  IouConfig config;
  config.hosts_max = options.max_hosts;
  config.policy.mtu_follows = options.follows_lan_mtu;
  messaging::PairConfig& pair = config.session.pair;
  pair.mode = options.common.mode == control::TransferMode::kRdma ? messaging::Mode::kRdma
                                                                  : messaging::Mode::kSend;
  pair.follows_peer_mode = !options.common.is_mode_given;
  pair.pools.clear();
  for (const control::PoolShape& pool : options.common.pools) {
    pair.pools.push_back({pool.count, pool.size});
  }
  // Of the frame; the pair counts the vnet header in front of it too.
  if (options.common.send_threshold != 0) {
    pair.send_threshold =
        options.common.send_threshold + static_cast<std::uint32_t>(lan::kVnetHeaderBytes);
  }
  pair.node_name = options.common.name;
  pair.queues = messaging::kQueuesMax;
  return config;
}

// All fabric ports write to one file, an interface each.
base::Status open_capture(Daemon& d, const IouOptions& options) {
  if (options.common.capture_path.empty()) return {};
  auto file = fabric::PcapngWriter::open(options.common.capture_path, "splitnic-iou");
  if (!file) return file.error();
  d.capture_file = std::move(*file);
  return {};
}

// The carrier, or its capture.
fabric::Underlay& captured(Daemon& d, fabric::Underlay& carrier, const std::string& name) {
  if (!d.capture_file) return carrier;
  d.captures.push_back(
      std::make_unique<fabric::CaptureUnderlay>(carrier, *d.capture_file, d.clock, name));
  return *d.captures.back();
}

base::Status open_udp(Daemon& d, const IouOptions& options, const control::Endpoint& endpoint) {
  fabric::UdpConfig udp;
  udp.segment = udp.gather = !options.common.has_no_gso;
  udp.bind = control::udp_text(endpoint);
  auto opened = fabric::UdpUnderlay::open(udp);
  if (!opened) return opened.error().within("listening on " + endpoint.text());
  d.underlays.push_back(std::move(*opened));
  return {};
}

base::Status open_shm(Daemon& d, const IouOptions& options, const control::Endpoint& endpoint) {
  fabric::ShmConfig shm;
  shm.name = endpoint.host;
  shm.listens = true;
  shm.clients_max = options.max_hosts;
  auto opened = fabric::ShmUnderlay::open(shm);
  if (!opened) return opened.error().within("listening on " + endpoint.text());
  d.shared.push_back(opened->get());
  d.underlays.push_back(std::move(*opened));
  return {};
}

base::Status open_fabric(Daemon& d, const IouOptions& options) {
  if (auto opened = open_capture(d, options); !opened) return opened;
  d.adapter = std::make_unique<fabric::Adapter>(adapter_limits(options.max_hosts), d.random);
  const std::uint64_t instance = d.random.next() | 1;
  for (const control::Endpoint& endpoint : options.listen) {
    const bool is_shm = endpoint.kind == control::Endpoint::Kind::kShm;
    if (auto opened = is_shm ? open_shm(d, options, endpoint) : open_udp(d, options, endpoint);
        !opened) {
      return opened;
    }
    fabric::Underlay* carrier = &captured(d, *d.underlays.back(), endpoint.text());
    if (!is_shm) {  // shm hosts have no address
      d.gates.push_back(std::make_unique<AllowUnderlay>(*carrier, options.allow));
      carrier = d.gates.back().get();
    }
    fabric::PortConfig config;
    config.eui64 = fabric::Eui64(
        control::node_eui64(options.common.name, "iou/" + std::to_string(d.underlays.size())));
    config.instance = instance;
    config.listens = true;
    config.crc_head_only = is_shm;
    if (options.common.link_profile == control::LinkProfile::kFull) {
      config.profile = fabric::LinkProfile::kFull;
      config.full = fabric::full_between_processes();
    }
    config.mcp_wanted = options.common.cell_bytes.value_or(0);
    config.links_max = options.max_hosts;
    if (auto port = d.adapter->add_port(*carrier, config); !port) return port.error();
  }
  return {};
}

base::Status open_lans(Daemon& d, const IouOptions& options) {
  lan::PortOptions port;
  for (const control::Endpoint& endpoint : options.listen) {
    if (endpoint.kind == control::Endpoint::Kind::kShm) continue;
    port.exclude.push_back({endpoint.port, endpoint.host});
  }
  port.mtu = options.common.mtu.value_or(0);
  for (const control::PortSpec& spec : options.lan) {
    auto opened = lan::open_port(spec.text, port, d.clock);
    if (!opened) return opened.error();
    d.lans.push_back(std::move(*opened));
  }
  return {};
}

// What is below the adapter: shared memory, refused addresses, the capture.
void visit_carriers(const Daemon& d, const base::CounterVisitor& visitor) {
  for (const fabric::ShmUnderlay* shm : d.shared) {
    for (const auto& [name, counter] : kShmCounters) visitor(name, shm->count(counter));
  }
  for (const auto& gate : d.gates) visitor("iou.allow.drop.address", gate->refused());
  if (d.capture_file) d.capture_file->counters().visit(visitor);
}

base::Status start(Daemon& d, const IouOptions& options) {
  d.admin = std::make_unique<Admin>(options, d.clock);
  auto control = control::ControlThread::start(
      options.common.control_path, d.commands,
      [&admin = *d.admin](const control::Request& request, control::ReplyFunction reply) {
        admin.handle(request, std::move(reply));
      });
  if (!control) return control.error();
  d.control = std::move(*control);
  if (auto opened = open_lans(d, options); !opened) return opened;
  if (auto opened = open_fabric(d, options); !opened) return opened;
  std::vector<lan::FramePort*> lans;
  for (const auto& lan : d.lans) lans.push_back(lan.get());
  d.unit = std::make_unique<Iou>(unit_config(options), *d.adapter, lans, d.random);
  d.admin->attach(*d.unit,
                  [&d](const base::CounterVisitor& visitor) { visit_carriers(d, visitor); });
  return {};
}

// Where the poller has the descriptors of one LAN.
struct LanFds {
  LanNic& nic;
  std::size_t input = 0;
  std::size_t events = 0;
  bool is_always_ready = false;
};

std::vector<LanFds> add_lans(base::Poller& poller, const Iou& unit) {
  std::vector<LanFds> all;
  for (const auto& nic : unit.nics()) {
    lan::FramePort& port = nic->port();
    const std::size_t input = poller.add(port.fd(), true);
    all.push_back({*nic, input, poller.add(port.event_fd()), port.fd() < 0});
  }
  return all;
}

// The loop is the map: sleep, commands, interface events, one turn. Ends when asked to stop and
// what was under way has arrived, or after Iou::kStopMax; an error if a LAN's interface is deleted.
base::Status loop(Daemon& d, bool busy_poll) {
  fabric::IdleWait waiting(busy_poll);
  for (const auto& underlay : d.underlays) waiting.add(*underlay);
  base::Poller& poller = waiting.poller();
  const std::size_t stop = poller.add(d.control->stop_fd());
  const std::size_t commands = poller.add(d.commands.fd());
  const std::vector<LanFds> lans = add_lans(poller, *d.unit);
  bool made_progress = true;
  base::Time stop_at = base::kNever;
  for (base::Time now = d.clock.now(); now < stop_at; now = d.clock.now()) {
    if (stop_at == base::kNever && d.control->stop_requested()) {
      stop_at = now + Iou::kStopMax;
      poller.want(stop, false, false);  // it stays readable
      d.unit->begin_stop();
    }
    if (stop_at != base::kNever && d.unit->is_drained()) return {};
    for (const LanFds& lan : lans) {
      poller.want(lan.input, lan.nic.wants_input(), lan.nic.wants_output());
    }
    const bool blocked = d.adapter->wants_write();
    waiting.wait(now, {.made_progress = made_progress,
                       .bytes_processed = d.unit->bytes_processed(),
                       .wants_write = blocked,
                       .deadline = std::min(stop_at, d.unit->deadline())});
    now = d.clock.now();
    if (poller.readable(commands)) d.commands.run();
    for (const LanFds& lan : lans) {
      if (poller.readable(lan.events)) lan.nic.on_event();
      const lan::FramePort& port = lan.nic.port();
      if (port.is_gone()) return base::Error(port.name() + " was deleted: start again");
      lan.nic.set_readable(lan.is_always_ready || poller.readable(lan.input));
    }
    if (blocked && waiting.has_room()) d.adapter->on_writable(now);
    made_progress = d.unit->step(now);
  }
  return {};
}

}  // namespace

int run(const IouOptions& options) {
  Daemon d;
  if (auto started = start(d, options); !started) {
    base::log_error("splitnic-iou: " + started.error().text());
    d.control.reset();
    return 1;
  }
  control::notify_ready();
  const base::Status ended = loop(d, control::may_busy_poll(options.common));
  if (!ended) base::log_error("splitnic-iou: " + ended.error().text());
  control::notify_stopping();
  d.control.reset();
  d.unit->stop(d.clock.now());
  return ended ? 0 : 1;
}

}  // namespace splitnic::iou
