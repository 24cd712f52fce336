#include "fabric_emul/mem/placement.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace splitnic::fabric {
namespace {

// Walks the list bytes [offset, offset + size) and gives each touched part to
// visit(const Sge&, offset in the piece, offset in the range, byte count) until it returns a
// letter.
template <typename Visit>
std::optional<AccessCheck> walk(std::span<const Sge> pieces, std::uint64_t offset, std::size_t size,
                                Visit&& visit) {
  std::size_t done = 0;
  for (const Sge& piece : pieces) {
    if (done == size) break;
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const std::size_t count = std::min<std::size_t>(size - done, piece.length - offset);
    if (const auto failed = visit(piece, offset, done, count)) return failed;
    done += count;
    offset = 0;
  }
  if (done != size) return AccessCheck::kE;
  return std::nullopt;
}

// First pass: every touched piece may be accessed over its whole extent, so that no sum of its
// address and an offset can wrap. Second pass: copy(memory of the part, offset in the range, byte
// count).
template <typename Copy>
PlacementResult place(const Mrwt& table, PdId pd, std::span<const Sge> pieces, std::uint64_t offset,
                      std::size_t size, AccessKind kind, Copy&& copy) {
  const auto piece_access = [&](const Sge& piece) {
    return table.access(piece.lkey, piece.address, piece.length, kind, pd, Qpn{});
  };
  const auto failed = walk(
      pieces, offset, size,
      [&](const Sge& piece, std::uint64_t, std::size_t, std::size_t) -> std::optional<AccessCheck> {
        const AccessResult result = piece_access(piece);
        if (result.ok()) return std::nullopt;
        return result.failed;
      });
  if (failed) return {false, *failed};

  walk(pieces, offset, size,
       [&](const Sge& piece, std::uint64_t within, std::size_t done,
           std::size_t count) -> std::optional<AccessCheck> {
         copy(piece_access(piece).at + within, done, count);
         return std::nullopt;
       });
  return {};
}

}  // namespace

std::uint64_t total_length(std::span<const Sge> pieces) {
  std::uint64_t total = 0;
  for (const Sge& piece : pieces) total += piece.length;
  return total;
}

PlacementResult gather(const Mrwt& table, PdId pd, std::span<const Sge> pieces,
                       std::uint64_t offset, base::MutableBytes out) noexcept {
  return place(table, pd, pieces, offset, out.size(), AccessKind::kLocalRead,
               [&](const std::byte* from, std::size_t done, std::size_t count) {
                 std::memcpy(out.data() + done, from, count);
               });
}

PlacementResult scatter(const Mrwt& table, PdId pd, std::span<const Sge> pieces,
                        std::uint64_t offset, base::Bytes in) noexcept {
  return place(table, pd, pieces, offset, in.size(), AccessKind::kLocalWrite,
               [&](std::byte* to, std::size_t done, std::size_t count) {
                 std::memcpy(to, in.data() + done, count);
               });
}

}  // namespace splitnic::fabric
