#include "tests/tidy/reference_rules.h"

#include <gtest/gtest.h>

namespace splitnic::tidy {
namespace {

// The findings in `text`, the file `path` of a small tree.
Findings findings_in(const std::string& path, const std::string& text) {
  return check_references({{"docs/a.md", "# Page\n\n## Two words, `and` INIT_NIC\n"},
                           {"docs/protocol/b.md", "# B\n"},
                           {"docs/plot.svg", ""},
                           {"fabric_emul/mem/att.h", ""},
                           {"fabric_emul/mem/att.cc", ""},
                           {"scripts/test.sh", ""},
                           {path, text}});
}

void expect_only(const std::string& path, const std::string& text, const std::string& finding) {
  const Findings findings = findings_in(path, text);
  ASSERT_EQ(findings.size(), finding.empty() ? 0U : 1U) << text;
  if (finding.empty()) return;
  EXPECT_NE(findings[0].find(finding), std::string::npos) << findings[0];
}

TEST(ReferenceRules, pages_must_exist) {
  expect_only("base/a.h", "// docs/a.md\n// docs/b.md\n", "base/a.h:2: docs/b.md");
  expect_only("base/b.h", "// docs/protocol/{x,y}.md\n", "");
}

TEST(ReferenceRules, links_are_relative_to_their_page) {
  expect_only("docs/protocol/c.md", "[x](b.md) [y](../a.md) [z](../plot.svg)\n", "");
  expect_only("docs/protocol/c.md", "\n[x](a.md)\n", "docs/protocol/c.md:2: docs/protocol/a.md");
  expect_only("README.md", "[x](docs/a.md) [y](docs/protocol) [z](https://example.org/q.md)\n", "");
  expect_only("README.md", "[x](a.md)\n", "README.md:1: a.md");
}

TEST(ReferenceRules, anchors_are_headings) {
  expect_only("docs/c.md", "[x](a.md#two-words-and-init_nic)\n", "");
  expect_only("docs/c.md", "[x](a.md#two)\n", "#two");
  expect_only("docs/c.md", "<a id=\"two\"></a>\n[x](#two)\n", "");
  expect_only("docs/c.md", "# Here\n\n[x](#here)\n", "");
  expect_only("docs/c.md", "# Here\n\n[x](#there)\n", "#there");
  expect_only("base/a.h", "// docs/a.md#page\n", "");
  expect_only("base/a.h", "// docs/a.md#life\n", "#life");
  expect_only("base/a.h", "// docs/a.md, \"Page\"\n", "");
  expect_only("base/a.h", "// docs/a.md, section \"Life\"\n", "#life");
}

TEST(ReferenceRules, paths_in_documents) {
  expect_only("docs/c.md", "`fabric_emul/mem/att.h` `mem/att` `att.cc` `fabric_emul/mem/`\n", "");
  expect_only("docs/c.md", "`scripts/test.sh FOLDER` `build/dev/bin` `udp://ADDR` `n/a`\n", "");
  expect_only("docs/c.md", "`fabric_emul/mem/tpt`\n", "fabric_emul/mem/tpt");
  expect_only("docs/c.md", "`mem/tpt`\n", "mem/tpt");
  expect_only("docs/c.md", "`tpt.h`\n", "tpt.h");
  expect_only("docs/c.md", "`scripts/all.sh --x`\n", "scripts/all.sh");
}

TEST(ReferenceRules, paths_in_comments) {
  expect_only("base/a.h", "// see fabric_emul/mem/att.h, <linux/if.h> and vipl.h\n", "");
  expect_only("fabric_emul/mem/b.h", "// see att.cc\n", "");
  expect_only("base/a.h", "// see att.cc\n", "att.cc is in another folder");
  expect_only("base/a.h", "// see mem/att.h\n", "mem/att.h is in another folder");
  expect_only("base/a.h", "// see fabric_emul/mem/tpt.h\n", "fabric_emul/mem/tpt.h");
  expect_only("base/a.h", "// see tpt.cc\n", "tpt.cc");
}

TEST(ReferenceRules, only_samples_are_exempt) {
  expect_only("tests/tidy/text_rules_test.cc", "// docs/b.md\n", "");
  expect_only("tests/tidy/text_rules.h", "// docs/b.md\n", "docs/b.md");
}

TEST(ReferenceRules, papers_are_no_pages) {
  for (const char* paper : {"[3.4]", "(requirements 2.12)", "[requirements 2.1]",
                            "(performance P2.1)", "[reliability 5]", "Section 3.4"}) {
    expect_only("base/a.h", "// as in " + std::string(paper) + "\n", "is not in the repository");
  }
  expect_only("base/a.h", "// [S001-37] [IBA C9-92] a[0] (2.5) [RFC 6298, section 2]\n", "");
  expect_only("base/a.cc", "int a = b[3];  // RFC 9293, section 3.4\nf(2.5);\n", "");
}

}  // namespace
}  // namespace splitnic::tidy
