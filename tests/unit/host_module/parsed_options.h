// Command lines of splitnic-host, parsed as on a machine named lab.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host_module/host_options.h"

namespace splitnic::host {
namespace options_test {

inline control::ParseOutcome<HostOptions> parse_all(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"splitnic-host"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse(static_cast<int>(argv.size()), argv.data(), "lab");
}

// With an I/O unit that needs nothing else.
inline control::ParseOutcome<HostOptions> with(std::vector<std::string> words) {
  words.insert(words.begin(), {"--connect", "shm://x"});
  return parse_all(words);
}

inline void expect_refused(const control::ParseOutcome<HostOptions>& outcome, int exit_code,
                           const std::string& part) {
  EXPECT_FALSE(outcome.options.has_value());
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_THAT(outcome.text, ::testing::HasSubstr(part));
  EXPECT_THAT(outcome.text, ::testing::StartsWith("splitnic-host: "));
  EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << "one line: " << outcome.text;
}

}  // namespace options_test
}  // namespace splitnic::host
