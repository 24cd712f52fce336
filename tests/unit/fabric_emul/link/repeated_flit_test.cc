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

TEST(RepeatedFlitTest, is_in_a_datagram_with_the_same_lane_and_length_only) {
  const auto one = flit_of(100, 2);
  RepeatedFlit repeated;
  EXPECT_FALSE(repeated.is_in(one)) << "nothing is remembered";
  repeated.remember(one.data(), 100, 2);
  auto same = one;
  same.back() = std::byte{9};  // the payload may differ
  EXPECT_TRUE(repeated.is_in(same));
  EXPECT_EQ(repeated.vl(), 2);
  EXPECT_FALSE(repeated.is_in(flit_of(100, 3)));
  EXPECT_FALSE(repeated.is_in(flit_of(96, 2)));
  for (std::size_t at = 0; at < kFlitHeaderBytes; ++at) {
    auto other = one;
    other[at] ^= std::byte{1};
    EXPECT_FALSE(repeated.is_in(other)) << "byte " << at;
  }
  auto longer = one;
  longer.resize(longer.size() + 4);
  EXPECT_FALSE(repeated.is_in(longer)) << "something stands behind the flit";
  EXPECT_FALSE(repeated.is_in(base::Bytes(one).first(8)));
  repeated.forget();
  EXPECT_FALSE(repeated.is_in(one));
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

}  // namespace
}  // namespace splitnic::fabric
