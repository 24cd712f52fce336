#include "conformance/line.h"

#include <algorithm>

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kInitiationEvery = 100ms;
constexpr int kAgreeTimeouts = 5;  // a target may limit the rate of handshakes
constexpr int kLeftoversMax = 100'000;

}  // namespace

void Line::begin() {
  for (int i = 0; i < kLeftoversMax && carrier_.receive(base::Time{}); ++i) {
  }
  transcript_ = Transcript(now());
  lanes_.behave();
}

bool Line::begin_process(base::Duration timeout) {
  begin();
  lanes_.stop();
  if (observer_ != nullptr) observer_->begin_process(now());
  if (session_ == nullptr) return true;
  session_->begin_process();
  return agree(now() + kAgreeTimeouts * timeout);
}

// To the carrier and from it: what an observer of a keyed line sees of records.
void Line::put(base::Bytes datagram) {
  if (observer_ != nullptr) observer_->on_carrier(Direction::kSent, now(), datagram);
  carrier_.send(datagram);
}

std::optional<base::Bytes> Line::take(base::Time until) {
  const auto datagram = carrier_.receive(until);
  if (datagram && observer_ != nullptr) {
    observer_->on_carrier(Direction::kReceived, now(), *datagram);
  }
  return datagram;
}

void Line::note(Direction direction, base::Bytes datagram) {
  transcript_.add(direction, now(), datagram);
  if (observer_ != nullptr) observer_->on_flits(direction, now(), datagram);
}

void Line::note_cell(Direction direction, base::Bytes cell) {
  if (observer_ != nullptr) observer_->on_whole_cell(direction, now(), cell);
}

bool Line::agree(base::Time until) {
  while (now() < until) {
    put(session_->initiation());
    const base::Time retry = std::min<base::Time>(until, now() + kInitiationEvery);
    while (const auto datagram = take(retry)) {
      if (session_->take_response(*datagram)) {
        put(session_->seal({}));
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
  note(Direction::kSent, datagram);
  if (records_ == nullptr) return put(datagram);
  if (records_->has_keys()) put(records_->seal(datagram));
}

std::optional<std::vector<std::byte>> Line::receive(base::Time until) {
  while (const auto datagram = take(until)) {
    std::vector<std::byte> plain(datagram->begin(), datagram->end());
    if (records_ != nullptr) {
      const bool is_initiation = responder_ != nullptr && responder_->responds &&
                                 responder_->take_initiation(plain).initiation;
      if (is_initiation) put(responder_->response());
      auto opened = records_->open(*datagram);
      plain = opened ? *std::move(opened) : std::vector<std::byte>{};
    }
    if (!plain.empty()) {
      note(Direction::kReceived, plain);
      return plain;
    }
    if (now() >= until) break;
  }
  return std::nullopt;
}

void Line::send_raw(base::Bytes datagram) {
  transcript_.add(Direction::kSent, now(), datagram);
  put(datagram);
}

std::optional<std::vector<std::byte>> Line::receive_raw(base::Time until) {
  if (now() >= until) return std::nullopt;  // a flood does not prolong the time
  const auto datagram = take(until);
  if (!datagram) return std::nullopt;
  transcript_.add(Direction::kReceived, now(), *datagram);
  return std::vector<std::byte>(datagram->begin(), datagram->end());
}

}  // namespace splitnic::conformance
