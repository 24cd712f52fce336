#include "control/snapshot.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "control/text_table.h"

namespace splitnic::control {
namespace {

std::string of_queue(const std::string& text, std::optional<std::uint64_t> queue) {
  return text + (queue ? " of queue " + std::to_string(*queue) : "");
}

// "0.2 s", "59 s", "3 min 5 s", "2 h 3 min", "9 d 4 h"
std::string span_text(base::Duration span) {
  const auto tenths = span / std::chrono::milliseconds(100);
  const auto seconds = tenths / 10;
  const auto two = [](auto first, const char* unit, auto second, const char* part) {
    return std::to_string(first) + unit + std::to_string(second) + part;
  };
  if (seconds < 10) return two(seconds, ".", tenths % 10, " s");
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return two(seconds / 60, " min ", seconds % 60, " s");
  if (seconds < 86400) return two(seconds / 3600, " h ", seconds % 3600 / 60, " min");
  return two(seconds / 86400, " d ", seconds % 86400 / 3600, " h");
}

std::string speed_text(const LanInfo& lan) {
  if (lan.speed_mbps == 0) return "";
  return std::to_string(lan.speed_mbps) + " Mbit/s" + (lan.is_full_duplex ? "" : " half duplex");
}

// Peers that are not up, and why, as far as that is known.
std::string errors_text(const std::vector<PeerInfo>& all) {
  std::string out;
  for (const PeerInfo& peer : all) {
    if (peer.last_error.empty()) continue;
    out += (peer.name.empty() ? peer.address : peer.name) + ": " + printable(peer.last_error);
    if (peer.next_attempt) out += "; next attempt in " + span_text(*peer.next_attempt);
    out += "\n";
  }
  return out.empty() ? out : "\n" + out;
}

// A column is there if a peer has a value for it.
std::string peers_text(const std::vector<PeerInfo>& all) {
  const bool has_nics =
      std::ranges::any_of(all, [](const PeerInfo& p) { return p.nic.has_value(); });
  const bool has_queues =
      std::ranges::any_of(all, [](const PeerInfo& p) { return p.queues.has_value(); });
  const bool has_keys = std::ranges::any_of(all, [](const PeerInfo& p) { return !p.key.empty(); });
  const bool has_programs =
      std::ranges::any_of(all, [](const PeerInfo& p) { return !p.program.empty(); });
  const bool has_ports =
      std::ranges::any_of(all, [](const PeerInfo& p) { return p.port.has_value(); });
  const auto text_of = [](const std::optional<std::uint64_t>& number) {
    return number ? std::to_string(*number) : std::string();
  };
  const bool has_since =
      std::ranges::any_of(all, [](const PeerInfo& p) { return p.since.has_value(); });
  const bool has_heard =
      std::ranges::any_of(all, [](const PeerInfo& p) { return p.last_heard.has_value(); });
  const auto span_of = [](const std::optional<base::Duration>& span) {
    return span ? span_text(*span) : std::string();
  };
  std::vector<std::string> heading{"PEER", "ADDRESS", "STATE"};
  if (has_since) heading.emplace_back("SINCE");
  if (has_heard) heading.emplace_back("HEARD");
  if (has_ports)
    heading.insert(heading.end(), {"PORT", "LID"});
  else
    heading.insert(heading.end(), {"MODE", "MAC"});
  if (has_nics) heading.emplace_back("NIC");
  if (has_queues) heading.emplace_back("QUEUES");
  if (has_programs) heading.emplace_back("PROGRAM");
  if (has_keys) heading.emplace_back("KEY");
  TextTable peers(std::move(heading));
  for (const PeerInfo& peer : all) {
    std::vector<std::string> row{peer.name, peer.address, peer.state};
    if (has_since) row.push_back(span_of(peer.since));
    if (has_heard) row.push_back(span_of(peer.last_heard));
    row.push_back(has_ports ? text_of(peer.port) : peer.mode);
    row.push_back(has_ports ? text_of(peer.lid) : peer.mac);
    if (has_nics) row.push_back(text_of(peer.nic));
    if (has_queues) row.push_back(text_of(peer.queues));
    if (has_programs) row.push_back(peer.program);
    if (has_keys) row.push_back(peer.key);
    peers.add(std::move(row));
  }
  return peers.text() + errors_text(all);
}

std::string microseconds(base::Duration duration) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.1f us", static_cast<double>(duration.count()) / 1000.0);
  return out.data();
}

}  // namespace

std::map<std::string, std::uint64_t> merged_counters(const Snapshot& snapshot) {
  std::map<std::string, std::uint64_t> all;
  for (const auto& [name, value] : snapshot.counters) all[name] += value;
  return all;
}

void set_queue(Snapshot& snapshot, std::uint64_t queue) {
  for (PoolInfo& pool : snapshot.pools) pool.queue = queue;
  for (ChannelInfo& channel : snapshot.channels) channel.queue = queue;
  for (LinkInfo& link : snapshot.links) link.queue = queue;
  for (PeerInfo& peer : snapshot.peers) peer.queues = peer.state == "up" ? 1 : 0;
}

