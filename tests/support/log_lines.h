// The log lines that came since this object was made. What reaches stderr is limited in each second
// for the whole process (base/log_limit.h), so a test that looks there depends on the tests before
// it; the events of the process have every line, but those for debugging.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/event_log.h"

namespace splitnic::support {

class LogLines {
 public:
  // At most base::kEventsKept, the newest, each with a newline behind it.
  std::string text() const {
    std::string text;
    for (const auto& event : base::events().since(first_, base::kEventsKept).events) {
      text += event->text + "\n";
    }
    return text;
  }
  // Returns the number of them that have these words.
  std::size_t count(const std::string& words) const {
    const auto events = base::events().since(first_, base::kEventsKept).events;
    return static_cast<std::size_t>(std::ranges::count_if(
        events, [&](const auto& event) { return event->text.find(words) != std::string::npos; }));
  }

 private:
  std::uint64_t first_ = base::events().next();
};

}  // namespace splitnic::support
