#include "fabric_emul/session/attempt.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace splitnic::fabric::session {
namespace {

constexpr std::string_view kProtocol = "splitnic session 1";
constexpr std::byte kAes256Gcm{1};

}  // namespace

std::array<std::byte, 51> prologue_for(const PublicKey& responder) {
  std::array<std::byte, 51> prologue{};
  static_assert(kProtocol.size() + 1 + kKeyBytes == 51);
  auto at = std::ranges::copy(base::as_bytes(kProtocol), prologue.begin()).out;
  *at++ = kAes256Gcm;
  std::ranges::copy(responder.bytes, at);
  return prologue;
}

std::array<std::byte, kInitiationBytes> Attempt::next(base::Time now, IndexTable::Index drawn) {
  std::ranges::move_backward(earlier_.begin(), earlier_.end() - 1, earlier_.end());
  earlier_.front() = std::exchange(index_, std::move(drawn));
  noise_.emplace(keys_.own, keys_.peer, keys_.shared, prologue_for(keys_.peer));
  const InitiationPayload payload{config_.stamp(), config_.instance};
  std::array<std::byte, kInitiationBytes> message{};
  const base::MutableBytes room = begin_initiation(message, index());
  // A peer whose key is of low order has no shared key, and so no attempt.
  CHECK(noise_->write_initiation(random_private_key(random_), payload.emit(), room));
  const bool has_cookie = cookie_ && now < cookie_until_;
  put_macs(message, keys_.macs, has_cookie ? &*cookie_ : nullptr);
  mac1_ = mac1_of(message);

  sent_at_ = now;
  wait_ = wait_after(wait_, now);
  const auto jitter = random_.below(static_cast<std::uint64_t>(wait_.count()) / 3 + 1);
  retry_at_ = now + std::chrono::duration_cast<base::Time::duration>(
                        wait_ + std::chrono::nanoseconds(jitter));
  return message;
}

base::Duration Attempt::wait_after(base::Duration before, base::Time now) const {
  const base::Duration least = std::min(responds_in_ + responds_in_ / 2, config_.retry_max);
  if (!is_slow_ && now < return_.expected_until) return std::max(least, config_.retry_after_end);
  const base::Duration most =
      !is_slow_ && now < return_.possible_until ? config_.retry_silent : config_.retry_max;
  return std::max(least, std::min(std::max(2 * before, config_.retry_min), most));
}

std::optional<TransportKeys> Attempt::read(base::Bytes response, ResponsePayload& payload) const {
  if (!noise_) return {};
  std::array<std::byte, kResponsePayloadBytes> bytes{};
  auto keys = noise_->read_response(Response::noise(response), keys_.psk, bytes);
  if (keys) payload = ResponsePayload::parse(bytes);
  return keys;
}

bool Attempt::take_cookie(base::Time now, base::Bytes cookie) {
  const auto opened = open_cookie(cookie, keys_.macs, mac1_);
  if (!opened) return false;
  cookie_ = opened;
  cookie_until_ = now + std::chrono::duration_cast<base::Time::duration>(kCookieLifetime);
  return true;
}

}  // namespace splitnic::fabric::session
