// One host on the I/O unit: its channel pair, what it has set on its NIC, and the ring of frames
// on their way to it. Everything here is this host's alone, so what it cannot take waits or is lost
// under its own name and nobody else notices [S001-08]. Thread: the data thread.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/page_memory.h"
#include "base/random.h"
#include "base/ring.h"
#include "fabric_emul/verbs/adapter.h"
#include "iou_module/nic_stats.h"
#include "iou_module/parked_settings.h"
#include "lan_bridge/frame_port.h"
#include "messaging/connection.h"

namespace splitnic::iou {

struct SessionConfig {
  messaging::PairConfig pair;
  std::size_t ring_bytes = 2 << 20;  // frames on their way to the host
  std::size_t frames_max = 2048;
};

enum class HostCounter {
  kToHostFrames,
  kToHostBytes,
  kDropHostFull,
  kDropTooLong,
  kDropVlan,
  kDropToHostEnded,  // queued, and the pair ended before it could be pushed
  kLost,             // pushed, and the pair ended before the host had acknowledged it
  kSplit,
  kFromHostFrames,
  kFromHostBytes,
  kDropSpoof,
  kDropVnet,
  kDropStopped,
  kDropShort,
  kDropAway,
  kDropEnded,  // arrived, and the pair ended before the LAN port took it
  kCount_
};

// What a host is to be told of its LAN: the newest state, until it has answered. Numbers rise
// within a session; 0: nothing to tell, nothing told.
struct EventState {
  std::uint64_t wanted = 0;
  std::uint64_t told = 0;
  bool is_open = false;         // a request is under way: the next waits for its answer
  base::Time not_before{};      // of the next
  std::uint64_t init_news = 0;  // LanNic's count of news when INIT_NIC was answered
  bool is_init_last = false;    // and it has asked nothing since
  bool is_due() const { return told != wanted; }
};

class AttachedHost {
 public:
  static constexpr std::size_t kFilterEntries =
      256;  // a longer list becomes promiscuous or all-multicast

  AttachedHost(const SessionConfig& config, fabric::Adapter& adapter, fabric::Link& link,
               base::Random& random, messaging::PairOwner& owner);

  messaging::Connection& pair() { return pair_; }
  const messaging::Connection& pair() const { return pair_; }
  fabric::Link& link() { return link_; }
  const fabric::Link& link() const { return link_; }

  const HostIdentity& identity() const { return identity_; }

  NicSettings nic;
  bool failed = false;                   // the pair went down: to be removed outside of callbacks
  bool closed = false;                   // and was closed
  bool closing = false;                  // its pools are being flushed: nothing goes to it any more
  base::Time away_since = base::kNever;  // the link is down
  bool owes_announce = false;            // it came back: the LAN is to hear of it once it starts
  EventState event;

  // A frame with this destination is for this host. Nothing is queued for one that is away.
  bool wants(const lan::MacAddress& destination) const {
    return nic.started && pair_.up() && link_.up() && nic.wants(destination);
  }
  // Frames that it has sent are still to be taken.
  bool is_heard() const { return !failed && (closing || pair_.up()); }

  // Whole, the frame goes into one element and uses only offloads that the host takes.
  bool fits(base::Bytes frame) const;
  // Queues a frame that lies in our own ring already (committed there), or drops and counts it.
  // REQUIRES that it fits and that every frame committed before it is queued or discarded: the ring
  // is released in the order of commits.
  void queue_own(base::Bytes frame);
  // The same for a frame that lies elsewhere.
  void queue_copy(base::Bytes frame);
  // Releases what was delivered and pushes what waits. True if anything moved.
  bool pump(base::Time now);
  // False: the adapter has no room for its memory, and the session is of no use.
  bool is_registered() const { return is_registered_; }
  lan::FrameRing& ring() { return ring_; }
  bool idle() const { return pending_.empty(); }
  std::size_t waiting() const { return pending_.size(); }

  // Frames from the host that were received and not yet written to the LAN.
  std::vector<messaging::ReceivedFrame> from_host;
  std::size_t from_host_done = 0;
  static constexpr std::size_t kFromHostMax = 64;
  std::size_t from_host_judged = 0;  // up to here they were checked and given to other hosts
  std::bitset<kFromHostMax> is_not_for_lan;          // of those judged: dropped, or given to a host
  std::array<std::uint16_t, kFromHostMax> tag_of{};  // the VLAN tag that each leaves with; 0: none
  std::size_t share_left = 0;                        // bytes of its turn at the LAN port
  unsigned batches_left = 0;                         // of this step

  base::Counters<HostCounter> counters;
  Rmon rmon;
  StatsBaseline baseline;  // CLEAR_STATS

 private:
  void queue_fitting(base::Bytes frame);
  void queue_split(base::Bytes frame);
  void enqueue(base::Bytes frame) { pending_.push(frame); }
  bool push(base::Bytes frame, base::Time now);

  fabric::Link& link_;
  const HostIdentity identity_;
  bool is_registered_ = false;
  base::PageMemory memory_;
  lan::FrameRing ring_;
  base::Ring<base::Bytes> pending_;
  messaging::Connection pair_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::HostCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"iou.to_host.frames", "iou.to_host.bytes", "lan.rx.drop.host_full", "lan.rx.drop.too_long",
       "lan.rx.drop.vlan", "lan.rx.drop.ended", "iou.to_host.lost", "iou.to_host.split",
       "iou.from_host.frames", "iou.from_host.bytes", "iou.from_host.drop.spoof",
       "iou.from_host.drop.vnet", "iou.from_host.drop.stopped", "iou.from_host.drop.short",
       "iou.from_host.drop.away", "iou.from_host.drop.ended"});
};
