#include "fabric_emul/via/vi_descriptor.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace splitnic::fabric {
namespace {

// Control segment.
constexpr std::size_t kSegmentCountAt = 12;
constexpr std::size_t kControlAt = 14;
constexpr std::size_t kReservedAt = 16;
// Address and data segment: address (64), memory handle (32), then this (32).
constexpr std::size_t kHandleAt = 8;
constexpr std::size_t kSegmentReservedAt = 12;
constexpr std::size_t kSegmentLengthAt = 12;

// Control word.
constexpr std::uint16_t kOpMask = 3;
constexpr std::uint16_t kIdataBit = 4;
constexpr std::uint16_t kFenceBit = 8;
constexpr std::uint16_t kControlReserved = 0xFFF0;

// This machine's byte order.
template <class T>
T load(base::Bytes from, std::size_t at) {
  T value;
  std::memcpy(&value, from.subspan(at, sizeof(T)).data(), sizeof(T));
  return value;
}
template <class T>
void store(base::MutableBytes to, std::size_t at, T value) {
  std::memcpy(to.subspan(at, sizeof(T)).data(), &value, sizeof(T));
}

bool has_address_segment(ViOp op) { return op == ViOp::kRdmaWrite || op == ViOp::kRdmaRead; }

Sge load_data_segment(base::Bytes segment) {
  Sge piece;
  piece.address = VirtualAddress(load<std::uint64_t>(segment, 0));
  piece.lkey = MemoryHandle(load<std::uint32_t>(segment, kHandleAt));
  piece.length = load<std::uint32_t>(segment, kSegmentLengthAt);
  return piece;
}

bool is_legal_control(base::Bytes in, ViQueue queue, ViOp op) {
  const auto control = load<std::uint16_t>(in, kControlAt);
  if (op == ViOp::kReserved || (control & kControlReserved) != 0) return false;
  if (load<std::uint32_t>(in, kReservedAt) != 0) return false;
  if (queue == ViQueue::kReceive) return control == 0;
  return op != ViOp::kRdmaRead || (control & kIdataBit) == 0;
}

}  // namespace

std::size_t vi_descriptor_bytes(base::Bytes control) {
  return kViControlBytes + load<std::uint16_t>(control, kSegmentCountAt) * kViSegmentBytes;
}

std::uint32_t parse_vi_descriptor(base::Bytes in, ViQueue queue, ViDescriptor& out) {
  const auto control = load<std::uint16_t>(in, kControlAt);
  out = ViDescriptor{};
  out.op = static_cast<ViOp>(control & kOpMask);
  if (!is_legal_control(in, queue, out.op)) return kViFormatError;
  if (in.size() != vi_descriptor_bytes(in)) return kViFormatError;
  if ((control & kIdataBit) != 0) out.idata = load<std::uint32_t>(in, kViIdataAt);
  out.is_fenced = (control & kFenceBit) != 0;
  base::Bytes segments = in.subspan(kViControlBytes);
  if (has_address_segment(out.op)) {
    if (segments.empty() || load<std::uint32_t>(segments, kSegmentReservedAt) != 0) {
      return kViFormatError;
    }
    out.remote_address = VirtualAddress(load<std::uint64_t>(segments, 0));
    out.remote_handle = MemoryHandle(load<std::uint32_t>(segments, kHandleAt));
    segments = segments.subspan(kViSegmentBytes);
  }
  std::array<Sge, kSgeMax> pieces;
  const std::size_t count = segments.size() / kViSegmentBytes;
  if (count > pieces.size()) return kViFormatError;
  for (std::size_t i = 0; i < count; ++i) {
    pieces[i] = load_data_segment(segments.subspan(i * kViSegmentBytes, kViSegmentBytes));
  }
  const bool fits = out.data.assign(std::span(pieces).first(count));
  CHECK(fits);
  out.length = load<std::uint32_t>(in, kViLengthAt);
  const bool is_sum = queue == ViQueue::kReceive || out.length == out.data.bytes;
  return is_sum ? kViNoError : kViLengthError;
}

std::size_t emit_vi_descriptor(base::MutableBytes out, const ViDescriptor& d) {
  const std::size_t count = d.data.count + (has_address_segment(d.op) ? 1U : 0U);
  const std::size_t bytes = kViControlBytes + count * kViSegmentBytes;
  out = out.first(bytes);
  std::ranges::fill(out, std::byte{0});
  store(out, kSegmentCountAt, static_cast<std::uint16_t>(count));
  const unsigned control = static_cast<unsigned>(d.op) | (d.idata ? kIdataBit : 0U) |
                           (d.is_fenced ? unsigned{kFenceBit} : 0U);
  store(out, kControlAt, static_cast<std::uint16_t>(control));
  store(out, kViIdataAt, d.idata.value_or(0));
  store(out, kViLengthAt, d.length);
  out = out.subspan(kViControlBytes);
  if (has_address_segment(d.op)) {
    store(out, 0, d.remote_address.value);
    store(out, kHandleAt, d.remote_handle.value);
    out = out.subspan(kViSegmentBytes);
  }
  for (const Sge& piece : d.data.span()) {
    store(out, 0, piece.address.value);
    store(out, kHandleAt, piece.lkey.value);
    store(out, kSegmentLengthAt, piece.length);
    out = out.subspan(kViSegmentBytes);
  }
  return bytes;
}

}  // namespace splitnic::fabric
