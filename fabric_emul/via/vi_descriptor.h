// A VIA 1.0 descriptor: control segment, for RDMA an address segment, then data segments, as the
// public vipl.h lays them out [S001-42]. Descriptors lie in registered memory in this machine's
// byte order and are read and written by offset. The consumer's bytes are not trusted: what is
// parsed is a copy. docs/protocol/via.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "fabric_emul/verbs/verbs.h"

namespace splitnic::fabric {

inline constexpr std::size_t kViAlignment = 64;  // of a descriptor's address
inline constexpr std::size_t kViControlBytes = 32;
inline constexpr std::size_t kViSegmentBytes = 16;
inline constexpr std::size_t kViDescriptorBytesMax =
    kViControlBytes + (1 + kSgeMax) * kViSegmentBytes;

// Fields of the control segment that are written after posting.
inline constexpr std::size_t kViNextAt = 0;  // address (64), memory handle (32)
inline constexpr std::size_t kViIdataAt = 20;
inline constexpr std::size_t kViLengthAt = 24;
inline constexpr std::size_t kViStatusAt = 28;

enum class ViQueue : std::uint8_t { kSend, kReceive };
enum class ViOp : std::uint8_t { kSendReceive, kRdmaWrite, kRdmaRead, kReserved };

// Bits of the status word.
enum ViStatus : std::uint32_t {
  kViNoError = 0,
  kViDone = 1U << 0,  // with or without an error
  kViFormatError = 1U << 1,
  kViProtectionError = 1U << 2,
  kViLengthError = 1U << 3,
  kViPartialError = 1U << 4,
  kViFlushed = 1U << 5,
  kViTransportError = 1U << 6,
  kViRdmaProtectionError = 1U << 7,
  kViRemoteDescriptorError = 1U << 8,
  kViErrors = 0x1FE,
  kViOpSend = 0,  // bits 18..16
  kViOpReceive = 1U << 16,
  kViOpRdmaWrite = 2U << 16,
  kViOpRemoteRdmaWrite = 3U << 16,
  kViOpRdmaRead = 4U << 16,
  kViHasIdata = 1U << 19,
};

// The place of a descriptor.
struct ViDescriptorRef {
  VirtualAddress address;
  MemoryHandle handle;
  friend bool operator==(const ViDescriptorRef&, const ViDescriptorRef&) = default;
};

struct ViDescriptor {
  ViOp op = ViOp::kSendReceive;
  std::optional<std::uint32_t> idata;
  bool is_fenced = false;
  std::uint32_t length = 0;  // of all data segments; receives: written on completion
  VirtualAddress remote_address;
  MemoryHandle remote_handle;
  SgeList data;
};

// Returns the number of bytes of the descriptor that begins with this control segment.
std::size_t vi_descriptor_bytes(base::Bytes control);
// Returns 0, kViFormatError or kViLengthError; out.op is valid in each case, the rest for 0 only.
// REQUIRES at least a control segment.
std::uint32_t parse_vi_descriptor(base::Bytes in, ViQueue queue, ViDescriptor& out);
// Writes a descriptor that was not posted yet and returns its bytes. REQUIRES room for them.
std::size_t emit_vi_descriptor(base::MutableBytes out, const ViDescriptor& d);

}  // namespace splitnic::fabric
