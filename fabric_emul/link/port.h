// One underlay, its INIT handshake and its links. Sans-I/O: the owner polls Underlay::fd(), reads
// the clock and calls in. A round of the owner's loop:
//   port.receive(now, 8, on_batch); ... write cells into links ...; port.on_time(now) when
//   now >= deadline(); port.flush(now); poll for output only while wants_write().
// INIT: HELLO -> CHALLENGE -> ANSWER -> READY; an address is believed only after it has
// echoed a number sent to it, so a forged HELLO changes nothing. A peer that is known by address
// and instance gets READY at once. docs/wire/flit.md#init Thread: the data thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "fabric_emul/link/challenge.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

// What this end of a full-profile link offers. cell_bytes_max follows from the MCP.
constexpr FullLinkConfig full_defaults() {
  FullLinkConfig config;
  config.receive_blocks = 4096;
  config.window = 1024;
  return config;
}

// The same between processes of one machine or several. One that waits for a processor sends
// nothing for longer than 35 ms, and is not dead: it has as long as in the speed profile.
constexpr FullLinkConfig full_between_processes() {
  FullLinkConfig config = full_defaults();
  config.idle_missing_max = 90;
  config.failures_max = 900;  // at least 1 ms each
  return config;
}

struct PortConfig {
  Eui64 eui64;
  std::uint64_t instance = 0;  // random per process start, not 0
  // Takes HELLOs; has LID lid_base + 1 and gives lid_base + 2 .. lid_base + 1 + links_max to its
  // peers.
  bool listens = false;
  std::uint16_t lid_base = 0;  // Adapter::add_port: behind those of the ports before [S001-29]
  // 0: from the path, stride = min(datagram_bytes_max - 36, 65000), MCP = (stride - 72) & ~3; in
  // the full profile no more than 256.
  std::uint16_t mcp_wanted = 0;
  std::size_t links_max = 64;
  std::uint32_t program_version =
      0x00010000;              // major (8), minor (8), patch (16); majors must agree
  bool crc_head_only = false;  // shm profile, whatever `profile` says
  LinkProfile profile = LinkProfile::kSpeed;
  FullLinkConfig full = full_defaults();
  // The lane that a service level takes, in every profile [S004-21].
  std::array<std::uint8_t, kSlMax + 1> sl_to_vl{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
  base::Duration idle = std::chrono::milliseconds(200);  // IDLE after this long without sending
  unsigned idle_missing_max = 4;                         // then the link is down
  base::Duration hello_min = std::chrono::milliseconds(100);
  base::Duration hello_max = std::chrono::seconds(1);
  // A link that has been down for so long may be given to another peer when all are taken.
  base::Duration forget_after = std::chrono::seconds(60);
  // What probes found of a path is believed so long; then a new INIT tries the whole again.
  base::Duration path_known = std::chrono::minutes(10);
};

// Told from inside receive(), on_time(), flush() and on_writable(); may write cells, must not call
// the port.
class LinkObserver {
 public:
  virtual ~LinkObserver() = default;
  virtual void on_link_up(Link& link) = 0;
  // Nothing above the link ends by this: the peer may come back as the same instance.
  virtual void on_link_down(Link& link, std::string_view why) = 0;
  // Another instance of the peer is there (or the slot goes to another peer): end everything of the
  // old one. peer_eui64() and peer_instance() are still the old ones; the link is not up.
  // on_link_up follows once INIT is answered; no on_link_down comes before.
  virtual void on_peer_restarted(Link& link) = 0;
  // The path carries less than before (it refused a datagram, or long probes stayed unanswered and
  // short ones did not); mcp() is smaller now. Queue pairs with a larger one lose cells: their
  // owner makes new ones.
  virtual void on_path_narrowed(Link& /*link*/) {}
  virtual void on_refused(Link& /*link*/, InitReason /*reason*/) {}
};

// One received cell. Points into the underlay's buffer: valid during the callback.
struct ReceivedCell {
  base::Bytes bytes;
  std::uint8_t vl = 0;
  bool crc_head_only = false;
};

class Port : private CellSink {
 public:
  // REQUIRES config.instance != 0; underlay, random and observer outlive the port.
  Port(Underlay& underlay, const PortConfig& config, base::Random& random, LinkObserver& observer);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Client side: HELLO every 100 ms .. 1 s until the link is up, for ever, also after it went down.
  // The link exists from now on. REQUIRES a free slot, and that this peer does not connect to us.
  Link& connect(const PeerAddress& address, base::Time now);

  // Takes at most batches_max batches from the underlay and calls f(Link&, std::span<const
  // ReceivedCell>) once for each that holds cells. True if anything was received.
  template <class OnBatch>
  bool receive(base::Time now, unsigned batches_max, OnBatch&& f) {
    unsigned taken = 0;
    for (; taken < batches_max; ++taken) {
      const auto received = underlay_.receive();
      if (!received) break;
      if (received->bytes.empty()) continue;
      Link* link = take_batch(now, *received);
      if (link == nullptr) continue;
      f(*link, std::span<const ReceivedCell>(cells_));
      if (link->full_ != nullptr) link->release_cells();
    }
    return taken > 0;
  }

