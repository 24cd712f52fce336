#include "host_module/host_daemon.h"

#include <cerrno>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "control/daemon/daemon.h"
#include "control/daemon/stamps.h"
#include "control/fd_store.h"
#include "control/identity.h"
#include "control/sandbox/sandbox.h"
#include "host_module/host_worker.h"
#include "host_module/reload_line.h"
#include "lan_bridge/ports/net_namespace.h"
#include "lan_bridge/ports/port_factory.h"
#include "lan_bridge/ports/tap_port.h"

namespace splitnic::host {
namespace {

// Of one send call, for the vnet header, the Ethernet header and tags in front of the IP datagram.
constexpr std::uint32_t kFrameHeadRoom = 64;
// The interface, in the service manager's store of descriptors.
const std::string kStoredTap = "tap";

constexpr const char* kNoConfig =
    "there is no configuration file: start splitnic-host with --config FILE";

using Ports = std::vector<std::unique_ptr<lan::FramePort>>;  // one per queue

std::function<std::optional<lan::AddressLists>()> lists_of(lan::TapPort& tap) {
  return [&tap] { return tap.address_lists(); };
}

class HostDaemon final : public control::Daemon {
 public:
  HostDaemon(const HostOptions& options, control::OptionsSource<HostOptions> source)
      : Daemon("splitnic-host", options.common),
        options_(options),
        config_(std::move(source), {"failback", "idle-release", "mac", "mtu"}) {
    add_worker();
    if (control::has_fd_store() && options.tap_fd < 0) {
      stored_tap_ = control::take_stored_fd(kStoredTap);
    }
  }

 private:
  std::size_t workers() const override { return workers_.size(); }
  control::Worker& worker(std::size_t queue) override { return *workers_[queue]; }
  base::Status open() override;
  std::string summary() const override;
  control::sandbox::Needs needs() const override;
  control::ReloadHandler reload_handler() override {
    return [this](const control::ReplyFunction& reply) { reload(reply); };
  }

  struct Reloading {
    control::ConfigReload<HostOptions>::Read read;
    control::ReplyFunction reply;
    base::Status done{};
  };
  void reload(const control::ReplyFunction& reply);
  bool begin_reload(const control::ReplyFunction& reply);  // as ReloadLine::Begin
  void end_reload(Reloading& one);
  HostWorker& add_worker();
  base::Status open_hooks();
  base::Status open_lookups();
  base::Result<Ports> open_ports(std::uint32_t queues, std::uint32_t gso_bytes_max);
  using Taps = std::vector<std::unique_ptr<lan::TapPort>>;
  base::Result<Taps> open_taps(const lan::TapOptions& tap, std::uint32_t queues);
  base::Result<Taps> open_taps_here(const lan::TapOptions& tap, std::uint32_t queues);
  std::optional<Taps> open_stored(lan::TapOptions tap, std::uint32_t queues);
  lan::TapOptions tap_options(std::uint32_t gso_bytes_max) const;

