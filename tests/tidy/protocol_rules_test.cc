// The rules on clauses: what they find, and what they let pass.
#include "tests/tidy/protocol_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace protocol_rules_test {

Findings findings_of(const std::string& path, const std::string& text) {
  return check_clauses(
      {{"docs/protocol/a.md", "- **P-CELL-1.** One.\n- **P-CELL-12.** Two.\n"}, {path, text}});
}

TEST(ProtocolRulesTest, an_id_is_defined_once) {
  EXPECT_EQ(findings_of("docs/protocol/b.md", "- **P-CELL-2.** Three.\n"), Findings());
  EXPECT_EQ(findings_of("docs/protocol/b.md", "\n- **P-CELL-12.** Three.\n"),
            Findings({"docs/protocol/b.md:2: P-CELL-12 is defined at docs/protocol/a.md:2 too"}));
  // A page elsewhere defines nothing.
  EXPECT_EQ(findings_of("docs/b.md", "- **P-CELL-12.** Three.\n"), Findings());
}

TEST(ProtocolRulesTest, a_cited_id_exists) {
  EXPECT_EQ(findings_of("base/a.h", "// as P-CELL-1 and P-CELL-12 have it [P-40]\n"), Findings());
  EXPECT_EQ(findings_of("base/a.h", "\n// P-CELL-3\n"),
            Findings({"base/a.h:2: P-CELL-3 is no clause of docs/protocol"}));
  EXPECT_EQ(
      findings_of("docs/protocol/vectors/cell.json", "{\"clauses\": [\"P-CELL-123\"]}").size(), 1U);
}

TEST(ProtocolRulesTest, an_id_in_the_name_of_a_test_exists) {
  EXPECT_EQ(findings_of("tests/a_test.cc", "TEST(A, P_CELL_12_holds) {}\n"), Findings());
  EXPECT_EQ(findings_of("tests/a_test.cc", "TEST(A, P_CELL_13_holds) {}\n").size(), 1U);
  EXPECT_EQ(findings_of("tests/a_test.cc", "TEST(A, NUMBER_OF_TAP_CELL_13) {}\n"), Findings());
}

}  // namespace protocol_rules_test
}  // namespace splitnic::tidy
