// Keyed nodes over an in-process hub with faults, strangers among them, and time moved by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/session/keyed_underlay.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "tests/support/fault_underlay.h"
#include "tests/unit/fabric_emul/session/session_support.h"

namespace splitnic::fabric::session {

using namespace std::chrono_literals;

// Keeps what passed below a keyed node, and can be moved to another endpoint of the hub.
class Path final : public Underlay {
 public:
  explicit Path(InProcessUnderlay& at) : at_(&at) {}
  void move_to(InProcessUnderlay& at) { at_ = &at; }
  const PeerAddress& address() const { return at_->address(); }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    for (std::size_t i = 0; i < bytes.size(); i += stride) {
      const base::Bytes datagram = bytes.subspan(i, std::min(stride, bytes.size() - i));
      sent.emplace_back(datagram.begin(), datagram.end());
      dscps.push_back(dscp_);
    }
    strides.push_back(stride);
    if (is_blocked) return SendStatus::kBlocked;
    return room ? send_each(to, bytes, stride) : at_->send(to, bytes, stride);
  }
  void forget(base::Bytes batch) override {
    if (resume_.data == batch.data()) resume_ = {};
  }
  void check_own_address() override { ++own_address_checks; }
  void set_dscp(std::uint8_t of_batches, std::uint8_t) override { dscp_ = of_batches; }
  std::optional<Received> receive() override { return at_->receive(); }
  std::size_t datagram_bytes_max(const PeerAddress& to) const override {
    return at_->datagram_bytes_max(to);
  }
  std::size_t receive_buffer_bytes() const override { return at_->receive_buffer_bytes(); }
  std::string name_of(const PeerAddress& peer) const override { return at_->name_of(peer); }

  std::vector<Buffer> sent;
  std::vector<std::uint8_t> dscps;  // of each
  std::vector<std::size_t> strides;
  bool is_blocked = false;
  // As a UDP socket without UDP_SEGMENT: takes this number of datagrams, and continues with a batch
  // that blocked in the middle when the same memory comes once more.
  std::optional<std::size_t> room;
  unsigned own_address_checks = 0;

 private:
  SendStatus send_each(const PeerAddress& to, base::Bytes bytes, std::size_t stride) {
    const bool is_resumed = resume_.data == bytes.data() && resume_.size == bytes.size();
    std::size_t at = is_resumed ? resume_.sent : 0;
    resume_ = {};
    for (; at < bytes.size(); at += stride) {
      if (*room == 0) {
        if (at > 0) resume_ = {bytes.data(), bytes.size(), at};
        return SendStatus::kBlocked;
      }
      --*room;
      const base::Bytes datagram = bytes.subspan(at, std::min(stride, bytes.size() - at));
      at_->send(to, datagram, datagram.size());
    }
    return SendStatus::kSent;
  }

  InProcessUnderlay* at_;
  std::uint8_t dscp_ = 0;
  struct {
    const std::byte* data = nullptr;
    std::size_t size = 0, sent = 0;
  } resume_;
};

struct Node {
  Node(InProcessUnderlay& at, base::Clock& clock, const SessionConfig& config, std::uint64_t seed)
      : random(seed), path(at), fault(path, random, clock), keyed(fault, config, clock, random) {}

  std::uint64_t count(SessionCounter which) const { return keyed.counters()[which]; }
  // Takes all that has arrived, datagram by datagram.
  void receive() {
    for (int i = 0; i < 1000; ++i) {
      const auto batch = keyed.receive();
      if (!batch) return;
      for (std::size_t at = 0; at < batch->bytes.size(); at += batch->stride) {
        const base::Bytes datagram =
            batch->bytes.subspan(at, std::min(batch->stride, batch->bytes.size() - at));
        received.emplace_back(datagram.begin(), datagram.end());
        from = batch->from;
      }
    }
  }

  // The last datagram that arrived; empty: none.
  Buffer last() const { return received.empty() ? Buffer() : received.back(); }

  base::SeededRandom random;
  Path path;
  FaultUnderlay fault;
  KeyedUnderlay keyed;
  std::vector<Buffer> received;
  PeerAddress from;
};

