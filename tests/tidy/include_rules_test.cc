#include "tests/tidy/include_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

SourceTree one_include(const std::string& path, const std::string& header) {
  return {{path, "#pragma once\n\n#include " + header + "\n"}};
}

TEST(IncludeRules, the_graph_has_no_cycle) {
  // A row names only rows above it, so following rows always ends.
  std::set<std::string_view> above;
  for (const FolderRule& rule : folder_rules()) {
    for (const std::string_view target : rule.may_include) {
      if (target.ends_with(".h")) continue;  // a leaf: check_leaf_headers
      EXPECT_TRUE(above.contains(target)) << rule.folder << " -> " << target;
    }
    above.insert(rule.folder);
  }
}

TEST(IncludeRules, the_longest_folder_wins) {
  EXPECT_EQ(folder_of("messaging/wire/idata.h"), "messaging/wire");
  EXPECT_EQ(folder_of("messaging/pools/pool_user.h"), "messaging/pools");
  EXPECT_EQ(folder_of("messaging_x/pool_user.h"), "");
  EXPECT_EQ(folder_of("string"), "");
}

struct Case {
  const char* path;
  const char* header;
  bool allowed;
};

TEST(IncludeRules, levels) {
  const Case kCases[] = {
      {"fabric_emul/link/a.h", "\"fabric_emul/wire/flit.h\"", true},
      {"fabric_emul/link/a.h", "\"fabric_emul/link/b.h\"", true},
      {"fabric_emul/link/a.h", "\"fabric_emul/transport/qp.h\"", false},
      {"base/a.h", "\"fabric_emul/wire/ids.h\"", false},
      {"fabric_emul/mem/a.h", "\"fabric_emul/wire/ids.h\"", true},
      {"fabric_emul/mem/a.h", "\"fabric_emul/wire/cell.h\"", false},
      {"messaging/a.h", "\"fabric_emul/verbs/verbs.h\"", true},
      {"messaging/a.h", "\"fabric_emul/transport/qp.h\"", false},
      {"messaging/a.h", "\"fabric_emul/mem/mrwt.h\"", false},
      {"messaging/a.h", "\"fabric_emul/underlay/underlay.h\"", false},
      {"messaging/wire/a.h", "\"messaging/b.h\"", false},
      {"messaging/wire/a.h", "\"messaging/drop_reason.h\"", true},
      {"lan_bridge/frame/a.h", "\"lan_bridge/frame_port.h\"", false},
      {"host_module/a.h", "\"iou_module/host_registry.h\"", false},
      {"iou_module/a.h", "\"host_module/host.h\"", false},
      {"iou_module/a.h", "\"fabric_emul/transport/qp.h\"", false},
      {"host_module/a.h", "\"messaging/channel_pair.h\"", true},
      {"control/a.h", "\"messaging/channel_pair.h\"", false},
      {"control/socket/a.h", "\"control/metrics/b.h\"", false},
      {"iou_module/hosts/a.h", "\"iou_module/nic/lan_nic.h\"", false},
      {"iou_module/nic/a.h", "\"iou_module/hosts/host_table.h\"", true},
      {"base/a.h", "\"tests/support/fake.h\"", false},
      {"host_module/a.h", "\"tools/show.h\"", false},
      {"tests/unit/a.h", "\"iou_module/host_registry.h\"", true},
      {"base/a.h", "<string>", true},
  };
  for (const Case& one : kCases) {
    const Findings findings = check_include_levels(one_include(one.path, one.header));
    EXPECT_EQ(findings.empty(), one.allowed) << one.path << " includes " << one.header;
  }
}

