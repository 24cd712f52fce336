// The receiving half of the cell. Flow: 1 CRC, 2 version, 3 Op x Svc, 4 position, 5 flags,
// 6 extensions in their order, 7 payload length and trailer. docs/protocol/cell.md#rejected
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {

namespace {

// Reads the extensions in order; a truncated one leaves is_whole() false.
class ExtensionReader {
 public:
  explicit ExtensionReader(base::Bytes bytes) : bytes_(bytes) {}
  base::Bytes take(std::size_t n) {
    if (n > bytes_.size() - at_) {
      is_whole_ = false;
      return {};
    }
    at_ += n;
    return bytes_.subspan(at_ - n, n);
  }
  std::optional<std::uint32_t> take_word() {
    const base::Bytes word = take(4);
    if (word.empty()) return std::nullopt;
    return base::load_be<std::uint32_t>(word.data());
  }
  base::Bytes take_rest() { return take(bytes_.size() - at_); }
  std::size_t at() const { return at_; }
  bool is_whole() const { return is_whole_; }
  bool is_done() const { return is_whole_ && at_ == bytes_.size(); }

 private:
  base::Bytes bytes_;
  std::size_t at_ = 0;
  bool is_whole_ = true;
};

bool is_position_legal(const MacHeader& header, const OpInfo& info) {
  if (!info.multi_cell && header.pos != Pos::kOnly) return false;
  // In ACK and NAK the CSN is that of the cell in question.
  return info.has_ack || is_first(header.pos) == (header.csn == 0);
}

bool are_flags_legal(const MacHeader& header, const OpInfo& info) {
  if ((header.flags & kFlagIdata) != 0 && !info.may_have_idata) return false;
  if ((header.flags & kFlagPacketCrc) == 0) return true;
  return is_last(header.pos) && !info.has_ack;
}

// The code belongs to the operation, and A2 only to RC.
bool is_ack_legal(const MacHeader& header, base::Bytes ack) {
  if (ack.size() < kAckBytesMin) return false;
  const auto code = static_cast<AckCode>(ack.front());
  if (!is_known(code) || (code == AckCode::kAck) != (header.op == Op::kAck)) return false;
  if (ack.size() == kAckBytesMin) return true;
  if (header.service != Service::kRc || ack.size() < kAckBytesFull) return false;
  const auto words = std::to_integer<unsigned>(ack[10]);
  return words <= kAckBitmapWordsMax && ack.size() == kAckBytesFull + 4U * words;
}

bool parse_extensions(base::Bytes extensions, const OpInfo& info, CellView& out) {
  const MacHeader& header = out.header;
  ExtensionReader reader(extensions);
  if ((header.flags & kFlagGlobal) != 0) {
    out.gnh = reader.take(kGnhBytes);
    if (!Gnh::parse(out.gnh)) return false;
  }
  if (info.has_ee) {
    out.ee = reader.take_word();
    if (out.ee) *out.ee &= 0xFFFFFF;
  }
  if (info.has_stream) out.stream_number = reader.take_word();
  const std::size_t covered = reader.at();
  if (info.va_mh == VaMhRule::kEvery ||
      (info.va_mh == VaMhRule::kFirstOrOnly && is_first(header.pos))) {
    out.va_mh = VaMh::parse(reader.take(kVaMhBytes));
  }
  if (info.has_read) out.read_ext = reader.take(kReadBytes);
  if (info.has_atomic) {
    out.atomic_ext = reader.take(kAtomicBytes);
    if (!AtomicExt::parse(out.atomic_ext)) return false;
  }
  if ((header.flags & kFlagIdata) != 0) out.idata = reader.take_word();
  if (info.has_dereg && is_last(header.pos)) out.dereg = reader.take_word();
  if (!reader.is_whole()) return false;
  out.packet_crc_ext = extensions.subspan(covered, reader.at() - covered);
  if (info.has_ack) {
    out.ack_ext = reader.take_rest();
    if (!is_ack_legal(header, out.ack_ext)) return false;
  }
  return reader.is_done();
}

// Clears the results of the previous cell. `out = CellView{}` would take as long as the whole
// parse.
void forget_extensions(CellView& out) {
  out.va_mh.reset();
  out.idata.reset();
  out.dereg.reset();
  out.ee.reset();
  out.stream_number.reset();
  out.packet_crc.reset();
  out.gnh = base::Bytes();
  out.read_ext = base::Bytes();
  out.atomic_ext = base::Bytes();
  out.ack_ext = base::Bytes();
  out.packet_crc_ext = base::Bytes();
}

bool is_payload_size_legal(Op op, std::size_t bytes) {
  switch (op) {
    case Op::kRdmaReadReq:
    case Op::kFetchOpReq:
    case Op::kAck:
    case Op::kNak:
      return bytes == 0;
    case Op::kFetchOpResp:
      return bytes == kFetchOpRespBytes;
    case Op::kTerminate:
      return bytes == kTerminateBytes;
    case Op::kMgmt:
      return bytes <= kMgmtPayloadMax;
    case Op::kSend:
    case Op::kSendDereg:
    case Op::kRdmaWrite:
    case Op::kRdmaReadResp:
    case Op::kRaw:
    case Op::kIscsiPdu:
      return bytes <= kMcpMax;
  }
  return false;
}

}  // namespace

std::string_view name(CellError error) {
  switch (error) {
    case CellError::kNone:
      return "none";
    case CellError::kShort:
      return "short";
    case CellError::kCrc:
      return "crc";
    case CellError::kVersion:
      return "version";
    case CellError::kOp:
      return "op";
    case CellError::kPosition:
      return "position";
    case CellError::kFlags:
      return "flags";
    case CellError::kExtensions:
      return "extensions";
    case CellError::kLength:
      return "length";
    case CellError::kCount_:
      break;
  }
  return "unknown";
}

CellError check_cell_crc(base::Bytes cell, bool crc_head_only) {
  if (cell.size() < kCellBytesMin) return CellError::kShort;
  const std::size_t crc_at = cell.size() - kCrcBytes;
  const std::size_t head_bytes = kMacHeaderBytes + 4 * std::to_integer<std::size_t>(cell[3]);
  if (head_bytes > crc_at) return CellError::kShort;
  if (base::crc32c(cell.first(crc_head_only ? head_bytes : crc_at)) !=
      base::load_be<std::uint32_t>(cell.data() + crc_at)) {
    return CellError::kCrc;
  }
  return CellError::kNone;
}

CellError parse_cell(base::Bytes cell, CellView& out, bool crc_head_only) {
  const CellError error = check_cell_crc(cell, crc_head_only);
  return error == CellError::kNone ? parse_checked_cell(cell, out) : error;
}

CellError parse_checked_cell(base::Bytes cell, CellView& out) {
  if (cell.size() < kCellBytesMin) return CellError::kShort;
  const std::size_t crc_at = cell.size() - kCrcBytes;
  const std::size_t head_bytes = kMacHeaderBytes + 4 * std::to_integer<std::size_t>(cell[3]);
  if (head_bytes > crc_at) return CellError::kShort;
  forget_extensions(out);
  MacHeader::parse(cell.data(), out.header);
  const MacHeader& header = out.header;
  if (header.version != kCellVersion) return CellError::kVersion;
  const OpInfo& info = op_info(header.op, header.service);
  if (!info.allowed) return CellError::kOp;
  if (!is_position_legal(header, info)) return CellError::kPosition;
  if (!are_flags_legal(header, info)) return CellError::kFlags;
  const base::Bytes extensions = cell.subspan(kMacHeaderBytes, head_bytes - kMacHeaderBytes);
  if (!parse_extensions(extensions, info, out)) return CellError::kExtensions;

  const bool has_packet_crc = (header.flags & kFlagPacketCrc) != 0;
  const std::size_t padded = base::round_up(header.payload_bytes, 4);
  if (head_bytes + padded + (has_packet_crc ? kCrcBytes : 0) != crc_at ||
      padded - header.payload_bytes != (header.flags & kFlagPadMask) ||
      !is_payload_size_legal(header.op, header.payload_bytes)) {
    return CellError::kLength;
  }
  out.payload = cell.subspan(head_bytes, header.payload_bytes);
  if (has_packet_crc) {
    out.packet_crc = base::load_be<std::uint32_t>(cell.data() + head_bytes + padded);
  }
  return CellError::kNone;
}

bool parse_ack(const CellView& view, AckExt& out) { return AckExt::parse(view.ack_ext, out); }

}  // namespace splitnic::fabric
