#include "control/metrics/state_json.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <map>

#include "control/report/counter_texts.h"
#include "control/report/json.h"
#include "control/socket/event_stream.h"

namespace splitnic::control {
namespace {

std::string without_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// "lan1.rx.drop.vlan": "lan.rx.drop.vlan", as counter_text() takes it.
std::string of_any_nic(const std::string& name) {
  const std::size_t end = name.find_first_not_of("0123456789", 3);
  const bool has_number = name.starts_with("lan") && end != std::string::npos && name[end] == '.';
  return has_number ? "lan" + name.substr(end) : name;
}

std::string texts_of_drops(const Snapshot& snapshot) {
  boost::json::object texts;
  for (const auto& [name, value] : merged_counters(snapshot)) {
    if (value == 0 || name.find(".drop.") == std::string::npos) continue;
    const std::string_view text = counter_text(of_any_nic(name));
    if (!text.empty()) texts[json_string(name)] = text;
  }
  return boost::json::serialize(texts);
}

std::string newest(const base::EventLog& events) {
  boost::json::array out;
  for (const auto& event : events.since(events.newest(kEventsShown), kEventsShown).events) {
    out.push_back(event_json(*event, EventTime::kMilliseconds));
  }
  return boost::json::serialize(out);
}

}  // namespace

std::string state_json(const Snapshot& snapshot, base::Duration at, const base::EventLog& events) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(at).count();
  return "{\"milliseconds\":" + std::to_string(milliseconds) +
         ",\"show\":" + without_newline(show_json(snapshot)) +
         ",\"stats\":" + without_newline(stats_json(snapshot)) +
         ",\"texts\":" + texts_of_drops(snapshot) + ",\"events\":" + newest(events) + "}\n";
}

}  // namespace splitnic::control
