#include "iou_module/iou_daemon.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "control/daemon/carriers.h"
#include "control/daemon/config_reload.h"
#include "control/daemon/daemon.h"
#include "control/daemon/mdns.h"
#include "control/identity.h"
#include "control/sandbox/sandbox.h"
#include "fabric_emul/session/keys.h"
#include "iou_module/iou_worker.h"
#include "iou_module/nic/nic_opener.h"
#include "iou_module/policy/hosts_reload.h"
#include "lan_bridge/ports/port_factory.h"

namespace splitnic::iou {
namespace {

using Ports = std::vector<std::unique_ptr<lan::FramePort>>;

class IouDaemon final : public control::Daemon {
 public:
  IouDaemon(const IouOptions& options, control::OptionsSource<IouOptions> source)
      : Daemon("splitnic-iou", options.common),
        options_(options),
        config_(std::move(source), {"allow", "allow-key", "grant", "max-hosts"}),
        hosts_(options) {
    add_worker();
  }

 private:
  std::size_t workers() const override { return workers_.size(); }
  control::Worker& worker(std::size_t queue) override { return *workers_[queue]; }
  base::Status open() override;
  std::string summary() const override;
  control::sandbox::Needs needs() const override;
  bool changes_interfaces() const;
  control::ReloadHandler reload_handler() override {
    return [this](const control::ReplyFunction& reply) { reload(reply); };
  }
  void reload(const control::ReplyFunction& reply);
  void limit_hosts(control::ConfigReload<IouOptions>::Read& read) const;

  void add_worker();
  std::uint32_t queues_of_endpoints() const;
  base::Result<std::vector<Ports>> open_lans(std::uint32_t queues);
  base::Result<std::vector<Ports>> open_nics(const lan::PortOptions& port, std::uint32_t queues);
  base::Status open_lookups();
  base::Status listen(std::size_t queues);
  void start_reloads();
  base::Status begin_announcer();
  base::Status begin_opener(std::uint32_t queues);
  lan::PortOptions port_options(std::uint32_t queues) const;
  base::Status announce();

