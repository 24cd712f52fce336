#include "host_module/unit_names.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace splitnic::host {
namespace {

constexpr base::Duration kPollEvery = std::chrono::milliseconds(10);  // for the result of a lookup

}  // namespace

void UnitNames::add(std::size_t unit, std::unique_ptr<control::NameLookup> lookup,
                    const control::Endpoint& in_use, base::Time now) {
  names_.push_back({unit, std::move(lookup), control::AddressChoice(in_use, now)});
}

std::optional<UnitNames::Move> UnitNames::next(const std::function<bool(std::size_t)>& is_heard,
                                               base::Time now) {
  deadline_ = base::kNever;
  for (Name& name : names_) {
    if (auto move = follow(name, is_heard(name.unit), now)) return move;
    deadline_ = std::min(deadline_,
                         name.choice.is_looking_up() ? now + kPollEvery : name.choice.deadline());
  }
  return std::nullopt;
}

std::optional<UnitNames::Move> UnitNames::follow(Name& name, bool is_heard, base::Time now) {
  if (name.choice.is_lookup_due(is_heard, now)) name.lookup->request();
  const auto result = name.lookup->take();
  if (!result) return std::nullopt;
  if (!*result) base::log_debug(result->error().text());
  const auto found = *result ? **result : std::vector<control::Endpoint>();
  const auto to = name.choice.on_found(found, now);
  if (!to) return std::nullopt;
  return Move{name.unit, *to};
}

void UnitNames::on_failed(std::size_t unit) {
  const auto name = std::ranges::find(names_, unit, &Name::unit);
  if (name != names_.end()) name->choice.on_failed();
}

}  // namespace splitnic::host
