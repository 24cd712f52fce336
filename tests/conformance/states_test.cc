// The list of state tables has the rows of the pages, and what is not seen has a reason.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "conformance/states/state_list.h"

namespace splitnic::conformance::states_test {
namespace {

std::string page_of(const std::string& name) {
  std::ifstream file(SPLITNIC_PROTOCOL + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

constexpr std::string_view kHead = "| from | event | to | action |\n";

// "| from | event | to |" of each row of the table that starts here.
std::vector<std::string> rows_at(const std::string& page, std::size_t at) {
  std::vector<std::string> rows;
  at = page.find('\n', page.find('\n', at) + 1) + 1;  // behind the line of dashes
  for (std::size_t end = 0; page.at(at) == '|'; at = end + 1) {
    end = page.find('\n', at);
    std::string row = page.substr(at, end - at);
    std::size_t cut = 0;
    for (int i = 0; i < 3; ++i) cut = row.find('|', cut + 1);
    rows.push_back(row.substr(0, cut + 1));
  }
  return rows;
}

TEST(States, the_list_has_the_rows_of_the_pages) {
  for (const StateTable& table : state_tables()) {
    const std::string page = page_of(table.page);
    const std::size_t heading = page.find(table.heading);
    ASSERT_NE(heading, std::string::npos) << table.name;
    const std::size_t at = page.find(kHead, heading);
    ASSERT_NE(at, std::string::npos) << table.name;
    std::vector<std::string> listed;
    for (const Edge& edge : table.edges) {
      const std::string row = "| " + edge.row + " | " + edge.event + " | " + edge.to + " |";
      if (listed.empty() || listed.back() != row) listed.push_back(row);
      EXPECT_TRUE(edge.row == "any" || edge.row.find(edge.from) != std::string::npos) << row;
    }
    EXPECT_EQ(listed, rows_at(page, at)) << table.name;
  }
}

TEST(States, no_table_of_the_pages_is_left_out) {
  std::set<std::string> pages;
  std::size_t found = 0;
  for (const StateTable& table : state_tables()) pages.insert(table.page);
  for (const auto& file : std::filesystem::directory_iterator(SPLITNIC_PROTOCOL)) {
    const std::string name = file.path().filename();
    // No program has a context of RD.
    if (file.path().extension() != ".md" || name == "rd.md") continue;
    const std::string page = page_of(name);
    for (std::size_t at = 0; (at = page.find(kHead, at)) != std::string::npos; ++at) {
      ++found;
      EXPECT_TRUE(pages.contains(name)) << name;
    }
  }
  EXPECT_EQ(found, state_tables().size());
}

TEST(States, ids_are_unique_and_what_no_suite_sees_has_its_reason) {
  std::set<std::string> names;
  for (const StateTable& table : state_tables()) {
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
    std::set<std::string> ids;
    for (const Edge& edge : table.edges) {
      EXPECT_TRUE(ids.insert(edge.id).second) << table.name << " " << edge.id;
      for (const std::string& reason :
           {edge.not_of_unit, edge.not_of_host, edge.not_of_manager, edge.slow}) {
        EXPECT_TRUE(reason.empty() || reason.size() > 10) << reason;
      }
    }
  }
}

}  // namespace
}  // namespace splitnic::conformance::states_test
