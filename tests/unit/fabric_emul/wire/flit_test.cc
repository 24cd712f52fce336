#include "fabric_emul/wire/flit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"
#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace flit_test {

using golden::Bytes;
using golden::bytes_of;
using golden::hex_of;

std::string emitted(const FlitHeader& header, const Bytes& payload = {}) {
  Bytes out(kFlitHeaderBytes + payload.size());
  EXPECT_EQ(emit_flit(out, header, payload), out.size());
  return hex_of(out);
}

FlitHeader parsed_header(const Bytes& bytes) {
  FlitView view;
  EXPECT_EQ(parse_flit(bytes, view), FlitError::kNone);
  return view.header;
}

Bytes data_flit(std::string_view header) {
  return bytes_of(std::string(header) + " " + std::string(golden::kAck));
}

TEST(FlitTest, golden_data_flit_of_the_full_profile) {
  const FlitHeader header{.type = FlitType::kData,
                          .ctl = kFlitSof | kFlitEof,
                          .size = 44,
                          .lsn = Lsn(9),
                          .ack = Lsn(41),
                          .credit_limit = 0x140};
  const Bytes bytes = data_flit(golden::kDataFlitFull);
  EXPECT_EQ(emitted(header, bytes_of(golden::kAck)), hex_of(bytes));
  EXPECT_EQ(parsed_header(bytes), header);
}

TEST(FlitTest, golden_data_flit_of_the_speed_profile) {
  const FlitHeader header{.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly, .size = 44};
  Bytes bytes = data_flit(golden::kDataFlitSpeed);
  EXPECT_EQ(emitted(header, bytes_of(golden::kAck)), hex_of(bytes));
  EXPECT_EQ(parsed_header(bytes), header);
  // The payload is the cell CRC's business.
  bytes[20] ^= std::byte{1};
  EXPECT_EQ(parsed_header(bytes), header);
  CellView cell;
  EXPECT_EQ(parse_cell(base::Bytes(bytes).subspan(16), cell), CellError::kCrc);
}

TEST(FlitTest, golden_credit_idle_lack_and_lnak) {
  EXPECT_EQ(
      emitted({.type = FlitType::kCredit, .ack = Lsn(41), .credit_vl = 2, .credit_limit = 320}),
      golden::kCreditFlit);
  EXPECT_EQ(emitted({.type = FlitType::kIdle, .vl = 15, .ctl = kFlitHeaderCrcOnly}),
            golden::kIdleFlitSpeed);
  EXPECT_EQ(emitted({.type = FlitType::kIdle,
                     .vl = 15,
                     .ack = Lsn(41),
                     .credit_vl = 1,
                     .credit_limit = 0x80}),
            golden::kIdleFlitFull);
  EXPECT_EQ(emitted({.type = FlitType::kLack, .ack = Lsn(41), .credit_limit = 320}),
            golden::kLackFlit);
  EXPECT_EQ(emitted({.type = FlitType::kLnak, .ack = Lsn(41), .credit_limit = 320}),
            golden::kLnakFlit);
  EXPECT_EQ(parsed_header(bytes_of(golden::kCreditFlit)).credit_limit, 320U);
  EXPECT_EQ(parsed_header(bytes_of(golden::kCreditFlit)).credit_vl, 2);
}

TEST(FlitTest, seal_leaves_the_payload_where_it_is) {
  Bytes out = data_flit(golden::kDataFlitFull);
  std::fill_n(out.begin(), kFlitHeaderBytes, std::byte{0xEE});
  const FlitHeader header = parsed_header(data_flit(golden::kDataFlitFull));
  EXPECT_EQ(seal_flit(out, header), 60U);
  EXPECT_EQ(out, data_flit(golden::kDataFlitFull));
}