  const IouOptions& options_;
  control::ConfigReload<IouOptions> config_;
  base::SystemClock clock_;
  HostsReload hosts_;
  HostsReload::Known known_hosts_;  // at the start; null without --hosts
  std::unique_ptr<control::SideProcess> announcer_;
  std::unique_ptr<NicOpener> opener_;
  std::vector<std::unique_ptr<control::NameLookup>> lookups_;  // one per switch
  control::Uplinks::Endpoints switches_at_;
  std::unique_ptr<QueueSet> queues_;
  std::vector<std::unique_ptr<IouWorker>> workers_;
};

void IouDaemon::add_worker() {
  const auto queue = static_cast<std::uint32_t>(workers_.size());
  workers_.push_back(std::make_unique<IouWorker>(process(), options_, queue));
  if (known_hosts_ != nullptr) workers_.back()->set_known_hosts(known_hosts_);
}

base::Status IouDaemon::open() {
  const std::uint32_t queues = queues_of_endpoints();
  if (auto begun = begin_announcer(); !begun) return begun;
  if (auto begun = begin_opener(queues); !begun) return begun;
  if (auto opened = open_lookups(); !opened) return opened;
  auto known = hosts_.load();
  if (!known) return known.error();
  known_hosts_ = *std::move(known);
  if (known_hosts_ != nullptr) workers_[0]->set_known_hosts(known_hosts_);
  auto lans = open_lans(queues);
  if (!lans) return lans.error();
  if (auto attached = open_uplinks(workers_[0]->uplinks(), lookups_, switches_at_); !attached) {
    return attached;
  }
  if (auto listening = listen(lans->size()); !listening) return listening;
  queues_ = std::make_unique<QueueSet>(workers_.size());
  std::vector<IouWorker*> followers;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->start(std::move((*lans)[i]), static_cast<std::uint32_t>(workers_.size()),
                       *queues_);
    if (i > 0) followers.push_back(workers_[i].get());
    workers_[i]->set_return({opener_.get(), workers_[0].get(), [this](auto descriptors) {
                               run_on_control_thread([closed = std::move(descriptors)] {});
                             }});
  }
  workers_[0]->lead(followers);
  workers_[0]->uplinks().follow_names(std::move(lookups_), clock_.now());
  start_reloads();
  return announce();
}

// Before any key is read.
base::Status IouDaemon::begin_announcer() {
  if (!options_.is_announced) return {};
  auto begun = control::SideProcess::begin(
      "splitnic-mdns", control::SideProcess::reads_no_files(has_sandbox()), control::announce_unit);
  if (!begun) return begun.error();
  announcer_ = *std::move(begun);
  return {};
}

// For a NIC that comes, or comes back, when the program has given up the right to open it.
base::Status IouDaemon::begin_opener(std::uint32_t queues) {
  const auto is_opened_elsewhere = [](const control::PortSpec& lan) {
    return lan.kind == control::PortSpec::Kind::kPacket ||
           lan.kind == control::PortSpec::Kind::kPcap;
  };
  if (std::ranges::none_of(options_.lan, is_opened_elsewhere)) return {};
  auto begun = NicOpener::begin(options_.lan, port_options(queues), queues, has_sandbox());
  if (!begun) return begun.error();
  opener_ = *std::move(begun);
  return {};
}

base::Status IouDaemon::announce() {
  if (announcer_ == nullptr) return {};
  const auto own = fabric::session::read_key_file(options_.common.keys.key_file);
  if (!own) return own.error().within("--key-file");
  const control::Endpoint& at = *options_.announced();
  const control::Announcement unit{options_.common.name(), at.port,
                                   control::key_hash(fabric::session::public_key_of(*own)),
                                   at.is_name() ? "" : at.host.substr(0, at.host.find('%'))};
  if (announcer_->send(unit.packet())) return {};
  return base::Error("--announce: the process that announces the unit has ended");
}

std::string IouDaemon::summary() const {
  std::string out = "lends";
  for (const control::PortSpec& lan : options_.lan) out += " " + lan.text;
  for (const control::Endpoint& at : options_.listen) out += ", listens at " + at.text();
  for (const SwitchOptions& one : options_.switches) out += ", attaches to " + one.at.text();
  return out;
}

control::sandbox::Needs IouDaemon::needs() const {
  control::sandbox::Needs needs;
  needs.changes_interfaces = changes_interfaces();
  needs.accepts_shm = std::ranges::any_of(options_.listen, &control::Endpoint::is_shm);
  if (needs.accepts_shm) {
    needs.files.push_back({control::shm_folder(), control::sandbox::FileRight::kRemove});
  }
  if (options_.has_vouched_lids()) {  // it begins the sessions with the switch
    needs.files.push_back({control::state_folder(), control::sandbox::FileRight::kReplace});
  }
  if (!options_.hosts_path.empty()) needs.read_again(options_.hosts_path);
  if (config_.has_file()) needs.read_again(config_.file());
  return needs;
}

// The send buffer of a NIC shrinks and grows with the number of its hosts (LanNic::share_output()).
bool IouDaemon::changes_interfaces() const {
  if (options_.follows_lan_mtu || options_.follows_lan_mac) return true;
  if (options_.max_hosts == 1) return false;
  IouWorker& first = *workers_.front();
  for (std::size_t i = 0; i < first.ports(); ++i) {
    if (first.port(i).needs_privilege_to_share()) return true;
  }
  return false;
}

void IouDaemon::reload(const control::ReplyFunction& reply) {
  if (!config_.has_file()) return static_cast<void>(hosts_.reload(reply));
  auto read = config_.read();
  if (!read) {
    return reply(control::refuse_reload(control::ReplyStatus::kFailed, read.error().text()));
  }
  limit_hosts(*read);
  if (hosts_.reload(reply, {&read->options, &read->changes})) config_.take(*read);
}

// The adapter and its ports have room for the number of the start. For 1, the program may have
// given up the right to let several hosts share a NIC.
void IouDaemon::limit_hosts(control::ConfigReload<IouOptions>::Read& read) const {
  const std::uint32_t wanted = read.options.max_hosts;
  if (wanted <= options_.max_hosts) return;
  read.options.max_hosts = options_.max_hosts;
  config_.hold(read, "max-hosts",
               "max-hosts is " + std::to_string(options_.max_hosts) +
                   ", the number at the start: start the program again for " +
                   std::to_string(wanted));
}

void IouDaemon::start_reloads() {
  std::vector<HostsReload::Queue> queues;
  for (const auto& worker : workers_) {
    IouWorker* const at = worker.get();
    queues.push_back(
        {[at](std::function<void()> command) { return at->commands().post(std::move(command)); },
         [at](HostsReload::Known known) { at->replace_known_hosts(std::move(known)); }});
  }
  hosts_.start(std::move(queues));
}

std::uint32_t IouDaemon::queues_of_endpoints() const {
  std::uint32_t queues = queues_wanted();
  const auto is_file = [](const control::PortSpec& lan) {
    return lan.kind == control::PortSpec::Kind::kFile;
  };
  // A capture file has one queue, which matters only to a user who has requested more.
  if (!options_.common.queues && std::ranges::any_of(options_.lan, is_file)) queues = 1;
  for (const control::Endpoint& endpoint : options_.listen) queues = queues_at(endpoint, queues);
  for (const SwitchOptions& one : options_.switches) queues = queues_at(one.at, queues);
  return queues;
}

// The fabric's own datagrams are never captured as frames of the LAN.
lan::PortOptions IouDaemon::port_options(std::uint32_t queues) const {
  lan::PortOptions port;
  for (const control::Endpoint& endpoint : options_.listen) {
    for (std::uint32_t i = 0; i < queues && !endpoint.is_shm(); ++i) {
      const control::Endpoint at = endpoint.of_queue(i).value();
      port.exclude.push_back({at.port, at.host});
    }
  }
  port.promiscuous = !options_.is_exclusive;
  port.mtu = options_.common.mtu.value_or(0);
  return port;
}

// Returns the ports of each queue, by NIC; all NICs have the same number of queues.
base::Result<std::vector<Ports>> IouDaemon::open_lans(std::uint32_t queues) {
  const lan::PortOptions port = port_options(queues);
  auto by_nic = when_possible([&] { return open_nics(port, queues); });
  if (!by_nic) return by_nic.error();
  std::size_t count = queues;
  for (const Ports& nic : *by_nic) {
    if (!nic.empty()) count = std::min(count, nic.size());
  }
  std::vector<Ports> by_queue(count);
  for (std::size_t k = 0; k < by_nic->size(); ++k) {
    Ports& nic = (*by_nic)[k];
    if (nic.empty()) {
      auto expected = lan::expect_queues(options_.lan[k], port, static_cast<std::uint32_t>(count));
      if (!expected) return expected.error();
      nic = *std::move(expected);
    }
    for (std::size_t i = 0; i < count; ++i) by_queue[i].push_back(std::move(nic[i]));
  }
  return by_queue;
}

// Returns the queues of each NIC; none of one that is missing while another is there.
base::Result<std::vector<Ports>> IouDaemon::open_nics(const lan::PortOptions& port,
                                                      std::uint32_t queues) {
  std::vector<Ports> by_nic;
  std::optional<base::Error> missing;
  for (const control::PortSpec& spec : options_.lan) {
    auto opened = lan::open_queues(spec, port, clock_, queues);
    const bool may_come = spec.kind == control::PortSpec::Kind::kPacket ||
                          spec.kind == control::PortSpec::Kind::kPcap;
    if (!opened && !(may_come && passes_later(opened.error()))) return opened.error();
    if (!opened) missing = opened.error();
    by_nic.push_back(opened ? *std::move(opened) : Ports());
  }
  const bool has_one = std::ranges::any_of(by_nic, [](const Ports& nic) { return !nic.empty(); });
  if (!has_one) return *missing;
  if (missing) base::log_warn(missing->text() + "; the other NICs are used without it");
  return by_nic;
}

// Before any key is read.
base::Status IouDaemon::open_lookups() {
  for (const SwitchOptions& one : options_.switches) {
    auto lookup = open_lookup(one.at);
    if (!lookup) return lookup.error();
    lookups_.push_back(*std::move(lookup));
  }
  return {};
}

// The address may come after the program. That of an additional queue may be taken: then there are
// as many queues as before it.
base::Status IouDaemon::listen(std::size_t queues) {
  auto first = when_possible([this] { return workers_[0]->listen(); });
  if (!first) return first;
  for (std::size_t i = 1; i < queues; ++i) {
    add_worker();
    base::Status listening = workers_.back()->uplinks().open(switches_at_, false);
    if (listening) listening = workers_.back()->listen();
    if (listening) continue;
    workers_.pop_back();
    report_fewer(i, listening.error());
    return {};
  }
  return {};
}

}  // namespace

int run(const IouOptions& options, control::OptionsSource<IouOptions> source) {
  return IouDaemon(options, std::move(source)).run();
}

}  // namespace splitnic::iou
