// MGMT: the payload of connection setup cells. A fixed part, up to four queue pairs, then opaque
// private data (a serialised protobuf that the layers above own). docs/protocol/mgmt.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/op_table.h"
#include "fabric_emul/wire/partition.h"

namespace splitnic::fabric {

// The queue pairs of the fabric's own services: on a path a datagram of the link layer, MGMT to a
// switch, SMPs. docs/protocol/path.md docs/protocol/subnet.md
inline constexpr Qpn kPathQpn{0};
inline constexpr Qpn kSwitchQpn{1};
inline constexpr Qpn kSubnetQpn{2};

enum class MgmtKind : std::uint8_t {
  kConnectReq = 1,
  kConnectRep = 2,
  kConnectRtu = 3,  // ready to use
  kConnectRej = 4,
  kDisc = 5,
  kDiscRep = 6,
  kResolve = 7,   // to a switch: private data is the name of a node
  kResolved = 8,  // its LID, 2 bytes; none: no node has this name
};
enum class MgmtReject : std::uint16_t {
  kNone = 0,
  kUnknownPeer = 1,   // EUI-64 or instance not known
  kBadParameter = 2,  // a queue pair's parameters cannot be taken
  kNoResources = 3,
  kRefused = 4,  // by the layer above; private data may give the reason
  kStale = 5,    // transaction or queue pair no longer there
};
std::string_view name(MgmtKind kind);
std::string_view name(MgmtReject code);

inline constexpr std::uint16_t kPairIdataFormB = 0x0001;  // idata form B of docs/protocol/data.md
inline constexpr std::uint16_t kPairPacketCrc = 0x0002;   // sender sets flag P
inline constexpr std::uint16_t kPairGoBackN = 0x0004;     // no selective repeat
inline constexpr std::uint16_t kPairStreamRdma = 0x0008;  // STREAM: with RDMA
inline constexpr std::uint16_t kPairStreamIscsi = 0x0010;
inline constexpr std::uint16_t kPairLinks = 0x0020;  // RC: takes cells by several links

inline constexpr std::size_t kMgmtPairsMax = 4;
inline constexpr std::size_t kMgmtPrivateBytesMax = 512;
inline constexpr std::size_t kMgmtFixedBytes = 48;
inline constexpr std::size_t kMgmtPairBytes = 32;
static_assert(kMgmtFixedBytes + kMgmtPairsMax * kMgmtPairBytes + kMgmtPrivateBytesMax <=
              kMgmtPayloadMax);

// A queue pair as described by its owner.
struct MgmtPair {
  std::uint8_t channel = 0;
  Service service = Service::kRc;
  std::uint16_t flags = 0;
  Qpn qpn{};       // the sender's
  Qpn peer_qpn{};  // the receiver's; 0 in CONNECT_REQ
  Psn start_psn{};
  Lcn start_lcn{};
  std::uint16_t mcp = 0;
  std::uint16_t receive_credits = 0;
  // RDMA reads and FetchOps that the sender of this accepts in flight.
  std::uint16_t max_dest_rd_atomic = 0;
  std::uint32_t msg_max = 0;
  Msn completed{};  // DISC and DISC_REP: last packet completed as receiver
  friend bool operator==(const MgmtPair&, const MgmtPair&) = default;
};

struct Mgmt {
  MgmtKind kind = MgmtKind::kConnectReq;
  MgmtReject reject = MgmtReject::kNone;  // not kNone exactly in CONNECT_REJ
  std::uint64_t transaction = 0;
  Eui64 eui64{}, peer_eui64{};  // sender, receiver
  std::uint64_t instance = 0, peer_instance = 0;
  std::size_t pair_count = 0;
  std::array<MgmtPair, kMgmtPairsMax> pairs{};
  base::Bytes private_data{};  // parsed: points into the cell
  // Not in the payload: at a receiver of CONNECT_REQ, the key of this node that takes its cell.
  PartitionKey partition = kDefaultPartition;

  std::span<const MgmtPair> used_pairs() const { return {pairs.data(), pair_count}; }
  std::size_t bytes() const {
    return kMgmtFixedBytes + pair_count * kMgmtPairBytes + private_data.size();
  }
};

enum class MgmtError : std::uint8_t {
  kNone,
  kShort,   // fixed part or a pair cut off
  kLength,  // bytes differ from the counts, or private data too long
  kFormat,  // format or kind unknown
  kReject,  // reject code in another kind, missing or unknown in CONNECT_REJ
  kPair,    // too many pairs, none in CONNECT_REQ/REP, or one with illegal values
  kCount_
};
std::string_view name(MgmtError error);

// Writes m.bytes() bytes at out and returns them. REQUIRES room, pair_count <= kMgmtPairsMax and
// private_data.size() <= kMgmtPrivateBytesMax.
std::size_t emit_mgmt(base::MutableBytes out, const Mgmt& m);
MgmtError parse_mgmt(base::Bytes in, Mgmt& out);  // out unspecified unless kNone

}  // namespace splitnic::fabric
