// Cells of paths: the example of docs/protocol/path.md, and what is not one.
#include "fabric_emul/switching/path_cell.h"

#include <gtest/gtest.h>

#include "fabric_emul/wire/cell.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"
#include "tests/unit/fabric_emul/wire/golden.h"

namespace splitnic::fabric {
namespace path_cell_test {

// docs/protocol/path.md
constexpr const char* kIdle =
    "10d80000 0014000b f0000000 00000000 00000000 00000010 ffff0000"
    "5f200000 00000000 00000000 f5f88c31 5f91a1ef";

TEST(PathCellTest, bytes_of_the_page) {
  link_world::World world;
  world.connect();
  const auto idle = golden::bytes_of("5f200000 00000000 00000000 f5f88c31");
  ASSERT_TRUE(send_path_cell(world.b->link(), Lid(11), Lid(20), kPathQpn, idle));
  world.pump();
  const auto expected = golden::bytes_of(kIdle);
  ASSERT_EQ(world.a->cells, (link_world::Cells{{expected.begin(), expected.end()}}));
  const auto payload = payload_of_path_cell(expected, kPathQpn, false);
  ASSERT_TRUE(payload);
  EXPECT_TRUE(std::ranges::equal(*payload, idle));
}

TEST(PathCellTest, anything_else_is_none) {
  const auto good = golden::bytes_of(kIdle);
  EXPECT_FALSE(payload_of_path_cell(good, kSwitchQpn, false));
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_FALSE(payload_of_path_cell(base::Bytes(good).first(bytes), kPathQpn, false)) << bytes;
  }
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    auto bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    EXPECT_FALSE(payload_of_path_cell(bad, kPathQpn, false)) << bit;
  }
  EXPECT_FALSE(payload_of_path_cell(switch_world::cell(Lid(1), Lid(2)), kPathQpn, false));
}

}  // namespace path_cell_test
}  // namespace splitnic::fabric
