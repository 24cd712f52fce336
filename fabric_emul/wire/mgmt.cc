// Bytes of MGMT. docs/protocol/mgmt.md
#include "fabric_emul/wire/mgmt.h"

#include <cstring>

#include "base/check.h"
#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct MgmtWire {
  std::uint8_t format;  // 1
  std::uint8_t kind;
  std::uint8_t pair_count;
  std::uint8_t reserved;
  base::Be16 reject;
  base::Be16 private_bytes;
  base::Be64 transaction;
  base::Be64 eui64;
  base::Be64 instance;
  base::Be64 peer_eui64;
  base::Be64 peer_instance;
};
static_assert(sizeof(MgmtWire) == kMgmtFixedBytes && alignof(MgmtWire) == 1);

struct MgmtPairWire {
  std::uint8_t channel;
  std::uint8_t service;
  base::Be16 flags;
  base::Be32 qpn;        // reserved (8), QPN (24)
  base::Be32 peer_qpn;   // reserved (8), QPN (24)
  base::Be32 start_psn;  // reserved (8), PSN (24)
  base::Be16 start_lcn;
  base::Be16 mcp;
  base::Be16 receive_credits;
  base::Be16 max_dest_rd_atomic;
  base::Be32 msg_max;
  base::Be32 completed;  // reserved (8), MSN (24)
};
static_assert(sizeof(MgmtPairWire) == kMgmtPairBytes && alignof(MgmtPairWire) == 1);

}  // namespace wire

namespace {

constexpr std::uint8_t kMgmtFormat = 1;
constexpr std::uint32_t kMask24 = 0xFFFFFF;

void emit_pair(std::byte* at, const MgmtPair& pair) {
  wire::MgmtPairWire out{};
  out.channel = pair.channel;
  out.service = static_cast<std::uint8_t>(pair.service);
  out.flags.set(pair.flags);
  out.qpn.set(pair.qpn.value & kMask24);
  out.peer_qpn.set(pair.peer_qpn.value & kMask24);
  out.start_psn.set(pair.start_psn.value);
  out.start_lcn.set(static_cast<std::uint16_t>(pair.start_lcn.value));
  out.mcp.set(pair.mcp);
  out.receive_credits.set(pair.receive_credits);
  out.max_dest_rd_atomic.set(pair.max_dest_rd_atomic);
  out.msg_max.set(pair.msg_max);
  out.completed.set(pair.completed.value);
  std::memcpy(at, &out, sizeof(out));
}

MgmtPair parse_pair(const std::byte* at) {
  wire::MgmtPairWire in;
  std::memcpy(&in, at, sizeof(in));
  MgmtPair out;
  out.channel = in.channel;
  out.service = static_cast<Service>(in.service);
  out.flags = in.flags.get();
  out.qpn = Qpn(in.qpn.get() & kMask24);
  out.peer_qpn = Qpn(in.peer_qpn.get() & kMask24);
  out.start_psn = Psn(in.start_psn.get());
  out.start_lcn = Lcn(in.start_lcn.get());
  out.mcp = in.mcp.get();
  out.receive_credits = in.receive_credits.get();
  out.max_dest_rd_atomic = in.max_dest_rd_atomic.get();
  out.msg_max = in.msg_max.get();
  out.completed = Msn(in.completed.get());
  return out;
}

// A queue pair that is set up has a service, a number, an MCP and its own channel.
bool are_pairs_legal(const Mgmt& m) {
  const bool sets_up = m.kind == MgmtKind::kConnectReq || m.kind == MgmtKind::kConnectRep;
  if (sets_up && m.pair_count == 0) return false;
  for (std::size_t i = 0; i < m.pair_count; ++i) {
    const MgmtPair& pair = m.pairs[i];
    if (name(pair.service) == "unknown" || pair.service == Service::kMgmt) return false;
    if (pair.mcp % 4 != 0 || (sets_up && (pair.mcp == 0 || pair.qpn.value == 0))) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (m.pairs[j].channel == pair.channel) return false;
    }
  }
  return true;
}

}  // namespace

std::string_view name(MgmtKind kind) {
  switch (kind) {
    case MgmtKind::kConnectReq:
      return "CONNECT_REQ";
    case MgmtKind::kConnectRep:
      return "CONNECT_REP";
    case MgmtKind::kConnectRtu:
      return "CONNECT_RTU";
    case MgmtKind::kConnectRej:
      return "CONNECT_REJ";
    case MgmtKind::kDisc:
      return "DISC";
    case MgmtKind::kDiscRep:
      return "DISC_REP";
    case MgmtKind::kResolve:
      return "RESOLVE";
    case MgmtKind::kResolved:
      return "RESOLVED";
  }
  return "unknown";
}

