// Every size and bound of the fabric's formats, on one page. Protocol constants only: values that
// an implementation chooses (windows, timers, buffers) are in the code that uses them. Formats:
// docs/protocol/cell.md, ack.md, flit.md, mgmt.md, datagram.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace splitnic::fabric {

// Cell.
inline constexpr std::uint8_t kCellVersion = 1;
inline constexpr std::size_t kMacHeaderBytes = 28;
inline constexpr std::size_t kGnhBytes = 40;
inline constexpr std::size_t kEeBytes = 4;
inline constexpr std::size_t kStreamBytes = 4;
inline constexpr std::size_t kVaMhBytes = 16;
inline constexpr std::size_t kReadBytes = 16;
inline constexpr std::size_t kAtomicBytes = 20;
inline constexpr std::size_t kIdataBytes = 4;
inline constexpr std::size_t kDeregBytes = 4;
inline constexpr std::size_t kCrcBytes = 4;  // cell CRC and packet CRC alike
inline constexpr std::size_t kCellBytesMin = kMacHeaderBytes + kCrcBytes;
inline constexpr std::size_t kExtWordsMax = 255;
inline constexpr std::size_t kFetchOpRespBytes = 8;
inline constexpr std::size_t kTerminateBytes = 48;

// Acknowledgement. A bitmap has at most 8 words in the full profile, 64 in the speed profile.
inline constexpr std::size_t kAckBytesMin = 8;    // A0, A1
inline constexpr std::size_t kAckBytesFull = 12;  // A0, A1, A2
inline constexpr unsigned kAckBitmapWordsFull = 8;
inline constexpr unsigned kAckBitmapWordsMax = 64;
inline constexpr std::size_t kAckCellBytesFullMax = kMacHeaderBytes + kGnhBytes + kStreamBytes +
                                                    kAckBytesFull + 4 * kAckBitmapWordsFull +
                                                    kCrcBytes;

// MCP (maximum cell payload): a multiple of 4, the same at both ends, constant for a QP pair.
inline constexpr std::uint16_t kDefaultMcpFull = 256;
inline constexpr std::uint16_t kMcpMin = 4;
inline constexpr std::uint16_t kMcpMax = 65532;
inline constexpr std::size_t kMgmtPayloadMax = 1024;  // whatever the MCP
inline constexpr std::uint32_t kCellsPerPacketMax = 65536;
inline constexpr std::uint32_t kResponseCellsMax = 128;  // of the response to one RDMA read

// Serial windows: half of the number space.
inline constexpr std::uint32_t kPsnWindowMax = 1U << 23;
inline constexpr std::uint32_t kLcnWindowMax = 1U << 15;
inline constexpr std::uint32_t kLsnWindowMax = 1U << 15;

// Flit and datagram.
inline constexpr std::size_t kFlitHeaderBytes = 16;
inline constexpr std::size_t kFlitPayloadMin = 120;  // every full-profile ACK cell fits
inline constexpr std::size_t kFlitPayloadDefault = 128;
inline constexpr std::size_t kFlitPayloadMax = 65535;
inline constexpr std::size_t kCreditBlockBytes = 64;
inline constexpr std::uint32_t kCreditMask = 0xFFFFFF;
inline constexpr unsigned kLaneCount = 16;
inline constexpr std::uint8_t kMgmtLane = 15;
inline constexpr std::uint8_t kSessionFirstByte = 0x80;  // first datagram byte >= this: not ours
// A datagram's stride is MCP + 72: flit header, MAC header, VA/MH, idata, packet CRC, cell CRC.
inline constexpr std::size_t kStrideOverhead = 72;
inline constexpr std::size_t kCellOverheadMax = kStrideOverhead - kFlitHeaderBytes;
inline constexpr std::size_t kSessionReserveBytes = 36;
inline constexpr std::size_t kInitBytes = 72;

// The lane, SL and stripe fields have 4 bits.
inline constexpr std::uint8_t kSlMax = 15;

static_assert(kAckCellBytesFullMax == 120 && kAckCellBytesFullMax <= kFlitPayloadMin);
static_assert(kFlitHeaderBytes + kMacHeaderBytes + kVaMhBytes + kIdataBytes + 2 * kCrcBytes ==
              kStrideOverhead);
static_assert(kInitBytes <= kFlitPayloadMin);

}  // namespace splitnic::fabric
