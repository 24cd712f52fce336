#include "fabric_emul/wire/global_cell.h"

#include <array>
#include <cstring>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/wire/cell.h"

namespace splitnic::fabric {
namespace {

constexpr std::uint8_t kGnhWords = kGnhBytes / 4;
constexpr unsigned kSlShift = 4;          // of the service level in the traffic class
constexpr std::size_t kChangedBytes = 8;  // SL, flags, ext words, LIDs

// Of the header only its first words change. REQUIRES the others in `cell`, with all that follows.
void seal(base::MutableBytes cell, const MacHeader& header, bool crc_head_only) {
  std::array<std::byte, kMacHeaderBytes> emitted;
  header.emit(emitted.data());
  std::memcpy(cell.data(), emitted.data(), kChangedBytes);
  const std::size_t crc_at = cell.size() - kCrcBytes;
  const std::size_t head_bytes = kMacHeaderBytes + std::size_t{4} * header.ext_words;
  CHECK(head_bytes <= crc_at);
  base::store_be(cell.data() + crc_at,
                 base::crc32c(base::Bytes(cell).first(crc_head_only ? head_bytes : crc_at)));
}

}  // namespace

Gnh gnh_between(const NetworkAddress& from, const NetworkAddress& to, std::uint8_t sl,
                std::uint16_t payload_bytes) {
  return {.traffic_class = static_cast<std::uint8_t>(sl << kSlShift),
          .length = payload_bytes,
          .next_header = kGlobalNextHeader,
          .hop_limit = kGlobalHopLimit,
          .source = from.bytes,
          .destination = to.bytes};
}

std::optional<Gnh> gnh_of(base::Bytes cell) {
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  CHECK(has_gnh(header));
  if (header.ext_words < kGnhWords) return std::nullopt;
  const auto gnh = Gnh::parse(cell.subspan(kMacHeaderBytes, kGnhBytes));
  if (!gnh || gnh->length != header.payload_bytes) return std::nullopt;
  if (is_global(header) && gnh->next_header != kGlobalNextHeader) return std::nullopt;
  return gnh;
}

std::size_t add_gnh(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                    bool crc_head_only) {
  const std::size_t bytes = cell.size() + kGnhBytes;
  CHECK(cell.size() >= kCellBytesMin && bytes <= out.size());
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  CHECK(header.ext_words <= kExtWordsMax - kGnhWords);
  header.ext_words = static_cast<std::uint8_t>(header.ext_words + kGnhWords);
  header.flags |= kFlagGlobal;
  header.dlid = lids.destination;
  header.slid = lids.source;
  std::memcpy(out.data(), cell.data(), kMacHeaderBytes);
  gnh.emit(out.data() + kMacHeaderBytes);
  std::memcpy(out.data() + kMacHeaderBytes + kGnhBytes, cell.data() + kMacHeaderBytes,
              cell.size() - kMacHeaderBytes);
  seal(out.first(bytes), header, crc_head_only);
  return bytes;
}

std::size_t forward_global(base::MutableBytes out, base::Bytes cell, const Gnh& gnh, CellLids lids,
                           bool crc_head_only) {
  CHECK(cell.size() <= out.size() && gnh.hop_limit > 0);
  std::memcpy(out.data(), cell.data(), cell.size());
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  if (is_global(header)) header.sl = gnh.traffic_class >> kSlShift;
  header.dlid = lids.destination;
  header.slid = lids.source;
  Gnh next = gnh;
  --next.hop_limit;
  next.emit(out.data() + kMacHeaderBytes);
  seal(out.first(cell.size()), header, crc_head_only);
  return cell.size();
}

std::size_t change_lids(base::MutableBytes out, base::Bytes cell, CellLids lids,
                        bool crc_head_only) {
  CHECK(cell.size() >= kCellBytesMin && cell.size() <= out.size());
  std::memcpy(out.data(), cell.data(), cell.size());
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  header.dlid = lids.destination;
  header.slid = lids.source;
  seal(out.first(cell.size()), header, crc_head_only);
  return cell.size();
}

std::size_t remove_gnh(base::MutableBytes out, base::Bytes cell, CellLids lids,
                       bool crc_head_only) {
  const std::size_t bytes = cell.size() - kGnhBytes;
  CHECK(cell.size() >= kCellBytesMin + kGnhBytes && bytes <= out.size());
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  CHECK(header.ext_words >= kGnhWords);
  header.ext_words = static_cast<std::uint8_t>(header.ext_words - kGnhWords);
  header.flags &= static_cast<std::uint8_t>(~kFlagGlobal);
  header.dlid = lids.destination;
  header.slid = lids.source;
  std::memcpy(out.data(), cell.data(), kMacHeaderBytes);
  std::memcpy(out.data() + kMacHeaderBytes, cell.data() + kMacHeaderBytes + kGnhBytes,
              bytes - kMacHeaderBytes);
  seal(out.first(bytes), header, crc_head_only);
  return bytes;
}

}  // namespace splitnic::fabric
