// The MAC header that the middle cells of one packet share: behind the first cell everything in it
// is known but for CSN, LCN and the flags that a sender sets cell by cell. So a sender writes it by
// patching three words, and a receiver compares four words in place of parsing the header. It has
// no extensions, no pad and position "middle". docs/protocol/cell.md#mac-header
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/endian.h"
#include "fabric_emul/wire/mac_header.h"

namespace splitnic::fabric {

class MiddleHeader {
 public:
  // The flags that a middle cell may have.
  static constexpr std::uint8_t kFlags = kFlagAckRequest | kFlagRetransmission | kFlagSolicited;

  // `like` has what the cells of the packet share. Its position, flags, extension length, CSN and
  // LCN are not used. REQUIRES that like.payload_bytes is a multiple of 4.
  explicit MiddleHeader(MacHeader like) {
    like.pos = Pos::kMiddle;
    like.flags = 0;
    like.ext_words = 0;
    like.csn = 0;
    like.lcn = Lcn();
    std::byte bytes[kMacHeaderBytes];
    like.emit(bytes);
    for (std::size_t i = 0; i < 3; ++i) words_[i] = base::load_be<std::uint64_t>(bytes + 8 * i);
    last_ = base::load_be<std::uint32_t>(bytes + 24);
  }

  // Writes kMacHeaderBytes bytes at `at`. REQUIRES that `flags` are among kFlags.
  void emit(std::byte* at, std::uint16_t csn, Lcn lcn, std::uint8_t flags) const {
    base::store_be(at, words_[0] | std::uint64_t{flags} << kFlagsAt);
    base::store_be(at + 8, words_[1]);
    base::store_be(at + 16, words_[2] | std::uint64_t{csn} << kCsnAt);
    base::store_be(at + 24, last_ | static_cast<std::uint16_t>(lcn.value));
  }

  // The flags of the header at `at` if it is this one with these numbers; else nullopt. A header
  // with reserved bits set is another one. REQUIRES kMacHeaderBytes bytes at `at`.
  std::optional<std::uint8_t> flags_if_equal(const std::byte* at, std::uint16_t csn,
                                             Lcn lcn) const {
    const std::uint64_t differs =
        (base::load_be<std::uint64_t>(at) ^ words_[0]) & ~(std::uint64_t{kFlags} << kFlagsAt);
    const std::uint64_t differs_too =
        (base::load_be<std::uint64_t>(at + 8) ^ words_[1]) |
        (base::load_be<std::uint64_t>(at + 16) ^ (words_[2] | std::uint64_t{csn} << kCsnAt)) |
        (base::load_be<std::uint32_t>(at + 24) ^ (last_ | static_cast<std::uint16_t>(lcn.value)));
    if ((differs | differs_too) != 0) return std::nullopt;
    return std::to_integer<std::uint8_t>(at[2]);
  }

 private:
  static constexpr unsigned kFlagsAt = 40;  // bits of the first word
  static constexpr unsigned kCsnAt = 16;    // bits of the third word

  std::uint64_t words_[3];
  std::uint32_t last_;
};

}  // namespace splitnic::fabric
