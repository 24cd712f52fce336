// A link as its port drives it: INIT steps, flits, timers and flushing come in; what the peer must
// get goes out. It ties the Handshake, PathMtu, KeepAlive, LinkLanes and SendBatch of one peer
// together. Life of a link: the edge table kLinkEdges. Thread: the data thread.
// docs/protocol/init.md#init
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "fabric_emul/link/fragment_receiver.h"
#include "fabric_emul/link/link.h"

namespace splitnic::fabric {

class PortLink final : public Link {
 public:
  PortLink(PortContext& context, std::size_t slot)
      : Link(context, slot), received_fragments_(context.counters) {}

  // The slot.
  bool is_client() const { return handshake_.is_client(); }
  // The peer is alive: it sends once per keep-alive interval at least.
  bool is_heard(base::Time now) const { return up() && now < keep_alive_.missing_at(); }
  // Whether it is known where the peer is: not since another one proved to be there.
  bool has_address() const { return address() != PeerAddress{}; }
  // A peer that sent BYE, that lost its address, whose process has ended, or that was not heard for
  // forget_after, may lose its slot to another.
  bool may_be_forgotten(base::Time now) const;
  // Ends the peer; the slot can be taken. REQUIRES may_be_forgotten().
  void forget();

  // INIT. connect(): this side sends HELLO. accept(): the listening side got an INIT that proves
  // the address `from`. on_init(): any other step from the peer.
  void connect(base::Time now, const PeerAddress& address);
  void accept(base::Time now, const Init& init, const PeerAddress& from);
  void on_init(base::Time now, const Init& init);
  // The peer is another instance now, or the link has other LIDs: ends everything of the old one.
  void end_old_instance();
  // Another peer proved to be at this link's address.
  void lose_address(base::Time now);
  // This end stops: BYE, and no HELLO any more.
  void send_bye(base::Time now);
  // The same silently.
  void end(base::Time now);

  // Receiving. A valid flit of the speed or shm profile arrived from the peer.
  void on_heard(base::Time now) {
    keep_alive_.on_heard(now);
    if (state() == LinkState::kSilent) bring_up(now, LinkEvent::kHeard);
  }
  // Full profile: takes a flit. REQUIRES is_full_profile().
  void on_full_flit(base::Time now, const FlitView& flit);
  // Speed profile: takes a part of a cell. Returns the whole cell behind its last part, else
  // nothing; it is valid until the next call.
  base::Bytes on_fragment(const FlitView& flit) {
    return received_fragments_.take(flit, std::min(path_.cell_bytes_max(), kFlitPayloadMax));
  }
  void on_bad_flit() {
    if (lanes_.is_open()) lanes_.on_bad_flit();
  }
  // The cells of a batch were read.
  void release_cells() {
    if (lanes_.is_open()) lanes_.release_cells();
  }

  // Sending.
  void flush(base::Time now);
  bool wants_write() const { return batch_.is_blocked(); }
  bool take_room() { return lanes_.take_room(); }
  // Before anything else is sent to this address.
  void abort_claim() { batch_.abort_claim(); }

  // There is a reason to probe the path now. [H-6]
  void doubt_path(base::Time now);
  // As Port::probe(). The probe belongs to no run of those that find the length of datagrams.
  void send_probe();

  // Timers.
  void on_time(base::Time now);
  base::Time deadline() const;

 private:
  // port_link.cc
  bool send_batch(base::Time now);  // false: blocked
  bool send_fragments();            // the same
  void bring_up(base::Time now, LinkEvent event);
  void take_down(base::Time now, LinkEvent event, std::string_view why);
  void drop_batch();
  void on_speed_time(base::Time now);
  void on_full_time(base::Time now);
  // Full profile: how long a batch that the underlay does not take is waited for.
  base::Time blocked_until() const { return std::max(keep_alive_.silent_at(), lanes_.silent_at()); }
  void send_idle(base::Time now);
  // A probe that the underlay does not take would look like one that the path lost.
  base::Time probes_at() const { return batch_.is_blocked() ? base::kNever : path_.deadline(); }
  void on_too_long(base::Time now);
  void on_narrowed();
  void set_full_stride(std::size_t datagram_bytes_max);

  // port_link_init.cc
  void send_init(const Init& init, std::size_t datagram_bytes = 0);
  Init make_init(InitStep step, std::uint16_t mcp) const;
  std::size_t path_bytes() const;
  std::size_t recent_path_bytes(base::Time now);
  std::uint16_t mcp_of(std::size_t datagram_bytes_max) const;
  PathKind path_kind(const PeerAddress& to) const;
  void send_hello(base::Time now);
  // Returns how long HELLO waits for READY at most.
  base::Duration hello_wait_max(base::Time now) const;
  void send_probes(base::Time now);
  // Those of the last INIT.
  LinkLids lids() const { return {local_lid(), remote_lid()}; }
  void on_challenge(base::Time now, const Init& init);
  void on_ready(base::Time now, const Init& init);
  void on_refuse(base::Time now, const Init& init);
  void on_bye(base::Time now, const Init& init);
  void on_probe(base::Time now, const Init& init);
  void set_mcp(std::uint16_t mcp);
  // INIT has agreed on it. Of a link that stays, queue pairs may have longer cells.
  void agree_on_mcp(std::uint16_t mcp, bool stays);
  void start_lanes(base::Time now, const Init& init, std::uint64_t nonce,
                   std::size_t datagram_bytes_max);

  // The time for which the report of the underlay about the path is used while the peer repeats
  // INIT.
  static constexpr base::Duration kPathBytesKnown = std::chrono::seconds(1);

  // The payload_crc of the last ANSWER, and the instance that it went to.
  struct Offer {
    std::uint64_t instance = 0;
    PayloadCrc payload_crc = PayloadCrc::kRequired;
    PayloadCrc to(std::uint64_t peer) const {
      return peer == instance ? payload_crc : PayloadCrc::kRequired;
    }
  };

  std::size_t path_bytes_ = 0;  // recent_path_bytes()
  base::Time path_bytes_until_{};
  Offer offer_;
  FragmentReceiver received_fragments_;
};

}  // namespace splitnic::fabric
