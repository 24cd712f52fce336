#include "control/report/known_peers.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <tuple>
#include <utility>

#include "control/report/json.h"
#include "control/report/text_table.h"

namespace splitnic::control {
namespace {

namespace json = boost::json;

// A queue that a host does not use knows its key and not its name. Without a key a host is its
// node, since two may state one name.
auto identity_of(const KnownPeer& peer) {
  const std::string& otherwise = peer.node.empty() ? peer.name : peer.node;
  return std::tuple(peer.key, peer.user, peer.key.empty() ? otherwise : std::string());
}

json::object to_json(const KnownPeer& peer) {
  json::object out{{"name", json_string(peer.name)}};
  if (!peer.key.empty()) out["key"] = json_string(peer.key);
  if (peer.user) out["uid"] = *peer.user;
  out["state"] = json_string(peer.state);
  out["address"] = json_string(peer.address);
  if (peer.handshake_seconds) out["last_handshake_seconds"] = *peer.handshake_seconds;
  out["rx_bytes"] = peer.rx_bytes;
  out["tx_bytes"] = peer.tx_bytes;
  out["queues"] = peer.queues;
  out["memory_bytes"] = peer.memory_bytes;
  out["rights"] = json_string(peer.rights);
  return out;
}

}  // namespace

void add_queue(KnownPeers& all, const KnownPeers& queue) {
  std::map<decltype(identity_of(all.front())), std::size_t> index;
  for (std::size_t i = 0; i < all.size(); ++i) index.emplace(identity_of(all[i]), i);
  for (const KnownPeer& peer : queue) {
    const auto same = index.find(identity_of(peer));
    if (same == index.end()) {
      all.push_back(peer);
      continue;
    }
    KnownPeer& sum = all[same->second];
    sum.rx_bytes += peer.rx_bytes;
    sum.tx_bytes += peer.tx_bytes;
    sum.queues += peer.queues;
    sum.memory_bytes += peer.memory_bytes;
    if (peer.handshake_seconds) {
      sum.handshake_seconds =
          std::min(*peer.handshake_seconds, sum.handshake_seconds.value_or(UINT64_MAX));
    }
  }
}

std::string known_peers_json(const KnownPeers& peers) {
  json::array all;
  for (const KnownPeer& peer : peers) all.push_back(to_json(peer));
  return json::serialize(json::object{{"peers", std::move(all)}}) + "\n";
}

std::string known_peers_text(const KnownPeers& peers) {
  TextTable table(
      {"HOST", "STATE", "ADDRESS", "HANDSHAKE", "RX", "TX", "MEMORY", "RIGHTS", "KEY OR USER"});
  for (const KnownPeer& peer : peers) {
    const std::string handshake =
        peer.handshake_seconds ? std::to_string(*peer.handshake_seconds) + " s ago" : std::string();
    const std::string memory =
        peer.memory_bytes == 0 ? "" : std::to_string(peer.memory_bytes >> 10) + "K";
    const std::string user = peer.user ? "uid " + std::to_string(*peer.user) : std::string();
    table.add({peer.name, peer.state, peer.address, handshake, std::to_string(peer.rx_bytes),
               std::to_string(peer.tx_bytes), memory, peer.rights,
               peer.key.empty() ? user : peer.key});
  }
  const std::string text = table.text();
  return text.empty() ? "no host is known\n" : text.substr(1);  // an empty line is before a table
}

}  // namespace splitnic::control
