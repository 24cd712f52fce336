// The underlay of the port that the fuzz target port_init attacks: a few addresses, and one
// datagram or batch at a time. Thread: its owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric_emul/underlay/underlay.h"

namespace splitnic::fuzz::port_init_carrier {

using namespace fabric;

inline constexpr std::size_t kDatagramBytes = 1472;

inline PeerAddress address_of(std::size_t number) {
  PeerAddress address;
  address.bytes[0] = static_cast<std::byte>(number + 1);
  return address;
}
inline std::size_t number_of(const PeerAddress& address) {
  return std::to_integer<std::size_t>(address.bytes[0]) - 1;
}
// With keys, the host at an address has one identity.
inline std::uint64_t eui64_at(std::size_t number) { return 1 + number % 3; }

// Passes what is put in, and keeps what is sent.
class Carrier final : public Underlay {
 public:
  struct Datagram {
    std::size_t peer = 0;
    std::vector<std::byte> bytes;
    std::size_t stride = 0;  // of what comes in, a batch of one or more
  };
  explicit Carrier(bool is_keyed) : is_keyed_(is_keyed) {}
  bool is_keyed() const { return is_keyed_; }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    if (is_blocked) return SendStatus::kBlocked;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(stride, bytes.size()))) {
      const base::Bytes one = bytes.first(std::min(stride, bytes.size()));
      sent.push_back({number_of(to), {one.begin(), one.end()}, one.size()});
    }
    return SendStatus::kSent;
  }
  std::optional<Received> receive() override {
    if (!waiting) return std::nullopt;
    current_ = *std::exchange(waiting, std::nullopt);
    return Received{current_.bytes, std::max<std::size_t>(current_.stride, 1),
                    address_of(current_.peer)};
  }
  const Datagram& current() const { return current_; }
  std::size_t datagram_bytes_max(const PeerAddress&) const override { return kDatagramBytes; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  std::string name_of(const PeerAddress&) const override { return "peer"; }
  std::optional<std::uint64_t> eui64_of(const PeerAddress& peer) const override {
    if (!is_keyed_) return std::nullopt;
    return eui64_at(number_of(peer));
  }

  bool is_blocked = false;
  std::optional<Datagram> waiting;
  std::vector<Datagram> sent;

 private:
  const bool is_keyed_;
  Datagram current_;
};

}  // namespace splitnic::fuzz::port_init_carrier
