#include "tests/tidy/folder_table_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

TEST(FolderTableRules, cells_of_the_table_of_folders) {
  EXPECT_EQ(
      targets_of_cell("mem, `wire/ids.h`, lan_bridge/frame, libpcap (ports), Asio"),
      (std::set<std::string>{"fabric_emul/mem", "fabric_emul/wire/ids.h", "lan_bridge/frame"}));
  EXPECT_EQ(third_parties_of_cell("mem, `wire/ids.h`, libpcap (ports), Asio"),
            (std::set<std::string>{"Asio", "libpcap"}));
  EXPECT_TRUE(targets_of_cell("nothing").empty());
  EXPECT_EQ(targets_of_cell("all above"), std::set<std::string>{"allabove"});
}

TEST(FolderTableRules, a_folder_table_that_differs_is_found) {
  std::string page;
  for (const FolderRule& rule : folder_rules()) {
    page += "| `" + std::string(rule.folder) + "` | contents | ";
    for (const std::string_view target : rule.may_include) {
      if (target != "base") page += std::string(target) + ", ";
    }
    page += "nothing | yes |\n";
  }
  EXPECT_TRUE(check_folder_table(page).empty());
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = page;
    other.replace(other.find(from), from.size(), to);
    return check_folder_table(other);
  };
  const std::string regcache = "`fabric_emul/regcache` | contents | fabric_emul/verbs, ";
  EXPECT_EQ(changed(regcache, "`fabric_emul/regcache` | contents | "),
            Findings{"docs/ARCHITECTURE.md: fabric_emul/regcache may include fabric_emul/verbs"});
  EXPECT_EQ(changed(regcache, regcache + "control, "),
            Findings{"docs/ARCHITECTURE.md: fabric_emul/regcache may not include control"});
  EXPECT_EQ(changed("| `tools` |", "| `others` |"),
            Findings{"docs/ARCHITECTURE.md: tools has no row"});
  EXPECT_EQ(check_folder_table("").size(), folder_rules().size());
}

TEST(FolderTableRules, a_folder_table_without_a_third_party_or_with_one_too_many_is_found) {
  const SourceTree tree = {{"control/report/json.cc", "#include <boost/json.hpp>\n"},
                           {"control/daemon/mdns.cc", "#include <avahi-core/core.h>\n"},
                           {"messaging/a.cc", "#include \"messaging/a.pb.h\"\n"},
                           {"tests/unit/base/a_test.cc", "#include <boost/json.hpp>\n"}};
  const std::string report = "| `control/report` | values, | base, Boost.JSON | yes |\n";
  const std::string others =
      "| `control/daemon` | workers | control, Avahi | yes |\n"
      "| `messaging` | channels | Protobuf (values) | yes |\n";
  EXPECT_EQ(check_third_party_table(tree, report + others), Findings{});
  EXPECT_EQ(check_third_party_table(tree, others),
            Findings{"docs/ARCHITECTURE.md: control/report includes Boost.JSON"});
  EXPECT_EQ(check_third_party_table(tree, report + others + "| `base` | - | spdlog | yes |\n"),
            Findings{"docs/ARCHITECTURE.md: base does not include spdlog"});
}

TEST(FolderTableRules, a_folder_of_tests_without_a_row_or_a_row_without_one_is_found) {
  const SourceTree tree = {{"tests/unit/base/a_test.cc", ""},
                           {"tests/sim/b_test.cc", ""},
                           {"tests/CMakeLists.txt", ""},
                           {"base/c.cc", ""}};
  const std::string unit = "| `tests/unit` | one source file each |\n";
  EXPECT_EQ(check_test_folder_table(tree, unit + "| `tests/sim` | in one thread |\n"), Findings{});
  EXPECT_EQ(check_test_folder_table(tree, unit), Findings{"docs/HACKING.md: tests/sim has no row"});
  EXPECT_EQ(check_test_folder_table(
                tree, unit + "| `tests/sim` | in one thread |\n| `tests/gone` | - |\n"),
            Findings{"docs/HACKING.md: there is no tests/gone"});
}

}  // namespace
}  // namespace splitnic::tidy
