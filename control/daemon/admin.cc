#include "control/daemon/admin.h"

#include <optional>
#include <utility>

#include "control/daemon/echo_run.h"
#include "messaging/cfgutil/cfgutil.pb.h"

namespace splitnic::control {

void Admin::handle(const Request& request, ReplyFunction reply) {
  switch (request.command) {
    case Command::kShow: {
      const Snapshot now = snapshot();
      return reply({ReplyStatus::kOk, request.json ? show_json(now) : show_text(now)});
    }
    case Command::kStats: {
      Snapshot now = snapshot();
      visit_carriers_([&now](std::string_view name, std::uint64_t value) {
        now.counters.emplace_back(name, value);
      });
      return reply({ReplyStatus::kOk, request.json ? stats_json(now) : stats_text(now)});
    }
    case Command::kSet:
      return reply(set(request.what, request.value));
    case Command::kPing:
      return ping(request.count, std::move(reply));
  }
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
  const auto queue_of = [&](std::uint64_t queue) -> std::optional<std::uint64_t> {
    if (connection.queues() == 1) return std::nullopt;
    return queue;
  };
  for (const messaging::ChannelView& channel : connection.channels()) {
    snapshot.channels.push_back({peer, channel.number, channel.qpn.value, channel.peer_qpn.value,
                                 std::string(channel.service), std::string(channel.state),
                                 queue_of(channel.queue)});
  }
  for (const messaging::PoolView& pool : connection.pools()) {
    PoolInfo info;
    info.ref = pool.ref;
    info.elements = pool.elements;
    info.size = pool.size;
    info.available = pool.available;
    info.peer = peer;
    info.side = pool.ours ? "own" : "peer";
    info.queue = queue_of(pool.queue);
    info.elements_by_state = {
        {pool.ours ? "posted" : "available", pool.available},
        {pool.ours ? "filled" : "writing", pool.in_use},
        {pool.ours ? "released" : "consumed", pool.elements - pool.available - pool.in_use}};
    snapshot.pools.push_back(info);
  }
}

const char* mode_name(messaging::Mode mode) {
  return mode == messaging::Mode::kRdma ? "rdma" : "send";
}

}  // namespace splitnic::control