TEST(IncludeRules, third_parties) {
  const Case kCases[] = {
      {"control/a.cc", "<boost/asio/io_context.hpp>", true},
      {"host_module/a.cc", "<boost/asio/io_context.hpp>", false},
      {"fabric_emul/verbs/verbs.cc", "<boost/asio/io_context.hpp>", false},
      {"messaging/a.cc", "<boost/asio.hpp>", false},
      {"messaging/a.cc", "<boost/system/result.hpp>", true},
      {"lan_bridge/ports/pcap_port.cc", "<pcap/pcap.h>", true},
      {"lan_bridge/ports/tap_port.cc", "<pcap/pcap.h>", false},
      {"lan_bridge/ports/pcap_port.h", "<pcap.h>", false},
      {"messaging/a.cc", "\"messaging/cfgutil/cfgutil.pb.h\"", true},
      {"iou_module/a.cc", "\"messaging/cfgutil/cfgutil.pb.h\"", true},
      {"iou_module/a.h", "\"messaging/cfgutil/cfgutil.pb.h\"", false},
      {"iou_module/a.cc", "<google/protobuf/message.h>", false},
      {"fabric_emul/wire/a.cc", "<google/protobuf/message.h>", false},
      {"fabric_emul/link/a.cc", "<spdlog/spdlog.h>", false},
  };
  for (const Case& one : kCases) {
    const Findings findings = check_third_parties(one_include(one.path, one.header));
    EXPECT_EQ(findings.empty(), one.allowed) << one.path << " includes " << one.header;
  }
}

TEST(IncludeRules, leaf_headers_include_only_base) {
  for (const std::string_view leaf : leaf_headers()) {
    const std::string path(leaf);
    EXPECT_TRUE(check_leaf_headers(one_include(path, "\"base/strong_id.h\"")).empty());
    EXPECT_TRUE(check_leaf_headers(one_include(path, "<cstdint>")).empty());
    EXPECT_EQ(check_leaf_headers(one_include(path, "\"fabric_emul/wire/cell.h\"")).size(), 1U);
  }
}

TEST(IncludeRules, a_finding_names_file_and_line) {
  const Findings findings = check_include_levels(one_include("base/a.h", "\"messaging/b.h\""));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "base/a.h:3: base may not include messaging/b.h");
}

TEST(IncludeRules, dead_headers) {
  const SourceTree tree = {{"base/used.h", ""},
                           {"base/near.h", ""},
                           {"base/dead.h", "#include \"base/dead.h\"\n"},
                           {"base/a.cc", "#include \"base/used.h\"\n#include \"near.h\"\n"}};
  const Findings findings = check_dead_headers(tree);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].starts_with("base/dead.h:1:"));
}

TEST(IncludeRules, headers_for_tests_only) {
  const SourceFile by_test{"tests/a.cc", "#include \"base/a.h\"\n"};
  const SourceFile by_itself{"base/a.cc", "#include \"base/a.h\"\n"};
  const SourceFile by_product{"base/b.cc", "#include \"base/a.h\"\n"};
  EXPECT_EQ(check_dead_headers({{"base/a.h", ""}, by_itself, by_test}).size(), 1U);
  EXPECT_TRUE(check_dead_headers({{"base/a.h", ""}, by_itself, by_product, by_test}).empty());
  // One of the list may be so, until the product uses it.
  const std::string listed(kTestHeaders.front());
  const std::string include = "#include \"" + listed + "\"\n";
  EXPECT_TRUE(check_dead_headers({{listed, ""}, {"tests/a.cc", include}}).empty());
  EXPECT_EQ(check_dead_headers({{listed, ""}, {"base/b.cc", include}}).size(), 1U);
}

TEST(IncludeRules, unused_permissions) {
  const auto names = [](const Findings& findings, const std::string& what) {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const std::string& one) { return one.find(what) != std::string::npos; });
  };
  const Findings nothing = check_unused_permissions({});
  EXPECT_TRUE(names(nothing, "lan_bridge does not use lan_bridge/frame"));
  EXPECT_TRUE(names(nothing, "spdlog does not use base/"));
  const Findings some =
      check_unused_permissions({{"lan_bridge/a.h", "#include \"lan_bridge/frame/vlan.h\"\n"},
                                {"base/a.cc", "#include <spdlog/spdlog.h>\n"}});
  EXPECT_FALSE(names(some, "lan_bridge does not use lan_bridge/frame"));
  EXPECT_FALSE(names(some, "spdlog does not use base/"));
  EXPECT_EQ(some.size() + 2, nothing.size());
}

TEST(IncludeRules, header_names) {
  const SourceTree tree = {{"base/worker.h", ""},
                           {"control/daemon/worker.h", ""},
                           {"control/daemon/worker.cc", ""},
                           {"conformance/worker.h", ""},
                           {"tests/support/worker.h", ""}};
  const Findings findings = check_header_names(tree);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "control/daemon/worker.h:1: has the name of base/worker.h");
}

}  // namespace
}  // namespace splitnic::tidy
