// A region between canaries, for the tests of the table.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "fabric_emul/mem/mrwt.h"

namespace splitnic::fabric::mrwt_fixture {

inline constexpr PdId kPd{7};
inline constexpr PdId kOtherPd{8};
inline constexpr Qpn kQp{0x10};
inline constexpr Qpn kOtherQp{0x11};
inline constexpr VirtualAddress kStart{0x00007F0012340000};
inline constexpr std::uint8_t kAll = kAccessRights | kWindowBind;
inline constexpr std::array kKinds{AccessKind::kLocalRead, AccessKind::kLocalWrite,
                                   AccessKind::kRemoteRead, AccessKind::kRemoteWrite};
inline constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

constexpr VirtualAddress operator+(VirtualAddress a, std::uint64_t n) {
  return VirtualAddress(a.value + n);
}

// A region in the middle of a buffer of canaries, and a reader and writer that behave as a
// transport: they touch memory only where the table lets them.
class MrwtTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kCanary = 64;
  static constexpr std::size_t kLength = 4096;

  MrwtTest() : buffer_(kCanary + kLength + kCanary) {
    for (std::size_t i = 0; i < buffer_.size(); ++i) buffer_[i] = static_cast<std::byte>(i * 7 + 1);
    before_ = buffer_;
  }

  base::MutableBytes memory() { return base::MutableBytes(buffer_).subspan(kCanary, kLength); }
  MemoryHandle region(std::uint8_t rights = kAll, PdId pd = kPd) {
    return table_.regions().register_region(pd, memory(), rights, kStart).value();
  }
  // The letter, or '-' when the access was allowed and carried out ('!': allowed outside the
  // buffer).
  char try_access(const Mrwt& table, MemoryHandle handle, VirtualAddress address,
                  std::uint64_t length, AccessKind kind, PdId pd = kPd, Qpn qp = kQp) {
    const AccessResult result = table.access(handle, address, length, kind, pd, qp);
    if (!result.ok()) return static_cast<char>(result.failed);
    const base::MutableBytes all(buffer_);
    if (result.at < all.data() ||
        length > static_cast<std::size_t>(all.data() + all.size() - result.at)) {
      return '!';
    }
    if (kind == AccessKind::kLocalWrite || kind == AccessKind::kRemoteWrite) {
      // gcc does not see that the length is small here.
      std::memset(result.at, 0xEE, std::min<std::uint64_t>(length, buffer_.size()));
    }
    return '-';
  }
  char try_access(MemoryHandle handle, VirtualAddress address, std::uint64_t length,
                  AccessKind kind, PdId pd = kPd, Qpn qp = kQp) {
    return try_access(table_, handle, address, length, kind, pd, qp);
  }
  bool unchanged() const { return buffer_ == before_; }

  std::vector<std::byte> buffer_;
  std::vector<std::byte> before_;
  base::SeededRandom random_{42};
  Mrwt table_{16, random_};
};

}  // namespace splitnic::fabric::mrwt_fixture
