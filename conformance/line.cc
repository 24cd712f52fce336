#include "conformance/line.h"

#include <algorithm>

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kInitiationEvery = 100ms;
constexpr int kLeftoversMax = 100'000;

}  // namespace

void Line::begin() {
  for (int i = 0; i < kLeftoversMax && carrier_.receive(base::Time{}); ++i) {
  }
  transcript_ = Transcript(now());
}

bool Line::agree(base::Time until) {
  while (now() < until) {
    carrier_.send(session_->initiation());
    const base::Time retry = std::min<base::Time>(until, now() + kInitiationEvery);
    while (const auto datagram = carrier_.receive(retry)) {
      if (session_->take_response(*datagram)) {
        carrier_.send(session_->seal({}));
        return true;
      }
      session_->take_cookie(*datagram);
      if (now() >= retry) break;
    }
  }
  return false;
}

void Line::send(base::Bytes datagram) {
  last_sent_ = now();
  transcript_.add(Direction::kSent, last_sent_, datagram);
  if (records_ == nullptr) return carrier_.send(datagram);
  if (records_->has_keys()) carrier_.send(records_->seal(datagram));
}

std::optional<std::vector<std::byte>> Line::receive(base::Time until) {
  while (const auto datagram = carrier_.receive(until)) {
    std::vector<std::byte> plain(datagram->begin(), datagram->end());
    if (records_ != nullptr) {
      const bool is_initiation = responder_ != nullptr && responder_->responds &&
                                 responder_->take_initiation(plain).initiation;
      if (is_initiation) carrier_.send(responder_->response());
      auto opened = records_->open(*datagram);
      plain = opened ? *std::move(opened) : std::vector<std::byte>{};
    }
    if (!plain.empty()) {
      transcript_.add(Direction::kReceived, now(), plain);
      return plain;
    }
    if (now() >= until) break;
  }
  return std::nullopt;
}

void Line::send_raw(base::Bytes datagram) {
  transcript_.add(Direction::kSent, now(), datagram);
  carrier_.send(datagram);
}

std::optional<std::vector<std::byte>> Line::receive_raw(base::Time until) {
  if (now() >= until) return std::nullopt;  // a flood does not prolong the time
  const auto datagram = carrier_.receive(until);
  if (!datagram) return std::nullopt;
  transcript_.add(Direction::kReceived, now(), *datagram);
  return std::vector<std::byte>(datagram->begin(), datagram->end());
}

}  // namespace splitnic::conformance
