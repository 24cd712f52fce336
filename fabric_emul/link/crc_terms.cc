#include "fabric_emul/link/crc_terms.h"

#include <array>

#include "base/endian.h"

namespace splitnic::fabric {

std::string_view name(PayloadCrcState state) {
  switch (state) {
    case PayloadCrcState::kOn:
      return "on";
    case PayloadCrcState::kOffSharedMemory:
      return "off (shared memory)";
    case PayloadCrcState::kOffSealed:
      return "off (sealed)";
    case PayloadCrcState::kOffSameMachine:
      return "off (same machine)";
    case PayloadCrcState::kOffAtBothEnds:
      return "off (at both ends)";
  }
  return "unknown";
}

PayloadCrcState CrcTerms::initial() const {
  return config_.crc_head_only ? PayloadCrcState::kOffSharedMemory : PayloadCrcState::kOn;
}

PayloadCrc CrcTerms::accepted(PathKind path) const {
  if (profile_of(config_) != LinkProfile::kSpeed) return PayloadCrc::kRequired;
  switch (config_.payload_crc) {
    case PayloadCrcMode::kOn:
      break;
    case PayloadCrcMode::kOff:
      return PayloadCrc::kOmitted;
    case PayloadCrcMode::kAuto:
      if (path == PathKind::kSealed) return PayloadCrc::kOmitted;
      if (path == PathKind::kMemory && config_.machine_key) return PayloadCrc::kOmittedIfProven;
      break;
  }
  return PayloadCrc::kRequired;
}

void CrcTerms::offer(Init& init, PathKind path) const {
  init.payload_crc = accepted(path);
  if (init.payload_crc != PayloadCrc::kRequired) init.proof = proof_of(init);
}

PayloadCrcState CrcTerms::decide(const Init& init, PathKind path) const {
  const PayloadCrc own = accepted(path);
  if (own == PayloadCrc::kRequired || init.payload_crc == PayloadCrc::kRequired) return initial();
  if (init.payload_crc == own && path == PathKind::kSealed) return PayloadCrcState::kOffSealed;
  if (is_proven(init)) return PayloadCrcState::kOffSameMachine;
  const bool needs_proof =
      own == PayloadCrc::kOmittedIfProven || init.payload_crc == PayloadCrc::kOmittedIfProven;
  return needs_proof ? PayloadCrcState::kOn : PayloadCrcState::kOffAtBothEnds;
}

void CrcTerms::state(Init& ready, PayloadCrcState state) const {
  if (ready.profile != LinkProfile::kSpeed || state == PayloadCrcState::kOn) return;
  ready.payload_crc = PayloadCrc::kOmitted;
  ready.proof = proof_of(ready);
}

std::optional<PayloadCrcState> CrcTerms::accept(const Init& ready, PayloadCrc offered,
                                                PathKind path) const {
  if (ready.payload_crc == PayloadCrc::kRequired) return initial();
  if (offered == PayloadCrc::kRequired || ready.payload_crc != PayloadCrc::kOmitted) return {};
  if (path == PathKind::kSealed) return PayloadCrcState::kOffSealed;
  if (is_proven(ready)) return PayloadCrcState::kOffSameMachine;
  if (offered == PayloadCrc::kOmittedIfProven) return {};
  return PayloadCrcState::kOffAtBothEnds;
}

std::uint64_t CrcTerms::proof_of(const Init& init) const {
  if (!config_.machine_key) return 0;
  const auto step = static_cast<std::uint64_t>(init.step);
  const std::array<std::uint64_t, 6> words{step << 8 | static_cast<std::uint64_t>(init.payload_crc),
                                           init.eui64.value,
                                           init.instance,
                                           init.peer_instance,
                                           init.nonce,
                                           init.echo};
  std::array<std::byte, sizeof(words)> bytes{};
  for (std::size_t i = 0; i < words.size(); ++i) base::store_be(&bytes[8 * i], words[i]);
  return siphash(*config_.machine_key, bytes) & kProofMask;
}

bool CrcTerms::is_proven(const Init& init) const {
  // A proof to another instance may be a recorded one.
  if (!config_.machine_key || init.peer_instance != config_.instance) return false;
  return init.proof == proof_of(init);
}

}  // namespace splitnic::fabric
