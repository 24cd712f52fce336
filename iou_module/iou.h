// The I/O unit module without its process: LAN NICs, one adapter and any number of hosts, each on
// the NIC that it requested. This class does what concerns the unit as a whole: it admits hosts,
// ends them and runs the iteration; frames between a LAN and its hosts are the concern of LanNic.
// step() drives it, so the daemon, the simulator and tests run the same code. Thread: the data
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rate_limit.h"
#include "iou_module/duplicate_log.h"
#include "iou_module/nic/lan_nic.h"
#include "iou_module/policy/admission_rule.h"
#include "iou_module/policy/iou_options.h"
#include "iou_module/policy/quarantine.h"

namespace splitnic::iou {

struct IouConfig {
  AttachedHostConfig host;
  NicPolicy policy;
  std::size_t hosts_max = kMaxHostsDefault;  // on all NICs together
  std::size_t queue = 0;                     // that this is
  Siblings* siblings = nullptr;              // the others; null: there are none. Outlives the unit
  const AdmissionRule* admission = nullptr;  // null: everybody may attach. Outlives the unit
  const RightsSource* rights = nullptr;      // null: HostRights{} for all. Outlives the unit
};

// Room for this number of hosts with all the queues that each may have, so that none takes what
// another needs [S001-08]. These are limits: unused entries cost nothing.
inline fabric::AdapterLimits adapter_limits(std::size_t hosts_max) {
  constexpr std::size_t kKeysPerPair = 64;  // pools, those granted later, frames, channel 0
  const std::size_t pairs = hosts_max * messaging::kQueuesMax;
  fabric::AdapterLimits limits;
  limits.profile = fabric::MrwtProfile::kStrictWindows;  // the peer reaches windows only
  limits.qps = std::max(limits.qps, 2 * pairs);
  limits.cqs = std::max(limits.cqs, 3 * pairs);
  limits.memory_entries = std::max(limits.memory_entries, kKeysPerPair * pairs);
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
  kRefusedUnknown,
  kRefusedRights,
  kRefusedPartition,
  kRefusedDuplicate,  // a second host of one identity
  kRefusedOwned,      // another host has the NIC for itself
  kRefusedMemory,     // by the limit of the host, or the unit itself is short of memory
  kQuarantined,
  kEndedMemory,  // hosts that were disconnected because the unit was short of memory
  kQueuesUp,     // connections of additional queues
  kQueuesDown,
  kCount_
};

class Iou final : public fabric::ConnectionHandler, private LanNicOwner {
 public:
  // `adapter`, the ports of the LANs (NIC 0, 1, ...; at least one) and `random` outlive the unit;
  // the adapter has its listening ports.
  Iou(const IouConfig& config, fabric::Adapter& adapter, std::span<lan::FramePort* const> lans,
      base::Random& random);
  Iou(const IouConfig& config, fabric::Adapter& adapter, lan::FramePort& lan, base::Random& random)
      : Iou(config, adapter, std::array{&lan}, random) {}
  ~Iou() override;

  // One iteration; each LAN that LanNic::set_readable() marked is read. Returns true if it made
  // progress.
  bool step(base::Time now);
  // The same with all LANs readable, or none.
  bool step(base::Time now, bool lan_readable);
  base::Time deadline() const;

  // Attaching a host costs memory and time that all hosts share. A host may attach twice per
  // second, 8 times at once, and not twice within kAttachInterval; what it proves to be counts,
  // else its link. Only what passes this takes from the limit of all links, kAttachesMax in
  // kAttachInterval, so those that ask all the time do not use it up [M-6]. A further request is
  // rejected (no resources) and its host retries [S001-08].
  static constexpr base::Duration kAttachInterval = std::chrono::milliseconds(20);
  static constexpr std::size_t kAttachesMax = 4;
  static constexpr base::Duration kAttachIntervalOfLink = std::chrono::milliseconds(500);
  static constexpr std::uint32_t kAttachBurstOfLink = 8;
  // A host's requests for connections, also of its other queues and channels, are looked at 100
  // times per second, 64 times at once; more get NO_RESOURCES before they cost anything.
  static constexpr base::Duration kRequestInterval = std::chrono::milliseconds(10);
  static constexpr std::uint32_t kRequestBurst = 64;

  // The memory of a host besides its pools and its ring: the system must have it all before one is
  // attached. [M-1]
  static constexpr std::size_t kMemoryOfHost = 4 << 20;

  // A clean stop, first half: the LANs are not read any more and no host is admitted. Frames that
  // were read or have arrived are still delivered, then the pools of both sides are flushed
  // [S001-16]. Continue to call step() until is_drained(), for at most control::kStopMax; then
  // stop().
  void begin_stop();
  bool is_drained() const;
  // Second half: disconnects the hosts immediately.
  void stop(base::Time now);
  // Drops everything silently, as a killed process does (tests).
  void abandon(base::Time now);

  // From the other queues, between iterations.
  void on_news(std::size_t queue, const HostNews& news) { nics_[news.nic]->on_news(queue, news); }
  void on_refused_access(const HostId& principal, base::Time now);
  void on_lan_address(std::size_t nic, const lan::MacAddress& mac, base::Time now) {
    nics_[nic]->on_lan_address(mac, now);
  }
  void on_group(const GroupNews& news, base::Time now) { nics_[news.nic]->on_group(news, now); }
  // The source of rights has others now: they apply to the hosts that are attached, too, and end
  // those that may not use their NIC or this queue any more. Between iterations.
  void update_rights(base::Time now);

  // As hosts_max of the configuration, from now on: hosts beyond it stay until they leave. REQUIRES
  // no more than the adapter and its ports have room for.
  void set_hosts_max(std::size_t hosts_max) { config_.hosts_max = hosts_max; }

