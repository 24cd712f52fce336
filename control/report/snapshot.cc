#include "control/report/snapshot.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

std::string of_queue(const std::string& text, std::optional<std::uint64_t> queue) {
  return text + (queue ? " of queue " + std::to_string(*queue) : "");
}

std::string speed_text(const LanInfo& lan) {
  if (lan.speed_mbps == 0) return "";
  return std::to_string(lan.speed_mbps) + " Mbit/s" + (lan.is_full_duplex ? "" : " half duplex");
}

void add_up(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& part) {
  if (part) sum = sum.value_or(0) + *part;
}

// Peers that are not up, or refuse something, and why, as far as that is known.
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

std::string line(const char* name, const std::string& value) {
  return value.empty() ? "" : detail_text({name, value});
}

std::string line(const char* name, const std::optional<std::uint64_t>& number) {
  return number ? detail_text({name, *number}) : "";
}

std::string line(const char* name, const std::optional<base::Duration>& span) {
  return span ? detail_text({name, span_text(*span)}) : "";
}

// With --verbose: a block for each peer.
std::string peer_details(const PeerInfo& peer) {
  std::string out = "\npeer " + printable(peer.name.empty() ? peer.address : peer.name) + ":\n";
  out += line("address", peer.address) + line("state", peer.state) +
         line("in this state for", peer.since) + line("time since last heard", peer.last_heard) +
         line("last error", peer.last_error) + line("next attempt in", peer.next_attempt) +
         line("port", peer.port) + line("LID", peer.lid) + line("program", peer.program) +
         line("key", peer.key) + line("mode", peer.mode) + line("channels", peer.channels) +
         line("frames in, indicated by", peer.idata_in) +
         line("frames out, indicated by", peer.idata_out) + line("MAC", peer.mac) +
         line("NIC", peer.nic) + line("queues", peer.queues);
  for (const Detail& detail : peer.details) out += detail_text(detail);
  out +=
      line("memory_bytes", peer.memory_bytes) + line("memory at most_bytes", peer.memory_bytes_max);
  for (const auto& [name, value] : peer.counters) {
    out += "  " + printable(name) + ": " + std::to_string(value) + "\n";
  }
  return out;
}

std::string counters_text(const std::map<std::string, std::uint64_t>& counters) {
  TextTable table({"COUNTER", "VALUE"});
  for (const auto& [name, value] : counters) table.add({name, std::to_string(value)});
  return table.text();
}

std::string pools_text(const Snapshot& snapshot, bool has_frames) {
  const bool has_context = std::ranges::any_of(
      snapshot.pools, [](const PoolInfo& pool) { return !pool.context.empty(); });
  std::vector<std::string> heading{"POOL", "SIDE",      "PEER",  "ELEMENTS",
                                   "SIZE", "AVAILABLE", "STATES"};
  if (has_context) heading.emplace_back("FOR");
  if (has_frames) heading.emplace_back("FRAMES");
  TextTable pools(std::move(heading));
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
    if (has_frames) row.push_back(pool.frames ? std::to_string(*pool.frames) : "");
    pools.add(std::move(row));
  }
  if (snapshot.pools_left_out == 0) return pools.text();
  return pools.text() + "and " + std::to_string(snapshot.pools_left_out) + " more pools\n";
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string links_text(const std::vector<LinkInfo>& all) {
  std::vector<std::string> heading{"LINK", "STATE", "CELL", "LANES", "PAYLOAD CRC"};
  if (!all.empty()) {
    for (const auto& detail : all.front().details) heading.push_back(upper(name_text(detail)));
  }
  TextTable links(std::move(heading));
  for (const LinkInfo& link : all) {
    std::vector<std::string> row{of_queue(link.address, link.queue), link.state,
                                 std::to_string(link.cell_bytes), std::to_string(link.lanes),
                                 link.payload_crc};
    for (const auto& detail : link.details) row.push_back(value_text(detail));
    links.add(std::move(row));
  }
  return links.text();
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

std::map<std::string, std::uint64_t> counters_in_use(const Snapshot& snapshot) {
  auto all = merged_counters(snapshot);
  std::erase_if(all, [](const auto& counter) { return counter.second == 0; });
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
    if (same == all.peers.end()) continue;
    same->queues = same->queues.value_or(0) + peer.queues.value_or(0);
    add_up(same->memory_bytes, peer.memory_bytes);
    add_up(same->memory_bytes_max, peer.memory_bytes_max);
    for (const auto& [name, value] : peer.counters) same->counters[name] += value;
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
  const bool is_verbose = !snapshot.details.empty();
  for (const Detail& detail : snapshot.details) out += detail_text(detail);
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
  TextTable channels({"CHANNEL", "PEER", "QP", "PEER QP", "SERVICE", "STATE", "ROUND TRIP"});
  for (const ChannelInfo& channel : snapshot.channels) {
    channels.add({of_queue(std::to_string(channel.number), channel.queue), channel.peer,
                  std::to_string(channel.qpn), std::to_string(channel.peer_qpn), channel.service,
                  channel.state,
                  channel.round_trip.count() > 0 ? microseconds(channel.round_trip) : ""});
  }
  std::string peers;
  if (is_verbose) {
    for (const PeerInfo& peer : snapshot.peers) peers += peer_details(peer);
  } else {
    peers = peers_text(snapshot.peers);
  }
  return out + peers + lan.text() + pools_text(snapshot, is_verbose) + channels.text() +
         links_text(snapshot.links) +
         (is_verbose ? counters_text(counters_in_use(snapshot)) : std::string());
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
