// Table D, total over all its inputs. docs/protocol/stream.md#table-d
#include "fabric_emul/stream/table_d.h"

#include <gtest/gtest.h>

namespace splitnic::fabric {
namespace table_d_test {

constexpr auto kAnywhere = {StreamPlace::kInOrder, StreamPlace::kEarly};

TEST(TableD, S002_23_without_last_or_without_one_touch_it_is_placed) {
  for (const StreamPlace place : kAnywhere) {
    for (const bool touched : {false, true}) {
      EXPECT_EQ(table_d(false, false, touched, place), TableD::kPlace);
      EXPECT_EQ(table_d(false, true, touched, place), TableD::kPlace);
      EXPECT_EQ(table_d(true, false, touched, place), TableD::kPlace);
    }
  }
}

TEST(TableD, S002_24_last_and_touched_is_refused) {
  for (const StreamPlace place : kAnywhere) {
    EXPECT_EQ(table_d(true, true, true, place), TableD::kEndAndRefuse);
  }
}

TEST(TableD, S002_25_last_in_order_is_placed_and_ends_the_entry) {
  EXPECT_EQ(table_d(true, true, false, StreamPlace::kInOrder), TableD::kPlaceAndEnd);
}

TEST(TableD, S002_26_last_and_early_is_placed_and_touches) {
  EXPECT_EQ(table_d(true, true, false, StreamPlace::kEarly), TableD::kPlaceAndTouch);
}

TEST(TableD, S002_27_outside_is_dropped) {
  for (unsigned bits = 0; bits < 8; ++bits) {
    EXPECT_EQ(table_d((bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, StreamPlace::kOutside),
              TableD::kDrop);
  }
}

}  // namespace table_d_test
}  // namespace splitnic::fabric
