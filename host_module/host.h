// The host module without its process: a TAP (or capture files) on one side, a connection to an
// I/O unit on the other. It connects as soon as the link is up, keeps the remote NIC configured as
// the host's interface is, and moves frames both ways. With several units it has a link to each and
// a connection to one (host_units.cc). Driven by step(), so the daemon, the simulator and tests run
// the same code.
//
// Host to LAN: the port reads straight into registered memory (tx ring), each frame is pushed into
// an element of the I/O unit; while one waits for an element, the port is not read, so nothing is
// dropped inside. LAN to host: frames arrive in our pool elements, are written to the port, and the
// elements are returned. Thread: the data thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/idle_strategy.h"
#include "base/page_memory.h"
#include "base/random.h"
#include "base/ring.h"
#include "fabric_emul/verbs/adapter.h"
#include "host_module/nic_config.h"
#include "host_module/nic_report.h"
#include "host_module/queue_follower.h"
#include "host_module/silence_watch.h"
#include "host_module/unit_choice.h"
#include "lan_bridge/frame/announce.h"
#include "lan_bridge/frame_port.h"
#include "messaging/connecting_end.h"
#include "messaging/connection.h"

namespace splitnic::host {

struct HostConfig {
  messaging::PairConfig pair;
  bool takes_lan_mac = false;          // --mac nic: the interface takes the LAN NIC's own address
  std::optional<std::uint32_t> mtu{};  // --mtu; none: the LAN's, until the user sets another
  // The addresses to announce on the LAN after ANNOUNCE; none: nothing is announced.
  std::function<std::vector<lan::LocalAddress>()> addresses{};
  // Returns what the kernel lists for the interface, if it replies; null: it has no lists.
  std::function<std::optional<lan::AddressLists>()> lists{};
  // The interface outlives the program, with its carrier, as in NicConfig::Settings.
  bool keeps_carrier = false;
  // Returns the errno of sending to a unit, by its number, since it was heard last; 0: none. Null:
  // it is not known.
  std::function<int(std::size_t unit)> send_error{};
  // --idle-release: with less than kIdleFramesPerSecond over this time, memory of the pools and of
  // the ring is released to the machine. 0: never.
  base::Duration idle_release{};
  std::size_t tx_ring_bytes = 4 << 20;
  std::size_t tx_frames_max = 2048;
  std::uint32_t queue = 0;                   // that this is; an additional one follows queue 0
  std::size_t units = 1;                     // I/O units, in order of preference
  std::optional<base::Duration> failback{};  // as in UnitChoice
};

enum class HostCounter {
  kTxFrames,
  kTxBytes,
  kTxAnnounced,  // frames that the host made itself, after ANNOUNCE
  kTxDropTooLong,
  kTxDropEnded,  // read, and the connection ended before it could be pushed
  kTxLost,       // pushed, and the connection ended before the peer had acknowledged it
  kRxFrames,
  kRxBytes,
  kRxDropVnet,
  kRxDropEnded,  // arrived, and the connection ended before the port took it
  kWait,
  kPairUps,
  kPairDowns,
  kReleased,  // bytes of pools and ring, while idle
  kQueueUps,  // connections of additional queues
  kQueueDowns,
  kMoves,      // to another I/O unit
  kAddresses,  // another address of the name of a unit is tried
  kProbes,     // to units, for a sign of life
  kSilences,   // of a unit, as probes show
  kPauses,     // such a unit was heard soon after
  kCount_
};

inline constexpr std::size_t kFramesPerBatch = 64;  // that are read or written at once

class Host final : public messaging::ConnectingEnd, public messaging::PairOwner {
 public:
  // `tap` and `adapter` outlive the host; the adapter has its port already.
  Host(const HostConfig& config, fabric::Adapter& adapter, lan::FramePort& tap,
       base::Random& random);
  ~Host() override;

  // Begins to connect to the I/O unit of this number, at an address behind the port, which belongs
  // to the adapter. Once for each number, in any order.
  void add_unit(std::size_t unit, fabric::Port& port, const fabric::PeerAddress& address,
                base::Time now);

