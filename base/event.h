// Events: what the users of a program want to know of it, such as a peer that attached or a link
// that went down. Each is a line of the log (log.h) that also names what happened, and to whom;
// other lines of the log but those of debugging are events of the kind kNote. event_log.h keeps
// the newest ones for those who watch the program. Never per frame.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/log_limit.h"

namespace splitnic::base {

enum class EventKind : std::uint8_t {
  kNote,
  kConnected,     // to a peer: frames pass
  kDisconnected,  // from a peer, and why
  kRefused,       // a peer, or what it requested
  kStandby,       // a peer that could take over is there
  kMoved,         // from one peer to another
  kLinkUp,        // of the fabric
  kLinkDown,
  kCarrierOn,  // of an interface
  kCarrierOff,
  kMtu,  // of an interface, or for a peer
  kMac,
  kGone,  // an interface was deleted
  kBack,
  kReloaded,
  kReloadFailed,
  kStopping,
};
inline constexpr std::array<std::string_view, 17> kEventNames = {
    "note",    "connected", "disconnected", "refused",       "standby", "moved",
    "link_up", "link_down", "carrier_on",   "carrier_off",   "mtu",     "mac",
    "gone",    "back",      "reloaded",     "reload_failed", "stopping"};
std::string_view name(EventKind kind);
std::optional<EventKind> event_kind_of(std::string_view name);

// The subject of a line of the log. `about` is the name of a peer, an interface or a port; "" is
// the program.
struct Topic {
  EventKind kind = EventKind::kNote;
  std::string about{};
};

// As in log.h, with a topic.
void log_info(const Topic& topic, const std::string& line,
              const boost::source_location& at = BOOST_CURRENT_LOCATION);
void log_warn(const Topic& topic, const std::string& line,
              const boost::source_location& at = BOOST_CURRENT_LOCATION);
void log_error(const Topic& topic, const std::string& line,
               const boost::source_location& at = BOOST_CURRENT_LOCATION);

struct Event {
  std::uint64_t number = 0;  // from 1, in the order of the program
  std::chrono::system_clock::time_point at{};
  std::string_view level = "info";  // one of kLogLevels
  Topic topic{};
  std::string text{};  // the line of the log
  LogCause cause{};    // the place that logged it
};

}  // namespace splitnic::base