// A host that initiates, and a unit that allows it.
class KeyedWorld {
 public:
  explicit KeyedWorld(std::uint64_t seed = 1)
      : seed_(seed), host_secret(make_secret(1)), unit_secret(make_secret(2)) {}

  static Secret make_secret(std::uint64_t seed) {
    base::SeededRandom random(seed * 1000 + 7);
    return random_private_key(random);
  }
  SessionConfig config_of(const Secret& secret) {
    SessionConfig config = common;
    config.private_key = secret;
    config.instance = ++instances_;
    config.stamp = [this] { return ++stamp; };
    return config;
  }
  // A second host, connected.
  struct SecondHost {
    std::unique_ptr<Node> node;
    PeerAddress unit;     // as the layers above know the unit at this host
    PeerAddress at_unit;  // as they know this host at the unit
  };
  SecondHost make_second_host() {
    const Secret secret = make_secret(3);
    auto node = make_node(second_at, secret);
    const auto at_host = node->keyed.allow({public_key_of(unit_secret), {}, unit_at.address()});
    const auto known = unit->keyed.allow({public_key_of(secret), {}, {}});
    EXPECT_TRUE(at_host && known);
    node->keyed.send(*at_host, payload(50, 1), 50);
    for (int i = 0; i < 3; ++i) {
      unit->receive();
      node->receive();
    }
    return {std::move(node), *at_host, *known};
  }
  std::unique_ptr<Node> make_node(InProcessUnderlay& at, const Secret& secret) {
    return std::make_unique<Node>(at, clock, config_of(secret), ++seed_ * 7919);
  }
  // Each call is another process at the same address.
  void make_unit() {
    unit_at.clear();
    unit = make_node(unit_at, unit_secret);
    const auto allowed = unit->keyed.allow({public_key_of(host_secret), psk, {}});
    ASSERT_TRUE(allowed);
    host_address = *allowed;
  }
  void make_host() {
    host_at.clear();
    host = make_node(host_at, host_secret);
    const auto allowed = host->keyed.allow({public_key_of(unit_secret), psk, unit_at.address()});
    ASSERT_TRUE(allowed);
    unit_address = *allowed;
  }
  void start() {
    make_unit();
    make_host();
  }

  static Buffer payload(std::size_t bytes, unsigned seed) {
    Buffer buffer(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      buffer[i] = static_cast<std::byte>((i * 31 + seed * 7 + seed / 256) & 0xFF);
    }
    return buffer;
  }
  Underlay::SendStatus send_up(const Buffer& bytes, std::size_t stride = 1440) {
    return host->keyed.send(unit_address, bytes, stride);
  }
  Underlay::SendStatus send_down(const Buffer& bytes, std::size_t stride = 1440) {
    return unit->keyed.send(host_address, bytes, stride);
  }
  void exchange() {
    for (int i = 0; i < 4; ++i) {
      host->receive();
      unit->receive();
    }
  }
  void step(base::Duration by) {
    clock.advance(by);
    exchange();
  }
  // The host has something to send until there is a session. Returns how long that took.
  base::Duration connect(base::Duration limit = 60s) {
    const base::Time began = clock.now();
    while (!is_up() && clock.now() - began < limit) {
      send_up(payload(88, 1));
      step(20ms);
    }
    return clock.now() - began;
  }
  bool is_up() const {
    return host->keyed.has_session(unit_address) && unit->keyed.has_session(host_address);
  }

  base::ManualClock clock;
  InProcessHub hub;
  InProcessUnderlay& unit_at = hub.add_endpoint();
  InProcessUnderlay& host_at = hub.add_endpoint();
  InProcessUnderlay& second_at = hub.add_endpoint();
  SessionConfig common;
  Secret psk;
  std::uint64_t stamp = 0;

 private:
  std::uint64_t seed_, instances_ = 0;

 public:
  const Secret host_secret, unit_secret;
  std::unique_ptr<Node> unit, host;
  PeerAddress host_address, unit_address;  // as the layers above know them
};

}  // namespace splitnic::fabric::session
