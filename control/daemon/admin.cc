#include "control/daemon/admin.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "control/daemon/echo_run.h"
#include "control/daemon/eviction.h"
#include "control/daemon/pool_options.h"
#include "control/daemon/report_details.h"
#include "control/sandbox/refused_calls.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::control {
namespace {

// The threads of all queues share the log and the sandbox.
void add_process_counters(Snapshot& snapshot) {
  const base::LogDrops drops = base::log_drops();
  snapshot.counters.emplace_back("log.drop.limit", drops.limit);
  snapshot.counters.emplace_back("log.drop.blocked", drops.blocked);
  snapshot.counters.emplace_back("sandbox.drop.call", sandbox::refused_calls());
}

}  // namespace

Admin::Admin(base::Clock& clock, VisitCounters visit_carriers)
    : clock_(clock),
      visit_carriers_(std::move(visit_carriers)),
      started_at_(clock.now()),
      process_(static_cast<std::uint64_t>(::getpid())) {}

void Admin::handle(const Request& request, ReplyFunction reply) {
  switch (request.command) {
    case Command::kShow:
    case Command::kStats: {
      const bool is_show = request.command == Command::kShow;
      const bool is_verbose = is_show && request.verbose;
      return collect({.request = request,
                      .parts = {.has_peers = is_show,
                                .has_counters = !is_show || is_verbose,
                                .has_details = is_verbose},
                      .reply = std::move(reply)});
    }
    case Command::kSet:
      if (request.what == kFlushSetting) return flush(request.value, std::move(reply));
      return set_all(request, reply);
    case Command::kPing:
      return ping(request.count, std::move(reply));
    case Command::kPeers:
      if (const auto known = known_peers(); !known) {
        return reply({ReplyStatus::kBadRequest, known.error().text()});
      }
      return collect({.request = request, .reply = std::move(reply)});
    case Command::kEvict:
      return evict_all(request.value, std::move(reply));
    case Command::kNic:
      return nic(request, std::move(reply));
    case Command::kTopology:
      return reply(topology(request.what));
    case Command::kCapture:
      return capture(request, reply);
    case Command::kMonitor:  // these are of the control socket's server
    case Command::kEndCapture:
      return reply({ReplyStatus::kBadRequest, "monitor and capture need a client that stays"});
    case Command::kReload:  // of the control thread, where the program has something to reload
      return reply(
          {ReplyStatus::kBadRequest, "nothing is read again here: start the program again"});
  }
}

void Admin::take_snapshot(std::function<void(Snapshot)> done) {
  collect({.request = {Command::kStats, false, "", "", 0}, .done = std::move(done)});
}

void Admin::add_process(Snapshot& snapshot) const {
  const auto runs_for =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_at_);
  const Details process{{"runs_for_seconds", static_cast<std::uint64_t>(runs_for.count())},
                        {"process", process_},
                        {"queues", std::uint64_t{others_.size() + 1}},
                        {"message_protocol", std::uint64_t{messaging::kMessageVersion}}};
  snapshot.details.insert(snapshot.details.begin(), process.begin(), process.end());
}

// A command queue that refuses is closed, as the program ends, or full: its queue is left out.
void Admin::collect(Report report) const {
  report.of_queues.resize(1 + others_.size());
  const std::size_t queues = report.of_queues.size();
  const Shared into(new Collection{std::move(report), this, queues});
  for (std::size_t i = 1; i < queues; ++i) {
    const Other& other = others_[i - 1];
    const bool is_posted =
        other.commands->post([admin = other.admin, into, i] { admin->add_to(into, i); });
    // Not the last one: the own part is yet to come.
    if (!is_posted) into->unfinished.fetch_sub(1, std::memory_order_relaxed);
  }
  add_to(into, 0);
}

void Admin::add_to(const Shared& into, std::size_t queue) const {
  if (into->report.request.command != Command::kPeers) return begin_report(into, queue);
  if (auto known = known_peers()) into->report.of_queues[queue].known = *std::move(known);
  end_queue(into);
}

