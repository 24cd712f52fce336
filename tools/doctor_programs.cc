// The checks of `splitnic doctor` of running programs: their state and their counters.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cstdint>
#include <map>
#include <sstream>
#include <string_view>

#include "control/config/values.h"
#include "tools/doctor.h"

namespace splitnic::tools {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kFramesToBeSure = 20;

// Of lines with a name and a number; other lines, such as a heading, are left out.
std::map<std::string, std::uint64_t> counters_of(const std::string& text) {
  std::map<std::string, std::uint64_t> counters;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string counter;
    std::uint64_t value = 0;
    if (words >> counter >> value) counters[counter] = value;
  }
  return counters;
}

std::string text_of(const json::object& from, std::string_view key) {
  const json::value* const found = from.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

const json::array& list_of(const json::object& from, std::string_view key) {
  static const json::array kNone;
  const json::value* const found = from.if_contains(key);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

// The command that checks the way to a unit, or to the switch in front of it. None over shm.
std::string way_check(const std::string& address) {
  const auto place = control::parse_peer_place(address);
  if (!place || place->at.is_shm()) return "";
  return std::string(", and at the way to ") + (place->node.empty() ? "it" : "its switch") +
         " (splitnic doctor " + place->at.text() + ")";
}

Finding examine_unit_of(const std::string& name, const json::object& peer) {
  const std::string address = text_of(peer, "address");
  const std::string state = text_of(peer, "state");
  const std::string error = text_of(peer, "last_error");
  const std::string what = name + ": the I/O unit " + address + " is " + state;
  if (state == "up" || state == "standby") return {"unit", true, what};
  if (error.starts_with("the link is refused"))
    return {"unit", false, what + ": " + error + "; its log has more"};
  if (!peer.contains("last_heard_milliseconds")) {
    const std::string cause = error.empty() ? "it has never responded" : error;
    return {"unit", false, what + ": " + cause + permit_ports(address)};
  }
  return {"unit", false,
          what + ": " + (error.empty() ? "it no longer responds" : error) + ": look at its log" +
              way_check(address)};
}

// A unit that is up, and has an error, refuses the address of the interface.
void examine_mac(const std::string& name, const json::object& peer, std::vector<Finding>& out) {
  const std::string error = text_of(peer, "last_error");
  if (text_of(peer, "state") != "up" || error.empty()) return;
  out.push_back({"mac", false,
                 name + ": " + error + ": no frame of the LAN for " + text_of(peer, "mac") +
                     " comes to it before; or set another address (splitnic set mac)"});
}

// One line for each I/O unit that a host has.
void examine_units(const std::string& name, const json::object& shown, std::vector<Finding>& out) {
  for (const json::value& entry : list_of(shown, "peers")) {
    if (const json::object* const peer = entry.if_object()) {
      out.push_back(examine_unit_of(name, *peer));
      examine_mac(name, *peer, out);
    }
  }
}

// Whether it is of queue 0, which stands for the others.
bool is_of_first_queue(const json::object& link) {
  const json::value* const queue = link.if_contains("queue");
  return queue == nullptr || *queue == 0;
}

std::string path_text(const std::string& name, const std::string& bytes, const json::object& link) {
  return name + ": cells of " + bytes + " bytes pass to " + text_of(link, "address");
}

// The paths as the probes of the program have found them.
void examine_paths(const std::string& name, const json::object& shown, bool is_narrowed,
                   std::vector<Finding>& out) {
  const std::string advice =
      is_narrowed ? "; the path carries less than its interface: give the interface that MTU" : "";
  for (const json::value& entry : list_of(shown, "links")) {
    const json::object* const link = entry.if_object();
    if (link == nullptr || !is_of_first_queue(*link) || text_of(*link, "state") != "UP") continue;
    const json::value* const bytes = link->if_contains("cell_bytes");
    if (bytes == nullptr) continue;
    out.push_back({"path", true, path_text(name, json::serialize(*bytes), *link) + advice});
  }
}

// Whether the LAN passes frames with the address of the interface: some come to it.
void examine_lan(const std::string& name, const std::map<std::string, std::uint64_t>& counters,
                 std::vector<Finding>& out) {
  std::uint64_t sent = 0;
  for (const char* counter :
       {"iou.from_host.unicast:", "iou.from_host.multicast:", "iou.from_host.broadcast:"}) {
    const auto one = counters.find(counter);
    if (one != counters.end()) sent += one->second;
  }
  const auto found = counters.find("iou.to_host.unicast:");
  if (found == counters.end() || sent < kFramesToBeSure) return;
  const std::string what = name + ": " + std::to_string(sent) + " frames sent to the LAN, " +
                           std::to_string(found->second) + " came from there to this address";
  if (found->second > 0) return out.push_back({"lan", true, what});
  out.push_back({"lan", false,
                 what + ": does the LAN accept this MAC address? A port of a switch may admit one "
                        "address only, and a virtual machine needs forged transmits and "
                        "promiscuous mode; --mac nic takes that of the NIC"});
}

// Attempts of second hosts of one identity.
struct Copies {
  explicit Copies(const std::string& stats) {
    auto counters = counters_of(stats);
    by_name = counters["iou.hosts.refused_duplicate"];
    // Of one at another address, and of one at the same: each takes the session back in turn.
    by_key = counters["session.rx.drop.second"] + counters["session.reclaimed"];
  }
  std::uint64_t by_name = 0, by_key = 0;
};

Finding examine_identity(const std::string& name, const ProgramReplies& replies, bool logs_both) {
  const Copies before(replies.stats), now(replies.stats_later);
  const auto found = [&](const char* which, std::uint64_t times, const char* remedy) {
    return Finding{"identity", false,
                   name + ": a second host " + which + " connects again and again, " +
                       std::to_string(times) + " times until now: " +
                       (logs_both ? "the log of the I/O unit names both; " : "") + remedy};
  };
  if (now.by_key > before.by_key) {
    return found("with the key of another", now.by_key,
                 "make a key for each machine (splitnic keygen)");
  }
  if (now.by_name > before.by_name) {
    return found("of one identity", now.by_name, "give one of them another --name");
  }
  return {"program", true, name + " responds"};
}

}  // namespace

std::string permit_ports(const std::string& address) {
  const std::size_t at = address.rfind(':');
  const auto port = control::parse_number(address.substr(at + 1), UINT16_MAX);
  if (!port) return "";
  const std::string from = std::to_string(*port);
  return "; to permit UDP port " + from +
         " there and, for more queues, those behind it: nft add rule inet filter input udp dport " +
         from + "-" + std::to_string(*port + 7) + " accept; ufw allow " + from +
         "/udp; firewall-cmd --add-port=" + from + "/udp";
}

bool has_seen_copies(const std::string& before, const std::string& now) {
  const Copies first(before), last(now);
  return last.by_name > first.by_name || last.by_key > first.by_key;
}

std::vector<Finding> examine_program(const std::string& name, const ProgramReplies& replies) {
  if (replies.stats.empty()) {
    return {{"program", false, name + ": no program responds: start it, or remove the socket"}};
  }
  boost::system::error_code error;
  const json::value parsed = json::parse(replies.show, error);
  const json::object* const shown = error ? nullptr : parsed.if_object();
  const std::string role = shown == nullptr ? "" : text_of(*shown, "role");
  std::vector<Finding> out = {examine_identity(name, replies, role == "iou")};
  if (shown == nullptr) return out;
  if (role == "host") {
    examine_units(name, *shown, out);
    examine_lan(name, counters_of(replies.nic), out);
  }
  examine_paths(name, *shown, counters_of(replies.stats)["link.path_narrowed"] > 0, out);
  return out;
}

}  // namespace splitnic::tools
