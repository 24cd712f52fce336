// The cell: MAC header, extension headers, payload, pad, packet CRC, cell CRC. The sender writes
// the head, puts the payload behind it and seals; the receiver parses in place, without copying the
// payload. Validation order: cell CRC, version, Op x Svc, position, flags, extensions, payload
// length; nothing outside the span is ever read. [S001-35] [S001-36] docs/protocol/cell.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "fabric_emul/wire/extensions.h"
#include "fabric_emul/wire/mac_header.h"

namespace splitnic::fabric {

// The header and extensions of a cell to send. The caller sets exactly the extensions that Op, Svc
// and Pos require (op_info); emit writes those that are set.
struct CellHead {
  MacHeader header{};
  std::optional<VaMh> va_mh{};
  std::optional<std::uint32_t> idata{};
  std::optional<std::uint32_t> dereg{};  // tag to deregister
  const AckExt* ack = nullptr;
  const Gnh* gnh = nullptr;
  std::optional<std::uint32_t> ee{};             // EE context number, 24 bits; Svc RD
  std::optional<std::uint32_t> stream_number{};  // Svc STREAM and iSCSI
  const ReadExt* read = nullptr;
  const AtomicExt* atomic = nullptr;
};

// Returns the bytes of MAC header and extensions.
std::size_t cell_head_bytes(const CellHead& head);
// Returns the bytes of the whole cell, trailer included (packet CRC if header.flags has
// kFlagPacketCrc).
std::size_t cell_bytes(const CellHead& head, std::size_t payload_bytes);

// Writes header and extensions at out and returns their bytes. Ext words, pad bits, flags I and G
// come from the members and header.payload_bytes; flag P is taken from header.flags.
// REQUIRES out.size() >= cell_head_bytes(head).
std::size_t emit_cell_head(base::MutableBytes out, const CellHead& head);

// `out` starts at the cell, the payload is in place at out + head_bytes. Writes pad, packet CRC (if
// given: flag P must be set in the emitted header) and cell CRC; returns the bytes of the cell.
// crc_head_only: shm profile, the cell CRC covers header and extensions (flit Ctl 0x10).
// REQUIRES room for the trailer.
std::size_t seal_cell(base::MutableBytes out, std::size_t head_bytes, std::size_t payload_bytes,
                      std::optional<std::uint32_t> packet_crc, bool crc_head_only = false);

// Head, copied payload and trailer at once; a packet CRC over this one cell if flag P is set.
// For single-cell packets (ACK, NAK, MGMT, tests).
std::size_t emit_cell(base::MutableBytes out, CellHead head, base::Bytes payload = {},
                      bool crc_head_only = false);

// A received cell. Spans point into the cell that was parsed.
struct CellView {
  MacHeader header{};
  std::optional<VaMh> va_mh{};
  std::optional<std::uint32_t> idata{};
  std::optional<std::uint32_t> dereg{};
  std::optional<std::uint32_t> ee{};
  std::optional<std::uint32_t> stream_number{};
  base::Bytes gnh{}, read_ext{}, atomic_ext{};  // empty if absent; input of Gnh::parse etc.
  base::Bytes ack_ext{};                        // ACK and NAK only; see parse_ack
  base::Bytes payload{};                        // without pad
  std::optional<std::uint32_t> packet_crc{};
  base::Bytes packet_crc_ext{};  // the extension bytes that the packet CRC covers
};

enum class CellError : std::uint8_t {
  kNone,
  kShort,       // no room for header, extensions and CRC
  kCrc,         // cell CRC wrong
  kVersion,     // not version 1
  kOp,          // Op x Svc not allowed; header is valid, acknowledged services send NAK 0x61
  kPosition,    // part of a packet where only one cell is legal, or CSN and Pos disagree
  kFlags,       // idata or packet CRC where it is not allowed
  kExtensions,  // ext words differ from the header, or an extension is invalid
  kLength,      // bytes, payload length and pad disagree, or the op's payload has another size
  kCount_
};
// "crc", "version" ...: usable as the suffix of a counter.
std::string_view name(CellError error);

// Returns kNone, kShort or kCrc: what a switch checks of a cell that it passes on.
CellError check_cell_crc(base::Bytes cell, bool crc_head_only = false);
// Parses exactly one cell. On kNone `out` is filled; from kOp on, out.header is valid (the CRC was)
// and nothing else of `out` is. Reserved bits and pad bytes are ignored.
CellError parse_cell(base::Bytes cell, CellView& out, bool crc_head_only = false);
// The same without the CRC check, for a cell that parse_cell() accepted earlier.
CellError parse_checked_cell(base::Bytes cell, CellView& out);

// Parses the ACKX of an ACK or NAK that parse_cell() accepted. Returns false for other cells.
bool parse_ack(const CellView& view, AckExt& out);

// Returns the bytes of an emitted head that the packet CRC covers: VA/MH, READ, ATOMIC, IDATA,
// DEREG.
base::Bytes packet_crc_ext(base::Bytes emitted_head, const CellHead& head);

// Packet CRC: CRC-32C over covered extensions and payload (no pad) of all cells, in CSN order.
// [S001-38]
class PacketCrc {
 public:
  void add(base::Bytes covered_extensions, base::Bytes payload) {
    crc_.extend(covered_extensions);
    crc_.extend(payload);
  }
  void add(const CellView& cell) { add(cell.packet_crc_ext, cell.payload); }
  std::uint32_t value() const { return crc_.value(); }

 private:
  base::Crc32c crc_;
};

}  // namespace splitnic::fabric
