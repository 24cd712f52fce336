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
    ++count_of_[event.cause];
    kept_.push_back(std::make_shared<const Event>(std::move(event)));
    if (kept_.size() > capacity_) make_room();
    std::erase_if(waiting_, [&](auto& entry) {
      if (entry.second.number >= next_) return false;
      woken.push_back(std::move(entry.second.wake));
      return true;
    });
  }
  for (const auto& wake : woken) wake();
}

// Of the causes that have the most, the oldest event goes, since one peer has several causes. The
// newest event stays: it is the only one of its cause, or its cause has an older one.
void EventLog::make_room() {
  const auto most = std::ranges::max_element(
      count_of_, {}, [](const auto& cause_and_count) { return cause_and_count.second; });
  auto gone = kept_.begin();
  if (most->second > std::max<std::size_t>(capacity_ / kSharesOfCauses, 1)) {
    gone = std::ranges::find_if(kept_, [&](const auto& event) {
      return count_of_.find(event->cause)->second == most->second;
    });
  }
  const auto count = count_of_.find((*gone)->cause);
  if (--count->second == 0) count_of_.erase(count);
  kept_.erase(gone);
}

EventLog::Part EventLog::since(std::uint64_t number, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t first = std::min(number, next_);
  const auto begin =
      std::ranges::lower_bound(kept_, first, {}, [](const auto& event) { return event->number; });
  const auto left = static_cast<std::size_t>(kept_.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(most, left));
  Part part;
  part.events.assign(begin, end);
  part.next = end == kept_.end() ? next_ : (*end)->number;
  part.lost = part.next - first - part.events.size();
  return part;
}

std::uint64_t EventLog::newest(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  if (count == 0 || kept_.empty()) return next_;
  return kept_[kept_.size() - std::min(count, kept_.size())]->number;
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
