#include "iou_module/worker.h"

#include <net/if.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "control/parse_outcome.h"
#include "control/sd_notify.h"
#include "iou_module/command_line_rights.h"
#include "iou_module/host_memory.h"
#include "iou_module/host_rights_text.h"

namespace splitnic::iou {
namespace {

constexpr base::Duration kLeadAgain = std::chrono::milliseconds(1);

std::shared_ptr<const KnownHosts> known_without_file(const IouOptions& options) {
  return std::make_shared<KnownHosts>(std::nullopt, options.common.keys.peers,
                                      command_line_rights(options));
}

// Strangers of the LAN do not attach at an address that stands for all: without keys, who does
// could be anybody. Keys make the fabric silent to strangers wherever they are. [L-11]
std::vector<std::uint32_t> lan_interfaces(const IouOptions& options) {
  std::vector<std::uint32_t> indices;
  if (options.common.keys.are_given()) return indices;
  for (const control::PortSpec& lan : options.lan) {
    if (lan.interface.empty()) continue;
    if (const auto index = ::if_nametoindex(lan.interface.c_str()); index != 0) {
      indices.push_back(index);
    }
  }
  return indices;
}

fabric::AdapterLimits limits_of(const IouOptions& options) {
  fabric::AdapterLimits limits = adapter_limits(options.max_hosts);
  limits.ports = std::max(limits.ports, options.listen.size() + options.switches.size());
  return limits;
}

}  // namespace

IouWorker::IouWorker(const control::Process& process, const IouOptions& options,
                     std::uint32_t queue)
    : Worker(process, options.common, limits_of(options), queue),
      options_(options),
      admission_(keyed_, clock_, known_without_file(options), command_line_rights(options),
                 [queue](const fabric::Link& link, const HostRights& rights) {
                   if (queue > 0) return;
                   base::log_info("host " + rights.name + " at " + link.peer_name() +
                                  " has other rights: " + rights_text(rights));
                 }),
      admin_(options, clock_, admission_,
             [this](const base::CounterVisitor& visitor) { visit_carriers(visitor); }) {}

base::Status IouWorker::listen() {
  for (const control::Endpoint& endpoint : options_.listen) {
    const auto at = endpoint.of_queue(queue());
    if (!at) return at.error();
    if (auto opened = listen_at(*at); !opened)
      return opened.error().within("listening on " + at->text());
  }
  return admission_.allow_all(options_.common.keys.peers);
}

base::Status IouWorker::attach_to_switches(const Endpoints& at, bool needs_all) {
  ways_.resize(options_.switches.size());
  at_.resize(ways_.size());
  base::Status all;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (is_attached_to(i)) continue;
    at_[i] = at[i];
    if (!at_[i]) continue;
    if (auto way = attach_to(i, *at_[i]); way)
      ways_[i] = *way;
    else if (all)
      all = way.error();
  }
  const auto is_open = [](const Way& way) { return way.hop != nullptr; };
  const bool has_any = ways_.empty() || std::ranges::any_of(ways_, is_open);
  if (needs_all || !has_any) return all;
  await_others();
  return {};
}

void IouWorker::await_others() {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const control::Endpoint& to = options_.switches[i].at;
    if (is_attached_to(i) || to.is_shm()) continue;
    at_[i].reset();
    if (auto way = attach_to(i, to); way)
      ways_[i] = *way;
    else
      base::log_warn(way.error().text());
  }
}

// Each is a port of the unit, so the paths of a host to it end at different EUI-64.
base::Result<IouWorker::Way> IouWorker::attach_to(std::size_t number, const control::Endpoint& at) {
  const SwitchOptions& to = options_.switches[number];
  const std::string role = "iou/attached" + (number == 0 ? "" : "/" + std::to_string(number + 1));
  std::span<const fabric::session::PublicKey> key;
  if (to.key) key = {&*to.key, 1};
  const control::CarrierConfig carrying{.is_awaited = !at_[number],
                                        .uses_gso = options_.common.uses_gso};
  const auto attached = attach(at, carrying, role, key);
  if (!attached) return attached.error();
  const Way way{&(*attached)->link(), carriers_.all().size() - 1};
  fabric::PortConfig config = options_.common.port;
  config.listens = true;
  config.links_max = options_.max_hosts;
  const auto port = add_attached_port(**attached, config, role, to.at.is_shm());
  if (!port) return port.error();
  // Queue 0 of a node has the LID of the node, whatever the others have.
  if (to.has_vouched_lids()) {
    admission_.add_vouched(
        **port, queue() > 0 ? node_of : [](std::uint16_t lid) { return lid; });
  }
  return way;
}

void IouWorker::follow_names(std::vector<std::unique_ptr<control::NameLookup>> lookups,
                             std::vector<IouWorker*> followers) {
  followers_ = std::move(followers);
  for (std::size_t i = 0; i < lookups.size(); ++i) {
    if (!is_attached_to(i) || (!options_.switches[i].at.is_name() && at_[i])) continue;
    names_.add(i, std::move(lookups[i]), at_[i].value_or(control::Endpoint()), clock_.now());
  }
}

void IouWorker::follow_names(base::Time now) {
  const auto heard = [this, now](std::size_t number) { return is_heard(*ways_[number].hop, now); };
  while (const auto move = names_.next(heard, now)) {
    if (const auto led = lead_way(move->peer, move->to); !led) {
      base::log_debug(led.error().text());
      names_.on_failed(move->peer);
      continue;
    }
    ++addresses_;
    base::log_debug("the switch at " + options_.switches[move->peer].at.text() +
                    " is looked for at " + move->to.text());
    lead_again_at_ = now;
  }
  if (now >= lead_again_at_) lead_followers(now);
}

