// The I/O unit module without its process: LAN NICs, one adapter, any number of hosts, each on the
// NIC that it asked for. Here is what belongs to the unit as a whole: connections, and the turn;
// what crosses between a LAN and its hosts is in lan_nic.h. Driven by step(), so daemon, simulator
// and tests run the same code. Thread: the data thread.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iou_module/lan_nic.h"
#include "iou_module/quarantine.h"

namespace splitnic::iou {

struct IouConfig {
  SessionConfig session;
  NicPolicy policy;
  std::size_t hosts_max = 64;  // on all NICs together
};

// Room for so many hosts with all the queues that they may have, so that none takes what another
// needs [S001-08]. These are limits: what is not used costs nothing.
inline fabric::AdapterLimits adapter_limits(std::size_t hosts_max) {
  constexpr std::size_t kKeysAPair = 64;  // pools, those granted later, frames, channel 0
  const std::size_t pairs = hosts_max * messaging::kQueuesMax;
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  limits.qps = std::max(limits.qps, 2 * pairs);
  limits.cqs = std::max(limits.cqs, 3 * pairs);
  limits.memory_entries = std::max(limits.memory_entries, kKeysAPair * pairs);
  return limits;
}

enum class IouCounter {
  kHostsUp,
  kHostsDown,
  kRefusedFull,
  kRefusedNic,
  kRefusedStop,
  kRefusedCapabilities,
  kRefusedOften,
  kRefusedQuarantine,
  kQuarantined,
  kCount_
};

class Iou final : public fabric::ConnectionHandler, public messaging::PairOwner {
 public:
  // `adapter`, the ports of the LANs (NIC 0, 1, ...; at least one) and `random` outlive the unit;
  // the adapter has its listening ports.
  Iou(const IouConfig& config, fabric::Adapter& adapter, std::span<lan::FramePort* const> lans,
      base::Random& random);
  Iou(const IouConfig& config, fabric::Adapter& adapter, lan::FramePort& lan, base::Random& random)
      : Iou(config, adapter, std::array{&lan}, random) {}
  ~Iou() override;

  // One turn; what LanNic::set_readable() said of each LAN holds.
  bool step(base::Time now);
  // The same, and says it of all.
  bool step(base::Time now, bool lan_readable);
  base::Time deadline() const;

  // Between two sessions of a link: building one costs memory and time that all hosts share, so a
  // request that comes sooner is rejected (no resources) and its host asks again [S001-08].
  static constexpr base::Duration kSessionEvery = std::chrono::milliseconds(20);
  static constexpr std::size_t kHostsMax = 4;  // of all links, in that time

  // A clean stop, first half: the LANs are read no more and nobody is let in; what was read and
  // what has arrived still goes its way, then the pools of both sides are flushed [S001-16]. Go on
  // calling step() until is_drained(), for kStopMax at the most; then stop().
  static constexpr base::Duration kStopMax = std::chrono::milliseconds(300);
  void begin_stop();
  bool is_drained() const;
  // Second half, at once: tells the hosts.
  void stop(base::Time now);
  // Drops everything without a word, as a killed process does (tests).
  void abandon(base::Time now);

  const std::vector<std::unique_ptr<LanNic>>& nics() const { return nics_; }
  // Of all NICs; valid until the next turn.
  std::vector<AttachedHost*> sessions() const;
  std::size_t hosts_up() const;  // connected, and not away
  void visit_counters(const base::CounterVisitor& visitor) const;
  std::uint64_t bytes_processed() const;  // of all NICs

  // fabric::ConnectionHandler
  void on_link_up(fabric::Link&) override {}
  void on_link_down(fabric::Link& link, std::string_view why) override;
  void on_path_narrowed(fabric::Link& link) override;
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override;
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject, base::Bytes) override {}
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override;
  // messaging::PairOwner
  void on_pair_up(messaging::ChannelPair& pair) override;
  void on_pair_down(messaging::ChannelPair& pair, const std::string& why) override;
  messaging::CfgReply on_cfg_request(messaging::ChannelPair& pair,
                                     const messaging::CfgRequest& request) override;

 private:
  struct Found {
    LanNic* nic = nullptr;
    AttachedHost* host = nullptr;
  };
  Found find(const messaging::ChannelPair& pair) const;
  // What can be judged before anything is ended or built; the reply says why not.
  fabric::MgmtReject judge(const fabric::Link& link, const fabric::Mgmt& request,
                           fabric::Mgmt& reply);
  // A further queue of a session that there is.
  fabric::MgmtReject join(fabric::ConnectionId id, fabric::Link& link, const fabric::Mgmt& request,
                          fabric::Mgmt& reply);
  bool is_too_often(const fabric::Link& link);
  void note_refused_access(const AttachedHost& host);
  void end_sessions_of(const fabric::Link& link);
  void end_too_wide();
  fabric::MgmtReject refuse(IouCounter counter, std::string why, fabric::Mgmt& reply);

  const IouConfig config_;
  fabric::Adapter& adapter_;
  std::vector<std::unique_ptr<LanNic>> nics_;
  std::vector<const fabric::Link*> narrowed_;  // since the last turn
  bool is_stopping_ = false;
  std::string refusal_;  // the reply points to it
  struct Built {
    const fabric::Link* link;
    base::Time at;
  };
  std::vector<Built> built_;  // not longer ago than kSessionEvery
  Quarantine quarantine_;
  base::Time now_{};
  base::Counters<IouCounter> counters_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::IouCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"iou.hosts.ups", "iou.hosts.downs", "iou.hosts.refused_full", "iou.hosts.refused_nic",
       "iou.hosts.refused_stop", "iou.hosts.refused_capabilities", "iou.hosts.refused_often",
       "iou.hosts.refused_quarantine", "iou.hosts.quarantined"});
};
