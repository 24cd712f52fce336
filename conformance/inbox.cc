#include "conformance/inbox.h"

#include <algorithm>
#include <utility>

namespace splitnic::conformance {
namespace {

constexpr std::size_t kEventsMax = 4096;  // more are a flood
constexpr std::size_t kRetransmittedMax = 4096;
constexpr std::size_t kBytesMax = 4 << 20;
constexpr const char* kNoFlood = "a target that does not flood";

}  // namespace

std::size_t Inbox::waiting(EventKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events_, [kind](const Event& e) { return e.kind == kind; }));
}

bool Inbox::has_message(messaging::TransactionContext context) const {
  return std::ranges::any_of(events_, [context](const Event& e) {
    return e.kind == EventKind::kMessage && e.message.context == context;
  });
}

std::optional<Event> Inbox::take(const std::function<bool(const Event&)>& suits) {
  const auto found = std::ranges::find_if(events_, suits);
  if (found == events_.end()) return std::nullopt;
  Event event = *found;
  events_.erase(found);
  last_ = text_of(event);
  return event;
}

void Inbox::forget() {
  events_.clear();
  retransmitted_.clear();
}

void Inbox::forget_if(const std::function<bool(const Event&)>& suits) {
  std::erase_if(events_, suits);
}

void Inbox::forget_cells() {
  forget_if([](const Event& e) { return e.kind != EventKind::kInit; });
}

void Inbox::add(const Event& event) {
  last_ = text_of(event);
  if (events_.size() == kEventsMax) outcome_.fail(kNoFlood, last_);
  events_.push_back(event);
}

void Inbox::add_retransmission(unsigned channel, fabric::Lcn lcn) {
  if (retransmitted_.size() == kRetransmittedMax) outcome_.fail(kNoFlood, last_);
  if (channel == 0) retransmitted_.push_back(lcn);
  last_ = "a retransmission";
}

base::Bytes Inbox::keep(ByteVector bytes) {
  kept_bytes_ += bytes.size();
  kept_.push_back(std::move(bytes));
  return kept_.back();
}

void Inbox::keep_while(ByteVector datagram, const std::function<void(base::Bytes)>& take) {
  const base::Bytes bytes = keep(std::move(datagram));
  const std::size_t events = events_.size();
  const std::size_t kept = kept_.size();
  take(bytes);
  if (events_.size() == events && kept_.size() == kept && outcome_.is_good()) {
    kept_bytes_ -= kept_.back().size();  // nothing points into it
    kept_.pop_back();
  }
  if (kept_bytes_ > kBytesMax) outcome_.fail(kNoFlood, last_);
}

}  // namespace splitnic::conformance
