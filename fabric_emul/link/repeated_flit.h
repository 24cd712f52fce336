// The headers of DATA flits that were sealed or checked, for the flits behind them that have the
// same ones: in the speed and shm profiles a header holds a lane, a length and the CRC over both,
// so cells of one length on one lane have equal headers. A sender copies it, and a receiver
// compares it in place of parsing it and of a CRC. docs/protocol/flit.md
// Thread: the data thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/endian.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

class RepeatedFlit {
 public:
  // `header` is that of a valid flit with `cell_bytes` > 0 bytes that its CRC does not cover.
  void remember(const std::byte* header, std::size_t cell_bytes, std::uint8_t vl) {
    std::memcpy(header_.data(), header, kFlitHeaderBytes);
    cell_bytes_ = cell_bytes;
    vl_ = vl;
  }
  void forget() { cell_bytes_ = 0; }

  // A flit with `cell_bytes` > 0 bytes on lane `vl` has this header.
  bool is_for(std::size_t cell_bytes, std::uint8_t vl) const {
    return cell_bytes == cell_bytes_ && vl == vl_;
  }
  void copy_to(std::byte* at) const { std::memcpy(at, header_.data(), kFlitHeaderBytes); }

  // `bytes` begin with a whole flit that has this header.
  bool is_at(base::Bytes bytes) const {
    return cell_bytes_ != 0 && bytes.size() >= kFlitHeaderBytes + cell_bytes_ &&
           std::memcmp(bytes.data(), header_.data(), kFlitHeaderBytes) == 0;
  }
  std::size_t cell_bytes() const { return cell_bytes_; }
  std::uint8_t vl() const { return vl_; }

 private:
  std::array<std::byte, kFlitHeaderBytes> header_{};
  std::size_t cell_bytes_ = 0;  // 0: none
  std::uint8_t vl_ = 0;
};

// Several of them, by length: the first, the middle and the last cell of a message have three.
class RepeatedFlits {
 public:
  // The place of a flit with a cell of this many bytes. It may hold one of another length.
  RepeatedFlit& of(std::size_t cell_bytes) { return flits_[place_of(cell_bytes)]; }
  // The one whose header the flit at the front of `bytes` has, which is whole; null: none of them.
  const RepeatedFlit* find(base::Bytes bytes) const {
    if (bytes.size() < kFlitHeaderBytes) return nullptr;
    const auto cell_bytes = base::load_be<std::uint16_t>(bytes.data() + kSizeAt);
    const RepeatedFlit& known = flits_[place_of(cell_bytes)];
    return known.is_at(bytes) ? &known : nullptr;
  }
  void forget() {
    for (RepeatedFlit& flit : flits_) flit.forget();
  }

 private:
  static constexpr std::size_t kSizeAt = 2;  // of the length in a flit header
  static constexpr std::size_t kPlaces = 8;
  // A first cell is 16 bytes longer than a middle one.
  static constexpr std::size_t place_of(std::size_t cell_bytes) {
    return cell_bytes / kVaMhBytes % kPlaces;
  }

  std::array<RepeatedFlit, kPlaces> flits_;
};

}  // namespace splitnic::fabric
