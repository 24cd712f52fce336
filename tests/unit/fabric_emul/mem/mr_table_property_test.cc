// Random operations on the table against the plain model of tests/support: registration in every
// form, sharing, windows, moving pages, accesses and copies. A failure is shrunk to a short list of
// words and prints its seed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "tests/support/mr_table_model.h"

namespace splitnic::fabric {
namespace mr_table_property_test {

// ThreadSanitizer makes a case ten times as long and has nothing to see in one thread.
int cases() {
#ifdef __SANITIZE_THREAD__
  return 10'000;
#elif defined(NDEBUG)
  return 1'000'000;
#else
  const char* const is_long = std::getenv("SPLITNIC_LONG");
  return is_long != nullptr && std::string_view(is_long) == "1" ? 1'000'000 : 100'000;
#endif
}

TEST(MrTableProperty, S002_09_translation_and_checks_agree_with_the_model) {
  rc::detail::TestParams params;
  params.seed = 2009;
  params.maxSize = 30;
  params.maxSuccess = cases();
  test::MrTableModel model;
  // Elements of full width whatever the size; the size bounds how many there are.
  const auto words = rc::gen::container<std::vector<std::uint64_t>>(
      rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
  const auto result = rc::detail::checkTestable(
      [&] {
        const std::string wrong = model.run(*words);
        if (!wrong.empty()) RC_FAIL(wrong);
      },
      rc::detail::TestMetadata{}, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << text.str();
  EXPECT_GT(model.passed(), static_cast<std::uint64_t>(params.maxSuccess) / 4) << "both outcomes";
}

}  // namespace mr_table_property_test
}  // namespace splitnic::fabric
