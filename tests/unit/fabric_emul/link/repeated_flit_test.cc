// Flits with equal headers: what is copied and compared is what sealing and parsing would give.
#include "fabric_emul/link/repeated_flit.h"

#include <gtest/gtest.h>

#include <vector>

#include "fabric_emul/wire/flit.h"

namespace splitnic::fabric {
namespace {

std::vector<std::byte> flit_of(std::size_t cell_bytes, std::uint8_t vl) {
  std::vector<std::byte> out(kFlitHeaderBytes + cell_bytes);
  FlitHeader header;
  header.vl = vl;
  header.ctl = kFlitSof | kFlitEof | kFlitHeaderCrcOnly;
  header.size = static_cast<std::uint16_t>(cell_bytes);
  seal_flit(out, header);
  return out;
}

TEST(RepeatedFlitTest, is_at_a_flit_with_the_same_lane_and_length_only) {
  const auto one = flit_of(100, 2);
  RepeatedFlit repeated;
  EXPECT_FALSE(repeated.is_at(one)) << "nothing is remembered";
  repeated.remember(one.data(), 100, 2);
  auto same = one;
  same.back() = std::byte{9};  // the payload may differ
  EXPECT_TRUE(repeated.is_at(same));
  EXPECT_EQ(repeated.vl(), 2);
  EXPECT_FALSE(repeated.is_at(flit_of(100, 3)));
  EXPECT_FALSE(repeated.is_at(flit_of(96, 2)));
  for (std::size_t at = 0; at < kFlitHeaderBytes; ++at) {
    auto other = one;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(repeated.is_at(other)) << "byte " << at;
  }
  auto longer = one;
  longer.resize(longer.size() + 4);
  EXPECT_TRUE(repeated.is_at(longer)) << "something stands behind the flit";
  EXPECT_EQ(repeated.cell_bytes(), 100U);
  EXPECT_FALSE(repeated.is_at(base::Bytes(one).first(one.size() - 1))) << "the flit is cut off";
  EXPECT_FALSE(repeated.is_at(base::Bytes(one).first(8)));
  repeated.forget();
  EXPECT_FALSE(repeated.is_at(one));
}

TEST(RepeatedFlitTest, a_copy_is_what_sealing_gives) {
  const auto one = flit_of(64, 1);
  RepeatedFlit repeated;
  EXPECT_FALSE(repeated.is_for(64, 1));
  repeated.remember(one.data(), 64, 1);
  EXPECT_TRUE(repeated.is_for(64, 1));
  EXPECT_FALSE(repeated.is_for(64, 2));
  EXPECT_FALSE(repeated.is_for(68, 1));
  std::vector<std::byte> copy(one.size());
  repeated.copy_to(copy.data());
  EXPECT_EQ(copy, one);
}

// The lengths of the cells of a write of 4 KiB at an MTU of 1500: the first, the middle, the last.
TEST(RepeatedFlitsTest, the_cells_of_a_message_are_remembered_together) {
  RepeatedFlits repeated;
  for (const std::size_t cell_bytes : {1412U, 1396U, 40U}) {
    const auto flit = flit_of(cell_bytes, 1);
    EXPECT_EQ(repeated.find(flit), nullptr) << cell_bytes;
    repeated.of(cell_bytes).remember(flit.data(), cell_bytes, 1);
  }
  for (const std::size_t cell_bytes : {1412U, 1396U, 40U}) {
    const auto flit = flit_of(cell_bytes, 1);
    const RepeatedFlit* const known = repeated.find(flit);
    ASSERT_NE(known, nullptr) << cell_bytes;
    EXPECT_EQ(known->cell_bytes(), cell_bytes);
    EXPECT_TRUE(repeated.of(cell_bytes).is_for(cell_bytes, 1));
    EXPECT_EQ(repeated.find(base::Bytes(flit).first(kFlitHeaderBytes - 1)), nullptr);
    EXPECT_EQ(repeated.find(flit_of(cell_bytes, 2)), nullptr);
  }
  repeated.forget();
  for (const std::size_t cell_bytes : {1412U, 1396U, 40U}) {
    EXPECT_EQ(repeated.find(flit_of(cell_bytes, 1)), nullptr) << cell_bytes;
  }
}

TEST(RepeatedFlitsTest, one_length_takes_the_place_of_another) {
  RepeatedFlits repeated;
  const auto one = flit_of(64, 1);
  repeated.of(64).remember(one.data(), 64, 1);
  for (std::size_t cell_bytes = 68; cell_bytes <= 256; cell_bytes += 4) {
    EXPECT_FALSE(repeated.of(cell_bytes).is_for(cell_bytes, 1)) << cell_bytes;
    EXPECT_EQ(repeated.find(flit_of(cell_bytes, 1)), nullptr) << cell_bytes;
  }
  const auto other = flit_of(192, 1);
  repeated.of(192).remember(other.data(), 192, 1);
  EXPECT_EQ(repeated.find(one), nullptr);
  EXPECT_NE(repeated.find(other), nullptr);
}

}  // namespace
}  // namespace splitnic::fabric
