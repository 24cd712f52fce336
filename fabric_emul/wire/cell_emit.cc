// The sending half of the cell: head, seal. docs/protocol/cell.md
#include <cstring>

#include "base/check.h"
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

namespace {

std::size_t pad_bytes(std::size_t payload_bytes) { return (4 - payload_bytes % 4) % 4; }

// Extensions before those that the packet CRC covers.
std::size_t uncovered_bytes(const CellHead& head) {
  return (head.gnh != nullptr ? kGnhBytes : 0) + (head.ee ? kEeBytes : 0) +
         (head.stream_number ? kStreamBytes : 0);
}

std::size_t covered_bytes(const CellHead& head) {
  return (head.va_mh ? kVaMhBytes : 0) + (head.read != nullptr ? kReadBytes : 0) +
         (head.atomic != nullptr ? kAtomicBytes : 0) + (head.idata ? kIdataBytes : 0) +
         (head.dereg ? kDeregBytes : 0);
}

std::byte* emit_word(std::byte* at, std::uint32_t word) {
  base::store_be(at, word);
  return at + 4;
}

}  // namespace

std::size_t cell_head_bytes(const CellHead& head) {
  return kMacHeaderBytes + uncovered_bytes(head) + covered_bytes(head) +
         (head.ack != nullptr ? head.ack->bytes() : 0);
}

std::size_t cell_bytes(const CellHead& head, std::size_t payload_bytes) {
  const bool has_packet_crc = (head.header.flags & kFlagPacketCrc) != 0;
  return cell_head_bytes(head) + base::round_up(payload_bytes, 4) +
         (has_packet_crc ? kCrcBytes : 0) + kCrcBytes;
}

std::size_t emit_cell_head(base::MutableBytes out, const CellHead& head) {
  const std::size_t bytes = cell_head_bytes(head);
  CHECK(bytes <= out.size());
  CHECK((bytes - kMacHeaderBytes) / 4 <= kExtWordsMax);
  MacHeader header = head.header;
  header.ext_words = static_cast<std::uint8_t>((bytes - kMacHeaderBytes) / 4);
  constexpr unsigned kOurs = kFlagIdata | kFlagGlobal | kFlagPadMask;
  header.flags = static_cast<std::uint8_t>((header.flags & ~kOurs) | (head.idata ? kFlagIdata : 0) |
                                           (head.gnh != nullptr ? kFlagGlobal : 0) |
                                           pad_bytes(header.payload_bytes));
  std::byte* at = out.data();
  header.emit(at);
  at += kMacHeaderBytes;
  if (head.gnh != nullptr) {
    head.gnh->emit(at);
    at += kGnhBytes;
  }
  if (head.ee) at = emit_word(at, *head.ee & 0xFFFFFF);
  if (head.stream_number) at = emit_word(at, *head.stream_number);
  if (head.va_mh) {
    head.va_mh->emit(at);
    at += kVaMhBytes;
  }
  if (head.read != nullptr) {
    head.read->emit(at);
    at += kReadBytes;
  }
  if (head.atomic != nullptr) {
    head.atomic->emit(at);
    at += kAtomicBytes;
  }
  if (head.idata) at = emit_word(at, *head.idata);
  if (head.dereg) at = emit_word(at, *head.dereg);
  if (head.ack != nullptr) head.ack->emit(at);
  return bytes;
}

std::size_t seal_cell(base::MutableBytes out, std::size_t head_bytes, std::size_t payload_bytes,
                      std::optional<std::uint32_t> packet_crc, bool crc_head_only) {
  const std::size_t pad = pad_bytes(payload_bytes);
  std::size_t at = head_bytes + payload_bytes;
  CHECK(at + pad + (packet_crc ? kCrcBytes : 0) + kCrcBytes <= out.size());
  std::memset(out.data() + at, 0, pad);
  at += pad;
  if (packet_crc) {
    base::store_be(out.data() + at, *packet_crc);
    at += kCrcBytes;
  }
  base::store_be(out.data() + at, base::crc32c(out.first(crc_head_only ? head_bytes : at)));
  return at + kCrcBytes;
}

std::size_t emit_cell(base::MutableBytes out, CellHead head, base::Bytes payload,
                      bool crc_head_only) {
  CHECK(payload.size() <= kMcpMax && cell_bytes(head, payload.size()) <= out.size());
  head.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  const std::size_t head_bytes = emit_cell_head(out, head);
  if (!payload.empty()) std::memcpy(out.data() + head_bytes, payload.data(), payload.size());
  std::optional<std::uint32_t> packet_crc;
  if ((head.header.flags & kFlagPacketCrc) != 0) {
    PacketCrc crc;
    crc.add(packet_crc_ext(out.first(head_bytes), head), payload);
    packet_crc = crc.value();
  }
  return seal_cell(out, head_bytes, payload.size(), packet_crc, crc_head_only);
}

base::Bytes packet_crc_ext(base::Bytes emitted_head, const CellHead& head) {
  return emitted_head.subspan(kMacHeaderBytes + uncovered_bytes(head), covered_bytes(head));
}

}  // namespace splitnic::fabric
