#include "control/daemon/admin.h"

#include <array>
#include <utility>

#include "base/log.h"
#include "control/daemon/echo_run.h"
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

void Admin::handle(const Request& request, ReplyFunction reply) {
  switch (request.command) {
    case Command::kShow:
    case Command::kStats: {
      const auto into = std::make_shared<Collection>(Collection{request, std::move(reply)});
      into->all = report();
      add_process_counters(into->all);
      if (!others_.empty()) set_queue(into->all, 0);
      return collect(into, 0);
    }
    case Command::kSet:
      return reply(set_all(request.what, request.value));
    case Command::kPing:
      return ping(request.count, std::move(reply));
  }
}

Snapshot Admin::report() const {
  Snapshot now = snapshot();
  visit_carriers_([&now](std::string_view name, std::uint64_t value) {
    now.counters.emplace_back(name, value);
  });
  return now;
}

// Runs in the thread of the queue before `next`.
void Admin::collect(const std::shared_ptr<Collection>& into, std::size_t next) const {
  for (; next < others_.size(); ++next) {
    const bool is_posted = others_[next].commands->post([this, into, next] {
      Snapshot part = others_[next].admin->report();
      set_queue(part, next + 1);
      add_queue(into->all, part);
      collect(into, next + 1);
    });
    if (is_posted) return;
  }
  const bool is_json = into->request.json;
  if (into->request.command == Command::kShow) {
    return into->reply({ReplyStatus::kOk, is_json ? show_json(into->all) : show_text(into->all)});
  }
  into->reply({ReplyStatus::kOk, is_json ? stats_json(into->all) : stats_text(into->all)});
}

// The MAC, the MTU and the filter belong to the interface, which the other queues observe. The link
// is a state of the NIC service, and each queue has its own.
Reply Admin::set_all(const std::string& what, const std::string& value) {
  Reply first = set(what, value);
  if (first.status != ReplyStatus::kOk || what != "link") return first;
  for (std::size_t i = 0; i < others_.size(); ++i) {
    const bool is_posted = others_[i].commands->post(
        [admin = others_[i].admin, what, value] { admin->set(what, value); });
    if (!is_posted) {
      return {ReplyStatus::kFailed,
              "queue " + std::to_string(i + 1) + " is busy or stopping: try again"};
    }
  }
  return first;
}

void Admin::ping(std::uint32_t count, ReplyFunction reply) {
  if (const auto connection = connection_to_ping(); !connection) {
    return reply({ReplyStatus::kRefused, connection.error().text()});
  }
  messaging::cfg::EchoRequest echo;
  echo.set_data("splitnic ping");
  EchoRun::start(
      count, clock_,
      [this, data = echo.SerializeAsString()](EchoRun::Done done) {
        return send_echo(data, std::move(done));
      },
      std::move(reply));
}

bool Admin::send_echo(const std::string& data, std::function<void(bool)> done) {
  const auto connection = connection_to_ping();
  if (!connection) return false;
  const auto sent = (*connection)
                        ->request(messaging::CfgCode::kEcho, data,
                                  [done = std::move(done)](const messaging::CfgReply& got) {
                                    done(got.replied && got.status == messaging::CfgStatus::kOk);
                                  });
  return sent.has_value();
}

void add_connection(Snapshot& snapshot, const messaging::Connection& connection,
                    const std::string& peer) {
  for (const messaging::ChannelView& channel : connection.channels()) {
    snapshot.channels.push_back({peer, channel.number, channel.qpn.value, channel.peer_qpn.value,
                                 std::string(channel.service), std::string(channel.state)});
  }
  std::array<std::size_t, 2> shown{};  // the peer's pools, own ones
  for (const messaging::PoolView& pool : connection.pools()) {
    if (++shown[pool.ours ? 1 : 0] > kPoolsShownOfSide) {
      ++snapshot.pools_left_out;
      continue;
    }
    PoolInfo info;
    info.ref = pool.ref;
    info.elements = pool.elements;
    info.size = pool.size;
    info.available = pool.available;
    info.peer = peer;
    info.side = pool.ours ? "own" : "peer";
    info.elements_by_state = {
        {pool.ours ? "posted" : "available", pool.available},
        {pool.ours ? "filled" : "writing", pool.in_use},
        {pool.ours ? "released" : "consumed", pool.elements - pool.available - pool.in_use}};
    add_pool(snapshot, std::move(info));
  }
}

void add_link(Snapshot& snapshot, const fabric::Link& link) {
  LinkInfo info;
  info.address = link.peer_name();
  info.state = fabric::name(link.state());
  info.cell_bytes = link.mcp();
  info.lanes = link.lanes();
  info.payload_crc = fabric::name(link.payload_crc());
  snapshot.links.push_back(std::move(info));
}

const char* mode_name(messaging::Mode mode) {
  return mode == messaging::Mode::kRdma ? "rdma" : "send";
}

}  // namespace splitnic::control
