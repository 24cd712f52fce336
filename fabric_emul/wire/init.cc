// Bytes of INIT. docs/protocol/init.md#init
#include "fabric_emul/wire/init.h"

#include <cstring>

#include "base/endian.h"

namespace splitnic::fabric {

namespace wire {

struct InitWire {
  std::uint8_t format;  // 1
  std::uint8_t step;
  std::uint8_t profile;
  std::uint8_t cell_crc;
  base::Be32 program_version;
  base::Be16 lanes_mask;
  base::Be16 mcp_max;
  base::Be16 flit_payload_max;
  std::uint8_t port;
  std::uint8_t reason;
  base::Be32 of_profile;  // full: credit limit (24); speed: payload CRC (8), proof bits 32-55
  base::Be32 receive_buffer_bytes;
  base::Be64 eui64;
  base::Be64 instance;
  base::Be64 peer_instance;
  base::Be64 nonce;
  base::Be64 echo;
  base::Be16 lid;
  base::Be16 offered_lid;
  base::Be32 proof;  // speed: bits 0-31
};
static_assert(sizeof(InitWire) == kInitBytes && alignof(InitWire) == 1);
static_assert(offsetof(InitWire, receive_buffer_bytes) == 20 && offsetof(InitWire, lid) == 64);

}  // namespace wire

namespace {

constexpr std::uint8_t kInitFormat = 1;

// The words that the profiles use in different ways.
void emit_of_profile(wire::InitWire& out, const Init& init) {
  if (init.profile == LinkProfile::kFull) out.of_profile.set(init.initial_credit & kCreditMask);
  if (init.profile != LinkProfile::kSpeed) return;
  const std::uint64_t proof = init.proof & kProofMask;
  out.of_profile.set(std::uint32_t{static_cast<std::uint8_t>(init.payload_crc)} << 24 |
                     static_cast<std::uint32_t>(proof >> 32));
  out.proof.set(static_cast<std::uint32_t>(proof));
}

// Returns false if the payload CRC is unknown.
bool parse_of_profile(const wire::InitWire& in, Init& out) {
  const std::uint32_t word = in.of_profile.get();
  const bool is_speed = out.profile == LinkProfile::kSpeed;
  out.initial_credit = out.profile == LinkProfile::kFull ? word & kCreditMask : 0;
  out.payload_crc = is_speed ? static_cast<PayloadCrc>(word >> 24) : PayloadCrc::kRequired;
  out.proof = is_speed ? (std::uint64_t{word} << 32 | in.proof.get()) & kProofMask : 0;
  return name(out.payload_crc) != "unknown";
}

}  // namespace

std::string_view name(InitStep step) {
  switch (step) {
    case InitStep::kHello:
      return "hello";
    case InitStep::kChallenge:
      return "challenge";
    case InitStep::kAnswer:
      return "answer";
    case InitStep::kReady:
      return "ready";
    case InitStep::kRefuse:
      return "refuse";
    case InitStep::kBye:
      return "bye";
    case InitStep::kProbe:
      return "probe";
    case InitStep::kProbeReply:
      return "probe_reply";
  }
  return "unknown";
}

std::string_view name(LinkProfile profile) {
  switch (profile) {
    case LinkProfile::kFull:
      return "full";
    case LinkProfile::kSpeed:
      return "speed";
    case LinkProfile::kShm:
      return "shm";
  }
  return "unknown";
}

std::string_view name(InitReason reason) {
  switch (reason) {
    case InitReason::kNone:
      return "none";
    case InitReason::kVersion:
      return "version";
    case InitReason::kProfile:
      return "profile";
    case InitReason::kMcp:
      return "mcp";
    case InitReason::kIdentity:
      return "identity";
    case InitReason::kBusy:
      return "busy";
    case InitReason::kDuplicate:
      return "duplicate";
  }
  return "unknown";
}

std::string_view name(PayloadCrc payload_crc) {
  switch (payload_crc) {
    case PayloadCrc::kRequired:
      return "required";
    case PayloadCrc::kOmitted:
      return "omitted";
    case PayloadCrc::kOmittedIfProven:
      return "omitted_if_proven";
  }
  return "unknown";
}

std::string_view name(InitError error) {
  switch (error) {
    case InitError::kNone:
      return "none";
    case InitError::kLength:
      return "length";
    case InitError::kFormat:
      return "format";
    case InitError::kStep:
      return "step";
    case InitError::kValue:
      return "value";
    case InitError::kCount_:
      break;
  }
  return "unknown";
}

void emit_init(std::byte* at, const Init& init) {
  wire::InitWire out{};
  out.format = kInitFormat;
  out.step = static_cast<std::uint8_t>(init.step);
  out.profile = static_cast<std::uint8_t>(init.profile);
  out.cell_crc = static_cast<std::uint8_t>(init.cell_crc);
  out.program_version.set(init.program_version);
  out.lanes_mask.set(init.lanes_mask);
  out.mcp_max.set(init.mcp_max);
  out.flit_payload_max.set(init.flit_payload_max);
  out.port = init.port;
  out.reason = static_cast<std::uint8_t>(init.reason);
  emit_of_profile(out, init);
  out.receive_buffer_bytes.set(init.receive_buffer_bytes);
  out.eui64.set(init.eui64.value);
  out.instance.set(init.instance);
  out.peer_instance.set(init.peer_instance);
  out.nonce.set(init.nonce);
  out.echo.set(init.echo);
  out.lid.set(init.lid.value);
  out.offered_lid.set(init.offered_lid.value);
  std::memcpy(at, &out, sizeof(out));
}

InitError parse_init(base::Bytes in, Init& out) {
  wire::InitWire bytes;
  if (in.size() != sizeof(bytes)) return InitError::kLength;
  std::memcpy(&bytes, in.data(), sizeof(bytes));
  if (bytes.format != kInitFormat) return InitError::kFormat;
  out.step = static_cast<InitStep>(bytes.step);
  out.profile = static_cast<LinkProfile>(bytes.profile);
  out.cell_crc = static_cast<CellCrcMode>(bytes.cell_crc);
  out.reason = static_cast<InitReason>(bytes.reason);
  if (name(out.step) == "unknown" || name(out.profile) == "unknown" ||
      name(out.reason) == "unknown" || bytes.cell_crc > 1 ||
      (out.step == InitStep::kRefuse) != (out.reason != InitReason::kNone) ||
      !parse_of_profile(bytes, out)) {
    return InitError::kStep;
  }
  out.program_version = bytes.program_version.get();
  out.lanes_mask = bytes.lanes_mask.get();
  out.mcp_max = bytes.mcp_max.get();
  out.flit_payload_max = bytes.flit_payload_max.get();
  out.port = bytes.port;
  out.receive_buffer_bytes = bytes.receive_buffer_bytes.get();
  out.eui64 = Eui64(bytes.eui64.get());
  out.instance = bytes.instance.get();
  out.peer_instance = bytes.peer_instance.get();
  out.nonce = bytes.nonce.get();
  out.echo = bytes.echo.get();
  out.lid = Lid(bytes.lid.get());
  out.offered_lid = Lid(bytes.offered_lid.get());
  if (out.lanes_mask == 0 || out.mcp_max < kMcpMin || out.mcp_max % 4 != 0 ||
      out.flit_payload_max < kFlitPayloadMin || out.instance == 0) {
    return InitError::kValue;
  }
  return InitError::kNone;
}

}  // namespace splitnic::fabric
