#include "control/metrics/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "control/report/counter_texts.h"

namespace splitnic::control {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

struct Family {
  std::string_view type;
  std::string help;
  std::map<std::string, std::uint64_t> samples;  // by their labels
  bool is_time = false;                          // samples are nanoseconds, printed as seconds
};
using Families = std::map<std::string, Family>;

// The format escapes these three in a label's value; control characters would only confuse people.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == '\x7F' ? '?' : c;
  }
  return out;
}

std::string labels_text(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    out += out.empty() ? "{" : ",";
    out.append(name).append("=\"").append(escaped(value)).append("\"");
  }
  return out.empty() ? out : out + "}";
}

void add(Families& to, const std::string& name, std::string_view type, std::string help,
         const Labels& labels, std::uint64_t value) {
  Family& family =
      to.try_emplace("splitnic_" + name, Family{type, std::move(help), {}, false}).first->second;
  family.samples[labels_text(labels)] += value;
}

// Several channels of a peer, such as those of several queues: the longest counts.
void add_round_trip(Families& to, const ChannelInfo& channel) {
  if (channel.round_trip.count() <= 0) return;
  Family& family =
      to.try_emplace("splitnic_round_trip_seconds",
                     Family{"gauge",
                            "Smoothed time from a cell to its acknowledgement, the longest of the "
                            "channels of that number.",
                            {},
                            true})
          .first->second;
  std::uint64_t& value = family.samples[labels_text(
      {{"peer", channel.peer}, {"channel", std::to_string(channel.number)}})];
  value = std::max(value, static_cast<std::uint64_t>(channel.round_trip.count()));
}

// "0.000012345" of 12345.
std::string seconds_text(std::uint64_t nanoseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  std::string fraction = std::to_string(nanoseconds % kPerSecond);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(nanoseconds / kPerSecond) + "." + fraction;
}

// "lan1.rx.frames": 1, and the name becomes "lan.rx.frames".
std::optional<std::string> take_nic(std::string& name) {
  if (name.starts_with("lan.")) return "0";
  const std::size_t dot = name.find('.');
  if (!name.starts_with("lan") || dot == std::string::npos) return std::nullopt;
  const std::string number = name.substr(3, dot - 3);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (number.empty() || !std::ranges::all_of(number, is_digit)) return std::nullopt;
  name = "lan" + name.substr(dot);
  return number;
}

// "host.NODE.iou.to_host.frames": NODE, which may have dots, and the name becomes the rest. A node
// may be named as another one with the beginning of a counter: what is left has to be one.
std::optional<std::string> take_host(const Snapshot& snapshot, std::string& name) {
  static constexpr std::string_view kHost = "host.";
  if (snapshot.role != "iou" || !name.starts_with(kHost)) return std::nullopt;
  const std::string_view rest = std::string_view(name).substr(kHost.size());
  const PeerInfo* found = nullptr;
  for (const PeerInfo& peer : snapshot.peers) {
    const bool fits = rest.size() > peer.name.size() && rest.starts_with(peer.name) &&
                      rest[peer.name.size()] == '.' &&
                      !counter_text(rest.substr(peer.name.size() + 1)).empty();
    if (fits && (found == nullptr || peer.name.size() > found->name.size())) found = &peer;
  }
  if (found == nullptr) return std::nullopt;
  name = rest.substr(found->name.size() + 1);
  return found->name;
}

// "lan.rx.drop.no_host": no_host, and the name becomes "lan.rx.drop".
std::optional<std::string> take_cause(std::string& name) {
  static constexpr std::string_view kDrop = ".drop.";
  const std::size_t at = name.find(kDrop);
  if (at == std::string::npos) return std::nullopt;
  std::string cause = name.substr(at + kDrop.size());
  name.resize(at + kDrop.size() - 1);
  return cause;
}

void add_counter(Families& to, const Snapshot& snapshot, std::string name, std::uint64_t value) {
  Labels labels;
  // The counters of one host are parts of sums that have the same name without it.
  const auto host = take_host(snapshot, name);
  if (host) labels.emplace_back("host", *host);
  if (const auto nic = take_nic(name)) labels.emplace_back("nic", *nic);
  if (const auto cause = take_cause(name)) labels.emplace_back("cause", *cause);
  std::string help(counter_text(name));
  if (host) help = "Of one host: " + help;
  std::ranges::replace_if(
      name, [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_'; }, '_');
  add(to, (host ? "host_" : "") + name + "_total", "counter", std::move(help), labels, value);
}

void add_state(Families& to, const Snapshot& snapshot) {
  add(to, "up", "gauge",
      "Whether the host is connected, the I/O unit serves, or a port of the switch is up.", {},
      snapshot.state == "up" ? 1 : 0);
  add(to, "info", "gauge", "The program.", {{"role", snapshot.role}, {"name", snapshot.name}}, 1);
  for (const PeerInfo& peer : snapshot.peers) {
    Labels labels{{"peer", peer.name}, {"address", peer.address}};
    if (peer.nic) labels.emplace_back("nic", std::to_string(*peer.nic));
    add(to, "peer_up", "gauge", "Whether the connection to the peer is up.", labels,
        peer.state == "up" ? 1 : 0);
  }
  for (std::size_t i = 0; i < snapshot.lan.size(); ++i) {
    const LanInfo& lan = snapshot.lan[i];
    const Labels labels{{"nic", std::to_string(i)}, {"port", lan.port}};
    add(to, "lan_link_up", "gauge", "Whether the LAN has a carrier.", labels,
        lan.link == "up" ? 1 : 0);
    add(to, "lan_mtu_bytes", "gauge", "MTU of the NIC.", labels, lan.mtu);
  }
  for (const ChannelInfo& channel : snapshot.channels) add_round_trip(to, channel);
  for (const PoolInfo& pool : snapshot.pools) {
    for (const auto& [state, count] : pool.elements_by_state) {
      add(to, "pool_elements", "gauge",
          "Elements of the pools that we receive into (own) and of those that we push into (peer).",
          {{"peer", pool.peer},
           {"side", pool.side},
           {"size", std::to_string(pool.size)},
           {"state", state}},
          count);
    }
  }
}

}  // namespace

std::string metrics_text(const Snapshot& snapshot) {
  Families all;
  add_state(all, snapshot);
  for (const auto& [name, value] : snapshot.counters) add_counter(all, snapshot, name, value);
  std::string out;
  for (const auto& [name, family] : all) {
    out.append("# HELP ").append(name).append(" ").append(family.help);
    out.append("\n# TYPE ").append(name).append(" ").append(family.type).append("\n");
    for (const auto& [labels, value] : family.samples) {
      out.append(name)
          .append(labels)
          .append(" ")
          .append(family.is_time ? seconds_text(value) : std::to_string(value))
          .append("\n");
    }
  }
  return out;
}

}  // namespace splitnic::control
