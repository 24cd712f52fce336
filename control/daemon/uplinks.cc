#include "control/daemon/uplinks.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace splitnic::control {

Uplinks::Uplinks(std::vector<Peer> peers, Actions actions)
    : actions_(std::move(actions)), endpoints_(peers.size()) {
  for (Peer& peer : peers) uplinks_.push_back({std::move(peer), std::nullopt});
}

base::Status Uplinks::open(const Endpoints& at, bool needs_all) {
  base::Status all;
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    if (is_open(i) || !at[i]) continue;
    if (auto opened = open_one(i, *at[i], false); !opened && all) all = std::move(opened);
  }
  if (uplinks_.empty() || (needs_all && !all)) return all;
  if (!has_any()) {
    if (!all) return all;
    return base::Error("no peer of this queue has an address: check those of --connect, --attach");
  }
  if (!needs_all) await_others();
  return {};
}

bool Uplinks::has_any() const {
  return std::ranges::any_of(uplinks_, [](const Uplink& one) { return one.carrier.has_value(); });
}

void Uplinks::await_others() {
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    const Endpoint& at = uplinks_[i].peer.endpoint;
    if (is_open(i) || at.is_shm()) continue;
    if (auto opened = open_one(i, at, true); !opened) base::log_warn(opened.error().text());
  }
}

base::Status Uplinks::open_one(std::size_t peer, const Endpoint& at, bool is_awaited) {
  const auto carrier = actions_.open(peer, at, is_awaited);
  if (!carrier) return carrier.error();
  uplinks_[peer].carrier = *carrier;
  endpoints_[peer] = is_awaited ? std::nullopt : std::optional(at);
  return {};
}

void Uplinks::warn_of_missing() const {
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    if (is_open(i) && !is_awaited(i)) continue;
    base::log_warn(uplinks_[i].peer.text + " cannot be reached" +
                   (is_awaited(i) ? "; retrying" : ": skipped until the next start"));
  }
}

void Uplinks::lead(const Endpoints& to) {
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    if (!is_open(i) || !to[i] || to[i] == endpoints_[i]) continue;
    if (auto led = lead_one(i, *to[i]); !led) base::log_warn(led.error().text());
  }
}

base::Status Uplinks::lead_one(std::size_t peer, const Endpoint& to) {
  const std::size_t carrier = *uplinks_[peer].carrier;
  if (auto done = actions_.move(carrier, to); !done) return done;
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    if (uplinks_[i].carrier == carrier) endpoints_[i] = to;
  }
  return {};
}

bool Uplinks::is_first_of_carrier(std::size_t peer) const {
  const auto first = std::ranges::find(uplinks_, uplinks_[peer].carrier, &Uplink::carrier);
  return first == uplinks_.begin() + static_cast<std::ptrdiff_t>(peer);
}

void Uplinks::follow_names(std::vector<std::unique_ptr<NameLookup>> lookups, base::Time now) {
  for (std::size_t i = 0; i < uplinks_.size(); ++i) {
    const bool may_move = uplinks_[i].peer.endpoint.is_name() || is_awaited(i);
    if (!is_open(i) || !may_move || !is_first_of_carrier(i)) continue;
    names_.add(i, std::move(lookups[i]), endpoints_[i].value_or(Endpoint()), now);
  }
}

std::size_t Uplinks::step(const std::function<bool(std::size_t)>& is_heard, base::Time now) {
  std::size_t moves = 0;
  while (const auto move = names_.next(is_heard, now)) {
    if (const auto led = lead_one(move->peer, move->to); !led) {
      base::log_debug(led.error().text());
      names_.on_failed(move->peer);
      continue;
    }
    ++moves;
    base::log_debug("trying " + uplinks_[move->peer].peer.text + " at " + move->to.text());
  }
  return moves;
}

}  // namespace splitnic::control
