#include "control/daemon/worker.h"

#include <pthread.h>

#include "base/check.h"
#include "base/log.h"
#include "control/daemon/data_loop.h"
#include "control/daemon/pool_options.h"
#include "control/identity.h"
#include "fabric_emul/switching/queue_lid.h"
#include "messaging/connection.h"

namespace splitnic::control {

static_assert(fabric::kNodeQueuesMax == messaging::kQueuesMax);

namespace {

fabric::AdapterLimits with_options(fabric::AdapterLimits limits, const CommonOptions& common) {
  limits.predicts_headers = common.predicts_headers;
  limits.partitions = common.partitions;
  return limits;
}

// One thread writes a file.
std::string capture_path(const CommonOptions& common, std::uint32_t queue) {
  if (common.capture_path.empty() || queue == 0) return common.capture_path;
  return common.capture_path + "." + std::to_string(queue);
}

}  // namespace

Worker::Worker(const Process& process, const CommonOptions& common,
               const fabric::AdapterLimits& limits, std::uint32_t queue)
    : common_(common),
      carriers_(process.program, capture_path(common, queue), clock_),
      instance_(process.instance),
      machine_key_(process.machine_key),
      keyed_(common.keys, process.instance, queue, clock_, random_),
      adapter_(with_options(limits, common), random_),
      queue_(queue) {}

base::Result<fabric::Port*> Worker::add_port(fabric::Underlay& underlay, fabric::PortConfig config,
                                             const std::string& role, bool is_shm) {
  if (config.eui64 == fabric::Eui64()) {
    config.eui64 = fabric::Eui64(node_eui64(common_.name(), role));
  }
  config.instance = instance_;
  config.crc_head_only = is_shm;
  config.machine_key = machine_key_;
  return adapter_.add_port(underlay, config);
}

base::Result<fabric::Attachment*> Worker::attach(
    const Endpoint& first, const CarrierConfig& config, const std::string& role,
    std::span<const fabric::session::PublicKey> switch_key) {
  const auto of_queue = first.of_queue(queue_);
  if (!of_queue) return of_queue.error();
  const Endpoint& to = *of_queue;
  auto carrier = connect_carrier(to, config);
  if (!carrier) return carrier.error().within("connecting to the switch at " + to.text());
  fabric::PeerAddress switch_at = carrier->peer;
  const auto underlay = carriers_.add(*std::move(carrier), to.text());
  if (!underlay) return underlay.error();
  fabric::PortConfig hop = hop_config(role, to.is_shm());
  fabric::Underlay* top = *underlay;
  if (common_.keys.are_given() && !to.is_shm()) {
    const auto keyed = add_keys(*top, switch_key, switch_at);
    if (!keyed) return keyed.error();
    top = keyed->underlay;
    switch_at = keyed->peers.front();
    hop.eui64 = fabric::Eui64(keyed->eui64);
  }
  attachments_.push_back(std::make_unique<fabric::Attachment>(
      *top, switch_at, hop, clock_, random_, queue_, common_.partitions, common_.name()));
  return attachments_.back().get();
}

fabric::PortConfig Worker::hop_config(const std::string& role, bool is_shm) const {
  fabric::PortConfig hop = common_.port;
  hop.eui64 = fabric::Eui64(node_eui64(common_.name(), role));
  hop.instance = instance_;
  hop.crc_head_only = is_shm;
  hop.payload_crc = fabric::PayloadCrcMode::kOn;
  hop.mcp_wanted = 0;  // --cell is about paths
  return hop;
}

Worker::InnerHop Worker::attach_here(const std::string& role, bool is_shm) {
  CHECK(!inner_);
  inner_.emplace();
  fabric::PortConfig hop = hop_config(role, is_shm);
  hop.profile = fabric::LinkProfile::kSpeed;  // whatever the ports to others have
  attachments_.push_back(std::make_unique<fabric::Attachment>(
      inner_->connecting(), inner_->listening().address(), hop, clock_, random_, 0,
      fabric::PartitionTable(), common_.name()));
  return {inner_->listening(), *attachments_.back()};
}

base::Status Worker::move_carrier(std::size_t carrier, const Endpoint& first) {
  const auto to = first.of_queue(queue_);
  return to ? carriers_.move(carrier, *to) : to.error();
}

std::uint16_t Worker::node_of(std::uint16_t lid) { return fabric::node_of(fabric::Lid(lid)).value; }

base::Result<fabric::Port*> Worker::add_attached_port(fabric::Attachment& attachment,
                                                      fabric::PortConfig config,
                                                      const std::string& role, bool is_shm) {
  config.payload_crc = fabric::PayloadCrcMode::kOn;
  config.profile = fabric::LinkProfile::kSpeed;  // of the path: the lanes are those of the hop
  config.lids = [&attachment](const fabric::PeerAddress& peer) { return attachment.lids_of(peer); };
  return add_port(attachment, std::move(config), role, is_shm);
}

base::Result<KeyedCarrier> Worker::add_keys(fabric::Underlay& underlay,
                                            std::span<const fabric::session::PublicKey> peers,
                                            const std::optional<fabric::PeerAddress>& endpoint) {
  const bool is_first = keyed_.empty();
  auto keyed = keyed_.add(underlay, peers, endpoint);
  if (keyed && is_first && queue_ == 0) {
    base::log_info("links are keyed, by " + std::string(name_of(common_.keys.aead)) +
                   "; the public key of this node is " + keyed->public_key);
    if (!common_.keys.key_log.empty()) {
      base::log_warn("--key-log: whoever reads " + common_.keys.key_log +
                     " can read the traffic of all links: delete it when it is no longer needed");
    }
  }
  return keyed;
}

void Worker::visit_carrier_counters(const base::CounterVisitor& visitor) const {
  carriers_.visit_counters(visitor);
  keyed_.visit_counters(visitor);
  for (const auto& attachment : attachments_) attachment->visit_counters(visitor);
}

messaging::PairConfig Worker::pair_config(std::uint32_t queues) const {
  messaging::PairConfig config = messaging::share_of(common_.pair, queues);
  config.queues = 1;
  config.flow_context_of = &flow_context_of;
  return config;
}

base::Status Worker::open_wake_latency() {
  if (!common_.wake_latency.is_given()) return {};
  auto opened = WakeLatency::open(common_.wake_latency);
  if (!opened) return opened.error();
  wake_latency_ = *std::move(opened);
  return {};
}

void Worker::begin_thread(std::optional<std::uint32_t> processor) const {
  // The main thread keeps the name of the process.
  if (queue_ > 0)
    ::pthread_setname_np(::pthread_self(), ("queue-" + std::to_string(queue_)).c_str());
  if (processor) {
    if (auto bound = bind_this_thread(*processor); !bound) {
      base::log_warn("queue " + std::to_string(queue_) + " is not bound: " + bound.error().text() +
                     ": name processors that are online and allowed with --cpus");
    }
  }
}

base::Status Worker::run(const ControlThread& control, bool never_sleeps, Heartbeats& heartbeats) {
  DataLoop loop(*this, adapter_, carriers_, control, commands_, clock_, never_sleeps);
  if (wake_latency_) loop.keep_processors_awake(*wake_latency_);
  if (watchdog_interval_) loop.report_alive(*watchdog_interval_, heartbeats, queue_);
  if (queue_ == 0 && has_service_manager()) loop.report_status();
  base::Status ended = loop.run();
  commands_.close();  // their requests get their replies now
  stop(clock_.now());
  for (const auto& attachment : attachments_) attachment->send_bye(clock_.now());
  return ended;
}

}  // namespace splitnic::control
