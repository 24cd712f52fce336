// A path between two endpoints: datagrams wait in a bounded buffer in front of a line with a
// bandwidth, arrive a delay later, and are lost at random, each separately or the
// whole batch that was sent with it. What does not fit the buffer is lost too. What has arrived by
// the time of a receive is one batch, as a receiving kernel makes it. No real time: the clock is
// asked. Thread: one for both ends.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/underlay.h"

namespace splitnic::sim {

struct PathConfig {
  std::uint32_t loss_ppm = 0;
  bool loses_batches = false;  // false: datagram by datagram
  base::Duration delay{};      // one way
  std::uint64_t buffer_bytes = 512 << 10;
  std::uint64_t bytes_a_second = 1'250'000'000;
};

class Bottleneck final : public fabric::Underlay {
 public:
  static constexpr std::size_t kDatagramBytes = 1472;

  Bottleneck(std::uint32_t number, base::Clock& clock, base::Random& random);
  // Datagrams sent here arrive there. REQUIRES before the first call of anything else.
  void join(Bottleneck& other) { other_ = &other; }
  // Of what is sent from here, from now on.
  void set_config(const PathConfig& config) { config_ = config; }
  const fabric::PeerAddress& address() const { return address_; }
  bool has_arrived();
  std::uint64_t dropped() const { return dropped_; }  // by chance and for want of room

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override;
  std::optional<Received> receive() override;
  std::size_t datagram_bytes_max(const fabric::PeerAddress&) const override {
    return kDatagramBytes;
  }
  std::size_t receive_buffer_bytes() const override { return 4 << 20; }
  std::string name_of(const fabric::PeerAddress&) const override { return "the other end"; }
  base::Time deadline() const override {
    return arriving_.empty() ? base::kNever : arriving_[0].at;
  }

 private:
  struct Datagram {
    base::Time at;
    std::vector<std::byte> bytes;
  };
  bool has_room(std::size_t bytes) const;
  void carry(base::Bytes datagram);

  fabric::PeerAddress address_;
  base::Clock& clock_;
  base::Random& random_;
  PathConfig config_;
  Bottleneck* other_ = nullptr;
  base::Time line_free_{};         // when the line has sent what waits for it
  std::deque<Datagram> arriving_;  // here, in order of time
  std::vector<std::vector<std::byte>> spare_;
  std::vector<std::byte> batch_;  // what receive() gave out
  std::uint64_t dropped_ = 0;
};

}  // namespace splitnic::sim