// A follower that cannot take it now gets it again, as all do.
void IouWorker::lead_followers(base::Time now) {
  bool is_notified = true;
  for (IouWorker* follower : followers_) {
    is_notified &= follower->commands().post([follower, at = at_] { follower->follow(at); });
  }
  lead_again_at_ = is_notified ? base::kNever : now + kLeadAgain;
}

void IouWorker::follow(const Endpoints& at) {
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    if (!is_attached_to(i) || !at[i] || at[i] == at_[i]) continue;
    if (auto led = lead_way(i, *at[i]); !led) base::log_warn(led.error().text());
  }
}

base::Status IouWorker::lead_way(std::size_t number, const control::Endpoint& to) {
  if (auto led = move_carrier(ways_[number].carrier, to); !led) return led;
  at_[number] = to;
  return {};
}

bool IouWorker::step(base::Time now) {
  const bool made_progress = unit_->step(now);
  if (!names_.empty()) follow_names(now);
  return admission_.step(now) || made_progress;
}

base::Status IouWorker::listen_at(const control::Endpoint& endpoint) {
  auto carrier = control::listen_carrier(endpoint, {.uses_gso = options_.common.uses_gso,
                                                    .reports_limits = queue() == 0,
                                                    .without_interfaces = lan_interfaces(options_),
                                                    .clients_max = options_.max_hosts,
                                                    .users = admission_.known().users(),
                                                    .clock = &clock_});
  if (!carrier) return carrier.error();
  if (carrier->shm != nullptr) admission_.add(*carrier->shm);
  const auto added = carriers_.add(*std::move(carrier), endpoint.text());
  if (!added) return added.error();
  fabric::Underlay* underlay = *added;
  if (!endpoint.is_shm()) {  // shm hosts have no address
    gates_.push_back(std::make_unique<AllowUnderlay>(*underlay, options_.allow));
    underlay = gates_.back().get();
  }
  if (options_.common.keys.are_given() && !endpoint.is_shm()) {
    const auto keyed = add_keys(*underlay, options_.common.keys.peers, std::nullopt);
    if (!keyed) return keyed.error();
    underlay = keyed->underlay;
  }
  fabric::PortConfig config = options_.common.port;
  config.listens = true;
  config.links_max = options_.max_hosts;
  const std::string role = "iou/" + std::to_string(carriers_.all().size());
  const auto port = add_port(*underlay, config, role, endpoint.is_shm());
  return port ? base::Status() : port.error();
}

void IouWorker::start(std::vector<std::unique_ptr<lan::FramePort>> lans, std::uint32_t queues,
                      QueueSet& all) {
  lans_ = std::move(lans);
  std::vector<lan::FramePort*> ports;
  for (const auto& lan : lans_) ports.push_back(lan.get());
  IouConfig config = unit_config(queues);
  config.queue = queue();
  config.siblings = all.of(queue());
  unit_ = std::make_unique<Iou>(config, adapter_, ports, random_);
  admin_.attach(*unit_);
  admission_.attach(*unit_);
  all.connect(queue(), [this](auto command) {
    return commands().post([this, command = std::move(command)] { command(*unit_, clock_.now()); });
  });
}

base::Status IouWorker::on_port_gone(std::size_t index) {
  lan::FramePort& gone = port(index);
  const bool is_last = std::ranges::all_of(lans_, [](const auto& lan) { return lan->is_gone(); });
  if (is_last && !gone.is_back()) return base::Error(gone.name() + " was deleted: start again");
  gone_.resize(lans_.size());
  if (gone_[index] == Gone::kNo) {
    gone_[index] = Gone::kReported;
    nic(index).on_event();
    if (queue() == 0) {
      base::log_warn(
          {base::EventKind::kGone, gone.name()},
          gone.name() + " is gone: its hosts have no link, those of other NICs continue");
    }
  }
  if (!gone.is_back() || gone_[index] == Gone::kBackReported) return {};
  gone_[index] = Gone::kBackReported;
  if (control::has_service_manager()) {
    return base::Error(gone.name() + " is there again: starting again to use it");
  }
  if (queue() == 0) {
    base::log_warn({base::EventKind::kBack, gone.name()},
                   gone.name() + " is there again: start again to use it");
  }
  return {};
}

IouConfig IouWorker::unit_config(std::uint32_t queues) const {
  IouConfig config;
  config.hosts_max = options_.max_hosts;
  config.admission = &admission_;
  config.rights = &admission_;
  // Additional queues of a host request the MTU that queue 0 has set.
  config.policy.mtu_follows = options_.follows_lan_mtu && queue() == 0;
  config.policy.queues = queues;
  config.host.pair = pair_config(queues);
  config.host.pair.program = control::version_text("splitnic-iou");
  config.host.pair.queues = 1 + messaging::QosMap::kLevelsMax;
  config.host.memory_usual = default_memory(options_.common.pair.pools);
  return config;
}

void IouWorker::visit_carriers(const base::CounterVisitor& visitor) const {
  visit_carrier_counters(visitor);
  if (!names_.empty()) visitor("iou.switch.addresses", addresses_);
  for (const auto& gate : gates_) visitor("iou.allow.drop.address", gate->refused());
}

}  // namespace splitnic::iou
