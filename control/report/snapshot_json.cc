// The JSON of snapshot.h. Keys keep the order in which they are added here; numbers stay numbers up
// to 2^64 - 1.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <utility>

#include "control/report/json.h"
#include "control/report/snapshot.h"

namespace splitnic::control {
namespace {

namespace json = boost::json;

json::object counters_json(const std::map<std::string, std::uint64_t>& counters) {
  json::object all;
  for (const auto& [name, value] : counters) all[json_string(name)] = value;
  return all;
}

json::object to_json(const PeerInfo& peer) {
  json::object out{{"name", json_string(peer.name)},
                   {"address", json_string(peer.address)},
                   {"state", json_string(peer.state)},
                   {"mode", json_string(peer.mode)},
                   {"mac", json_string(peer.mac)}};
  if (peer.nic) out["nic"] = *peer.nic;
  if (peer.queues) out["queues"] = *peer.queues;
  if (peer.port) out["port"] = *peer.port;
  if (peer.lid) out["lid"] = *peer.lid;
  if (peer.since) out["since_seconds"] = *peer.since / std::chrono::seconds(1);
  if (peer.last_heard) {
    out["last_heard_milliseconds"] = *peer.last_heard / std::chrono::milliseconds(1);
  }
  if (!peer.last_error.empty()) out["last_error"] = json_string(peer.last_error);
  if (peer.next_attempt) {
    out["next_attempt_milliseconds"] = *peer.next_attempt / std::chrono::milliseconds(1);
  }
  if (!peer.program.empty()) out["program"] = json_string(peer.program);
  if (!peer.key.empty()) {
    out["keyed"] = true;
    out["key"] = json_string(peer.key);
  }
  if (!peer.channels.empty()) out["channels"] = json_string(peer.channels);
  if (!peer.idata_in.empty()) out["idata_in"] = json_string(peer.idata_in);
  if (!peer.idata_out.empty()) out["idata_out"] = json_string(peer.idata_out);
  if (peer.memory_bytes) out["memory_bytes"] = *peer.memory_bytes;
  if (peer.memory_bytes_max) out["memory_bytes_max"] = *peer.memory_bytes_max;
  if (!peer.details.empty()) out["details"] = details_json(peer.details);
  if (!peer.counters.empty()) out["counters"] = counters_json(peer.counters);
  return out;
}

json::object to_json(const PoolInfo& pool) {
  json::object out{{"ref", pool.ref},
                   {"elements", pool.elements},
                   {"size", pool.size},
                   {"available", pool.available},
                   {"peer", json_string(pool.peer)},
                   {"side", json_string(pool.side)}};
  if (pool.queue) out["queue"] = *pool.queue;
  if (pool.frames) out["frames"] = *pool.frames;
  if (!pool.context.empty()) out["context"] = json_string(pool.context);
  json::object states;
  for (const auto& [state, count] : pool.elements_by_state) states[json_string(state)] = count;
  out["states"] = std::move(states);
  return out;
}

json::object to_json(const LanInfo& lan) {
  json::object out{{"port", json_string(lan.port)},
                   {"link", json_string(lan.link)},
                   {"mtu", lan.mtu},
                   {"mac", json_string(lan.mac)}};
  if (lan.speed_mbps > 0) {
    out["speed_mbps"] = lan.speed_mbps;
    out["duplex"] = lan.is_full_duplex ? "full" : "half";
  }
  return out;
}

json::object to_json(const ChannelInfo& channel) {
  json::object out{{"peer", json_string(channel.peer)}, {"channel", channel.number}};
  if (channel.queue) out["queue"] = *channel.queue;
  out["qpn"] = channel.qpn;
  out["peer_qpn"] = channel.peer_qpn;
  out["service"] = json_string(channel.service);
  out["state"] = json_string(channel.state);
  if (channel.round_trip.count() > 0) out["round_trip_ns"] = channel.round_trip.count();
  return out;
}

json::object to_json(const LinkInfo& link) {
  json::object out{{"address", json_string(link.address)}};
  if (link.queue) out["queue"] = *link.queue;
  out["state"] = json_string(link.state);
  out["cell_bytes"] = link.cell_bytes;
  out["lanes"] = link.lanes;
  out["payload_crc"] = json_string(link.payload_crc);
  if (!link.details.empty()) out["details"] = details_json(link.details);
  return out;
}

template <class Info>
json::array list_of(const std::vector<Info>& all) {
  json::array out;
  for (const Info& one : all) out.push_back(to_json(one));
  return out;
}

}  // namespace

std::string show_json(const Snapshot& snapshot) {
  json::object all{{"role", json_string(snapshot.role)},     {"name", json_string(snapshot.name)},
                   {"state", json_string(snapshot.state)},   {"peers", list_of(snapshot.peers)},
                   {"pools", list_of(snapshot.pools)},       {"lan", list_of(snapshot.lan)},
                   {"channels", list_of(snapshot.channels)}, {"links", list_of(snapshot.links)}};
  if (!snapshot.program.empty()) all["program"] = json_string(snapshot.program);
  if (!snapshot.aead.empty()) all["aead"] = json_string(snapshot.aead);
  if (snapshot.manager) {
    all["manager"] = {{"name", json_string(snapshot.manager->name)},
                      {"lid", snapshot.manager->lid},
                      {"priority", snapshot.manager->priority},
                      {"here", snapshot.manager->is_here}};
  }
  if (!snapshot.listen.empty()) {
    json::array listen;
    for (const std::string& at : snapshot.listen) listen.push_back(json_string(at));
    all["listen"] = std::move(listen);
  }
  if (snapshot.pools_left_out != 0) all["pools_left_out"] = snapshot.pools_left_out;
  if (!snapshot.details.empty()) {
    all["details"] = details_json(snapshot.details);
    all["counters"] = counters_json(counters_in_use(snapshot));
  }
  return json::serialize(all) + "\n";
}

std::string stats_json(const Snapshot& snapshot) {
  return json::serialize(counters_json(merged_counters(snapshot))) + "\n";
}

}  // namespace splitnic::control
