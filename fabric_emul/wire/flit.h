// The flit: unit of one link. A header of 16 bytes, then `size` bytes of payload; and the walk
// over a datagram, which holds whole flits and zero filler. docs/protocol/flit.md,
// docs/protocol/datagram.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "fabric_emul/wire/ids.h"
#include "fabric_emul/wire/limits.h"

namespace splitnic::fabric {

enum class FlitType : std::uint8_t {
  kData = 0,
  kLack = 1,  // link acknowledge
  kLnak = 2,  // resend from acknowledge number + 1
  kCredit = 3,
  kInit = 4,  // payload: init.h
  kIdle = 5,  // keep-alive
};
inline constexpr std::uint8_t kFlitTypeCount = 6;
std::string_view name(FlitType type);

inline constexpr std::uint8_t kFlitSof = 0x80;              // first flit of a cell
inline constexpr std::uint8_t kFlitEof = 0x40;              // last flit of a cell
inline constexpr std::uint8_t kFlitHeaderCrcOnly = 0x20;    // F3 covers F0, F1, F2 only
inline constexpr std::uint8_t kFlitCellCrcHeadOnly = 0x10;  // the cell CRC covers its head only

struct FlitHeader {
  FlitType type = FlitType::kData;
  std::uint8_t vl = 0;  // lane, 4 bits
  std::uint8_t ctl = 0;
  std::uint16_t size = 0;  // payload bytes
  Lsn lsn{}, ack{};
  std::uint8_t credit_vl = 0;      // 4 bits
  std::uint32_t credit_limit = 0;  // 64-byte blocks granted since INIT, 24 bits
  friend bool operator==(const FlitHeader&, const FlitHeader&) = default;
};

// Of a DATA flit of the speed profile that holds a part of a cell: the number of the cell, and how
// many bytes of it are in the fragments before. docs/protocol/flit.md#fragments
struct Fragment {
  std::uint16_t number = 0;
  std::size_t offset = 0;  // a multiple of kFragmentUnit, at most 65535 of them
};
inline constexpr std::size_t kFragmentUnit = 4;
constexpr void set_fragment(FlitHeader& header, const Fragment& fragment) {
  header.lsn = Lsn(fragment.number);
  header.ack = Lsn(static_cast<std::uint16_t>(fragment.offset / kFragmentUnit));
}
constexpr Fragment fragment_of(const FlitHeader& header) {
  return {static_cast<std::uint16_t>(header.lsn.value),
          static_cast<std::uint16_t>(header.ack.value) * kFragmentUnit};
}

// Writes the header at out, the payload of header.size bytes being in place at out + 16, and the
// flit CRC. Returns 16 + header.size. REQUIRES that many bytes in out.
std::size_t seal_flit(base::MutableBytes out, const FlitHeader& header);
// The same with a copy of the payload, whose size becomes header.size. REQUIRES payload <=
// kFlitPayloadMax.
std::size_t emit_flit(base::MutableBytes out, FlitHeader header, base::Bytes payload = {});

struct FlitView {
  FlitHeader header{};
  base::Bytes payload{};
  std::size_t bytes() const { return kFlitHeaderBytes + payload.size(); }
};

enum class FlitError : std::uint8_t {
  kNone,
  kShort,  // fewer than 16 bytes
  kSize,   // payload runs past the end
  kCrc,
  kType,     // type unknown
  kPayload,  // DATA or INIT without payload, another type with payload
  kCount_
};
std::string_view name(FlitError error);

// Parses the flit at the start of `at`, which may hold more behind it. kType and kPayload come
// after the CRC: out.payload is then the part to skip.
FlitError parse_flit(base::Bytes at, FlitView& out);

// Walks the flits of one datagram:
//   FlitWalker walker(datagram);
//   for (FlitView flit;;) switch (walker.next(flit)) { ... }
class FlitWalker {
 public:
  enum class Step : std::uint8_t {
    kFlit,     // out is a good flit
    kBad,      // error() is the reason; after kType and kPayload the walk continues, else it ends
    kEnd,      // end of the datagram or filler
    kSession,  // the datagram belongs to the session layer: nothing here is a flit
  };
  explicit FlitWalker(base::Bytes datagram) : rest_(datagram) {}
  Step next(FlitView& out);
  FlitError error() const { return error_; }
  // The bytes from the next flit on.
  base::Bytes rest() const { return rest_; }
  // Passes the next flit, which the caller knows to be good. REQUIRES that rest() has its bytes.
  void pass(std::size_t flit_bytes) {
    rest_ = rest_.subspan(flit_bytes);
    is_first_ = false;
  }

 private:
  base::Bytes rest_;
  bool is_first_ = true;
  FlitError error_ = FlitError::kNone;
};

}  // namespace splitnic::fabric
