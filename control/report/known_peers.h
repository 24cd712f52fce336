// The hosts that an I/O unit knows, attached or not: for `splitnic peers`, as JSON (the keys are
// fixed: docs/CLI.md) and as a table for people. An unknown string is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace splitnic::control {

struct KnownPeer {
  std::string name;
  std::string key;                                      // public key; "": it has none
  std::string node = {};                                // of a host without a key: its EUI-64
  std::optional<std::uint32_t> user = {};               // of a host over shm
  std::string state = "absent";                         // "up", "down", "connecting", "absent"
  std::string address = {};                             // where it was last
  std::optional<std::uint64_t> handshake_seconds = {};  // since its keys were agreed
  // Bytes of frames from and to it, since it attached.
  std::uint64_t rx_bytes = 0, tx_bytes = 0;
  std::uint64_t queues = 0;        // that are up for it
  std::uint64_t memory_bytes = 0;  // that its connections take
  std::string rights = {};         // in short
};
using KnownPeers = std::vector<KnownPeer>;

// Adds what another queue of the program knows: bytes and queues of the same peer are added up,
// its youngest handshake counts, state and address stay.
void add_queue(KnownPeers& all, const KnownPeers& queue);

// Returns one line, with its newline.
std::string known_peers_json(const KnownPeers& peers);
std::string known_peers_text(const KnownPeers& peers);

}  // namespace splitnic::control
