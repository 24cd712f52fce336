// The state that a program reports, taken on its data thread: for `splitnic show` and `splitnic
// stats`, as JSON (the keys are fixed: docs/CLI.md) and as tables for people. An unknown string is
// empty.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "control/report/details.h"

namespace splitnic::control {

struct PeerInfo {
  std::string name, address;
  std::string state;  // "connecting", "up", "down"; at a switch also "held"
  std::string mode;   // "rdma", "send"
  std::string mac;
  std::optional<std::uint64_t> nic = {};  // number of the NIC that it uses
  // Number of queues that are up for it, where the program has several.
  std::optional<std::uint64_t> queues = {};
  std::string key = {};      // public key, if the link is keyed
  std::string program = {};  // name and version, as the peer states them
  // Of a switch: the number of its port, and the LID of the peer.
  std::optional<std::uint64_t> port = {}, lid = {};
  std::optional<base::Duration> since = {};         // it is in this state
  std::optional<base::Duration> last_heard = {};    // since its last flit arrived
  std::string last_error = {};                      // why it is not up, or what it refuses
  std::optional<base::Duration> next_attempt = {};  // from now, to connect
  // Of a connection: "1", "2" or "separate"; and of rdma mode how writes into the own pools and
  // into those of the peer are indicated: "pool", "offset" or "message".
  std::string channels = {}, idata_in = {}, idata_out = {};
  Details details = {};  // with --verbose, like the next two
  // Of a host: memory of the I/O unit that its connections take, and may take.
  std::optional<std::uint64_t> memory_bytes = {}, memory_bytes_max = {};
  std::map<std::string, std::uint64_t> counters = {};  // its own that are not 0
};

struct PoolInfo {
  std::uint64_t ref = 0, elements = 0, size = 0, available = 0;
  std::string peer;  // the peer's name
  std::string side;  // "own": we receive into it; "peer": we push into it
  // Elements by the names of their states, where they are known.
  std::vector<std::pair<std::string, std::uint64_t>> elements_by_state;
  std::optional<std::uint64_t> queue = {};   // where the program has several
  std::optional<std::uint64_t> frames = {};  // that arrived in it, since it was made
  std::string context = {};                  // the flows that it is for, as --pool has them
};

struct ChannelInfo {
  std::string peer;
  std::uint64_t number = 0, qpn = 0, peer_qpn = 0;
  std::string service, state;  // "RC", "RTS"
  std::optional<std::uint64_t> queue = {};
  base::Duration round_trip{};  // from a cell to its acknowledgement, smoothed; 0: not known
};

struct LinkInfo {
  std::string address, state;
  std::uint64_t cell_bytes = 0, lanes = 1;
  std::string payload_crc = {};  // "on", "off (same machine)", ...
  std::optional<std::uint64_t> queue = {};
  Details details = {};  // with --verbose; each link has the same names
};

struct LanInfo {
  std::string port;
  std::string link;  // "up", "down"
  std::uint64_t mtu = 0;
  std::string mac;
  std::uint64_t speed_mbps = 0;  // of the card; 0: unknown
  bool is_full_duplex = true;
};

// The subnet manager that a switch obeys.
struct ManagerInfo {
  std::string name;  // of the switch that it is in
  std::uint64_t lid = 0, priority = 0;
  bool is_here = false;
};

// `show` lists this many pools in all, and of one side of one peer, so that a peer that advertises
// thousands does not make the reply longer than a reply may be. [L-6]
inline constexpr std::size_t kPoolsShown = 4096;
inline constexpr std::size_t kPoolsShownOfSide = 64;

struct Snapshot {
  std::string role;  // "host", "iou", "switch"
  std::string name;
  std::string program = {};              // name and version
  std::string aead = {};                 // what encrypts the records of keyed links
  std::string state;                     // of the fabric: "connecting", "up", "down"
  std::vector<std::string> listen = {};  // where others attach
  std::vector<PeerInfo> peers;
  std::optional<ManagerInfo> manager = {};
  std::vector<PoolInfo> pools;
  std::uint64_t pools_left_out = 0;  // beyond those shown
  std::vector<ChannelInfo> channels;
  std::vector<LinkInfo> links;
  std::vector<LanInfo> lan;
  Details details = {};  // with --verbose: of the program
  // In any order; a name may occur several times. There are thousands with many hosts, and one more
  // never moves the others.
  std::deque<std::pair<std::string, std::uint64_t>> counters;
};

// The parts that a reply is made of; the others may be left out.
struct SnapshotParts {
  bool has_peers = true;  // with their pools, channels and links
  bool has_counters = true;
  bool has_details = false;  // with --verbose: those of the counters that are of a peer go with it
};

// Each queue of a program with several takes its own snapshot. set_queue() numbers one, and
// add_queue() puts one that is numbered into that of queue 0, which the program reports: state,
// peers and LAN ports stay those of queue 0, and peers of the same name have their queues counted.
void set_queue(Snapshot& snapshot, std::uint64_t queue);
void add_queue(Snapshot& all, Snapshot queue);

// Lists the pool, or counts it as left out if kPoolsShown are listed.
void add_pool(Snapshot& snapshot, PoolInfo pool);

// Returns one line, with its newline. A snapshot with details of the program is shown with all
// details, and with the counters that are not 0.
std::string show_json(const Snapshot& snapshot);
std::string show_text(const Snapshot& snapshot);
// Returns one flat object on one line, sorted by name, with its newline.
std::string stats_json(const Snapshot& snapshot);
// Returns lines of "NAME VALUE", sorted by name.
std::string stats_text(const Snapshot& snapshot);
// Returns the counters, sorted by name; values of one name are added up.
std::map<std::string, std::uint64_t> merged_counters(const Snapshot& snapshot);
// The same of those that are not 0.
std::map<std::string, std::uint64_t> counters_in_use(const Snapshot& snapshot);

// Echo round trips: one duration per reply.
struct PingResult {
  std::uint64_t sent = 0;
  std::vector<base::Duration> round_trips;
};
std::string ping_text(const PingResult& result);

}  // namespace splitnic::control
