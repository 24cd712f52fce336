// The MAC header: the 28 bytes that every cell starts with. [S001-35] docs/protocol/cell.md
// Reserved bits are sent 0 and ignored on receipt. Parsing validates nothing: parse_cell does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"
#include "fabric_emul/wire/op_table.h"
#include "fabric_emul/wire/partition.h"

namespace splitnic::fabric {

// The position of a cell in its packet; all four values of the 2-bit field are legal. [S004-05]
enum class Pos : std::uint8_t { kMiddle = 0, kLast = 1, kFirst = 2, kOnly = 3 };

constexpr bool is_first(Pos pos) { return pos == Pos::kFirst || pos == Pos::kOnly; }
// Returns the position of cell `csn` in a packet of `cells` cells.
constexpr Pos position_of(std::uint32_t csn, std::uint32_t cells) {
  if (cells == 1) return Pos::kOnly;
  if (csn == 0) return Pos::kFirst;
  return csn + 1 == cells ? Pos::kLast : Pos::kMiddle;
}
constexpr bool is_last(Pos pos) { return pos == Pos::kLast || pos == Pos::kOnly; }
std::string_view name(Pos pos);

inline constexpr std::uint8_t kFlagAckRequest = 0x80;
inline constexpr std::uint8_t kFlagIdata = 0x40;
inline constexpr std::uint8_t kFlagSolicited = 0x20;
inline constexpr std::uint8_t kFlagGlobal = 0x10;
inline constexpr std::uint8_t kFlagPacketCrc = 0x08;
inline constexpr std::uint8_t kFlagRetransmission = 0x04;
inline constexpr std::uint8_t kFlagPadMask = 0x03;

struct MacHeader {
  std::uint8_t version = kCellVersion;  // 4 bits
  std::uint8_t sl = 0;                  // service level, 4 bits
  Pos pos = Pos::kOnly;
  Op op = Op::kSend;
  std::uint8_t flags = 0;
  std::uint8_t ext_words = 0;  // length of the extension headers in words
  Service service = Service::kRc;
  std::uint8_t stripe = 0;  // path number, 4 bits, 0 = unstriped
  Lid dlid{}, slid{};
  Qpn dqpn{}, sqpn{};  // 24 bits
  Psn psn{};
  std::uint16_t csn = 0;  // cell sequence number in the packet
  std::uint16_t payload_bytes = 0;
  PartitionKey partition = kDefaultPartition;  // of the sender
  Lcn lcn{};

  // Reads kMacHeaderBytes bytes at `at`; every bit pattern gives a value (op and service may be
  // unknown). On the data path in place: a value that is moved there is written twice.
  static void parse(const std::byte* at, MacHeader& out);
  static MacHeader parse(const std::byte* at) {
    MacHeader out;
    parse(at, out);
    return out;
  }
  // Writes kMacHeaderBytes bytes at `at`; bits beyond a field's width are dropped.
  void emit(std::byte* at) const;
  friend bool operator==(const MacHeader&, const MacHeader&) = default;
};

}  // namespace splitnic::fabric
