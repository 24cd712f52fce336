// The rights of an entry, the access that a request wants, and the letters of the checks between.
// Rights are independent bits [S002-06]; the letters are those of S002-12 to S002-18 and travel in
// the NAK or TERMINATE that refuses an access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric_emul/wire/ids.h"

namespace splitnic::fabric {

// Bits of MrwtEntry::rights. Only a region may hold kWindowBind.
enum AccessRight : std::uint8_t {
  kLocalRead = 1,
  kLocalWrite = 2,
  kRemoteRead = 4,
  kRemoteWrite = 8,
  kWindowBind = 16,
};
inline constexpr std::uint8_t kAccessRights = kLocalRead | kLocalWrite | kRemoteRead | kRemoteWrite;

enum class AccessKind : std::uint8_t { kLocalRead, kLocalWrite, kRemoteRead, kRemoteWrite };
inline constexpr std::size_t kAccessKinds = 4;

// kRegionsOk: a region with a remote right serves remote access, as a window does.
//        kStrictWindows: remote access goes through windows only.
// A window never serves local access in either.
enum class MrwtProfile : std::uint8_t { kRegionsOk, kStrictWindows };

// The one right that a kind of access needs [S002-17].
constexpr std::uint8_t right_for(AccessKind kind) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
}
constexpr bool is_remote(AccessKind kind) {
  return kind == AccessKind::kRemoteRead || kind == AccessKind::kRemoteWrite;
}
static_assert(right_for(AccessKind::kLocalRead) == kLocalRead);
static_assert(right_for(AccessKind::kLocalWrite) == kLocalWrite);
static_assert(right_for(AccessKind::kRemoteRead) == kRemoteRead);
static_assert(right_for(AccessKind::kRemoteWrite) == kRemoteWrite);

// The first check that failed. The value is the letter.
enum class AccessCheck : char {
  kA = 'a',  // the entry, or the region below a window, is not valid [S002-12]; a page is out
  kB = 'b',  // wrong entry type for this side [S002-13]
  kC = 'c',  // another protection domain, or a window bound to another QP [S002-14]
  kD = 'd',  // Tag_Instance differs [S002-15]
  kE = 'e',  // outside the range, or past 2^64 [S002-16]
  kF = 'f',  // the right is missing, or the guard refuses [S002-17]
  kG = 'g',  // the region does not allow windows; the command goes the other way [S002-18]
};

// Guard by which the owner of a region decides at the moment of access: called for every remote
// write that passed checks a to f [S001-14]. Refusal has the letter f.
class WriteGuard {
 public:
  virtual ~WriteGuard() = default;
  // [address, address + length) lies within the region. A guard that permits a range permits each
  // part of it. Called on the path: neither blocks nor allocates.
  virtual bool may_write(VirtualAddress address, std::uint64_t length) const noexcept = 0;
};

// Result of a look-up: where the first byte lies and how many bytes follow each other from there,
// or the letter. `failed` means something only when !ok(). In a region of one span `run` is
// the whole range (or as much of it as 32 bits hold); in a region made of pages it may be less, and
// the rest is asked for again. A zero-length access that passes has a pointer too, which must not
// be dereferenced.
struct AccessResult {
  std::byte* at = nullptr;
  AccessCheck failed = AccessCheck::kA;
  std::uint32_t run = 0;
  constexpr bool ok() const { return at != nullptr; }
};

// The two transfers that reach an iSCSI region: a target that asks for data, and data from it.
enum class IscsiTransfer : std::uint8_t { kR2t, kDataIn };

}  // namespace splitnic::fabric