  // Runs one iteration. `tap_readable`: the port may have frames to read. Returns whether any work
  // was done; then call it again before sleeping.
  bool step(base::Time now, bool tap_readable);
  base::Time deadline() const;
  // Events to poll the port's fd for.
  bool wants_tap_input() const {
    return nic_up() && queue_follower_.may_read() && pending_.empty() && !is_stopping_;
  }
  bool wants_tap_output() const { return rx_blocked_ || tap_.write_pending(); }
  void on_tap_event(base::Time now);  // see control::Module::on_port_event()
  // A clean stop, first half: the port is no longer read, frames that were read or have arrived are
  // still delivered, then the pools of both sides are flushed [S001-16]. Continue to call step()
  // until is_drained(), for control::kStopMax at most; then call stop().
  void begin_stop() {
    is_stopping_ = true;
    nic_.begin_stop();
  }
  bool is_drained() const;
  // Second half, at once: closes the connection and turns the carrier off.
  void stop(base::Time now);
  // Drops everything silently, as a killed process does (tests).
  void abandon(base::Time now);

  // Returns the state of this queue, 0, for the others.
  QueueZero queue_zero() const;
  // An additional queue connects only while queue 0 is configured and the I/O unit is the same
  // process and has such a queue.
  void follow(const QueueZero& state);
  // Whether the kernel gives this queue frames of the interface: always for queue 0, and for an
  // additional one while it is configured and its link is up.
  bool is_attached() const { return queue_follower_.is_attached(); }

  // The rings of this queue of the NIC: RX are the elements of our pools, in which frames of the
  // LAN arrive, TX those of the I/O unit's, as far as our own ring has as many frames. REQUIRES
  // connection_up().
  ReportedRings rings() const;

  bool connection_up() const { return connection_ != nullptr && connection_->up(); }
  bool nic_up() const { return connection_up() && nic_.configured(); }
  messaging::Connection* connection() override { return connection_.get(); }
  NicConfig& nic() { return nic_; }
  // nic().user().qos may be another map: if it has other levels the host connects again, with a
  // queue for each.
  void use_service_levels();
  fabric::Link* link() { return link_; }  // to the unit in use; null before the first
  // The link to a unit; null: it was not added, or it is one of the others at another address.
  const fabric::Link* link_to(std::size_t unit) const { return units_[unit].link; }
  // Since when a unit is as it is, and why it is not connected, "" if it is or was not yet.
  // REQUIRES link_to(unit) != null.
  base::Time changed_at(std::size_t unit) const { return units_[unit].changed_at; }
  const std::string& last_error(std::size_t unit) const { return units_[unit].last_error; }
  // Returns why nothing reaches the unit, if the system knows; else "".
  std::string send_error(std::size_t unit) const;
  // Returns when it connects to the unit in use once more, if the link is up; if not, see
  // Link::next_attempt().
  std::optional<base::Time> next_attempt() const {
    if (connection_ != nullptr || link_ == nullptr || !link_->up()) return std::nullopt;
    return retry_at_;
  }
  std::optional<std::size_t> unit_in_use() const { return choice_.in_use(); }
  // Whether the host left the unit because it did not reply to probes, and has not heard it since.
  bool is_left(std::size_t unit) const { return units_[unit].left_at.has_value(); }
  // Uses this unit from now on, until it is silent. An error: it cannot be used.
  base::Status move_to(std::size_t unit, base::Time now);
  // As in HostConfig, from now on.
  void set_failback(std::optional<base::Duration> failback) { choice_.set_failback(failback); }
  void set_idle_release(base::Duration after);
  // From now on another address is tried of the names of this number of units.
  void on_units_moved(std::size_t moves) { counters_.add(HostCounter::kAddresses, moves); }
  void visit_counters(const base::CounterVisitor& visitor) const;
  // For base::IdleStrategy: bytes of frames so far, both ways.
  std::uint64_t bytes_processed() const {
    return counters_[HostCounter::kTxBytes] + counters_[HostCounter::kRxBytes] +
           base::IdleStrategy::kFrameOverheadBytes *
               (counters_[HostCounter::kTxFrames] + counters_[HostCounter::kRxFrames]);
  }

  // fabric::ConnectionHandler
  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link& link, std::string_view reason) override;
  void on_path_narrowed(fabric::Link& link) override;
  // messaging::PairOwner
  void on_pair_up(messaging::ChannelPair& pair) override;
  void on_pair_down(messaging::ChannelPair& pair, const std::string& why) override;
  messaging::CfgReply on_cfg_request(messaging::ChannelPair& pair,
                                     const messaging::CfgRequest& request) override;

 private:
  struct Unit {
    fabric::Port* port = nullptr;
    fabric::Link* link = nullptr;
    std::optional<base::Time> lost_at{};  // none: its link is up, or was not yet
    base::Time changed_at{};              // of its link, or of the connection over it
    std::string last_error{};             // since it was connected last
    std::optional<base::Time> left_at{};  // as in is_left()
  };

