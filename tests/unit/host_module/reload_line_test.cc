#include "host_module/reload_line.h"

#include <gtest/gtest.h>

namespace splitnic::host {
namespace reload_line_test {

TEST(ReloadLineTest, B_04_behind_a_reload_that_fails_at_once_the_next_one_begins) {
  int begun = 0;
  int failed = 0;
  ReloadLine line([&](const control::ReplyFunction& reply) {
    ++begun;
    if (begun != 2) return true;
    reply({control::ReplyStatus::kFailed, "an error of the file"});
    return false;
  });
  const auto add = [&] {
    line.add([&](const control::Reply& reply) {
      if (reply.status == control::ReplyStatus::kFailed) ++failed;
    });
  };
  for (int i = 0; i < 3; ++i) add();
  EXPECT_EQ(begun, 1) << "the others wait";
  line.end();
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(begun, 3);
  add();
  EXPECT_EQ(begun, 3);
  line.end();
  EXPECT_EQ(begun, 4);
  line.end();
  add();
  EXPECT_EQ(begun, 5) << "nothing is before it";
}

}  // namespace reload_line_test
}  // namespace splitnic::host
