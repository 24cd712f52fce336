// An end node as a switch sees it: a port over UDP with one link and no queue pair, and the small
// cell that such nodes send each other. Thread: its owner.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/link/port.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "fabric_emul/wire/cell.h"
#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {

class SwitchNode final : private fabric::LinkObserver {
 public:
  enum class Role : std::uint8_t { kConnects, kListens };

  // At a port of a switch, or of another node, at this address. Ends the process if nothing
  // responds there. kListens: waits for no other; link() is that of the first that connects.
  SwitchNode(const std::string& address, std::uint64_t number, bool is_full_profile,
             Role role = Role::kConnects)
      : underlay_(open(address, role)),
        port_(*underlay_, config_of(number, is_full_profile, role, random_), random_, *this) {
    if (role == Role::kConnects) link_ = &port_.connect(underlay_->connected_to(), clock_.now());
  }
  ~SwitchNode() override { port_.send_bye(clock_.now()); }

  // Until its link is up with a LID; `other` runs meanwhile.
  void wait_until_up(const std::string& address, SwitchNode* other = nullptr) {
    const base::Time limit = clock_.now() + std::chrono::seconds(5);
    const auto none = [](fabric::Link&, std::span<const fabric::ReceivedCell>) {};
    while (link_ == nullptr || !link_->up() || link_->local_lid() == fabric::Lid()) {
      if (clock_.now() > limit) fail("no switch responds at " + address);
      step(none);
      if (other != nullptr) other->step(none);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // One iteration of the loop of a node. Returns true if anything came in.
  template <class OnCells>
  bool step(OnCells&& on_cells) {
    const base::Time now = clock_.now();
    const bool has_received = port_.receive(now, 8, on_cells);
    port_.on_time(now);
    port_.flush(now);
    return has_received;
  }

  // Returns how many copies of the cell were sent.
  std::size_t send(base::Bytes cell, std::size_t count) {
    std::size_t sent = 0;
    for (; sent < count; ++sent) {
      const base::MutableBytes room = link_->reserve(cell.size());
      if (room.empty()) break;
      std::memcpy(room.data(), cell.data(), cell.size());
      link_->commit(cell.size());
    }
    step([](fabric::Link&, std::span<const fabric::ReceivedCell>) {});
    return sent;
  }

  base::Time now() { return clock_.now(); }
  // REQUIRES wait_until_up(), as send() does.
  const fabric::Link& link() const { return *link_; }
  const fabric::Port& port() const { return port_; }
  fabric::UdpUnderlay& underlay() { return *underlay_; }

 private:
  static std::unique_ptr<fabric::UdpUnderlay> open(const std::string& address, Role role) {
    fabric::UdpConfig config;
    (role == Role::kListens ? config.bind : config.connect) = address;
    auto opened = fabric::UdpUnderlay::open(config);
    if (!opened) fail(opened.error().text());
    return std::move(*opened);
  }
  static fabric::PortConfig config_of(std::uint64_t number, bool is_full_profile, Role role,
                                      base::Random& source) {
    fabric::PortConfig config;
    config.eui64 = fabric::local_eui64(number);
    config.instance = source.next() | 1;
    config.listens = role == Role::kListens;
    if (is_full_profile) {
      config.profile = fabric::LinkProfile::kFull;
      config.full = fabric::full_between_processes();
    }
    return config;
  }
  void on_link_up(fabric::Link& link) override {
    if (link_ == nullptr) link_ = &link;
  }
  // A link that is silent for a while comes back; its cells count as lost.
  void on_link_down(fabric::Link& /*link*/, std::string_view /*why*/) override {}
  void on_peer_restarted(fabric::Link& /*link*/) override {}

  base::SystemClock clock_;
  base::OsRandom random_;
  const std::unique_ptr<fabric::UdpUnderlay> underlay_;
  fabric::Port port_;
  fabric::Link* link_ = nullptr;
};

inline constexpr std::size_t kSmallCellBytes = 64;  // with MAC header and CRC
inline constexpr fabric::Qpn kSmallCellQpn(7);

// Returns a cell for this LID that leaves by the link.
inline std::array<std::byte, kSmallCellBytes> small_cell(const fabric::Link& by, fabric::Lid to) {
  constexpr std::array<std::byte, kSmallCellBytes - fabric::kCellBytesMin> kPayload{};
  fabric::CellHead head;
  head.header.service = fabric::Service::kUd;
  head.header.slid = by.local_lid();
  head.header.dlid = to;
  head.header.sqpn = head.header.dqpn = kSmallCellQpn;
  std::array<std::byte, kSmallCellBytes> cell{};
  if (fabric::emit_cell(cell, head, kPayload, by.crc_head_only()) != kSmallCellBytes) {
    fail("cell length");
  }
  return cell;
}

// Whether it is such a cell and its CRC is right.
inline bool is_small_cell(const fabric::ReceivedCell& cell) {
  return fabric::check_cell_crc(cell.bytes, cell.crc_head_only) == fabric::CellError::kNone &&
         fabric::MacHeader::parse(cell.bytes.data()).dqpn == kSmallCellQpn;
}

}  // namespace splitnic::bench