  const HostOptions& options_;
  control::ConfigReload<HostOptions> config_;
  base::UniqueFd
      stored_tap_;  // that an earlier process of the service has left; none once it is used
  base::SystemClock clock_;
  std::vector<lan::TapPort*> taps_;  // the ports of the queues, if they are those of an interface
  std::vector<std::unique_ptr<control::NameLookup>> lookups_;  // one per I/O unit
  control::Uplinks::Endpoints at_;                             // where the I/O units are
  std::vector<std::unique_ptr<HostWorker>> workers_;
  // Of the control thread. A reload has ended when all queues have what it has read.
  ReloadLine reloads_{[this](const control::ReplyFunction& reply) { return begin_reload(reply); }};
};

HostWorker& HostDaemon::add_worker() {
  const auto queue = static_cast<std::uint32_t>(workers_.size());
  workers_.push_back(std::make_unique<HostWorker>(process(), options_, queue));
  return *workers_.back();
}

base::Status HostDaemon::open() {
  if (auto opened = open_hooks(); !opened) return opened;
  if (auto opened = open_lookups(); !opened) return opened;
  HostWorker& first = *workers_.front();
  if (auto opened = open_uplinks(first.uplinks(), lookups_, at_); !opened) return opened;
  std::uint32_t queues = queues_wanted();
  for (const UnitOptions& unit : options_.units) queues = queues_at(unit.connect, queues);
  // One send call carries a GSO packet: 45 datagrams at MTU 1500.
  auto ports = open_ports(queues, first.call_bytes() - kFrameHeadRoom);
  if (!ports) return ports.error();
  while (workers_.size() < ports->size()) {
    if (const auto opened = add_worker().uplinks().open(at_, false); !opened) {
      workers_.pop_back();
      report_fewer(workers_.size(), opened.error());
      break;
    }
  }
  std::vector<HostWorker*> followers;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->start(std::move((*ports)[i]), static_cast<std::uint32_t>(workers_.size()),
                       i < taps_.size() ? lists_of(*taps_[i]) : nullptr);
    if (i > 0) followers.push_back(workers_[i].get());
  }
  first.lead(followers);
  first.uplinks().follow_names(std::move(lookups_), clock_.now());
  return {};
}

// Before there is a key to inherit, like the lookups.
base::Status HostDaemon::open_hooks() {
  if (!options_.hooks.are_given()) return {};
  auto hooks = control::HookProcess::begin(options_.hooks, has_sandbox());
  if (!hooks) return hooks.error();
  workers_.front()->set_hooks(*std::move(hooks));
  return {};
}

base::Status HostDaemon::open_lookups() {
  for (std::size_t i = 0; i < options_.units.size(); ++i) {
    auto lookup = options_.units[i].is_announced
                      ? control::NameLookup::open_announced(
                            options_.common.keys.peers[i],
                            options_.is_here() ? options_.tap.interface : "", has_sandbox())
                      : open_lookup(options_.units[i].connect);
    if (!lookup) return lookup.error();
    lookups_.push_back(*std::move(lookup));
  }
  return {};
}

std::string HostDaemon::summary() const {
  std::string out = options_.tap.text + " at";
  for (const UnitOptions& unit : options_.units) out += " " + unit.text();
  return out;
}

// The user changes the interface through the program, and its addresses are read from /proc.
control::sandbox::Needs HostDaemon::needs() const {
  using control::sandbox::FileRight;
  control::sandbox::Needs needs;
  if (options_.is_tap()) {
    needs.changes_interfaces = true;
    needs.files.push_back({"/proc", FileRight::kRead});
  }
  if (options_.common.keys.are_given()) {
    needs.files.push_back({control::state_folder(), FileRight::kReplace});
  }
  if (config_.has_file()) needs.read_again(config_.file());
  return needs;
}

void HostDaemon::reload(const control::ReplyFunction& reply) {
  if (config_.has_file()) return reloads_.add(reply);
  reply(control::refuse_reload(control::ReplyStatus::kRefused, kNoConfig));
}

// Queue 0 changes the interface before the others hear of it, because the kernel may refuse that.
// As of `splitnic set`, the reply has what the I/O unit does not take.
bool HostDaemon::begin_reload(const control::ReplyFunction& reply) {
  using Status = control::ReplyStatus;
  auto read = config_.read();
  if (!read) {
    reply(control::refuse_reload(Status::kFailed, read.error().text()));
    return false;
  }
  const auto one = std::make_shared<Reloading>(Reloading{*std::move(read), reply});
  HostWorker* const first = workers_.front().get();
  const bool is_begun = first->commands().post([this, first, one] {
    const auto& [options, given, changes] = one->read;
    const base::Status done = first->change_interface(options, changes);
    if (done) first->change(options, changes);
    run_on_control_thread([this, one, done] {
      one->done = done;
      end_reload(*one);
    });
    if (!done) return;
    first->when_settled(changes, [this, one](const std::optional<std::string>& why) {
      run_on_control_thread([one, text = control::text_of(one->read.changes), why] {
        if (!one->done) return;  // it has its reply
        one->reply(why ? control::accept_reload_but(text, *why) : control::accept_reload(text));
      });
    });
  });
  if (!is_begun) {
    reply(control::refuse_reload(Status::kFailed, "queue 0 is busy or stopping: try again"));
  }
  return is_begun;
}

void HostDaemon::end_reload(Reloading& one) {
  for (std::size_t i = 1; i < workers_.size() && one.done; ++i) {
    HostWorker* const other = workers_[i].get();
    const bool is_posted =
        other->commands().post([other, options = one.read.options, changes = one.read.changes] {
          other->change(options, changes);
        });
    if (is_posted) continue;
    one.done = base::Error("queue " + std::to_string(i) + " is busy or stopping: reload once more");
  }
  if (one.done)
    config_.take(one.read);
  else
    one.reply(control::refuse_reload(control::ReplyStatus::kFailed, one.done.error().text()));
  reloads_.end();
}

base::Result<Ports> HostDaemon::open_ports(std::uint32_t queues, std::uint32_t gso_bytes_max) {
  const lan::TapOptions tap = tap_options(gso_bytes_max);
  if (!options_.is_tap()) {
    if (!options_.common.queues) queues = 1;  // a capture file has one
    lan::PortOptions file;
    file.mtu = tap.mtu;
    file.mac = tap.mac;
    return lan::open_queues(options_.tap, file, clock_, queues);
  }
  if (options_.tap_fd >= 0) queues = 1;
  auto opened = when_possible([&] { return open_taps(tap, queues); });
  if (!opened) return opened.error();
  for (const auto& queue : *opened) taps_.push_back(queue.get());
  return Ports(std::make_move_iterator(opened->begin()), std::make_move_iterator(opened->end()));
}

base::Result<HostDaemon::Taps> HostDaemon::open_taps(const lan::TapOptions& tap,
                                                     std::uint32_t queues) {
  if (options_.net_namespace.empty()) return open_taps_here(tap, queues);
  const auto there = lan::NetNamespace::open(options_.net_namespace);
  if (!there) return there.error().within("--netns");
  const auto entered = there->enter();
  if (!entered) return entered.error().within("--netns");
  return open_taps_here(tap, queues);
}

// The interface as the last process of the service has left it, with its addresses and its bridge.
// One that the settings want no more goes.
std::optional<HostDaemon::Taps> HostDaemon::open_stored(lan::TapOptions tap, std::uint32_t queues) {
  if (!stored_tap_.valid()) return std::nullopt;
  tap.fd = stored_tap_.release();
  auto opened = lan::TapPort::open_queues(tap, queues);
  if (opened) return std::move(*opened);
  base::log_info("the interface that the service manager has kept is not used: " +
                 opened.error().text());
  control::forget_stored_fd(kStoredTap);
  return std::nullopt;
}

base::Result<HostDaemon::Taps> HostDaemon::open_taps_here(const lan::TapOptions& tap,
                                                          std::uint32_t queues) {
  if (auto stored = open_stored(tap, queues)) return std::move(*stored);
  auto opened = lan::TapPort::open_queues(tap, queues);
  if (opened && tap.is_stored) control::store_fd(opened->front()->fd(), kStoredTap);
  if (opened || opened.error().errno_value() != EEXIST) return opened;
  return base::Error(opened.error().text() + "; --tap-adopt uses it as it is", EEXIST);
}

lan::TapOptions HostDaemon::tap_options(std::uint32_t gso_bytes_max) const {
  lan::TapOptions tap;
  tap.name = options_.tap.interface;
  tap.keep = options_.keeps_tap;
  tap.adopts = options_.adopts_tap;
  tap.fd = options_.tap_fd;
  tap.is_stored = control::has_fd_store() && !options_.adopts_tap;
  tap.is_elsewhere = !options_.net_namespace.empty();
  tap.mtu = options_.common.mtu.value_or(0);
  const bool is_given = options_.mac.kind == MacChoice::Kind::kGiven;
  tap.mac = is_given ? options_.mac.given : control::stable_mac(options_.common.name());
  tap.keeps_adopted_mac = !is_given;  // across a restart the address stays as the user set it
  tap.gso_max = gso_bytes_max;
  if (!options_.has_uso) tap.offloads &= ~lan::kOffloadUso;
  tap.has_carrier = false;
  return tap;
}

}  // namespace

int run(const HostOptions& options, control::OptionsSource<HostOptions> source) {
  return HostDaemon(options, std::move(source)).run();
}

}  // namespace splitnic::host
