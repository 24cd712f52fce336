// `--exclusive`: the NIC serves one host at a time, its owner, and receives what the owner's filter
// asks for in place of everything. With `--lan-mac follow` its own address is the owner's, too. A
// host that has left may come back within kReservedFor, and everything waits for it; then the
// former address returns. Many NICs reset their link with their address, so it changes at most once
// in kInterval; meanwhile, and on a NIC that keeps its address, the owner's is one more that it
// receives. docs/nic_service.md#exclusive-nics [S001-46] [S001-50] Thread: the data thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "iou_module/hosts/host_table.h"
#include "lan_bridge/frame_port.h"

namespace splitnic::iou {

struct OwnershipRules {
  bool is_exclusive = false;
  bool mac_follows = false;  // at queue 0 only, which alone changes the NIC
  bool is_queue_0 = true;
};

class NicOwnership {
 public:
  static constexpr base::Duration kInterval = std::chrono::seconds(1);
  static constexpr base::Duration kReservedFor = std::chrono::seconds(3);

  struct Holder {
    HostId node;
    std::string name;  // "": another queue knows it
  };

  // `lan` and `hosts` outlive it.
  NicOwnership(lan::FramePort& lan, const HostTable& hosts, const OwnershipRules& rules)
      : lan_(lan), hosts_(hosts), rules_(rules) {}

  // The host for which another one than `asking` is refused, if there is one: the owner, also while
  // its link is down, or the last one that may come back.
  std::optional<Holder> holder(const HostId& asking) const;
  // The settings of a host may have changed.
  void set_due() { is_due_ = true; }
  // Brings the NIC to what its owner has now. Returns true if its address has changed.
  bool step(base::Time now);
  base::Time deadline() const;
  // The NIC may be another one, which has its own address.
  void on_return();
  // The NIC gets back the address that it had, at once.
  void end();

 private:
  struct Last {
    Holder holder;
    base::Time until;  // kNever while it is here
  };
  // Of two processes of one host the usable one. A host that asked for any NIC has come to look.
  const AttachedHost* owner() const;
  // Returns true if everything stays as it is, for a host that may come back, or has and is being
  // set up.
  bool waits_for_last(base::Time now);
  bool follow_mac(base::Time now);
  lan::MacAddress mac_wanted(const lan::MacAddress& current) const;
  base::Status set_mac(const lan::MacAddress& current, const lan::MacAddress& wanted);
  void set_filter();
  lan::ReceiveFilter filter_wanted() const;

  lan::FramePort& lan_;
  const HostTable& hosts_;
  const OwnershipRules rules_;
  const AttachedHost* owner_ = nullptr;  // as of the last step(); it may be gone
  std::optional<Last> last_{};
  bool is_due_ = true;
  base::Time not_before_{};                   // for the address
  std::optional<lan::MacAddress> former_{};   // the NIC's own, while it has another
  std::optional<lan::MacAddress> refused_{};  // that the NIC did not take
  std::optional<lan::ReceiveFilter> filter_{};
};

}  // namespace splitnic::iou
