// One LAN NIC of the I/O unit: its port, the hosts on it, and what crosses between them. Frames
// from the LAN go to the hosts whose MAC or filter they match; frames from a host go to the LAN or,
// without touching it, to another host of this NIC. Hosts of another NIC are reached through the
// LANs only: nothing is shared but the adapter.
//
// Nothing shared waits for one of several hosts: a frame that it cannot take now waits in its own
// ring or is dropped there; what the LAN port cannot take now stays in its host's elements. Files:
// lan_nic.cc hosts and state, lan_rx.cc LAN -> hosts, lan_tx.cc hosts -> LAN. Thread: the data
// thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/idle_strategy.h"
#include "iou_module/attached_host.h"
#include "iou_module/nic_service.h"
#include "iou_module/parked_settings.h"

namespace splitnic::iou {

struct LanNicConfig {
  std::size_t number = 0;  // as in splitnic-host --nic
  SessionConfig session;
  NicPolicy policy;
};

enum class LanCounter {
  kRxFrames,
  kRxBytes,
  kRxDropNoHost,
  kTxFrames,
  kTxBytes,
  kHostToHost,
  kHostsSilent,
  kCount_
};

class LanNic {
 public:
  // `port`, `adapter` and `random` outlive the NIC.
  LanNic(const LanNicConfig& config, fabric::Adapter& adapter, lan::FramePort& port,
         base::Random& random);

  // A host asks to be attached; what this process had set here before is in force again. The
  // session is there until the turn ends even if it was refused: the reply points into its pair.
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply,
                            messaging::PairOwner& owner, base::Time now);
  // Its pair is down, or is to be: the session goes when the turn ends, its settings are kept.
  void end(AttachedHost& host, base::Time now);
  // Closes the pair, at once. What was under way ends with it, each frame under its name.
  void close(AttachedHost& host, base::Time now);
  messaging::CfgReply serve(AttachedHost& host, const messaging::CfgRequest& request);

  // The port's fd said so (or is always ready): the next turn reads it.
  void set_readable(bool is_readable) { is_readable_ = is_readable; }
  // One turn.
  bool step(base::Time now);
  base::Time deadline() const;
  bool wants_output() const { return is_blocked_ || port_.write_pending(); }
  // What one host alone cannot take now waits in the port for kHeldMax: the kernel's buffer is the
  // larger, and drops without work of ours. After that, and with several hosts or one that is away,
  // the LAN is read, and what a host cannot take is dropped and counted. A replay waits for its
  // hosts.
  bool wants_input();
  // The port's state may have changed: its hosts are told from step() on, until each has answered.
  void on_event();

  // A clean stop, as in Iou.
  void begin_stop() { is_stopping_ = true; }
  bool is_drained() const;
  void close_all(base::Time now);
  // Drops everything without a word, as a killed process does (tests).
  void abandon(base::Time now);

  std::size_t number() const { return config_.number; }
  lan::FramePort& port() { return port_; }
  const std::vector<std::unique_ptr<AttachedHost>>& sessions() const { return hosts_; }
  AttachedHost* find(const messaging::ChannelPair& pair);
  AttachedHost* find(fabric::ConnectionId id);
  // Names of the LAN begin with "lan." for NIC 0 and with "lanK." for NIC K.
  void visit_counters(const base::CounterVisitor& visitor) const;
  // For base::IdleStrategy: bytes of the LAN's frames so far, both ways.
  std::uint64_t bytes_processed() const {
    return counters_[LanCounter::kTxBytes] + counters_[LanCounter::kRxBytes] +
           base::IdleStrategy::kFrameOverheadBytes *
               (counters_[LanCounter::kTxFrames] + counters_[LanCounter::kRxFrames]);
  }

 private:
  static constexpr std::size_t kBatch = AttachedHost::kFromHostMax;  // frames a read, and a write
  static constexpr base::Duration kHeldMax = std::chrono::milliseconds(20);
  static constexpr std::size_t kTaggedBytes = 512 * 1024;

  bool is_taken(const AttachedHost& by, const lan::MacAddress& mac) const;
  void restore(AttachedHost& host, base::Time now);
  void watch_link(AttachedHost& host, base::Time now);
  void remove_failed(base::Time now);
  void watch_sharing();
  void begin_closing();
  void tell_event(AttachedHost& host, base::Time now);
  static void ask_to_announce(AttachedHost& host);
  static bool can_tell(const AttachedHost& host);
  // lan_rx.cc
  bool move_from_lan(base::Time now);
  void watch_room(base::Time now);
  AttachedHost* sole_session();
  bool distribute(base::Bytes frame, const AttachedHost* except);
  // lan_tx.cc
  bool move_from_hosts(base::Time now);
  static bool refill(AttachedHost& host);
  bool take_turn(AttachedHost& host, bool others_wait, base::Time now);
  bool give_past_lan(base::Time now);
  bool write_received(AttachedHost& host, std::size_t& share, base::Time now);
  struct Run;
  Run gather(AttachedHost& host, std::span<base::Bytes> out, std::size_t share);
  std::size_t take_out(AttachedHost& host, std::span<const base::Bytes> written, std::size_t taken,
                       base::Time now);
  bool check(AttachedHost& host, base::MutableBytes frame);
  bool give_to_hosts(AttachedHost& host, base::Bytes frame);

  const LanNicConfig config_;
  fabric::Adapter& adapter_;
  lan::FramePort& port_;
  base::Random& random_;
  NicService nic_service_;
  std::vector<std::unique_ptr<AttachedHost>> hosts_;
  ParkedSettings parked_;
  std::size_t next_host_ = 0;      // whose turn it is at the LAN port
  bool is_turn_open_ = false;      // and it has got its share for it
  bool is_output_shared_ = false;  // as the port was told
  std::unique_ptr<std::byte[]> scratch_memory_;
  lan::FrameRing scratch_;               // LAN frames that are for several hosts, or for nobody yet
  std::unique_ptr<std::byte[]> tagged_;  // copies with the PVID, of one run
  bool is_readable_ = false;
  base::Time now_{};                      // of this turn
  base::Time full_since_ = base::kNever;  // a host alone has had no room, all the time
  bool is_blocked_ = false;
  bool is_stopping_ = false;
  lan::PortState state_;
  std::uint64_t news_ = 0;  // changes of it
  base::Counters<LanCounter> counters_;
  // Of sessions that are gone.
  base::Counters<HostCounter> ended_;
  std::map<std::string, std::uint64_t, std::less<>> ended_pairs_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::LanCounter> {
  static constexpr std::array<std::string_view, 7> kNames = {
      "lan.rx.frames", "lan.rx.bytes",     "lan.rx.drop.no_host", "lan.tx.frames",
      "lan.tx.bytes",  "iou.host_to_host", "iou.hosts.silent"};
};
