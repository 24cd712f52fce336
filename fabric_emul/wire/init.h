// INIT: the handshake of the two ends of a link. One size for every step, so a reply is never
// larger than its request; a sender is accepted only after it has echoed a number that was sent to
// its address. docs/protocol/init.md#init
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

enum class InitStep : std::uint8_t {
  kHello = 1,       // nonce: fresh; echo: 0
  kChallenge = 2,   // to an address that is not proven. nonce: token; echo: nonce of HELLO
  kAnswer = 3,      // nonce: fresh; echo: the token
  kReady = 4,       // the sender accepted the peer. echo: nonce of HELLO or ANSWER
  kRefuse = 5,      // with a reason; echo as kReady
  kBye = 6,         // clean stop
  kProbe = 7,       // path probe: filler extends the datagram to the length being probed
  kProbeReply = 8,  // echo: nonce of the probe
};
enum class LinkProfile : std::uint8_t { kFull = 0, kSpeed = 1, kShm = 2 };
enum class CellCrcMode : std::uint8_t { kWholeCell = 0, kHeadOnly = 1 };
// Of the speed profile. docs/protocol/init.md#payload-crc
enum class PayloadCrc : std::uint8_t {
  kRequired = 0,  // the cell CRC covers the whole cell
  kOmitted = 1,   // ANSWER: may be left out; READY: is left out, the cell CRC covers the head
  kOmittedIfProven =
      2,  // ANSWER only: may be left out if the listener proves its machine to be ours
};
inline constexpr std::uint64_t kProofMask = (std::uint64_t{1} << 56) - 1;
enum class InitReason : std::uint8_t {
  kNone = 0,
  kVersion = 1,    // program versions are not compatible
  kProfile = 2,    // another profile or CRC mode
  kMcp = 3,        // no common MCP
  kIdentity = 4,   // EUI-64 not expected here
  kBusy = 5,       // no room for another peer
  kDuplicate = 6,  // another peer of this EUI-64 is connected and alive
};
std::string_view name(InitStep step);
std::string_view name(LinkProfile profile);
std::string_view name(InitReason reason);
std::string_view name(PayloadCrc payload_crc);

struct Init {
  InitStep step = InitStep::kHello;
  LinkProfile profile = LinkProfile::kSpeed;
  CellCrcMode cell_crc = CellCrcMode::kWholeCell;
  std::uint32_t program_version = 0;  // major (8), minor (8), patch (16)
  std::uint16_t lanes_mask = 0;       // bit n: lane n is open
  std::uint16_t mcp_max = 0;
  std::uint16_t flit_payload_max = 0;
  std::uint8_t port = 0;
  InitReason reason = InitReason::kNone;  // not kNone only in kRefuse
  std::uint32_t initial_credit = 0;       // full profile: first limit of each data lane, 24 bits
  PayloadCrc payload_crc = PayloadCrc::kRequired;  // speed profile
  std::uint64_t proof = 0;                         // speed profile: of one machine, 56 bits
  std::uint32_t receive_buffer_bytes = 0;
  Eui64 eui64{};
  std::uint64_t instance = 0;       // random per process start, not 0
  std::uint64_t peer_instance = 0;  // the receiver's, as last received; 0 = not known
  std::uint64_t nonce = 0;          // the receiver echoes it
  std::uint64_t echo = 0;           // the receiver's nonce or token
  Lid lid{};                        // the sender's; 0 = none yet
  Lid offered_lid{};                // for the receiver; 0 = none
  // Speed profile, whose lanes above 3 but for 15 are not used: the sender takes cells in
  // fragments.
  bool takes_fragments() const {
    return profile == LinkProfile::kSpeed && (lanes_mask & kTakesFragments) != 0;
  }
  static constexpr std::uint16_t kTakesFragments = 0x4000;  // of lanes_mask
  friend bool operator==(const Init&, const Init&) = default;
};

enum class InitError : std::uint8_t {
  kNone,
  kLength,  // not kInitBytes
  kFormat,  // not format 1
  kStep,    // step, profile, CRC mode, payload CRC or reason unknown, or a reason outside kRefuse
  kValue,   // MCP, flit payload, lanes or instance outside their bounds
  kCount_
};
std::string_view name(InitError error);

void emit_init(std::byte* at, const Init& init);  // writes kInitBytes
InitError parse_init(base::Bytes in, Init& out);  // out unspecified unless kNone

}  // namespace splitnic::fabric
