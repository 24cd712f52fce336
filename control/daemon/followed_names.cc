#include "control/daemon/followed_names.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace splitnic::control {
namespace {

constexpr base::Duration kPollEvery = std::chrono::milliseconds(10);  // for the result of a lookup

}  // namespace

void FollowedNames::add(std::size_t peer, std::unique_ptr<NameLookup> lookup,
                        const Endpoint& in_use, base::Time now) {
  names_.push_back({peer, std::move(lookup), AddressChoice(in_use, now)});
}

std::optional<FollowedNames::Move> FollowedNames::next(
    const std::function<bool(std::size_t)>& is_heard, base::Time now) {
  deadline_ = base::kNever;
  for (Name& name : names_) {
    if (auto move = follow(name, is_heard(name.peer), now)) return move;
    deadline_ = std::min(deadline_,
                         name.choice.is_looking_up() ? now + kPollEvery : name.choice.deadline());
  }
  return std::nullopt;
}

std::optional<FollowedNames::Move> FollowedNames::follow(Name& name, bool is_heard,
                                                         base::Time now) {
  if (name.choice.is_lookup_due(is_heard, now)) name.lookup->request();
  const auto result = name.lookup->take();
  if (!result) return std::nullopt;
  if (!*result) base::log_debug(result->error().text());
  const auto found = *result ? **result : std::vector<Endpoint>();
  for (const Endpoint& at : found) {
    base::log_debug("the name of peer " + std::to_string(name.peer + 1) + " resolves to " +
                    at.text());
  }
  const auto to = name.choice.on_found(found, now);
  if (!to) return std::nullopt;
  return Move{name.peer, *to};
}

void FollowedNames::on_failed(std::size_t peer) {
  const auto name = std::ranges::find(names_, peer, &Name::peer);
  if (name != names_.end()) name->choice.on_failed();
}

}  // namespace splitnic::control
