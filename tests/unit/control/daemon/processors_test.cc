#include "control/daemon/processors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <thread>

namespace splitnic::control {
namespace {

TEST(ProcessorsTest, a_list_has_numbers_and_ranges_in_any_order) {
  EXPECT_EQ(parse_processors("0").value(), Processors{0});
  EXPECT_EQ(parse_processors("0,2-4").value(), (Processors{0, 2, 3, 4}));
  EXPECT_EQ(parse_processors("1023,0,0").value(), (Processors{1023, 0, 0}));
  EXPECT_EQ(parse_processors("5-5").value(), Processors{5});
  for (const char* text : {"", ",", "0,", ",0", "x", "-1", "1-", "3-2", "0-1-2", "1024", "0-1024",
                           "0, 1", "99999999999999999999"}) {
    const auto parsed = parse_processors(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error().text(), ::testing::HasSubstr("'" + std::string(text) + "'"));
  }
}

TEST(ProcessorsTest, queues_take_them_in_order_and_again_from_the_first) {
  EXPECT_EQ(processor_of_queue({4, 2, 9}, 0), 4U);
  EXPECT_EQ(processor_of_queue({4, 2, 9}, 2), 9U);
  EXPECT_EQ(processor_of_queue({4, 2, 9}, 4), 2U);
  EXPECT_EQ(processor_of_queue({}, 0), std::nullopt);
}

TEST(ProcessorsTest, a_bound_thread_may_run_on_one_processor_only) {
  const Processors all = processors_of_this_thread();
  ASSERT_FALSE(all.empty());
  std::thread([&all] {
    ASSERT_TRUE(bind_this_thread(all.back()));
    EXPECT_EQ(processors_of_this_thread(), Processors{all.back()});
    EXPECT_EQ(static_cast<std::uint32_t>(::sched_getcpu()), all.back());
  }).join();
  EXPECT_EQ(processors_of_this_thread(), all) << "of this thread only";
}

TEST(ProcessorsTest, a_processor_that_is_not_there_changes_nothing) {
  const Processors all = processors_of_this_thread();
  ASSERT_NE(all.back(), kProcessorMax);
  const base::Status bound = bind_this_thread(kProcessorMax);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().errno_value(), EINVAL);
  EXPECT_THAT(bound.error().text(), ::testing::HasSubstr("processor 1023"));
  EXPECT_EQ(processors_of_this_thread(), all);
}

}  // namespace
}  // namespace splitnic::control