  // host_units.cc
  // A unit that is not in use can be used.
  void report_standby(const fabric::Link& link) const;
  // The link, or the connection over it, is as it is now because of `error`; "": it is well.
  void note_change(const fabric::Link* link, std::string_view error);
  void report_link_down(const fabric::Link& link, const std::string& why) const;
  void choose_unit(base::Time now);
  void use_unit(std::size_t unit, base::Time now);
  void end_double(base::Time now);
  void watch_unit_in_use(base::Time now);
  bool is_of_same_unit(std::size_t one, std::size_t other) const;
  bool has_traffic(base::Time now);
  void probe(const Unit& unit);
  void leave(std::size_t unit, std::size_t successor, base::Time now);
  void note_return(Unit& unit);
  bool is_usable(const Unit& unit, base::Time now) const;
  base::Time units_deadline() const;

  void keep_connected(base::Time now);
  void end_connection(base::Time now);
  // The connection ends in an orderly way, and another one begins.
  void renew_connection(const std::string& why);
  bool is_renewing() const { return renew_by_ != base::kNever; }
  void end_renewed();
  // Whether the connection has cells that its link carries in fragments only.
  bool has_longer_cells(const fabric::Link& link) const;
  void shorten_cells();
  void make_connection();
  std::vector<std::uint8_t> levels_to_use() const;
  bool move_frames(base::Time now, bool tap_readable);
  bool move_rx(base::Time now);  // elements -> TAP
  bool write_received(base::Time now);
  bool move_tx(base::Time now, bool tap_readable);  // TAP -> elements
  bool push(base::Bytes frame, base::Time now);
  bool push_pending(base::Time now);
  bool announce();
  void watch_idle(base::Time now);
  bool may_connect(base::Time now) const;
  void attach_queue(base::Time now);

  HostConfig config_;
  fabric::Adapter& adapter_;
  lan::FramePort& tap_;
  base::Random& random_;
  base::PageMemory tx_memory_;
  std::unique_ptr<lan::FrameRing> tx_ring_;
  base::Ring<base::Bytes> pending_;             // read, not yet pushed
  std::vector<lan::LocalAddress> unannounced_;  // of this connection, after ANNOUNCE
  std::vector<messaging::ReceivedFrame> rx_;    // received, not yet written
  std::size_t rx_done_ = 0;
  bool rx_blocked_ = false;
  bool is_stopping_ = false;
  std::unique_ptr<messaging::Connection> connection_;
  // Channel pairs that the peer grants a connection, as far as is known.
  std::uint32_t queues_possible_ = messaging::kQueuesMax;
  messaging::QosQueues qos_queues_;
  bool has_connection_failed_ = false;
  bool was_connection_up_ = false;
  base::Time renew_by_ = base::kNever;    // when a connection that is renewed ends at the latest
  base::Time shorten_at_ = base::kNever;  // when shorten_cells() is due
  std::vector<Unit> units_;
  UnitChoice choice_;
  SilenceWatch watch_;  // of the path in use
  std::uint64_t frames_watched_ = 0;
  base::Time traffic_until_{};
  bool may_be_double_ = false;  // a link to a unit came up
  fabric::Link* link_ = nullptr;
  QueueFollower queue_follower_;
  base::Time retry_at_{};
  base::Duration retry_wait_;
  std::string last_end_;  // the last reason logged since a connection was up; logged once
  base::Time now_{};
  base::Time idle_check_at_ = base::kNever;
  // Frames sent and received when the current --idle-release period began.
  std::uint64_t frames_then_ = 0;
  NicConfig nic_;
  base::Counters<HostCounter> counters_;
};

}  // namespace splitnic::host

template <>
struct splitnic::base::CounterNames<splitnic::host::HostCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"host.tx.frames",     "host.tx.bytes",       "host.tx.announced", "host.tx.drop.too_long",
       "host.tx.drop.ended", "host.tx.lost",        "host.rx.frames",    "host.rx.bytes",
       "host.rx.drop.vnet",  "host.rx.drop.ended",  "host.tx.wait",      "host.pair.ups",
       "host.pair.downs",    "host.idle.released",  "host.queue.ups",    "host.queue.downs",
       "host.unit.moves",    "host.unit.addresses", "host.unit.probes",  "host.unit.silences",
       "host.unit.pauses"});
};
