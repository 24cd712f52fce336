// One underlay and its links: demultiplexes what arrives, gives slots and LIDs to peers, and drives
// the timers and flushes of links. Sans-I/O: the owner polls Underlay::fd(), reads the clock and
// calls in. An iteration of the owner's loop:
//   port.receive(now, 8, on_batch); ... write cells into links ...; port.on_time(now) when
//   now >= deadline(); port.flush(now); poll for output only while wants_write().
// INIT: HELLO -> CHALLENGE -> ANSWER -> READY; an address is accepted only after it has
// echoed a number sent to it, so a forged HELLO changes nothing. A peer that is known by address
// and instance gets READY at once. docs/protocol/init.md#init Thread: the data thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "base/rate_limit.h"
#include "fabric_emul/link/challenge.h"
#include "fabric_emul/link/link.h"
#include "fabric_emul/link/link_counters.h"
#include "fabric_emul/link/link_observer.h"
#include "fabric_emul/link/port_config.h"
#include "fabric_emul/link/port_context.h"
#include "fabric_emul/link/port_link.h"
#include "fabric_emul/link/repeated_flit.h"
#include "fabric_emul/link/source_limit.h"
#include "fabric_emul/underlay/underlay.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {

class Port {
 public:
  // REQUIRES config.instance != 0; underlay, random and observer outlive the port.
  Port(Underlay& underlay, const PortConfig& config, base::Random& random, LinkObserver& observer);
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Returns how many payload bytes one send call of the underlay carries to this peer, in the
  // largest cells that the path takes.
  std::size_t batch_payload_max(const PeerAddress& peer) const;

  // Client side: sends HELLO until the link is up, indefinitely, also after it went down: after 100
  // ms, doubled up to 1 s; up to 200 ms while a peer that was up may be back, and after 50 to 67 ms
  // for a second after BYE. The link exists from now on. REQUIRES a free slot, and that this peer
  // does not connect to us.
  Link& connect(const PeerAddress& address, base::Time now);

  // Takes at most batches_max batches from the underlay and calls f(Link&, std::span<const
  // ReceivedCell>) once for each that holds cells. Returns true if anything was received.
  template <class OnBatch>
  bool receive(base::Time now, unsigned batches_max, OnBatch&& f) {
    unsigned taken = 0;
    for (; taken < batches_max; ++taken) {
      const auto received = context_.underlay.receive();
      if (!received) break;
      if (received->bytes.empty()) continue;
      PortLink* link = take_batch(now, *received);
      if (link == nullptr) continue;
      f(static_cast<Link&>(*link), context_.received.cells());
      link->release_cells();
    }
    if (context_.underlay.take_too_long_report()) doubt_paths(now);
    return taken > 0;
  }

  // Client side: nothing is sent to this peer any more, not even HELLO, and it is not notified.
  void end(Link& link, base::Time now) { links_[link.slot()]->end(now); }

  // Asks a peer whose link is up for a sign of life: sends a short probe, to which it replies at
  // once. No effect while the link is not up.
  void probe(const Link& link) { links_[link.slot()]->send_probe(); }

  // Sends what links have gathered.
  void flush(base::Time now);
  void on_writable(base::Time now) { flush(now); }
  // Returns true once after a lane had no room and has some again: waiting cells may be written.
  bool take_room();
  // Keep-alive, HELLOs, link down. Cheap before deadline().
  void on_time(base::Time now);
  base::Time deadline() const;
  bool wants_write() const;
  // Clean stop: sends BYE to every peer that is up. They see their link down at once.
  void send_bye(base::Time now);

  // Calls f(Link&) for each of its links, also for those that are not up.
  template <class OnLink>
  void for_each_link(OnLink&& f) {
    for (const auto& link : links_) f(static_cast<Link&>(*link));
  }
  // Returns the link whose peer has this LID; nullptr if there is none.
  Link* by_lid(Lid lid);
  Underlay& underlay() { return context_.underlay; }
  const PortConfig& config() const { return context_.config; }
  LinkProfile profile() const { return context_.profile(); }
  const base::Counters<LinkCounter>& counters() const { return context_.counters; }
  const base::Counters<FullLinkCounter>& full_counters() const { return context_.full_counters; }
  void visit_counters(const base::CounterVisitor& visitor) const;

 private:
  // port_receive.cc
  PortLink* take_batch(base::Time now, const Underlay::Received& batch);
  void take_datagram(base::Time now, base::Bytes datagram, const PeerAddress& from,
                     PortLink*& link);
  bool take_repeated(FlitWalker& walker, const PortLink* link);
  void take_flit(base::Time now, const FlitView& flit, PortLink* link);
  void take_cell(const FlitView& flit, PortLink& link);
  void take_fragment(const FlitView& flit, PortLink& link);
  void count_bad(FlitError error);
  PortLink* by_address(const PeerAddress& address);

  // port_init.cc
  void on_init(base::Time now, const FlitView& flit, const PeerAddress& from, PortLink*& link);
  void on_hello(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link);
  void on_answer(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link);
  void accept(base::Time now, const Init& init, const PeerAddress& from, PortLink*& link);
  bool is_alive_elsewhere(base::Time now, const PortLink& peer, const PeerAddress& from) const;
  void refuse(const Init& init, const PeerAddress& to, InitReason reason);
  void send_init(const PeerAddress& to, const Init& init);
  Challenge::Subject subject_of(const Init& init, const PeerAddress& from) const;
  // The peer with this EUI-64, among those that sent HELLO. Where the kernel reports the users of
  // peers, one of another user is another peer. [M-8]
  PortLink* known_peer(Eui64 eui64, const PeerAddress& from) const;
  PortLink* free_slot(base::Time now);

  // port.cc
  void flush_queued(base::Time now);
  void doubt_paths(base::Time now);

  // Replies to HELLO and ANSWER get a bounded part of the thread's time: 10000 in a second, and 256
  // at once, of which a source has its share. A host repeats what got no reply.
  static constexpr base::Duration kInitInterval = std::chrono::microseconds(100);
  static constexpr std::uint32_t kInitBurst = 256;

  PortContext context_;
  Challenge challenge_;
  SourceLimit sources_;
  base::RateLimit may_reply_{kInitInterval, kInitBurst};
  std::vector<std::unique_ptr<PortLink>> links_;
  std::vector<std::size_t> flushing_;
  RepeatedFlits checked_;          // cells of the batch, behind its last INIT
  PortLink* last_from_ = nullptr;  // most batches come from the peer of the batch before
};

}  // namespace splitnic::fabric
