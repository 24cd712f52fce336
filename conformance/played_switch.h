// A switch that the suite plays: what its agent reports, obeys and has been set. The agent follows
// docs/protocol/subnet.md; a case may change all that it is and what it replies. Pure.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "conformance/end.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::conformance {

// An SMP with its body: what a parsed one points into may be gone.
struct OwnedSmp {
  fabric::Smp smp{};
  ByteVector body{};

  OwnedSmp() = default;
  explicit OwnedSmp(const fabric::Smp& of) : smp(of), body(of.body.begin(), of.body.end()) {}
  fabric::Smp view() const {
    fabric::Smp out = smp;
    out.body = body;
    return out;
  }
  fabric::SmpTable table() const;  // REQUIRES a body of TABLE
  ByteVector bytes() const;        // as it is in a cell
};

struct PlayedPort {
  using State = fabric::SmpNode::PortState;
  std::uint8_t number = 0;
  std::string peer{};          // a node or a switch of the topology
  std::uint8_t peer_port = 0;  // 0: of a node
  fabric::Lid lid{};           // of the peer, as it is reported
  fabric::Eui64 eui64{};       // of the peer
  State state = State::kUp;
  bool is_right = true;     // false: it contradicts the topology file
  std::uint64_t cells = 0;  // in the last reply to GET LOAD
  bool is_up() const { return state != State::kDown; }
};

struct PlayedSwitch {
  static constexpr std::size_t kLids = fabric::kSmpBlocksMax * fabric::kSmpBlockLids;
  using Table = std::vector<std::byte>;  // the port of each LID

  std::string name{};
  fabric::Lid lid{};
  fabric::Eui64 eui64{};
  std::vector<PlayedPort> ports{};  // by ascending number

  std::uint32_t changes = 0;
  Table table = Table(kLids);
  fabric::ManagerId manager{};
  fabric::SmpRoute to_manager{};
  bool replies = true;
  bool is_right = true;                // false: it contradicts the topology file
  std::uint32_t reported_changes = 0;  // in the last reply to GET NODE
  std::uint64_t tables_set = 0;        // stage set came into force

  PlayedPort* find(std::uint8_t number);
  const PlayedPort* find(std::uint8_t number) const;
  // A link comes up or goes down.
  void change(std::uint8_t port, PlayedPort::State state);
  bool has_held_port() const;
  std::uint32_t check() const { return check_of(table); }
  // CRC-32C over the ports of all LIDs, as P-SUBN-6 has it.
  static std::uint32_t check_of(const Table& table);
  std::uint8_t port_of(fabric::Lid of) const {
    return std::to_integer<std::uint8_t>(table.at(of.value));
  }

  // Returns the reply of a right agent to GET or SET that has come by this route.
  OwnedSmp serve(const fabric::Smp& request);
  fabric::SmpNode node() const;
  fabric::SmpLoad load();  // of each port more cells than the last one

 private:
  struct Staged {
    fabric::SmpTable about{};
    std::bitset<fabric::kSmpBlocksMax> has{};
    Table table = Table(kLids);
  };
  fabric::SmpStatus set_manager(const fabric::Smp& request);
  fabric::SmpStatus set_part(const fabric::SmpTable& part);

  std::optional<Staged> staged_{};
};

}  // namespace splitnic::conformance
