// The handshake of the two ends of `splitnic bench`, in the private data of their connection: the
// operation to measure, and the memory that each end offers to the other. Bytes, all big-endian:
//   [magic 4][op 1][flags 1: 1 go-back-N][0, 2][bytes 4][handle 4][start 8]
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"
#include "base/endian.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

struct Handshake {
  static constexpr std::size_t kBytes = 24;
  static constexpr std::uint32_t kMagic = 0x534E4231;

  Op op = Op::kWrite;
  bool goes_back_n = false;
  std::uint32_t bytes = 0;
  std::uint32_t handle = 0;
  std::uint64_t start = 0;

  std::array<std::byte, kBytes> emit() const {
    std::array<std::byte, kBytes> out{};
    base::store_be(out.data(), kMagic);
    out[4] = static_cast<std::byte>(op);
    out[5] = static_cast<std::byte>(goes_back_n ? 1 : 0);
    base::store_be(out.data() + 8, bytes);
    base::store_be(out.data() + 12, handle);
    base::store_be(out.data() + 16, start);
    return out;
  }
  // Returns nothing if a peer of this version does not send such bytes.
  static std::optional<Handshake> parse(base::Bytes in) {
    if (in.size() != kBytes || base::load_be<std::uint32_t>(in.data()) != kMagic) return {};
    Handshake out;
    out.bytes = base::load_be<std::uint32_t>(in.data() + 8);
    if (in[4] > static_cast<std::byte>(Op::kRead) || in[5] > std::byte{1}) return {};
    if (in[6] != std::byte{0} || in[7] != std::byte{0}) return {};
    if (out.bytes == 0 || out.bytes > kSizeMax) return {};
    out.op = static_cast<Op>(in[4]);
    out.goes_back_n = in[5] == std::byte{1};
    out.handle = base::load_be<std::uint32_t>(in.data() + 12);
    out.start = base::load_be<std::uint64_t>(in.data() + 16);
    return out;
  }
};

}  // namespace splitnic::bench
