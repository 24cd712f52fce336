// Bytes of SMPs. docs/protocol/subnet.md
#include "fabric_emul/wire/smp.h"

#include <cstring>

#include "base/check.h"
#include "base/endian.h"
#include "base/node_name.h"
#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_load.h"
#include "fabric_emul/wire/smp_policy.h"

namespace splitnic::fabric {

namespace wire {

struct SmpWire {
  std::uint8_t format;  // 1
  std::uint8_t method;
  std::uint8_t attribute;
  std::uint8_t status;
  base::Be16 manager;
  std::uint8_t priority;
  std::uint8_t flags;
  base::Be64 transaction;
  std::uint8_t hops;
  std::uint8_t hop;
  base::Be16 body_bytes;
};
static_assert(sizeof(SmpWire) == kSmpFixedBytes && alignof(SmpWire) == 1);

struct SmpNodeWire {
  base::Be16 lid;
  std::uint8_t port_count;
  std::uint8_t name_bytes;
  base::Be32 changes;
  base::Be64 eui64;
  base::Be32 check;
};
static_assert(sizeof(SmpNodeWire) == kSmpNodeBytes && alignof(SmpNodeWire) == 1);

struct SmpPortWire {
  std::uint8_t number;
  std::uint8_t state;
  base::Be16 lid;
  base::Be64 eui64;
};
static_assert(sizeof(SmpPortWire) == kSmpPortBytes && alignof(SmpPortWire) == 1);

struct SmpTableWire {
  std::uint8_t input;
  std::uint8_t block;
  std::uint8_t stage;
  std::uint8_t parts;
  base::Be32 changes;
  base::Be32 check;
};
static_assert(sizeof(SmpTableWire) == kSmpTableBytes && alignof(SmpTableWire) == 1);

}  // namespace wire

static_assert(kSmpFixedBytes + kSmpHopsMax + kSmpNodeBytes + base::kNodeNameMax +
                  kSmpPortsMax * kSmpPortBytes ==
              kSmpBytesMax);
static_assert(kSmpTableBytes + kSmpBlockLids <= kSmpBytesMax - kSmpFixedBytes - kSmpHopsMax);

namespace {

constexpr std::uint8_t kSmpFormat = 1;
constexpr std::uint8_t kFlagCutOff = 0x80;

template <class Enum>
bool is_one_of(std::uint8_t value, Enum first, Enum last) {
  return value >= static_cast<std::uint8_t>(first) && value <= static_cast<std::uint8_t>(last);
}

bool is_port(std::uint8_t number) { return number >= 1 && number <= kSmpPortsMax; }

// SET has entries, and GET and REPLY have none.
SmpError check_lids_body(const Smp& smp) {
  SmpLids lids;
  if (parse_smp_lids(smp.body, lids) != SmpError::kNone) return SmpError::kBody;
  const bool sets = smp.method == SmpMethod::kSet;
  return (lids.entry_count != 0) == sets ? SmpError::kNone : SmpError::kBody;
}

// The same.
SmpError check_policy_body(const Smp& smp) {
  SmpPolicy part;
  if (parse_smp_policy(smp.body, part) != SmpError::kNone) return SmpError::kBody;
  const bool sets = smp.method == SmpMethod::kSet;
  return part.data.empty() != sets ? SmpError::kNone : SmpError::kBody;
}

// NODE and LOAD have a body where a GET of them is done; MANAGER has none, nor has GET of PORT.
SmpError check_body(const Smp& smp) {
  if (smp.attribute == SmpAttribute::kTable && smp.method != SmpMethod::kTrap) {
    SmpTable table;
    if (parse_smp_table(smp.body, table) != SmpError::kNone) return SmpError::kBody;
    if (smp.method == SmpMethod::kReply) return SmpError::kNone;
    const bool has_stage = table.stage != SmpTable::Stage::kNone;
    const bool sets = smp.method == SmpMethod::kSet;
    return has_stage == sets && (table.parts != 0) == sets && table.ports.empty() == !sets
               ? SmpError::kNone
               : SmpError::kBody;
  }
  if (smp.attribute == SmpAttribute::kLids && smp.method != SmpMethod::kTrap) {
    return check_lids_body(smp);
  }
  if (smp.attribute == SmpAttribute::kPolicy && smp.method != SmpMethod::kTrap) {
    return check_policy_body(smp);
  }
  if (smp.attribute == SmpAttribute::kPort &&
      (smp.method == SmpMethod::kSet || smp.method == SmpMethod::kReply)) {
    PortLids lids;
    return parse_smp_port(smp.body, lids);
  }
  const bool is_done = smp.method == SmpMethod::kReply && smp.status == SmpStatus::kDone;
  if (smp.attribute == SmpAttribute::kNode && is_done) {
    SmpNode node;
    return parse_smp_node(smp.body, node);
  }
  if (smp.attribute == SmpAttribute::kLoad && is_done) {
    SmpLoad load;
    return parse_smp_load(smp.body, load);
  }
  return smp.body.empty() ? SmpError::kNone : SmpError::kBody;
}

}  // namespace

std::string_view name(SmpMethod method) {
  switch (method) {
    case SmpMethod::kGet:
      return "GET";
    case SmpMethod::kSet:
      return "SET";
    case SmpMethod::kReply:
      return "REPLY";
    case SmpMethod::kTrap:
      return "TRAP";
  }
  return "unknown";
}

std::string_view name(SmpAttribute attribute) {
  switch (attribute) {
    case SmpAttribute::kNode:
      return "NODE";
    case SmpAttribute::kTable:
      return "TABLE";
    case SmpAttribute::kManager:
      return "MANAGER";
    case SmpAttribute::kLids:
      return "LIDS";
    case SmpAttribute::kPort:
      return "PORT";
    case SmpAttribute::kPolicy:
      return "POLICY";
    case SmpAttribute::kLoad:
      return "LOAD";
  }
  return "unknown";
}

std::string_view name(SmpStatus status) {
  switch (status) {
    case SmpStatus::kDone:
      return "done";
    case SmpStatus::kRefused:
      return "refused";
    case SmpStatus::kStale:
      return "stale";
    case SmpStatus::kBad:
      return "bad";
  }
  return "unknown";
}

std::string_view name(SmpNode::PortState state) {
  switch (state) {
    case SmpNode::PortState::kDown:
      return "down";
    case SmpNode::PortState::kUp:
      return "up";
    case SmpNode::PortState::kHeld:
      return "held";
    case SmpNode::PortState::kUnset:
      return "unset";
  }
  return "unknown";
}

std::string_view name(SmpTable::Stage stage) {
  switch (stage) {
    case SmpTable::Stage::kNone:
      return "none";
    case SmpTable::Stage::kClear:
      return "clear";
    case SmpTable::Stage::kSet:
      return "set";
  }
  return "unknown";
}

std::string_view name(SmpError error) {
  switch (error) {
    case SmpError::kNone:
      return "none";
    case SmpError::kShort:
      return "short";
    case SmpError::kLength:
      return "length";
    case SmpError::kFormat:
      return "format";
    case SmpError::kRoute:
      return "route";
    case SmpError::kBody:
      return "body";
    case SmpError::kCount_:
      break;
  }
  return "unknown";
}

std::size_t emit_smp(base::MutableBytes out, const Smp& smp) {
  CHECK(smp.route.hops <= kSmpHopsMax && smp.bytes() <= out.size());
  wire::SmpWire bytes{};
  bytes.format = kSmpFormat;
  bytes.method = static_cast<std::uint8_t>(smp.method);
  bytes.attribute = static_cast<std::uint8_t>(smp.attribute);
  bytes.status = static_cast<std::uint8_t>(smp.status);
  bytes.manager.set(smp.manager.lid.value);
  bytes.flags = smp.is_cut_off ? kFlagCutOff : 0;
  bytes.priority = smp.manager.priority;
  bytes.transaction.set(smp.transaction);
  bytes.hops = smp.route.hops;
  bytes.hop = smp.hop;
  bytes.body_bytes.set(static_cast<std::uint16_t>(smp.body.size()));
  std::byte* at = out.data();
  std::memcpy(at, &bytes, sizeof(bytes));
  at += sizeof(bytes);
  std::memcpy(at, smp.route.ports.data(), smp.route.hops);
  at += smp.route.hops;
  if (!smp.body.empty()) std::memcpy(at, smp.body.data(), smp.body.size());
  return smp.bytes();
}

SmpError parse_smp(base::Bytes in, Smp& out) {
  wire::SmpWire bytes;
  if (in.size() < sizeof(bytes)) return SmpError::kShort;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  if (bytes.format != kSmpFormat || !is_one_of(bytes.method, SmpMethod::kGet, SmpMethod::kTrap) ||
      !is_one_of(bytes.attribute, SmpAttribute::kNode, SmpAttribute::kLoad) ||
      !is_one_of(bytes.status, SmpStatus::kDone, SmpStatus::kBad) ||
      (bytes.status != 0 && bytes.method != static_cast<std::uint8_t>(SmpMethod::kReply))) {
    return SmpError::kFormat;
  }
  if (bytes.hops > kSmpHopsMax || bytes.hop > bytes.hops) return SmpError::kRoute;
  const std::size_t body_at = sizeof(bytes) + bytes.hops;
  if (in.size() < body_at) return SmpError::kShort;
  if (in.size() != body_at + bytes.body_bytes.get()) return SmpError::kLength;
  out = Smp{};
  out.method = static_cast<SmpMethod>(bytes.method);
  out.attribute = static_cast<SmpAttribute>(bytes.attribute);
  out.status = static_cast<SmpStatus>(bytes.status);
  out.manager = {Lid(bytes.manager.get()), bytes.priority};
  out.is_cut_off = (bytes.flags & kFlagCutOff) != 0;
  out.transaction = bytes.transaction.get();
  out.hop = bytes.hop;
  out.route.hops = bytes.hops;
  std::memcpy(out.route.ports.data(), in.data() + sizeof(bytes), bytes.hops);
  if (!std::ranges::all_of(out.route.used(), is_port)) return SmpError::kRoute;
  out.body = in.subspan(body_at);
  return check_body(out);
}

std::size_t emit_smp_node(base::MutableBytes out, const SmpNode& node) {
  CHECK(base::is_node_name(node.name) && node.port_count <= kSmpPortsMax);
  CHECK(node.bytes() <= out.size());
  wire::SmpNodeWire bytes{};
  bytes.lid.set(node.lid.value);
  bytes.port_count = static_cast<std::uint8_t>(node.port_count);
  bytes.name_bytes = static_cast<std::uint8_t>(node.name.size());
  bytes.changes.set(node.changes);
  bytes.eui64.set(node.eui64.value);
  bytes.check.set(node.check);
  std::byte* at = out.data();
  std::memcpy(at, &bytes, sizeof(bytes));
  at += sizeof(bytes);
  std::memcpy(at, node.name.data(), node.name.size());
  at += node.name.size();
  for (const SmpNode::PortInfo& port : node.used_ports()) {
    wire::SmpPortWire info{};
    info.number = port.number;
    info.state = static_cast<std::uint8_t>(port.state);
    info.lid.set(port.lid.value);
    info.eui64.set(port.eui64.value);
    std::memcpy(at, &info, sizeof(info));
    at += sizeof(info);
  }
  return node.bytes();
}

SmpError parse_smp_node(base::Bytes in, SmpNode& out) {
  wire::SmpNodeWire bytes;
  if (in.size() < sizeof(bytes)) return SmpError::kBody;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  out = SmpNode{};
  out.port_count = bytes.port_count;
  if (out.port_count > kSmpPortsMax ||
      in.size() != sizeof(bytes) + bytes.name_bytes + out.port_count * kSmpPortBytes) {
    return SmpError::kBody;
  }
  out.lid = Lid(bytes.lid.get());
  out.name = base::as_text(in.subspan(sizeof(bytes), bytes.name_bytes));
  out.changes = bytes.changes.get();
  out.eui64 = Eui64(bytes.eui64.get());
  out.check = bytes.check.get();
  if (!base::is_node_name(out.name)) return SmpError::kBody;
  const std::byte* at = in.data() + sizeof(bytes) + bytes.name_bytes;
  std::uint8_t last = 0;
  for (std::size_t i = 0; i < out.port_count; ++i, at += kSmpPortBytes) {
    wire::SmpPortWire info;
    std::memcpy(&info, at, sizeof(info));
    if (!is_port(info.number) || info.number <= last ||
        !is_one_of(info.state, SmpNode::PortState::kDown, SmpNode::PortState::kUnset)) {
      return SmpError::kBody;
    }
    last = info.number;
    out.ports[i] = {info.number, static_cast<SmpNode::PortState>(info.state), Lid(info.lid.get()),
                    Eui64(info.eui64.get())};
  }
  return SmpError::kNone;
}

std::size_t emit_smp_table(base::MutableBytes out, const SmpTable& table) {
  CHECK(table.block < kSmpBlocksMax && table.bytes() <= out.size());
  wire::SmpTableWire bytes{};
  bytes.input = table.input;
  bytes.block = static_cast<std::uint8_t>(table.block);
  bytes.stage = static_cast<std::uint8_t>(table.stage);
  bytes.parts = table.parts;
  bytes.changes.set(table.changes);
  bytes.check.set(table.check);
  std::memcpy(out.data(), &bytes, sizeof(bytes));
  if (!table.ports.empty()) {
    std::memcpy(out.data() + sizeof(bytes), table.ports.data(), table.ports.size());
  }
  return table.bytes();
}

SmpError parse_smp_table(base::Bytes in, SmpTable& out) {
  wire::SmpTableWire bytes;
  if (in.size() != sizeof(bytes) && in.size() != sizeof(bytes) + kSmpBlockLids) {
    return SmpError::kBody;
  }
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  if (bytes.input > kSmpPortsMax || bytes.block >= kSmpBlocksMax || bytes.parts > kSmpBlocksMax ||
      !is_one_of(bytes.stage, SmpTable::Stage::kNone, SmpTable::Stage::kSet)) {
    return SmpError::kBody;
  }
  out.input = bytes.input;
  out.block = bytes.block;
  out.stage = static_cast<SmpTable::Stage>(bytes.stage);
  out.parts = bytes.parts;
  out.changes = bytes.changes.get();
  out.check = bytes.check.get();
  out.ports = in.subspan(sizeof(bytes));
  return SmpError::kNone;
}

}  // namespace splitnic::fabric
