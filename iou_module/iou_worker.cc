#include "iou_module/iou_worker.h"

#include <net/if.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/event.h"
#include "base/log.h"
#include "control/config/version.h"
#include "control/sd_notify.h"
#include "iou_module/hosts/host_memory.h"
#include "iou_module/hosts/host_rights_text.h"
#include "iou_module/policy/command_line_rights.h"
#include "lan_bridge/ports/netlink_link.h"

namespace splitnic::iou {
namespace {

std::shared_ptr<const KnownHosts> known_without_file(const IouOptions& options) {
  return std::make_shared<KnownHosts>(std::nullopt, options.common.keys.peers,
                                      command_line_rights(options), options.allow,
                                      options.max_hosts);
}

// Strangers of the LAN do not attach at an address that stands for all: without keys, who does
// could be anybody. What comes from the LAN may come by a VLAN or a bridge on its interface. Keys
// make the fabric silent to strangers wherever they are. [L-11]
std::vector<std::uint32_t> lan_interfaces(const IouOptions& options) {
  std::vector<std::uint32_t> indices;
  if (options.common.keys.are_given()) return indices;
  for (const control::PortSpec& lan : options.lan) {
    if (lan.interface.empty()) continue;
    const auto index = ::if_nametoindex(lan.interface.c_str());
    if (index == 0) continue;
    if (const auto stack = lan::NetlinkLink::stack_of(index)) {
      indices.insert(indices.end(), stack->begin(), stack->end());
    } else {
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
      admission_(keyed_, clock_, known_without_file(options),
                 [queue](const fabric::Link& link, const HostRights& rights) {
                   if (queue > 0) return;
                   base::log_info("the rights of host " + rights.name + " at " + link.peer_name() +
                                  " have changed: " + rights_text(rights));
                 }),
      admin_(options, clock_, admission_,
             [this](const base::CounterVisitor& visitor) { visit_carriers(visitor); }),
      hops_(options.switches.size()),
      uplinks_(uplinks_to_switches()) {
  if (queue > 0) return;
  keyed_.report_unknown_keys("if it is a host, add the key to the hosts file (or --allow-key)");
}

base::Status IouWorker::listen() {
  for (; listening_ < options_.listen.size(); ++listening_) {
    const auto at = options_.listen[listening_].of_queue(queue());
    if (!at) return at.error();
    if (auto opened = listen_at(*at); !opened)
      return opened.error().within("listening on " + at->text());
  }
  return admission_.allow_all(options_.common.keys.peers);
}

control::Uplinks IouWorker::uplinks_to_switches() {
  std::vector<control::Uplinks::Peer> switches;
  for (const SwitchOptions& one : options_.switches) {
    switches.push_back({one.at, "the switch at " + one.at.text()});
  }
  return {std::move(switches),
          {.open = [this](std::size_t number, const control::Endpoint& at,
                          bool is_awaited) { return attach_to(number, at, is_awaited); },
           .move = [this](std::size_t carrier,
                          const control::Endpoint& to) { return move_carrier(carrier, to); }}};
}

// Each is a port of the unit, so the paths of a host to it end at different EUI-64.
base::Result<std::size_t> IouWorker::attach_to(std::size_t number, const control::Endpoint& at,
                                               bool is_awaited) {
  const SwitchOptions& to = options_.switches[number];
  const std::string role = "iou/attached" + (number == 0 ? "" : "/" + std::to_string(number + 1));
  std::span<const fabric::session::PublicKey> key;
  if (to.key) key = {&*to.key, 1};
  const control::CarrierConfig carrying{.is_awaited = is_awaited,
                                        .uses_gso = options_.common.uses_gso};
  const auto attached = attach(at, carrying, role, key);
  if (!attached) return attached.error();
  const std::size_t carrier = carriers_.all().size() - 1;
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
  hops_[number] = &(*attached)->link();
  return carrier;
}

void IouWorker::lead(const std::vector<IouWorker*>& followers) {
  followers_ = followers;
  for (IouWorker* const follower : followers) {
    updates_.add([this, follower] {
      return follower->commands().post(
          [follower, at = uplinks_.endpoints()] { follower->uplinks_.lead(at); });
    });
  }
}

void IouWorker::follow_names(base::Time now) {
  const auto heard = [this, now](std::size_t number) { return is_heard(*hops_[number], now); };
  const std::size_t moves = uplinks_.step(heard, now);
  addresses_ += moves;
  if (moves > 0) updates_.request(now);
  updates_.step(now);
}

bool IouWorker::step(base::Time now) {
  const bool made_progress = unit_->step(now);
  if (uplinks_.follows_names()) follow_names(now);
  if (opens_nics()) {
    if (auto opened = return_.opener->step(now)) pass_on(*std::move(opened));
  }
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
    gates_.push_back(std::make_unique<AllowUnderlay>(*underlay, options_.allow, clock_));
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
  for (auto& lan : lans) {
    lans_.push_back(std::make_unique<lan::WatchedPort>(std::move(lan), clock_,
                                                       lan::WatchedPort::Reads::kReceived));
  }
  std::vector<lan::FramePort*> ports;
  for (const auto& lan : lans_) ports.push_back(lan.get());
  IouConfig config = unit_config(queues);
  config.queue = queue();
  config.siblings = all.of(queue());
  unit_ = std::make_unique<Iou>(config, adapter_, ports, random_);
  admin_.attach(*unit_, lans_);
  admission_.attach(*unit_);
  all.connect(queue(), [this](auto command) {
    return commands().post([this, command = std::move(command)] { command(*unit_, clock_.now()); });
  });
}

base::Status IouWorker::on_port_gone(std::size_t index) {
  lan::FramePort& gone = port(index);
  const bool is_over = std::ranges::all_of(
      lans_, [this](const auto& lan) { return lan->is_gone() && !may_return(*lan); });
  if (is_over && !gone.is_back()) return base::Error(gone.name() + " was deleted: start again");
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
  if (!gone.is_back()) return {};
  leave_out_lan_interfaces();
  if (may_return(gone)) {
    if (queue() == 0) request(index);
    return {};
  }
  if (std::exchange(gone_[index], Gone::kBackReported) == Gone::kBackReported) return {};
  return report_back(gone);
}

base::Status IouWorker::report_back(const lan::FramePort& nic) {
  if (control::has_service_manager()) {
    return base::Error(nic.name() + " is back: starting again to use it");
  }
  if (queue() == 0) {
    base::log_warn({base::EventKind::kBack, nic.name()},
                   nic.name() + " is back: start again to use it");
  }
  return {};
}

// An interface that came after the start has an index that was not known then. [L-11]
void IouWorker::leave_out_lan_interfaces() {
  carriers_.set_without_interfaces(lan_interfaces(options_));
}

// Each queue has its own socket of the NIC. If one cannot use its own, all are opened once more.
void IouWorker::pass_on(NicOpener::Opened opened) {
  const lan::FramePort& nic = port(opened.nic);
  const std::size_t queues = 1 + followers_.size();
  if (opened.sockets && opened.sockets->size() != queues) {
    opened.sockets = base::Error("not all of its sockets arrived");
  }
  if (!opened.sockets) return report_refusal(opened.nic, opened.sockets.error());
  for (std::size_t i = 1; i < queues; ++i) {
    const auto socket = std::make_shared<base::UniqueFd>(std::move((*opened.sockets)[i]));
    IouWorker* const follower = followers_[i - 1];
    const bool is_taken = follower->commands().post(
        [follower, socket, index = opened.nic] { follower->use(index, std::move(*socket)); });
    if (!is_taken) request(opened.nic);
  }
  if (!use(opened.nic, std::move(opened.sockets->front()))) return;
  base::log_info({base::EventKind::kBack, nic.name()}, nic.name() + " is back");
}

void IouWorker::report_refusal(std::size_t index, const base::Error& why) {
  gone_.resize(lans_.size());
  Gone& reported = gone_[index];
  if (reported != Gone::kReported && !has_lost_opener()) return;
  base::log_warn(port(index).name() + " is back, and cannot be used: " + why.text());
  if (reported == Gone::kReported) reported = Gone::kRefusalReported;
}

// Returns false if the NIC is gone once more; queue 0 notices when it is back.
bool IouWorker::use(std::size_t index, base::UniqueFd socket) {
  lan::FramePort& used = port(index);
  if (auto former = used.return_by(std::move(socket))) {
    return_.close(std::make_shared<lan::FramePort::Descriptors>(*std::move(former)));
  } else {
    base::log_warn(former.error().text());
    const bool is_taken =
        return_.first->commands().post([first = return_.first, index] { first->request(index); });
    if (!is_taken)
      base::log_warn(used.name() + ": queue " + std::to_string(queue()) +
                     " cannot use it: start again");
  }
  if (used.is_gone()) return false;
  gone_.resize(lans_.size());
  gone_[index] = Gone::kNo;
  leave_out_lan_interfaces();
  nic(index).on_return();
  return true;
}

IouConfig IouWorker::unit_config(std::uint32_t queues) const {
  IouConfig config;
  config.hosts_max = admission_.known().hosts_max();
  config.admission = &admission_;
  config.rights = &admission_;
  // Additional queues of a host request the MTU that queue 0 has set.
  config.policy.mtu_follows = options_.follows_lan_mtu && queue() == 0;
  config.policy.ownership = {options_.is_exclusive, options_.follows_lan_mac && queue() == 0,
                             queue() == 0};
  config.policy.queues = queues;
  config.host.pair = pair_config(queues);
  config.host.pair.program = control::version_text("splitnic-iou");
  config.host.pair.queues = 1 + messaging::QosMap::kLevelsMax;
  config.host.memory_usual = default_memory(options_.common.pair.pools);
  return config;
}

std::string IouWorker::status() const {
  const std::size_t hosts = unit_->hosts_up();
  return std::to_string(hosts) + (hosts == 1 ? " host" : " hosts");
}

void IouWorker::visit_carriers(const base::CounterVisitor& visitor) const {
  visit_carrier_counters(visitor);
  if (uplinks_.follows_names()) visitor("iou.switch.addresses", addresses_);
  for (const auto& gate : gates_) visitor("iou.allow.drop.address", gate->refused());
  for (const auto& lan : lans_) lan->watch_counters().visit(visitor);
}

}  // namespace splitnic::iou
