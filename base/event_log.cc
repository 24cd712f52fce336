#include "base/event_log.h"

#include <algorithm>
#include <utility>

namespace splitnic::base {

std::string_view name(EventKind kind) { return kEventNames.at(static_cast<std::size_t>(kind)); }

std::optional<EventKind> event_kind_of(std::string_view name) {
  const auto found = std::ranges::find(kEventNames, name);
  if (found == kEventNames.end()) return std::nullopt;
  return static_cast<EventKind>(found - kEventNames.begin());
}

void EventLog::add(Event event) {
  for (std::string* text : {&event.text, &event.topic.about}) {
    if (text->size() > kEventTextBytesMax) text->resize(kEventTextBytesMax);
  }
  std::vector<std::function<void()>> woken;
  {
    const std::lock_guard lock(mutex_);
    event.number = next_++;
    kept_.push_back(std::make_shared<const Event>(std::move(event)));
    if (kept_.size() > capacity_) kept_.pop_front();
    std::erase_if(waiting_, [&](auto& entry) {
      if (entry.second.number >= next_) return false;
      woken.push_back(std::move(entry.second.wake));
      return true;
    });
  }
  for (const auto& wake : woken) wake();
}

EventLog::Part EventLog::since(std::uint64_t number, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t oldest = next_ - kept_.size();
  const std::uint64_t first = std::clamp(number, oldest, next_);
  Part part;
  part.lost = number < first ? first - number : 0;
  const auto begin = kept_.begin() + static_cast<std::ptrdiff_t>(first - oldest);
  const auto count = std::min<std::size_t>(most, next_ - first);
  part.events.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  part.next = first + count;
  return part;
}

std::uint64_t EventLog::next() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

std::uint64_t EventLog::wait_for(std::uint64_t number, std::function<void()> wake) {
  std::unique_lock lock(mutex_);
  const std::uint64_t id = next_id_++;
  if (number >= next_) {
    waiting_.emplace(id, Waiting{number, std::move(wake)});
  } else {
    lock.unlock();
    wake();
  }
  return id;
}

void EventLog::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(id);
}

EventLog& events() {
  static EventLog instance;
  return instance;
}

}  // namespace splitnic::base
