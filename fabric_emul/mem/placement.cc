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

// The queue pair that requests an access, and the kind of access.
struct Asker {
  PdId pd;
  Qpn qp;
  AccessKind kind;
};

// Gives [address, address + size) to visit(memory, offset in the range, byte count), one call for
// each run of consecutive bytes. The first access checks the whole range and brings in its page.
template <typename Visit>
std::optional<AccessCheck> walk_runs(const Mrwt& table, const Asker& asker, MemoryHandle handle,
                                     VirtualAddress address, std::size_t size, Visit&& visit) {
  std::size_t done = 0;
  do {
    const AccessResult part = table.access(handle, VirtualAddress(address.value + done),
                                           size - done, asker.kind, asker.pd, asker.qp);
    if (!part.ok()) return part.failed;
    if (part.run != 0) visit(part.at, done, std::size_t{part.run});
    done += part.run;
  } while (done < size);
  return std::nullopt;
}

// All pages of the range are in before the first byte moves.
template <typename Copy>
PlacementResult copy_runs(const Mrwt& table, const Asker& asker, MemoryHandle handle,
                          VirtualAddress address, std::size_t size, Copy&& copy) {
  const AccessResult first = table.access(handle, address, size, asker.kind, asker.pd, asker.qp);
  if (!first.ok()) return {false, first.failed};
  if (first.run == size) {
    if (size != 0) copy(first.at, 0, size);
    return {};
  }
  auto failed = walk_runs(table, asker, handle, address, size, [](auto&&...) {});
  if (!failed) failed = walk_runs(table, asker, handle, address, size, copy);
  if (failed) return {false, *failed};
  return {};
}

// First pass: every touched piece may be accessed over its whole extent, so that no sum of its
// address and an offset can wrap, and what is touched of it is in. Second pass: copy(memory of the
// run, offset in the range, byte count).
template <typename Copy>
PlacementResult place(const Mrwt& table, const Asker& asker, std::span<const Sge> pieces,
                      std::uint64_t offset, std::size_t size, Copy&& copy) {
  // One check is enough for most. An empty range touches nothing, not even the table.
  if (size != 0 && pieces.size() == 1 && offset + size <= pieces[0].length) {
    const Sge& piece = pieces[0];
    const AccessResult whole =
        table.access(piece.lkey, piece.address, piece.length, asker.kind, asker.pd, asker.qp);
    if (!whole.ok()) return {false, whole.failed};
    if (whole.run == piece.length) {
      copy(whole.at + offset, 0, size);
      return {};
    }
  }
  auto failed = walk(
      pieces, offset, size,
      [&](const Sge& piece, std::uint64_t within, std::size_t,
          std::size_t count) -> std::optional<AccessCheck> {
        const AccessResult whole =
            table.access(piece.lkey, piece.address, piece.length, asker.kind, asker.pd, asker.qp);
        if (!whole.ok()) return whole.failed;
        if (whole.run == piece.length) return std::nullopt;
        return walk_runs(table, asker, piece.lkey, VirtualAddress(piece.address.value + within),
                         count, [](auto&&...) {});
      });
  if (failed) return {false, *failed};

  failed = walk(pieces, offset, size,
                [&](const Sge& piece, std::uint64_t within, std::size_t done, std::size_t count) {
                  return walk_runs(table, asker, piece.lkey,
                                   VirtualAddress(piece.address.value + within), count,
                                   [&](std::byte* at, std::size_t part, std::size_t bytes) {
                                     copy(at, done + part, bytes);
                                   });
                });
  if (failed) return {false, *failed};
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
  return place(table, {pd, Qpn{}, AccessKind::kLocalRead}, pieces, offset, out.size(),
               [&](const std::byte* from, std::size_t done, std::size_t count) {
                 std::memcpy(out.data() + done, from, count);
               });
}

PlacementResult scatter(const Mrwt& table, PdId pd, std::span<const Sge> pieces,
                        std::uint64_t offset, base::Bytes in) noexcept {
  return place(table, {pd, Qpn{}, AccessKind::kLocalWrite}, pieces, offset, in.size(),
               [&](std::byte* to, std::size_t done, std::size_t count) {
                 std::memcpy(to, in.data() + done, count);
               });
}

PlacementResult write_remote(const Mrwt& table, PdId pd, Qpn qp, MemoryHandle handle,
                             VirtualAddress address, base::Bytes in) noexcept {
  return copy_runs(table, {pd, qp, AccessKind::kRemoteWrite}, handle, address, in.size(),
                   [&](std::byte* to, std::size_t done, std::size_t count) {
                     std::memcpy(to, in.data() + done, count);
                   });
}

PlacementResult read_remote(const Mrwt& table, PdId pd, Qpn qp, MemoryHandle handle,
                            VirtualAddress address, base::MutableBytes out) noexcept {
  return copy_runs(table, {pd, qp, AccessKind::kRemoteRead}, handle, address, out.size(),
                   [&](const std::byte* from, std::size_t done, std::size_t count) {
                     std::memcpy(out.data() + done, from, count);
                   });
}

}  // namespace splitnic::fabric
