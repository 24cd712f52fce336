#include "control/socket/event_stream.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/bytes.h"
#include "base/parse_message.h"
#include "control/report/json.h"
#include "control/report/text_table.h"
#include "control/socket/admin.pb.h"
#include "control/socket/requests.h"

namespace splitnic::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

std::int64_t milliseconds_of(system_clock::time_point at) {
  return std::chrono::floor<milliseconds>(at.time_since_epoch()).count();
}

std::int64_t part_of_second(system_clock::time_point at) {
  const std::int64_t rest = milliseconds_of(at) % 1000;
  return rest < 0 ? rest + 1000 : rest;
}

std::time_t seconds_of(system_clock::time_point at) {
  return system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(at));
}

// A level is a word of the table, whatever came.
std::string_view known_level(const std::string& level) {
  const auto found = std::ranges::find(base::kLogLevels, level);
  return found == base::kLogLevels.end() ? "info" : *found;
}

}  // namespace

std::string encode(const base::EventLog::Part& part) {
  admin::Events out;
  out.set_lost(part.lost);
  for (const auto& event : part.events) {
    admin::Event& one = *out.add_events();
    one.set_number(event->number);
    one.set_milliseconds(milliseconds_of(event->at));
    one.set_kind(std::string(base::name(event->topic.kind)));
    one.set_about(event->topic.about);
    one.set_level(std::string(event->level));
    one.set_text(event->text);
  }
  return with_length(out.SerializeAsString());
}

std::optional<SentEvents> decode_events(std::string_view bytes) {
  admin::Events in;
  if (bytes.size() > kReplyBytesMax || !base::parse_message(base::as_bytes(bytes), in)) {
    return std::nullopt;
  }
  SentEvents sent;
  sent.lost = in.lost();
  for (const admin::Event& one : in.events()) {
    base::Event event;
    event.number = one.number();
    event.at = system_clock::time_point(milliseconds(one.milliseconds()));
    event.level = known_level(one.level());
    event.topic = {base::event_kind_of(one.kind()).value_or(base::EventKind::kNote), one.about()};
    event.text = one.text();
    sent.events.push_back(std::move(event));
  }
  return sent;
}

boost::json::object event_json(const base::Event& event, EventTime form) {
  boost::json::object out{{"number", event.number}};
  if (form == EventTime::kText) {
    out["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds_of(event.at)),
                              part_of_second(event.at));
  } else {
    out["milliseconds"] = milliseconds_of(event.at);
  }
  out["event"] = base::name(event.topic.kind);
  out["about"] = json_string(event.topic.about);
  out["level"] = event.level;
  out["text"] = json_string(event.text);
  return out;
}

std::string event_text(const std::string& program, const base::Event& event) {
  std::string head = fmt::format("{:%H:%M:%S}.{:03} {} {}", fmt::localtime(seconds_of(event.at)),
                                 part_of_second(event.at), program, base::name(event.topic.kind));
  if (!event.topic.about.empty()) head += " " + event.topic.about;
  return printable(head + ": " + event.text);
}

}  // namespace splitnic::control
