// The requests of the I/O unit to one host: EVENT with the newest state of its LAN (event_state.h),
// and ANNOUNCE, once per connection. The owner calls this while the host can be reached; a request
// that cannot be made is repeated. Thread: the data thread. [S001-24]
// docs/protocol/cfgutil.md#codes
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "iou_module/hosts/event_state.h"
#include "lan_bridge/frame_port.h"
#include "messaging/cfgutil/cfg_exchange.h"

namespace splitnic::iou {

class HostNotifier {
 public:
  // As messaging::ChannelPair::request(); called inside of the functions below only.
  using Request =
      std::function<base::Status(messaging::CfgCode, const std::string& data, messaging::CfgDone)>;

  // The object outlives the requests that it makes.
  explicit HostNotifier(Request request) : request_(std::move(request)) {}
  HostNotifier(const HostNotifier&) = delete;
  HostNotifier& operator=(const HostNotifier&) = delete;

  EventState& events() { return events_; }
  // Reports the state of the LAN if that is due now.
  void report_lan(const lan::PortState& lan, base::Time now);
  // Returns when report_lan() has something to do; kNever if nothing is due.
  base::Time deadline() const { return events_.is_due() ? events_.not_before() : base::kNever; }

  // The host has connected again: its addresses have to be announced on the LAN, because switches
  // may know them elsewhere or no longer.
  void set_announce_due() { is_announce_due_ = true; }
  // Asks the host to announce its addresses if that is due. Its NIC must be started.
  void request_announce();

 private:
  Request request_;
  EventState events_;
  bool is_announce_due_ = false;
};

}  // namespace splitnic::iou
