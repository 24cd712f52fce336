// Options of splitnic-iou, parsed from words.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "iou_module/policy/iou_options.h"

namespace splitnic::iou::parsed_options {

inline control::ParseOutcome<IouOptions> parse_all(const std::vector<std::string>& words) {
  std::vector<const char*> argv = {"splitnic-iou"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse(static_cast<int>(argv.size()), argv.data(), "lab");
}

// Adds a LAN port and an endpoint that need no other options.
inline control::ParseOutcome<IouOptions> with(std::vector<std::string> words) {
  words.insert(words.begin(), {"--lan", "eth1", "--listen", "shm://x"});
  return parse_all(words);
}

inline void expect_refused(const control::ParseOutcome<IouOptions>& outcome, int exit_code,
                           const std::string& part) {
  EXPECT_FALSE(outcome.options.has_value());
  EXPECT_EQ(outcome.exit_code, exit_code);
  EXPECT_THAT(outcome.text, testing::HasSubstr(part));
  EXPECT_THAT(outcome.text, testing::StartsWith("splitnic-iou: "));
  EXPECT_EQ(outcome.text.find('\n'), outcome.text.size() - 1) << "one line: " << outcome.text;
}

}  // namespace splitnic::iou::parsed_options