void Admin::begin_report(const Shared& into, std::size_t queue) const {
  const SnapshotParts& parts = into->report.parts;
  Snapshot now = snapshot(parts);
  if (parts.has_counters) {
    visit_carriers_([&now](std::string_view name, std::uint64_t value) {
      now.counters.emplace_back(name, value);
    });
    if (queue == 0) add_process_counters(now);
  }
  if (parts.has_details && queue == 0) add_process(now);
  OfQueue& own = into->report.of_queues[queue];
  own.snapshot = std::move(now);
  own.more = more_parts(parts);
  continue_report(into, queue);
}

// Where the own command queue refuses, it is this step or none.
void Admin::continue_report(const Shared& into, std::size_t queue) const {
  OfQueue& own = into->report.of_queues[queue];
  const base::Time until = clock_.now() + kStep;
  while (own.more && own.more(*own.snapshot)) {
    if (commands_ == nullptr || clock_.now() < until) continue;
    if (commands_->post([this, into, queue] { continue_report(into, queue); })) return;
  }
  own.more = {};
  end_queue(into);
}

// The collected parts leave with the function: they are large, and freed where that has run.
void Admin::end_queue(const Shared& into) {
  if (into->unfinished.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (!into->first->run_) return finish(into->report);
  into->first->run_(
      [whole = std::make_shared<Report>(std::move(into->report))] { finish(*whole); });
}

Snapshot Admin::merged(std::vector<OfQueue>& from) {
  Snapshot all = *std::move(from.front().snapshot);
  if (from.size() > 1) set_queue(all, 0);
  for (std::size_t i = 1; i < from.size(); ++i) {
    if (!from[i].snapshot) continue;
    set_queue(*from[i].snapshot, i);
    add_queue(all, *std::move(from[i].snapshot));
  }
  return all;
}

KnownPeers Admin::merged_peers(const std::vector<OfQueue>& from) {
  KnownPeers all;
  for (const OfQueue& one : from) {
    if (one.known) add_queue(all, *one.known);
  }
  return all;
}

void Admin::finish(Report& from) {
  const bool is_json = from.request.json;
  if (from.request.command == Command::kPeers) {
    const KnownPeers known = merged_peers(from.of_queues);
    return from.reply(
        {ReplyStatus::kOk, is_json ? known_peers_json(known) : known_peers_text(known)});
  }
  Snapshot all = merged(from.of_queues);
  if (from.done) return from.done(std::move(all));
  if (from.request.command == Command::kShow) {
    return from.reply({ReplyStatus::kOk, is_json ? show_json(all) : show_text(all)});
  }
  from.reply({ReplyStatus::kOk, is_json ? stats_json(all) : stats_text(all)});
}

// A pool belongs to one queue.
void Admin::flush(const std::string& request, ReplyFunction reply) {
  const ReplyFunction respond = std::move(reply);
  const auto parsed = parse_flush_request(request);
  if (!parsed) return respond({ReplyStatus::kBadRequest, parsed.error().text()});
  if (parsed->queue == 0) return respond(flush_here(*parsed));
  const FlushRequest& wanted = *parsed;
  const Posted posted =
      post_to(wanted.queue, [wanted, respond](Admin& admin) { respond(admin.flush_here(wanted)); });
  const std::string queue = "queue " + std::to_string(wanted.queue);
  if (posted == Posted::kNoQueue) {
    respond({ReplyStatus::kRefused, "there is no " + queue});
  } else if (posted == Posted::kBusy) {
    respond({ReplyStatus::kFailed, queue + " is busy or stopping: try again"});
  }
}

base::Result<messaging::Connection*> Admin::connection_of(const std::string&) {
  return connection_to_ping();
}

Reply Admin::flush_here(const FlushRequest& request) {
  const auto connection = connection_of(request.peer);
  if (!connection) return {ReplyStatus::kRefused, connection.error().text()};
  if (auto begun = (*connection)->first().flush(request.pool, !request.is_of_peer); !begun) {
    return {ReplyStatus::kRefused, begun.error().text()};
  }
  return {ReplyStatus::kOk, ""};
}

// The MAC, the MTU and the filter belong to the interface, which the other queues observe. The link
// is a state of the NIC service, and each queue has its own.
void Admin::set_all(const Request& request, const ReplyFunction& reply) {
  const Reply first = set(request.what, request.value);
  if (first.status != ReplyStatus::kOk) return reply(first);
  if (request.what != "link") return when_settled(request, reply);
  const Reply others = post_to_others(
      [what = request.what, value = request.value](Admin& admin) { admin.set(what, value); });
  reply(others.status == ReplyStatus::kOk ? first : others);
}

// Each queue has its own connection of the host, and queue 0 may have none.
void Admin::evict_all(const std::string& name, ReplyFunction reply) {
  const base::Status here = evict(name);
  if (here) {
    return reply(post_to_others([name](Admin& admin) { static_cast<void>(admin.evict(name)); }));
  }
  const auto eviction = std::make_shared<Eviction>(
      std::move(reply), Reply{ReplyStatus::kRefused, here.error().text()}, 1 + others_.size());
  for (std::size_t i = 1; i <= others_.size(); ++i) {
    const Posted posted = post_to(
        i, [eviction, name](Admin& admin) { eviction->end_queue(admin.evict(name).has_value()); });
    if (posted == Posted::kYes) continue;
    eviction->set_refusal(
        {ReplyStatus::kFailed, "queue " + std::to_string(i) + " is busy or stopping: try again"});
    eviction->end_queue(false);
  }
  eviction->end_queue(false);
}

Reply Admin::post_to_others(const std::function<void(Admin&)>& command) const {
  for (std::size_t i = 0; i < others_.size(); ++i) {
    if (!others_[i].commands->post([admin = others_[i].admin, command] { command(*admin); })) {
      return {ReplyStatus::kFailed,
              "queue " + std::to_string(i + 1) + " is busy or stopping: try again"};
    }
  }
  return {ReplyStatus::kOk, ""};
}

Posted Admin::post_to(std::size_t queue, std::function<void(Admin&)> command) const {
  if (queue == 0 || queue > others_.size()) return Posted::kNoQueue;
  const Other& other = others_[queue - 1];
  const bool is_posted = other.commands->post(
      [admin = other.admin, command = std::move(command)] { command(*admin); });
  return is_posted ? Posted::kYes : Posted::kBusy;
}

void Admin::nic(const Request&, ReplyFunction reply) {
  const ReplyFunction respond = std::move(reply);
  respond({ReplyStatus::kBadRequest, "ethtool, vlan, filter, qos and list are for the host"});
}

Reply Admin::set(const std::string&, const std::string&) {
  return {ReplyStatus::kBadRequest, "set is for the host side"};
}

void Admin::when_settled(const Request&, const ReplyFunction& reply) {
  reply({ReplyStatus::kOk, ""});
}

base::Result<KnownPeers> Admin::known_peers() const {
  return base::Error("peers is for the I/O unit");
}

base::Result<FabricMap> Admin::fabric_map() const {
  return base::Error("show topology is for a switch");
}

Reply Admin::topology(const std::string& form) const {
  const auto as = parse_fabric_map_form(form);
  if (!as) return {ReplyStatus::kBadRequest, "the topology is shown as text, json, dot or svg"};
  const auto map = fabric_map();
  if (!map) return {ReplyStatus::kRefused, map.error().text()};
  return {ReplyStatus::kOk, fabric_map_text(*map, *as)};
}

// The control socket's server has made the capture, and sends its frames once there is a reply.
void Admin::capture(const Request& request, const ReplyFunction& reply) {
  if (request.frames == nullptr) {
    return reply({ReplyStatus::kBadRequest, "capture needs a client that stays"});
  }
  if (auto begun = begin_capture(*request.frames, request.interface); !begun) {
    return reply({ReplyStatus::kRefused, begun.error().text()});
  }
  const auto add_queue = [frames = request.frames, interface = request.interface](Admin& admin) {
    static_cast<void>(admin.begin_capture(*frames, interface));
  };
  for (std::size_t i = 1; i <= others_.size(); ++i) {
    if (post_to(i, add_queue) == Posted::kYes) continue;
    return reply(
        {ReplyStatus::kFailed, "queue " + std::to_string(i) + " is busy or stopping: try again"});
  }
  reply({ReplyStatus::kOk, ""});
}

base::Status Admin::begin_capture(lan::FrameCapture&, const std::string&) {
  return base::Error(
      "capture is for the host and the I/O unit: there is no Ethernet interface here");
}

base::Status Admin::evict(const std::string&) { return base::Error("evict is for the I/O unit"); }

void Admin::ping(std::uint32_t count, ReplyFunction reply) {
  if (const auto connection = connection_to_ping(); !connection) {
    return reply({ReplyStatus::kRefused, connection.error().text()});
  }
  if (pings_.use_count() > kPingsMax) {  // it counts pings_, too
    return reply({ReplyStatus::kRefused, "two pings run already: try again in a moment"});
  }
  messaging::cfg::EchoRequest echo;
  echo.set_data("splitnic ping");
  EchoRun::start(
      count, clock_,
      [this, data = echo.SerializeAsString(), held = pings_](EchoRun::Done done) {
        return send_echo(data, std::move(done));
      },
      std::move(reply));
}

bool Admin::send_echo(const std::string& data, std::function<void(bool)> done) {
  const auto connection = connection_to_ping();
  if (!connection) return false;
  const auto sent = (*connection)
                        ->first()
                        .request(messaging::CfgCode::kEcho, data,
                                 [done = std::move(done)](const messaging::CfgReply& got) {
                                   done(got.replied && got.status == messaging::CfgStatus::kOk);
                                 });
  return sent.has_value();
}

void add_connection(Snapshot& snapshot, const messaging::Connection& connection, PeerInfo& info) {
  const std::string& peer = info.name;
  const messaging::Agreement& agreement = connection.first().agreement();
  info.channels = channels_name(agreement.channels);
  if (agreement.mode == messaging::Mode::kRdma) {
    info.idata_in = idata_name(agreement.form_in);
    info.idata_out = idata_name(agreement.form_out);
  }
  for (const messaging::ChannelView& channel : connection.channels()) {
    snapshot.channels.push_back({peer, channel.number, channel.qpn.value, channel.peer_qpn.value,
                                 std::string(channel.service), std::string(channel.state),
                                 std::nullopt, channel.round_trip});
  }
  std::array<std::size_t, 2> shown{};  // the peer's pools, own ones
  for (const messaging::PoolView& pool : connection.pools()) {
    if (++shown[pool.ours ? 1 : 0] > kPoolsShownOfSide) {
      ++snapshot.pools_left_out;
      continue;
    }
    PoolInfo shown_as;
    shown_as.ref = pool.ref;
    shown_as.elements = pool.elements;
    shown_as.size = pool.size;
    shown_as.available = pool.available;
    shown_as.peer = peer;
    shown_as.side = pool.ours ? "own" : "peer";
    shown_as.elements_by_state = {
        {pool.ours ? "posted" : "available", pool.available},
        {pool.ours ? "filled" : "writing", pool.in_use},
        {pool.ours ? "released" : "consumed", pool.elements - pool.available - pool.in_use}};
    if (pool.ours) shown_as.frames = pool.frames;
    if (pool.context != 0) shown_as.context = pool_context_text(pool.context);
    add_pool(snapshot, std::move(shown_as));
  }
}

void add_link(Snapshot& snapshot, const fabric::Link& link, SnapshotParts parts) {
  LinkInfo info;
  info.address = link.peer_name();
  info.state = fabric::name(link.state());
  info.cell_bytes = link.mcp();
  info.lanes = link.lanes();
  info.payload_crc = fabric::name(link.payload_crc());
  if (parts.has_details) info.details = link_details(link);
  snapshot.links.push_back(std::move(info));
}

const char* mode_name(messaging::Mode mode) {
  return mode == messaging::Mode::kRdma ? "rdma" : "send";
}

}  // namespace splitnic::control
