// The header of a DATA flit that was sealed or checked, for the flits behind it that have the same
// one: in the speed and shm profiles it holds a lane, a length and the CRC over both, so cells of
// one length on one lane have equal headers. A sender copies it, and a receiver compares it in
// place of walking the datagram and of a CRC. docs/protocol/flit.md
// Thread: the data thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
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

  // The datagram is one flit with this header and nothing behind it.
  bool is_in(base::Bytes datagram) const {
    return cell_bytes_ != 0 && datagram.size() == kFlitHeaderBytes + cell_bytes_ &&
           std::memcmp(datagram.data(), header_.data(), kFlitHeaderBytes) == 0;
  }
  std::uint8_t vl() const { return vl_; }

 private:
  std::array<std::byte, kFlitHeaderBytes> header_{};
  std::size_t cell_bytes_ = 0;  // 0: none
  std::uint8_t vl_ = 0;
};

}  // namespace splitnic::fabric
