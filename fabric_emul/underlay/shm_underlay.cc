// Datapath of a shared-memory underlay: sending, receiving, wake-ups, the end of a wire. Set-up:
// shm_set_up.cc.
#include "fabric_emul/underlay/shm_underlay.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

// Checksums read a short cell back while the other processor holds its cache lines: a copy is
// faster.
constexpr std::size_t kClaimMin = 4096;
constexpr int kWakeUpsPerIteration = 16;
// An owner that does not sleep looks for new and ended connections after this many empty receives,
// and after this many batches while some wire always holds data.
constexpr unsigned kEmptyReceives = 64;
constexpr unsigned kFullReceives = 256;

PeerAddress address_of(std::uint32_t number) {
  PeerAddress address;
  std::memcpy(address.bytes.data(), "shm", 4);
  std::memcpy(address.bytes.data() + 4, &number, sizeof(number));
  return address;
}

std::uint32_t number_of(const PeerAddress& address) {
  std::uint32_t number = 0;
  std::memcpy(&number, address.bytes.data() + 4, sizeof(number));
  return number;
}

// Lost if the peer has many of them unread already: it is awake then.
void wake(int socket) {
  const char byte = 'w';
  [[maybe_unused]] const ssize_t sent = ::send(socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

PeerAddress ShmUnderlay::listener_address() { return address_of(kListenerNumber); }

ShmUnderlay::Wire* ShmUnderlay::find(std::uint32_t number) const {
  for (const auto& wire : wires_) {
    if (wire->number == number) return wire.get();
  }
  return nullptr;
}

// fd() stays readable while there is room until send() was retried, also if receive() read the
// wake-up first.
void ShmUnderlay::update_retry() {
  const bool on = std::ranges::any_of(wires_, [](const auto& wire) { return wire->has_room; });
  if (on == is_retry_set_) return;
  is_retry_set_ = on;
  eventfd_t count = 0;
  if (on)
    ::eventfd_write(retry_.get(), 1);
  else
    ::eventfd_read(retry_.get(), &count);
}

Underlay::SendStatus ShmUnderlay::send(const PeerAddress& to, base::Bytes bytes,
                                       std::size_t stride) {
  Wire* wire = find(number_of(to));
  if (wire == nullptr) {
    if (!config_.listens) connect();
    return SendStatus::kRefused;
  }
  if (wire->is_claimed) {
    wire->is_claim_awaited = true;
    return SendStatus::kBlocked;
  }
  if (!wire->can_send()) return SendStatus::kRefused;
  if (bytes.size() > kShmBatchMax) return SendStatus::kTooLong;
  if (wire->has_room) {
    wire->has_room = false;
    update_retry();
  }
  return finish_send(*wire, wire->out->put(bytes, stride));
}

Underlay::SendStatus ShmUnderlay::finish_send(Wire& wire, ShmRing::Result result) {
  switch (result) {
    case ShmRing::Result::kDone:
      wire.is_blocked = false;
      if (wire.out->should_wake_taker()) wake(wire.socket.get());
      return SendStatus::kSent;
    case ShmRing::Result::kWait:
      wire.is_blocked = true;
      return SendStatus::kBlocked;
    case ShmRing::Result::kBroken:
      break;
  }
  counters_.add(ShmCounter::kDropBroken);
  wire.is_broken = true;
  return SendStatus::kRefused;
}

base::MutableBytes ShmUnderlay::claim(const PeerAddress& to, std::size_t first_bytes) {
  if (first_bytes < kClaimMin) return {};
  Wire* wire = find(number_of(to));
  if (wire == nullptr || !wire->can_send() || wire->is_claimed) return {};
  const base::MutableBytes room = wire->out->room();
  wire->is_claimed = !room.empty();
  return room;
}

Underlay::SendStatus ShmUnderlay::commit(const PeerAddress& to, std::size_t bytes,
                                         std::size_t stride) {
  Wire* wire = find(number_of(to));
  CHECK(wire != nullptr && wire->is_claimed);
  if (!wire->can_send()) {
    end_claim(*wire);
    return SendStatus::kRefused;
  }
  if (wire->has_room) {
    wire->has_room = false;
    update_retry();
  }
  const ShmRing::Result result = wire->out->put_in_place(bytes, stride);
  end_claim(*wire);
  return finish_send(*wire, result);
}

void ShmUnderlay::abort(const PeerAddress& to) {
  if (Wire* wire = find(number_of(to)); wire != nullptr) end_claim(*wire);
}

// A send() that was blocked by the claim may be retried.
void ShmUnderlay::end_claim(Wire& wire) {
  if (!wire.is_claimed) return;
  wire.is_claimed = false;
  if (!wire.is_claim_awaited) return;
  wire.is_claim_awaited = false;
  wire.has_room = true;
  update_retry();
}

// Reads all wake-ups; their number has no meaning.
void ShmUnderlay::on_readable(Wire& wire) {
  if (!wire.segment) {
    take_segment(wire);
    if (!wire.segment) return;
  }
  std::array<char, 16> bytes;
  for (int i = 0; i < kWakeUpsPerIteration; ++i) {
    const ssize_t got = ::recv(wire.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      wire.has_room = wire.is_blocked;
      update_retry();
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    wire.has_ended = true;
    wire.takes_left = wire.segment->bytes(0).size() / kShmStep;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, wire.socket.get(), nullptr);
    return;
  }
}

bool ShmUnderlay::handle_events() {
  empty_receives_ = full_receives_ = 0;
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t key = events[static_cast<std::size_t>(i)].data.u32;
    if (key == kRetryKey) continue;
    any = true;
    if (key == kListenerKey) {
      accept_all();
    } else if (Wire* wire = find(key); wire != nullptr) {
      on_readable(*wire);
    }
  }
  return any;
}

std::optional<Underlay::Received> ShmUnderlay::take_from(Wire& wire) {
  if (!wire.in || wire.is_broken) return std::nullopt;
  if (wire.has_ended && wire.takes_left-- == 0) {
    wire.is_broken = true;
    return std::nullopt;
  }
  std::size_t bytes = 0;
  std::size_t stride = 0;
  switch (wire.in->take(buffer_, bytes, stride)) {
    case ShmRing::Result::kDone:
      if (wire.in->should_wake_putter()) wake(wire.socket.get());
      return Received{base::Bytes(buffer_).first(bytes), stride, address_of(wire.number)};
    case ShmRing::Result::kWait:
      if (wire.has_ended) wire.is_broken = true;
      return std::nullopt;
    case ShmRing::Result::kBroken:
      break;
  }
  counters_.add(ShmCounter::kDropBroken);
  wire.is_broken = true;
  return std::nullopt;
}

std::optional<Underlay::Received> ShmUnderlay::take_any() {
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    next_wire_ = (next_wire_ + 1) % wires_.size();
    if (auto received = take_from(*wires_[next_wire_])) return received;
  }
  return std::nullopt;
}