  // Disconnects the hosts that `which` selects, and logs why. Returns their number. They hear of it
  // in the next iteration. Between iterations.
  std::size_t disconnect(const std::function<bool(const AttachedHost& host)>& which,
                         const std::string& why, base::Time now);

  // A second process at `from` has the key of the host `name`, which is at `at`. `who` is the same
  // for one key.
  void on_second_process(const void* who, const std::string& name, const std::string& at,
                         const std::string& from);

  const std::vector<std::unique_ptr<LanNic>>& nics() const { return nics_; }
  // Of all NICs; valid until the next iteration.
  std::vector<AttachedHost*> hosts() const;
  std::size_t hosts_up() const;  // connected, and not away
  void visit_counters(const base::CounterVisitor& visitor) const;
  // Without those of single hosts, whose number they would grow with.
  void visit_shared_counters(const base::CounterVisitor& visitor) const;
  std::uint64_t bytes_processed() const;  // of all NICs

  // fabric::ConnectionHandler
  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link& link, std::string_view why) override;
  void on_path_narrowed(fabric::Link& link) override;
  void on_duplicate(fabric::Link& link, std::string_view from) override;
  void on_foreign_partition(fabric::Link& link, fabric::PartitionKey key) override;
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& link,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override;
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject, base::Bytes) override {}
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override;

 private:
  // Checks what can be checked before anything is ended or built. If the result is not kNone, the
  // reply contains the reason.
  fabric::MgmtReject check_request(const fabric::Link& link, const fabric::Mgmt& request,
                                   fabric::Mgmt& reply);
  std::string unknown_nic_text(std::uint32_t requested) const;
  const RightsSource& rights() const;
  // Whether the rights of the host permit this connection.
  base::Status check_rights(const fabric::Link& link, std::uint32_t nic,
                            fabric::PartitionKey partition) const;
  // An additional queue, or the second channel, of a host that is attached.
  fabric::MgmtReject accept_additional(fabric::ConnectionId id, fabric::Link& link,
                                       const fabric::Mgmt& request, fabric::Mgmt& reply);
  bool is_too_often(const fabric::Link& link);
  void note_refused_access(const AttachedHost& host);
  bool is_same_process(const AttachedHost& host, const fabric::Link& link) const;
  void end_former(const fabric::Link& link);
  void end_hosts_of(const fabric::Link& link);
  template <class Which>
  void end_hosts(Which&& which);
  void end_hosts_of_narrowed_links();
  void report_disconnect(AttachedHost& host, const std::string& why);
  void count_down(AttachedHost& host);
  void report_refusal(const fabric::Link& link, fabric::MgmtReject code, const fabric::Mgmt& reply);
  bool has_memory_for_host() const;
  void make_room();
  fabric::MgmtReject refuse(IouCounter counter, std::string why, fabric::Mgmt& reply);
  // LanNicOwner
  void on_host_up(LanNic& nic, AttachedHost& host) override;
  void on_host_down(LanNic& nic, AttachedHost& host, const std::string& why) override;
  void on_host_gone(AttachedHost& host) override { count_down(host); }
  void on_lan_change(const lan::FramePort& port, const lan::PortState& before,
                     const lan::PortState& now) override;
  void on_host_change(const AttachedHost& host, const NicSettings& before) override;
  std::vector<ListedNic> nics_for(const AttachedHost& host) override;
  std::string label_of(const AttachedHost& host) const override;

  IouConfig config_;
  const SameRights same_rights_;
  fabric::Adapter& adapter_;
  KeptLimits limits_;
  std::vector<std::unique_ptr<LanNic>> nics_;
  DuplicateLog duplicates_;
  DuplicateLog refusals_;  // of connections, for whatever reason
  std::set<const fabric::Link*> links_down_;
  DuplicateLog foreigners_;                    // of other partitions
  std::vector<const fabric::Link*> narrowed_;  // since the last iteration
  bool is_stopping_ = false;
  std::string refusal_;  // the reply points to it
  // The party that attaches: the principal of a host that proves one, else the link. [M-8]
  using Attacher = std::pair<HostId, const fabric::Link*>;
  Attacher attacher_of(const fabric::Link& link) const;
  struct Attach {
    Attacher who;
    base::Time at;
  };
  std::vector<Attach> attaches_;  // within kAttachInterval
  struct Limits {
    base::RateLimit attaches{kAttachIntervalOfLink, kAttachBurstOfLink};
    base::RateLimit requests{kRequestInterval, kRequestBurst};
  };
  Limits& limits_of(const fabric::Link& link) { return asking_[attacher_of(link)]; }
  std::map<Attacher, Limits> asking_;  // of those that ever asked
  Quarantine quarantine_;
  base::Time now_{};
  base::Time wake_again_at_ = base::kNever;  // a sibling could not be woken
  base::Counters<IouCounter> counters_;
};

}  // namespace splitnic::iou

template <>
struct splitnic::base::CounterNames<splitnic::iou::IouCounter> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"iou.hosts.ups", "iou.hosts.downs", "iou.hosts.refused_full", "iou.hosts.refused_nic",
       "iou.hosts.refused_stop", "iou.hosts.refused_capabilities", "iou.hosts.refused_often",
       "iou.hosts.refused_quarantine", "iou.hosts.refused_unknown", "iou.hosts.refused_rights",
       "iou.hosts.refused_partition", "iou.hosts.refused_duplicate", "iou.hosts.refused_owned",
       "iou.hosts.refused_memory", "iou.hosts.quarantined", "iou.hosts.ended_memory",
       "iou.queues.ups", "iou.queues.downs"});
};