TEST(FlitTest, every_field_survives_the_round_trip) {
  base::SeededRandom random(5);
  for (int round = 0; round < 2000; ++round) {
    FlitHeader header;
    header.type = static_cast<FlitType>(random.below(kFlitTypeCount));
    header.vl = static_cast<std::uint8_t>(random.below(16));
    header.ctl = static_cast<std::uint8_t>(random.below(256));
    header.lsn = Lsn(random.next32());
    header.ack = Lsn(random.next32());
    header.credit_vl = static_cast<std::uint8_t>(random.below(16));
    header.credit_limit = random.next32() & kCreditMask;
    const bool wants = header.type == FlitType::kData || header.type == FlitType::kInit;
    header.size = wants ? static_cast<std::uint16_t>(1 + random.below(300)) : std::uint16_t{0};
    EXPECT_EQ(parsed_header(bytes_of(emitted(header, Bytes(header.size, std::byte{7})))), header);
  }
}

TEST(FlitTest, S001_36_any_single_bit_flip_is_refused) {
  std::vector<Bytes> flits = {data_flit(golden::kDataFlitFull)};
  for (const std::string_view hex : golden::kFlits) flits.push_back(bytes_of(hex));
  for (const Bytes& good : flits) {
    FlitView view;
    ASSERT_EQ(parse_flit(good, view), FlitError::kNone);
    EXPECT_EQ(view.bytes(), good.size());
    for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes changed = good;
      changed[bit / 8] ^= static_cast<std::byte>(0x80U >> (bit % 8));
      const FlitError error = parse_flit(changed, view);
      EXPECT_TRUE(error == FlitError::kCrc || error == FlitError::kSize) << bit;
    }
    for (std::size_t n = 0; n < good.size(); ++n) {
      const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_EQ(parse_flit(cut, view), n < 16 ? FlitError::kShort : FlitError::kSize);
    }
  }
}

// The flit with its first 12 bytes changed by `edit` and a good CRC.
template <typename Edit>
Bytes with_good_crc(std::string_view hex, Edit edit) {
  Bytes flit = bytes_of(hex);
  edit(flit);
  base::Crc32c crc;
  crc.extend(base::Bytes(flit).first(12));
  crc.extend(base::Bytes(flit).subspan(16));
  base::store_be(flit.data() + 12, crc.value());
  return flit;
}

TEST(FlitTest, reserved_bits_are_ignored) {
  const FlitHeader expected = parsed_header(bytes_of(golden::kCreditFlit));
  for (unsigned bit = 0; bit < 4; ++bit) {
    const Bytes flit = with_good_crc(golden::kCreditFlit,
                                     [&](Bytes& f) { f[8] ^= static_cast<std::byte>(1U << bit); });
    EXPECT_EQ(parsed_header(flit), expected);
  }
}

TEST(FlitTest, unknown_types_and_misplaced_payload_are_refused) {
  FlitView view;
  for (unsigned type = 0; type < 16; ++type) {
    const auto set_type = [&](Bytes& f) { f[0] = static_cast<std::byte>(type << 4); };
    const FlitError bare = parse_flit(with_good_crc(golden::kLackFlit, set_type), view);
    const FlitError loaded = parse_flit(with_good_crc(golden::kInitHelloFlit, set_type), view);
    if (type >= kFlitTypeCount) {
      EXPECT_EQ(bare, FlitError::kType);
      EXPECT_EQ(loaded, FlitError::kType);
      continue;
    }
    const bool wants = type == 0 || type == 4;
    EXPECT_EQ(bare, wants ? FlitError::kPayload : FlitError::kNone) << type;
    EXPECT_EQ(loaded, wants ? FlitError::kNone : FlitError::kPayload) << type;
    EXPECT_NE(name(static_cast<FlitType>(type)), "unknown");
  }
}

std::vector<FlitWalker::Step> walk(base::Bytes datagram) {
  FlitWalker walker(datagram);
  std::vector<FlitWalker::Step> steps;
  for (;;) {
    FlitView view;
    steps.push_back(walker.next(view));
    const FlitWalker::Step step = steps.back();
    if (step == FlitWalker::Step::kEnd || step == FlitWalker::Step::kSession) return steps;
  }
}

using Step = FlitWalker::Step;
using Steps = std::vector<Step>;

