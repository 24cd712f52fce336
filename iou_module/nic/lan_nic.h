// One LAN NIC of the I/O unit: its port, the hosts on it, and the frames that cross between them.
// Frames from the LAN go to the hosts whose MAC or filter they match (lan_rx.h); frames from a host
// go to the LAN or, without touching it, to another host of this NIC (lan_tx.h). Hosts of another
// NIC are reached through the LANs only: the NICs share nothing but the adapter.
//
// No shared resource waits for one of several hosts: a frame that a host cannot take now waits in
// its own ring or is dropped there; a frame that the LAN port cannot take now stays in its host's
// elements. A CfgUtil request comes from the host's connection through its AttachedHost to
// on_cfg_request() and on to the NicService. Thread: the data thread.
#pragma once

#include <optional>
#include <string>

#include "base/idle_strategy.h"
#include "iou_module/hosts/host_table.h"
#include "iou_module/nic/lan_rx.h"
#include "iou_module/nic/lan_tx.h"
#include "iou_module/nic/nic_ownership.h"
#include "iou_module/nic/nic_service.h"
#include "iou_module/nic/parked_settings.h"

namespace splitnic::iou {

struct LanNicConfig {
  std::size_t number = 0;  // as in splitnic-host --nic
  AttachedHostConfig host;
  NicPolicy policy;
  Siblings* siblings = nullptr;          // null: the unit has one queue
  const RightsSource* rights = nullptr;  // not null; outlives the NIC
  KeptLimits* limits = nullptr;          // the same; of all NICs
};

class LanNic;

class LanNicOwner {
 public:
  virtual ~LanNicOwner() = default;
  virtual void on_host_up(LanNic& nic, AttachedHost& host) = 0;
  // The owner calls end() for it, now or later.
  virtual void on_host_down(LanNic& nic, AttachedHost& host, const std::string& why) = 0;
  // The host has ended, for whatever reason, and is removed next.
  virtual void on_host_gone(AttachedHost& host) = 0;
  // The NIC has another link state or MTU than before.
  virtual void on_lan_change(const lan::FramePort& port, const lan::PortState& before,
                             const lan::PortState& now) = 0;
  // The host has set another MAC address or MTU than before.
  virtual void on_host_change(const AttachedHost& host, const NicSettings& before) = 0;
  // Returns the NICs that the host may use.
  virtual std::vector<ListedNic> nics_for(const AttachedHost& host) = 0;
  // As label_of() of iou_module/hosts/host_label.h, among the hosts of all NICs.
  virtual std::string label_of(const AttachedHost& host) const = 0;
};

class LanNic final : public HostOwner {
 public:
  // `adapter`, `port`, `random` and `owner` outlive the NIC.
  LanNic(const LanNicConfig& config, fabric::Adapter& adapter, lan::FramePort& port,
         base::Random& random, LanNicOwner& owner);

  // Attaches a host, or returns the code with which to refuse it. What this process had set here
  // before is in force again. A refused host is removed at the end of the iteration only, because
  // the reply points into its connection.
  fabric::MgmtReject accept(fabric::ConnectionId id, fabric::Link& link,
                            const fabric::Mgmt& request, fabric::Mgmt& reply, base::Time now);
  // The host fails, and its settings are kept for its return. It is removed at the end of the
  // iteration.
  void end(AttachedHost& host, base::Time now);

  void set_readable(bool is_readable) { rx_.set_readable(is_readable); }  // as in LanRx
  // One iteration. Returns true if it made progress.
  bool step(base::Time now);
  base::Time deadline() const;
  bool wants_input() const { return rx_.wants_input(); }
  bool wants_output() const { return tx_.is_blocked() || port_.write_pending(); }
  // From the other queues of the unit.
  void on_news(std::size_t queue, const HostNews& news) { hosts_.on_news(queue, news); }
  void on_lan_address(const lan::MacAddress& mac, base::Time now) {
    hosts_.set_time(now);
    hosts_.on_lan_address(mac);
  }
  void on_group(const GroupNews& news, base::Time now) {
    hosts_.set_time(now);
    hosts_.on_group(news.node, news.head);
  }
  void on_handed(const HostId& node, base::Bytes frame) { hosts_.on_handed(node, frame); }
  // Looks up the rights of each host again. What a host is not permitted any more it loses at once,
  // and its connection ends, so that it finds out and requests what it may have.
  void update_rights(base::Time now);
  // The port's state may have changed: its hosts are notified from step(), until each has replied.
  void on_event();
  // The port uses its interface again, or another one of that name.
  void on_return();

  // A clean stop, as in Iou.
  void begin_stop();
  bool is_drained() const;
  void close_all(base::Time now);
  // Drops everything silently, as a killed process does (tests).
  void abandon(base::Time now) { hosts_.abandon(now); }

  std::size_t number() const { return config_.number; }
  lan::FramePort& port() { return port_; }
  // As of the last on_event(). Whoever asks the port reads its events, of which none comes again.
  const lan::PortState& lan_state() const { return state_; }
  // As in NicOwnership.
  std::optional<NicOwnership::Holder> holder(const HostId& asking) const {
    return ownership_.holder(asking);
  }
  const HostTable::Hosts& hosts() const { return hosts_.all(); }
  AttachedHost* find(fabric::ConnectionId id) const { return hosts_.find(id); }
  std::string label_of(const AttachedHost& host) const { return owner_.label_of(host); }
  // Names of the LAN begin with "lan." for NIC 0 and with "lanK." for NIC K. Without those of
  // single hosts.
  void visit_counters(const base::CounterVisitor& visitor) const;
  // Those of one host of this NIC, under its label.
  void visit_host_counters(const AttachedHost& host, const base::CounterVisitor& visitor) const;
  // For base::IdleStrategy: bytes of the LAN's frames so far, in both directions.
  std::uint64_t bytes_processed() const {
    return counters_[LanCounter::kTxBytes] + counters_[LanCounter::kRxBytes] +
           base::IdleStrategy::kFrameOverheadBytes *
               (counters_[LanCounter::kTxFrames] + counters_[LanCounter::kRxFrames]);
  }

  // HostOwner
  void on_host_up(AttachedHost& host) override;
  void on_host_down(AttachedHost& host, const std::string& why) override;
  messaging::CfgReply on_cfg_request(AttachedHost& host,
                                     const messaging::CfgRequest& request) override;

 private:
  void set_up(AttachedHost& host, base::Time now);
  void compare_name(AttachedHost& host) const;
  void remove_ended(base::Time now);
  void share_output();

  const LanNicConfig config_;
  fabric::Adapter& adapter_;
  lan::FramePort& port_;
  base::Random& random_;
  LanNicOwner& owner_;
  lan::PortState state_;  // as last reported by the port
  HostTable hosts_;
  ParkedSettings parked_;
  base::Counters<LanCounter> counters_;
  NicService nic_service_;
  NicOwnership ownership_;
  LanRx rx_;
  LanTx tx_;
  bool is_output_shared_ = false;  // as the port was last set
  bool is_stopping_ = false;
};

}  // namespace splitnic::iou
