// Events as the control socket sends them (control/socket/admin.proto), and as text and JSON.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event_log.h"

namespace splitnic::control {

// No message of events is longer than a reply may be.
inline constexpr std::size_t kEventsPerMessage = 64;

// Returns the message with its length in front. REQUIRES at most kEventsPerMessage events.
std::string encode(const base::EventLog::Part& part);

struct SentEvents {
  std::vector<base::Event> events;
  std::uint64_t lost = 0;  // in front of them
};
// Decodes the bytes after the length. Returns nothing if they are malformed. A kind that this
// version does not know is kNote.
std::optional<SentEvents> decode_events(std::string_view bytes);

// When an event was, in JSON: "time":"2026-01-31T12:00:00.123Z", or "milliseconds":N since 1970,
// UTC.
enum class EventTime : std::uint8_t { kText, kMilliseconds };
// {"number":…,TIME,"event":…,"about":…,"level":…,"text":…}
boost::json::object event_json(const base::Event& event, EventTime form);
// Returns "12:00:00.123 PROGRAM connected hA: TEXT", in the time zone of this machine, without a
// newline.
std::string event_text(const std::string& program, const base::Event& event);

}  // namespace splitnic::control
