// Two ends in one process, and ends that lie: a hand-made peer that maps the segment and writes
// whatever the test wants.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric_emul/underlay/shm_handshake.h"
#include "fabric_emul/underlay/shm_underlay.h"
#include "tests/support/temp_folder.h"

namespace splitnic::fabric::shm_world {

inline constexpr std::size_t kRingBytes = 128 << 10;
using Status = Underlay::SendStatus;

class ShmTest : public ::testing::Test {
 protected:
  std::unique_ptr<ShmUnderlay> open(bool listens, std::size_t clients_max = 4,
                                    std::optional<std::vector<std::uint32_t>> users = {}) {
    ShmConfig config;
    config.name = "t";
    config.listens = listens;
    config.directory = folder_.path();
    config.service_directory = service_;
    config.ring_bytes = kRingBytes;
    config.clients_max = clients_max;
    config.users = std::move(users);
    config.clock = clock_;
    auto made = ShmUnderlay::open(config);
    if (!made) {
      ADD_FAILURE() << made.error().text();
      return nullptr;
    }
    return std::move(*made);
  }
  std::string path() const { return folder_.path("splitnic-t"); }

  const support::TempFolder folder_;
  base::Clock* clock_ = nullptr;  // of listeners that are opened from now on
  std::string service_;           // of connectors that are opened from now on
};

inline bool is_readable(const Underlay& underlay, int milliseconds = 0) {
  pollfd entry{underlay.fd(), POLLIN, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}

inline std::vector<std::byte> batch_of(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> batch(bytes);
  for (std::size_t i = 0; i < bytes; ++i) batch[i] = static_cast<std::byte>(seed + i * 7 + i / 251);
  return batch;
}

inline bool is_batch(const std::optional<Underlay::Received>& got, base::Bytes wanted,
                     std::size_t stride) {
  return got && got->stride == stride && std::ranges::equal(got->bytes, wanted);
}

// Receives as an owner that has slept: it notices connections, ends and wake-ups.
inline std::optional<Underlay::Received> look(ShmUnderlay& underlay) {
  underlay.may_sleep();
  return underlay.receive();
}

// The listener accepts, the connector takes its segment.
inline void join(ShmUnderlay& listener, ShmUnderlay& connector) {
  EXPECT_FALSE(look(listener));
  EXPECT_FALSE(look(connector));
}

// The listener's name for a connector that has sent something.
inline PeerAddress learn(ShmUnderlay& listener, ShmUnderlay& connector) {
  const auto hello = batch_of(10, 1);
  EXPECT_EQ(connector.send(ShmUnderlay::listener_address(), hello, 10), Status::kSent);
  const auto got = listener.receive();
  EXPECT_TRUE(is_batch(got, hello, 10));
  return got ? got->from : PeerAddress{};
}

// A client made by hand: it has the segment and follows no rule.
struct Liar {
  base::UniqueFd socket;
  base::UniqueFd memory;
  std::unique_ptr<ShmSegment> segment;

  static Liar connect(const std::string& path, ShmUnderlay& listener) {
    Liar liar;
    liar.socket.reset(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(liar.socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_FALSE(look(listener));
    ShmHandshake handshake = receive_shm_handshake(liar.socket.get());
    EXPECT_EQ(handshake.status, ShmHandshake::Status::kValid);
    liar.memory = std::move(handshake.segment);
    auto mapped = ShmSegment::map(liar.memory.get(), kRingBytes);
    EXPECT_TRUE(mapped);
    if (mapped) liar.segment = std::move(*mapped);
    return liar;
  }
  // Writes a record head at the start of the ring towards the listener and publishes `head`.
  void declare(std::uint32_t length, std::uint32_t stride, std::uint32_t head) {
    std::memcpy(segment->bytes(1).data(), &length, 4);
    std::memcpy(segment->bytes(1).data() + 4, &stride, 4);
    segment->control(1).head.store(head);
  }
  // Sends one valid record and returns the listener's address for this client.
  PeerAddress introduce(ShmUnderlay& listener) {
    declare(10, 10, 64);
    const auto got = listener.receive();
    EXPECT_TRUE(got);
    return got ? got->from : PeerAddress{};
  }
};

}  // namespace splitnic::fabric::shm_world