std::string_view name(MgmtReject code) {
  switch (code) {
    case MgmtReject::kNone:
      return "none";
    case MgmtReject::kUnknownPeer:
      return "unknown_peer";
    case MgmtReject::kBadParameter:
      return "bad_parameter";
    case MgmtReject::kNoResources:
      return "no_resources";
    case MgmtReject::kRefused:
      return "refused";
    case MgmtReject::kStale:
      return "stale";
  }
  return "unknown";
}

std::string_view name(MgmtError error) {
  switch (error) {
    case MgmtError::kNone:
      return "none";
    case MgmtError::kShort:
      return "short";
    case MgmtError::kLength:
      return "length";
    case MgmtError::kFormat:
      return "format";
    case MgmtError::kReject:
      return "reject";
    case MgmtError::kPair:
      return "pair";
    case MgmtError::kCount_:
      break;
  }
  return "unknown";
}

std::size_t emit_mgmt(base::MutableBytes out, const Mgmt& m) {
  CHECK(m.pair_count <= kMgmtPairsMax && m.private_data.size() <= kMgmtPrivateBytesMax);
  CHECK(m.bytes() <= out.size());
  wire::MgmtWire bytes{};
  bytes.format = kMgmtFormat;
  bytes.kind = static_cast<std::uint8_t>(m.kind);
  bytes.pair_count = static_cast<std::uint8_t>(m.pair_count);
  bytes.reject.set(static_cast<std::uint16_t>(m.reject));
  bytes.private_bytes.set(static_cast<std::uint16_t>(m.private_data.size()));
  bytes.transaction.set(m.transaction);
  bytes.eui64.set(m.eui64.value);
  bytes.instance.set(m.instance);
  bytes.peer_eui64.set(m.peer_eui64.value);
  bytes.peer_instance.set(m.peer_instance);
  std::byte* at = out.data();
  std::memcpy(at, &bytes, sizeof(bytes));
  at += sizeof(bytes);
  for (const MgmtPair& pair : m.used_pairs()) {
    emit_pair(at, pair);
    at += kMgmtPairBytes;
  }
  if (!m.private_data.empty()) {
    std::memcpy(at, m.private_data.data(), m.private_data.size());
  }
  return m.bytes();
}

MgmtError parse_mgmt(base::Bytes in, Mgmt& out) {
  wire::MgmtWire bytes;
  if (in.size() < sizeof(bytes)) return MgmtError::kShort;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  out = Mgmt{};
  out.kind = static_cast<MgmtKind>(bytes.kind);
  if (bytes.format != kMgmtFormat || name(out.kind) == "unknown") return MgmtError::kFormat;
  out.pair_count = bytes.pair_count;
  if (out.pair_count > kMgmtPairsMax) return MgmtError::kPair;
  const std::size_t private_at = kMgmtFixedBytes + out.pair_count * kMgmtPairBytes;
  if (in.size() < private_at) return MgmtError::kShort;
  const std::size_t private_bytes = bytes.private_bytes.get();
  if (private_bytes > kMgmtPrivateBytesMax || in.size() != private_at + private_bytes) {
    return MgmtError::kLength;
  }
  out.reject = static_cast<MgmtReject>(bytes.reject.get());
  if ((out.reject == MgmtReject::kNone) == (out.kind == MgmtKind::kConnectRej) ||
      name(out.reject) == "unknown") {
    return MgmtError::kReject;
  }
  out.transaction = bytes.transaction.get();
  out.eui64 = Eui64(bytes.eui64.get());
  out.instance = bytes.instance.get();
  out.peer_eui64 = Eui64(bytes.peer_eui64.get());
  out.peer_instance = bytes.peer_instance.get();
  for (std::size_t i = 0; i < out.pair_count; ++i) {
    out.pairs[i] = parse_pair(in.data() + kMgmtFixedBytes + i * kMgmtPairBytes);
  }
  if (!are_pairs_legal(out)) return MgmtError::kPair;
  out.private_data = in.subspan(private_at);
  return MgmtError::kNone;
}

}  // namespace splitnic::fabric
