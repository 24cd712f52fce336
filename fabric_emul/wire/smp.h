// SMP (subnet management packet): the payload of the cells by which a subnet manager reads and
// configures switches and end nodes. It travels by directed route: the ports that it leaves by, one
// per switch, are in it, so it needs no forwarding table. Each switch on the way replaces its port
// by the one that the SMP came in by, so at the end the list is the way back.
// docs/protocol/subnet.md
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

enum class SmpMethod : std::uint8_t { kGet = 1, kSet = 2, kReply = 3, kTrap = 4 };
enum class SmpAttribute : std::uint8_t {
  kNode = 1,
  kTable = 2,
  kManager = 3,
  kLids = 4,    // of all nodes; for switches
  kPort = 5,    // the LIDs of the port of an end node
  kPolicy = 6,  // lanes and partitions at a switch
  kLoad = 7,    // the cells that a switch has forwarded out of its ports
};
std::string_view name(SmpMethod method);
std::string_view name(SmpAttribute attribute);
enum class SmpStatus : std::uint8_t {
  kDone = 0,
  kRefused = 1,  // the switch has another manager
  kStale = 2,    // the switch has changed, or lacks parts of the table
  kBad = 3,      // it does not serve this
};
std::string_view name(SmpStatus status);

inline constexpr std::size_t kSmpFixedBytes = 20;
inline constexpr std::size_t kSmpHopsMax = 64;
inline constexpr std::size_t kSmpPortsMax = 32;  // of a switch, numbered from 1
inline constexpr std::size_t kSmpNodeBytes = 20;
inline constexpr std::size_t kSmpPortBytes = 12;
inline constexpr std::size_t kSmpTableBytes = 12;
inline constexpr std::size_t kSmpBlockLids = 256;
inline constexpr std::size_t kSmpBlocksMax = 192;  // LIDs to 0xBFFF
inline constexpr std::size_t kSmpBytesMax = 552;
static_assert(kSmpBytesMax <= kMgmtPayloadMax);

// A subnet manager. The better one of two has the higher priority, then the lower LID.
struct ManagerId {
  Lid lid;  // 0: none
  std::uint8_t priority = 0;
  friend bool operator==(const ManagerId&, const ManagerId&) = default;
};
constexpr bool is_better(ManagerId a, ManagerId b) {
  return a.priority != b.priority ? a.priority > b.priority : a.lid < b.lid;
}

struct SmpRoute {
  std::uint8_t hops = 0;  // links from end to end
  std::array<std::uint8_t, kSmpHopsMax> ports{};
  std::span<const std::uint8_t> used() const { return {ports.data(), hops}; }
  SmpRoute reversed() const {
    SmpRoute out;
    out.hops = hops;
    std::reverse_copy(ports.begin(), ports.begin() + hops, out.ports.begin());
    return out;
  }
  friend bool operator==(const SmpRoute&, const SmpRoute&) = default;
};

struct Smp {
  SmpMethod method = SmpMethod::kGet;
  SmpAttribute attribute = SmpAttribute::kNode;
  SmpStatus status = SmpStatus::kDone;
  bool is_cut_off = false;  // REPLY of NODE: of a router that leads to another subnet no more
  ManagerId manager{};      // that requests; of REPLY and TRAP: that the switch obeys
  std::uint64_t transaction = 0;
  SmpRoute route{};
  std::uint8_t hop = 0;  // links that it has taken, with the one that it is on
  base::Bytes body{};    // parsed: points into the cell

  std::size_t bytes() const { return kSmpFixedBytes + route.hops + body.size(); }
};

enum class SmpError : std::uint8_t {
  kNone,
  kShort,   // fixed part or route cut off
  kLength,  // bytes differ from the counts
  kFormat,  // format, method, attribute or status unknown
  kRoute,   // more hops than there may be, a hop beyond them, or a port that no switch has
  kBody,    // not one of this attribute
  kCount_
};
std::string_view name(SmpError error);

// Writes smp.bytes() bytes at out and returns them. REQUIRES room, and a route of kSmpHopsMax hops
// at most.
std::size_t emit_smp(base::MutableBytes out, const Smp& smp);
SmpError parse_smp(base::Bytes in, Smp& out);  // out unspecified unless kNone

// The body of a reply to GET of NODE.
struct SmpNode {
  enum class PortState : std::uint8_t {
    kDown = 0,
    kUp = 1,
    kHeld = 2,   // of a cable: carries SMPs only
    kUnset = 3,  // of a node: up, and it has not taken the LIDs that a subnet manager gives it
  };
  struct PortInfo {
    std::uint8_t number = 0;  // ascending
    PortState state = PortState::kDown;
    Lid lid;        // of the peer
    Eui64 eui64{};  // of the peer; 0: nobody has come yet
    friend bool operator==(const PortInfo&, const PortInfo&) = default;
  };
  Lid lid;
  std::string name;           // a node name
  std::uint32_t changes = 0;  // links that came up or went down, since the start
  Eui64 eui64{};
  std::uint32_t check = 0;  // of its forwarding table
  bool is_cut_off = false;  // of the SMP
  std::size_t port_count = 0;
  std::array<PortInfo, kSmpPortsMax> ports{};

  std::span<const PortInfo> used_ports() const { return {ports.data(), port_count}; }
  std::size_t bytes() const { return kSmpNodeBytes + name.size() + port_count * kSmpPortBytes; }
  friend bool operator==(const SmpNode&, const SmpNode&) = default;
};
std::string_view name(SmpNode::PortState state);
// Writes node.bytes() bytes. REQUIRES room, a node name and at most kSmpPortsMax ports.
std::size_t emit_smp_node(base::MutableBytes out, const SmpNode& node);
SmpError parse_smp_node(base::Bytes in, SmpNode& out);  // kBody, or kNone

// The body of what is about TABLE: a block of a forwarding table.
struct SmpTable {
  // kClear takes entries away, kSet is the table that stays, and activates the ports.
  enum class Stage : std::uint8_t { kNone = 0, kClear = 1, kSet = 2 };
  std::uint8_t input = 0;   // the table of what comes by this port; 0: of all else
  std::uint16_t block = 0;  // the LIDs from 256 times this
  Stage stage = Stage::kNone;
  std::uint8_t parts = 0;  // SET: blocks that each table of this switch has; the others are empty
  std::uint32_t changes = 0;  // SET: those of NODE
  std::uint32_t check = 0;    // SET: of all tables. REPLY: of those in force
  base::Bytes ports{};        // kSmpBlockLids, or none: in GET and in replies to SET

  std::size_t bytes() const { return kSmpTableBytes + ports.size(); }
};
std::string_view name(SmpTable::Stage stage);
// Writes table.bytes() bytes. REQUIRES room.
std::size_t emit_smp_table(base::MutableBytes out, const SmpTable& table);
SmpError parse_smp_table(base::Bytes in, SmpTable& out);  // kBody, or kNone

}  // namespace splitnic::fabric