void add_queue(Snapshot& all, Snapshot queue) {
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (PoolInfo& pool : queue.pools) add_pool(all, std::move(pool));
  all.pools_left_out += queue.pools_left_out;
  append(all.channels, queue.channels);
  append(all.links, queue.links);
  append(all.counters, queue.counters);
  for (const PeerInfo& peer : queue.peers) {
    const auto same = std::ranges::find(all.peers, peer.name, &PeerInfo::name);
    if (same != all.peers.end()) same->queues = same->queues.value_or(0) + peer.queues.value_or(0);
  }
}

void add_pool(Snapshot& snapshot, PoolInfo pool) {
  if (snapshot.pools.size() < kPoolsShown)
    snapshot.pools.push_back(std::move(pool));
  else
    ++snapshot.pools_left_out;
}

std::string show_text(const Snapshot& snapshot) {
  std::string out = snapshot.role + " " + snapshot.name + ": " + snapshot.state + "\n";
  if (!snapshot.program.empty()) out += "runs " + snapshot.program + "\n";
  if (!snapshot.aead.empty()) out += "links are keyed, by " + snapshot.aead + "\n";
  if (snapshot.manager) {
    out += "subnet manager: " + snapshot.manager->name + " (LID " +
           std::to_string(snapshot.manager->lid) + "), priority " +
           std::to_string(snapshot.manager->priority) +
           (snapshot.manager->is_here ? ", in this switch\n" : "\n");
  }
  for (const std::string& at : snapshot.listen) out += "listens at " + at + "\n";
  const bool has_speed =
      std::ranges::any_of(snapshot.lan, [](const LanInfo& port) { return port.speed_mbps > 0; });
  std::vector<std::string> lan_heading{"LAN", "LINK", "MTU", "MAC"};
  if (has_speed) lan_heading.emplace_back("SPEED");
  TextTable lan(std::move(lan_heading));
  for (const LanInfo& port : snapshot.lan) {
    std::vector<std::string> row{port.port, port.link, std::to_string(port.mtu), port.mac};
    if (has_speed) row.push_back(speed_text(port));
    lan.add(std::move(row));
  }
  const bool has_context = std::ranges::any_of(
      snapshot.pools, [](const PoolInfo& pool) { return !pool.context.empty(); });
  std::vector<std::string> pool_heading{"POOL", "SIDE",      "PEER",  "ELEMENTS",
                                        "SIZE", "AVAILABLE", "STATES"};
  if (has_context) pool_heading.emplace_back("FOR");
  TextTable pools(std::move(pool_heading));
  for (const PoolInfo& pool : snapshot.pools) {
    std::string states;
    for (const auto& [state, count] : pool.elements_by_state) {
      states += (states.empty() ? "" : " ") + state + "=" + std::to_string(count);
    }
    std::vector<std::string> row{of_queue(std::to_string(pool.ref), pool.queue),
                                 pool.side,
                                 pool.peer,
                                 std::to_string(pool.elements),
                                 std::to_string(pool.size),
                                 std::to_string(pool.available),
                                 states};
    if (has_context) row.push_back(pool.context);
    pools.add(std::move(row));
  }
  TextTable channels({"CHANNEL", "PEER", "QP", "PEER QP", "SERVICE", "STATE", "ROUND TRIP"});
  for (const ChannelInfo& channel : snapshot.channels) {
    channels.add({of_queue(std::to_string(channel.number), channel.queue), channel.peer,
                  std::to_string(channel.qpn), std::to_string(channel.peer_qpn), channel.service,
                  channel.state,
                  channel.round_trip.count() > 0 ? microseconds(channel.round_trip) : ""});
  }
  TextTable links({"LINK", "STATE", "CELL", "LANES", "PAYLOAD CRC"});
  for (const LinkInfo& link : snapshot.links) {
    links.add({of_queue(link.address, link.queue), link.state, std::to_string(link.cell_bytes),
               std::to_string(link.lanes), link.payload_crc});
  }
  const std::string left_out =
      snapshot.pools_left_out == 0
          ? std::string()
          : "and " + std::to_string(snapshot.pools_left_out) + " more pools\n";
  return out + peers_text(snapshot.peers) + lan.text() + pools.text() + left_out + channels.text() +
         links.text();
}

std::string stats_text(const Snapshot& snapshot) {
  std::string out;
  for (const auto& [name, value] : merged_counters(snapshot)) {
    out += name + " " + std::to_string(value) + "\n";
  }
  return out;
}

std::string ping_text(const PingResult& result) {
  std::vector<base::Duration> sorted = result.round_trips;
  std::sort(sorted.begin(), sorted.end());
  std::string out =
      std::to_string(result.sent) + " sent, " + std::to_string(sorted.size()) + " replied";
  if (!sorted.empty()) {
    // The median of an even number is the lower of the two in the middle: a time that was measured.
    out += ", min " + microseconds(sorted.front()) + ", median " +
           microseconds(sorted[(sorted.size() - 1) / 2]) + ", max " + microseconds(sorted.back());
  }
  return out + "\n";
}

}  // namespace splitnic::control