TEST(DatagramTest, golden_datagram_of_two_flits_and_filler) {
  Bytes datagram(28 + kStrideOverhead);  // MCP 28
  std::size_t at = emit_flit(datagram, {.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly},
                             bytes_of(golden::kAck));
  at += emit_flit(base::MutableBytes(datagram).subspan(at),
                  {.type = FlitType::kIdle, .vl = 15, .ctl = kFlitHeaderCrcOnly});
  EXPECT_EQ(hex_of(datagram), golden::kDatagram);
  EXPECT_EQ(at, 76U);

  FlitWalker walker(datagram);
  FlitView view;
  ASSERT_EQ(walker.next(view), Step::kFlit);
  EXPECT_EQ(hex_of(view.payload), golden::kAck);
  ASSERT_EQ(walker.next(view), Step::kFlit);
  EXPECT_EQ(view.header.type, FlitType::kIdle);
  EXPECT_EQ(walker.next(view), Step::kEnd);
  EXPECT_EQ(walker.next(view), Step::kEnd);
}

TEST(DatagramTest, filler_is_ignored_whatever_it_holds) {
  Bytes datagram = bytes_of(golden::kDatagram);
  for (std::size_t i = 80; i < datagram.size(); ++i) datagram[i] = std::byte{0xFF};
  EXPECT_EQ(walk(datagram), (Steps{Step::kFlit, Step::kFlit, Step::kEnd}));
  // Fewer than 16 bytes end it, zero or not.
  datagram.resize(76 + 15, std::byte{0xFF});
  datagram[76] = std::byte{0x77};
  EXPECT_EQ(walk(datagram), (Steps{Step::kFlit, Step::kFlit, Step::kEnd}));
}

TEST(DatagramTest, every_truncation_gives_whole_flits_or_an_end) {
  const Bytes good = bytes_of(golden::kDatagram);
  for (std::size_t n = 0; n <= good.size(); ++n) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n));
    const Steps steps = walk(cut);
    const auto flits = static_cast<std::size_t>(std::ranges::count(steps, Step::kFlit));
    EXPECT_EQ(flits, (n >= 60 ? 1U : 0U) + (n >= 76 ? 1U : 0U)) << n;
    EXPECT_EQ(std::ranges::count(steps, Step::kBad) == 1, n >= 16 && n < 60) << n;
  }
}

TEST(DatagramTest, a_first_byte_with_the_top_bit_belongs_to_the_session_layer) {
  for (unsigned first = 0; first < 256; ++first) {
    Bytes datagram = bytes_of(golden::kDatagram);
    datagram[0] = static_cast<std::byte>(first);
    EXPECT_EQ(walk(datagram) == Steps{Step::kSession}, first >= 0x80);
  }
  EXPECT_EQ(walk(bytes_of("80")), Steps{Step::kSession});
  EXPECT_EQ(walk({}), Steps{Step::kEnd});
}

TEST(DatagramTest, a_bad_flit_ends_the_walk_unless_its_size_is_valid) {
  Bytes datagram = bytes_of(golden::kDatagram);
  datagram[5] ^= std::byte{1};
  EXPECT_EQ(walk(datagram), (Steps{Step::kBad, Step::kEnd}));
  const Bytes unknown = with_good_crc(golden::kLackFlit, [](Bytes& f) { f[0] = std::byte{0x70}; });
  Bytes both = unknown;
  const Bytes idle = bytes_of(golden::kIdleFlitFull);
  both.insert(both.end(), idle.begin(), idle.end());
  EXPECT_EQ(walk(both), (Steps{Step::kBad, Step::kFlit, Step::kEnd}));
}

TEST(DatagramTest, random_datagrams_end) {
  base::SeededRandom random(11);
  for (int round = 0; round < 5000; ++round) {
    Bytes datagram = bytes_of(golden::kDatagram);
    for (int i = 0; i < 3; ++i) {
      datagram[random.below(datagram.size())] = static_cast<std::byte>(random.below(256));
    }
    datagram.resize(random.below(datagram.size() + 1));
    EXPECT_LE(walk(datagram).size(), 1 + datagram.size() / kFlitHeaderBytes);
  }
}

}  // namespace flit_test
}  // namespace splitnic::fabric