void ShmUnderlay::remove_ended() {
  const std::size_t gone =
      std::erase_if(wires_, [](const auto& wire) { return wire->is_broken && !wire->is_claimed; });
  if (gone == 0) return;
  counters_.add(ShmCounter::kClientsGone, gone);
  update_retry();
  next_wire_ = 0;
}

// A peer can refill its ring faster than it is emptied: it delays connections and ends of others,
// and stops none of them.
std::optional<Underlay::Received> ShmUnderlay::receive() {
  if (full_receives_ >= kFullReceives) {
    handle_events();
    remove_ended();
  }
  if (auto received = take_any()) {
    ++full_receives_;
    return received;
  }
  remove_ended();
  if (!is_woken_ && ++empty_receives_ < kEmptyReceives) return std::nullopt;
  is_woken_ = false;
  if (!handle_events()) return std::nullopt;
  auto received = take_any();
  remove_ended();
  return received;
}

bool ShmUnderlay::may_sleep() {
  is_woken_ = true;
  return std::ranges::all_of(wires_, [](const auto& wire) {
    return !wire->in || wire->is_broken || wire->in->ask_for_wake();
  });
}

std::size_t ShmUnderlay::datagram_bytes_max(const PeerAddress&) const { return kShmBatchMax; }

std::string ShmUnderlay::name_of(const PeerAddress& peer) const {
  const std::uint32_t number = number_of(peer);
  if (number == kListenerNumber) return "shm://" + config_.name;
  return fmt::format("shm://{}#{}", config_.name, number);
}

std::optional<std::uint32_t> ShmUnderlay::user_of(const PeerAddress& peer) const {
  const Wire* wire = find(number_of(peer));
  if (wire == nullptr) return std::nullopt;
  return wire->user;
}

}  // namespace splitnic::fabric