  // Sends what links have gathered.
  void flush(base::Time now);
  void on_writable(base::Time now) { flush(now); }
  // True once after a lane had no room and has some again: what waits may be written.
  bool take_room();
  // Keep-alive, HELLOs, link down. Cheap before deadline().
  void on_time(base::Time now);
  base::Time deadline() const;
  bool wants_write() const;
  // Clean stop: BYE to every peer that is up. They see their link down at once.
  void say_bye(base::Time now);

  // The link whose peer has this LID; nullptr if there is none.
  Link* by_lid(Lid lid);
  // Every link that has a peer.
  template <class F>
  void for_each_link(F&& f) {
    for (auto& link : links_) {
      if (link->state_ != LinkState::kFree) f(*link);
    }
  }
  Underlay& underlay() { return underlay_; }
  const PortConfig& config() const { return config_; }
  LinkProfile profile() const {
    return config_.crc_head_only ? LinkProfile::kShm : config_.profile;
  }
  const base::Counters<LinkCounter>& counters() const { return counters_; }
  const base::Counters<FullLinkCounter>& full_counters() const { return full_counters_; }
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  friend class Link;

  // port_receive.cc
  Link* take_batch(base::Time now, const Underlay::Received& batch);
  void take_datagram(base::Time now, base::Bytes datagram, const PeerAddress& from, Link*& link);
  void take_flit(base::Time now, const FlitView& flit, const PeerAddress& from, Link*& link);
  void take_cell(const FlitView& flit, const Link& link);
  void take_full(base::Time now, const FlitView& flit, Link& link);
  void on_cell(std::uint8_t vl, base::Bytes cell, std::uint32_t blocks) override;
  void count_bad(FlitError error);
  void heard(base::Time now, Link& link);
  Link* by_address(const PeerAddress& address);

  // port_init.cc
  void on_init(base::Time now, const FlitView& flit, const PeerAddress& from, Link*& link);
  void on_hello(base::Time now, const Init& init, const PeerAddress& from, Link*& link);
  void on_challenge(base::Time now, const Init& init, Link& link);
  void on_answer(base::Time now, const Init& init, const PeerAddress& from, Link*& link);
  void on_ready(base::Time now, const Init& init, Link& link);
  void on_refuse(base::Time now, const Init& init, Link& link);
  void on_bye(base::Time now, const Init& init, Link& link);
  void on_probe(base::Time now, const Init& init, Link& link);
  void send_probes(base::Time now, Link& link);
  void accept(base::Time now, const Init& init, const PeerAddress& from, Link*& link);
  void refuse(const Init& init, const PeerAddress& to, InitReason reason);
  InitReason check_peer(const Init& init) const;
  void adopt(const Init& init, Link& link);
  void start_lanes(base::Time now, const Init& init, std::uint64_t nonce, Link& link);
  void end_old_instance(Link& link);
  Challenge::Subject subject_of(const Init& init, const PeerAddress& from) const;
  Link* by_eui64(Eui64 eui64) const;  // among the peers that sent HELLO
  Link* free_slot(base::Time now);
  std::uint16_t own_mcp(const PeerAddress& peer, const Link& link) const;
  Init make_init(InitStep step, std::uint16_t mcp, const Link* link) const;
  bool send_init(const PeerAddress& to, const Init& init);
  bool send_control(const PeerAddress& to, base::Bytes datagram);
  void send_hello(base::Time now, Link& link);

  // port.cc
  void bring_up(base::Time now, Link& link);
  void take_down(base::Time now, Link& link, LinkState to, std::string_view why);
  void send_idle(base::Time now, Link& link);
  void on_link_time(base::Time now, Link& link);
  void on_full_time(base::Time now, Link& link);
  base::Time link_deadline(const Link& link) const;
  void flush_queued(base::Time now);
  void queue(Link& link);  // called by a link at the first cell of a batch
  void on_narrowed(Link& link);
  void on_black_hole(base::Time now, std::size_t stride, Link& link);
  std::size_t full_cell_bytes_max() const;
  // A client's: a silent peer may be a new instance, which takes nothing but HELLO, whatever else
  // is sent to it.
  base::Time doubt_at(const Link& link) const { return link.last_heard_ + 2 * config_.idle; }
  base::Duration silence_max() const {
    return config_.idle * config_.idle_missing_max + config_.idle / 2;
  }

  Underlay& underlay_;
  const PortConfig config_;
  base::Random& random_;
  LinkObserver& observer_;
  base::Counters<LinkCounter> counters_;
  base::Counters<FullLinkCounter> full_counters_;
  Challenge challenge_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<Link*> queued_;  // links with cells to send; after flush() the blocked ones
  std::vector<Link*> flushing_;
  std::vector<ReceivedCell> cells_;  // of the batch at hand
  // Full profile: the bytes of those cells, and whose they are.
  std::vector<std::byte> store_;
  std::size_t stored_ = 0;
  Link* receiving_ = nullptr;
  std::vector<std::byte> probe_;  // the longest that was sent
  Link* last_from_ = nullptr;     // most batches come from the peer of the batch before
  base::Time deadline_ = base::kNever;
};

inline Eui64 Link::local_eui64() const { return port_.config().eui64; }
inline std::uint64_t Link::local_instance() const { return port_.config().instance; }

}  // namespace splitnic::fabric
