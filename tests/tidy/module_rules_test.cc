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
  EXPECT_EQ(count("host_module/host.h", "// messaging calls adapter_.post_send() for us\n"), 0U);
  EXPECT_EQ(count("host_module/host.h", "#include \"fabric_emul/verbs/adapter.h\"\n"), 0U);
  EXPECT_EQ(count("messaging/data_channel.cc", "adapter_.post_send(qpn, wr);\n"), 0U);
  EXPECT_EQ(count("iou_module/iou.cc", "pair.push(frame, now);\n"), 0U);
}

TEST(ModuleRules, S001_06_a_module_uses_the_listed_parts_of_the_fabric_only) {
  const auto count = [](const std::string& text) {
    return check_modules_leave_queues_alone({{"host_module/host.cc", text}}).size();
  };
  for (const std::string_view call : kAdapterCalls)
    EXPECT_EQ(count("adapter_." + std::string(call) + "(now);\n"), 0U) << call;
  for (const std::string_view name : kFabricNames)
    EXPECT_EQ(count("fabric::" + std::string(name) + " x;\n"), 0U) << name;
  EXPECT_EQ(count("adapter_.memory().deregister(h);\n"), 2U);
  for (const char* call : {"memory", "destroy_qp", "destroy_cq", "resume_sq", "on_writable"})
    EXPECT_EQ(count("adapter_." + std::string(call) + "(x);\n"), 1U) << call;
  // With the object under another name.
  for (const char* call : {"memory", "destroy_qp", "destroy_cq", "resume_sq", "register_shared",
                           "reserve_region", "reserve_window", "bind_reserved", "deregister"})
    EXPECT_EQ(count("x->" + std::string(call) + "(y);\n"), 1U) << call;
  for (const char* name : {"Mrwt", "QpInit", "StreamInit", "Sge", "RecvWr", "PdId", "NewRegion"})
    EXPECT_EQ(count("fabric::" + std::string(name) + " x;\n"), 1U) << name;
  EXPECT_EQ(count("using namespace fabric;\n"), 1U);
  EXPECT_EQ(count("namespace f = splitnic::fabric;\n"), 1U);
}

}  // namespace
}  // namespace splitnic::tidy
