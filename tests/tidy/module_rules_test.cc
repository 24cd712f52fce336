#include "tests/tidy/module_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

TEST(ModuleRules, S001_06_the_modules_post_nothing_and_poll_nothing) {
  const Findings findings = check_modules_leave_queues_alone(load_tree(find_root()));
  for (const std::string& one : findings) ADD_FAILURE() << one;
}

TEST(ModuleRules, S001_06_a_module_that_posts_is_found) {
  const auto count = [](const std::string& path, const std::string& text) {
    return check_modules_leave_queues_alone({{path, text}}).size();
  };
  EXPECT_EQ(count("host_module/host.cc", "adapter_.post_send(qpn, wr);\n"), 1U);
  EXPECT_EQ(count("iou_module/iou.cc", "fabric::SendWr wr;\nwhile (adapter_.poll_cq(cq, wcs)) {\n"),
            2U);
  EXPECT_EQ(count("host_module/host.h", "// messaging calls post_send() for us\n"), 0U);
  EXPECT_EQ(count("messaging/data_channel.cc", "adapter_.post_send(qpn, wr);\n"), 0U);
  EXPECT_EQ(count("iou_module/iou.cc", "pair.push(frame, now);\n"), 0U);
}

}  // namespace
}  // namespace splitnic::tidy
