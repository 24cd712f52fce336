// The extension headers between MAC header and payload. Each parse() takes exactly the size of its
// format and refuses invalid values. Order: GNH, EE, STREAM, VA/MH, READ, ATOMIC, IDATA,
// DEREG, ACKX. docs/protocol/cell.md#extensions, docs/protocol/ack.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

// VA/MH: remote address, memory handle, length (RC, UC, RD: of the whole packet; STREAM: the target
// offset of this cell is in `address`). [S001-37]
struct VaMh {
  VirtualAddress address{};
  MemoryHandle handle{};
  std::uint32_t length = 0;
  static std::optional<VaMh> parse(base::Bytes in);  // exactly kVaMhBytes
  void emit(std::byte* at) const;                    // writes kVaMhBytes
  friend bool operator==(const VaMh&, const VaMh&) = default;
};

// GNH: the global network header, laid out as an IPv6 header.
struct Gnh {
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint16_t length = 0;
  std::uint8_t next_header = 0;
  std::uint8_t hop_limit = 0;
  std::array<std::byte, 16> source{};
  std::array<std::byte, 16> destination{};
  static std::optional<Gnh> parse(base::Bytes in);  // refuses a version other than 6
  void emit(std::byte* at) const;                   // writes kGnhBytes
  friend bool operator==(const Gnh&, const Gnh&) = default;
};

// READ: the rest of an RDMA read request on STREAM.
struct ReadExt {
  std::uint32_t msn = 0;
  MemoryHandle sink_handle{};
  std::uint64_t sink_offset = 0;
  static std::optional<ReadExt> parse(base::Bytes in);
  void emit(std::byte* at) const;  // writes kReadBytes
  friend bool operator==(const ReadExt&, const ReadExt&) = default;
};

enum class FetchOp : std::uint8_t { kCompareSwap = 1, kFetchAdd = 2, kSwap = 3 };

// ATOMIC: operation and operands of a FETCHOP_REQ.
struct AtomicExt {
  FetchOp op = FetchOp::kFetchAdd;
  std::uint64_t operand1 = 0;
  std::uint64_t operand2 = 0;
  static std::optional<AtomicExt> parse(base::Bytes in);  // refuses an unknown operation
  void emit(std::byte* at) const;                         // writes kAtomicBytes
  friend bool operator==(const AtomicExt&, const AtomicExt&) = default;
};

enum class AckCode : std::uint8_t {
  kAck = 0x00,
  kRnr = 0x20,
  kSequence = 0x60,
  kInvalidRequest = 0x61,
  kRemoteAccess = 0x62,
  kRemoteOperational = 0x63,
  kInvalidRdRequest = 0x64,
};
bool is_known(AckCode code);
std::string_view name(AckCode code);

// ACKX: the content of an ACK or NAK in addition to the PSN and CSN in the MAC header.
struct AckExt {
  AckCode code = AckCode::kAck;
  std::uint32_t msn = 0;  // completed packets, 24 bits
  std::uint16_t receive_credits = 0;
  std::uint16_t detail = 0;    // RNR: wait in 10 us; remote access: 'a'..'g'; else a sub-code
  bool selective = false;      // word A2 and the bitmap are present; RC only
  Lcn cumulative{};            // every cell up to this LCN arrived
  std::uint8_t hold_10us = 0;  // how long the receiver held this back
  unsigned bitmap_words = 0;   // <= kAckBitmapWordsMax; trailing words may be left out
  // Bit i is word i / 32, most significant bit first: 0x80000000 >> (i % 32). Set: the cell with
  // LCN cumulative + 2 + i arrived (cumulative + 1 is missing by definition). Words at and after
  // bitmap_words are unspecified.
  std::array<std::uint32_t, kAckBitmapWordsMax> bitmap{};

  std::size_t bytes() const { return selective ? kAckBytesFull + 4U * bitmap_words : kAckBytesMin; }
  bool bit(unsigned i) const {
    return i / 32 < bitmap_words && (bitmap[i / 32] & (0x80000000U >> (i % 32))) != 0;
  }
  // Sets bit i and grows the bitmap, zeroing the words between. REQUIRES i < 32 *
  // kAckBitmapWordsMax.
  void set_bit(unsigned i);

  // Returns false (out unspecified) if the size is wrong, the code unknown or the bitmap longer
  // than kAckBitmapWordsMax.
  static bool parse(base::Bytes in, AckExt& out);
  // Writes bytes() bytes. REQUIRES bitmap_words <= kAckBitmapWordsMax.
  void emit(std::byte* at) const;
  friend bool operator==(const AckExt& a, const AckExt& b);
};

}  // namespace splitnic::fabric
