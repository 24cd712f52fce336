#include "base/event_log.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace splitnic::base {
namespace event_log_test {

Event event(const std::string& text) {
  return {0, {}, "info", {EventKind::kConnected, "hA"}, text};
}

std::vector<std::string> texts(const EventLog::Part& part) {
  std::vector<std::string> all;
  for (const auto& one : part.events) all.push_back(one->text);
  return all;
}

TEST(EventLogTest, events_are_numbered_from_1_and_read_in_order) {
  EventLog log;
  EXPECT_EQ(log.next(), 1U);
  for (const char* text : {"a", "b", "c"}) log.add(event(text));
  EXPECT_EQ(log.next(), 4U);
  const auto all = log.since(1, 100);
  EXPECT_EQ(texts(all), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all.events[0]->number, 1U);
  EXPECT_EQ(all.events[2]->number, 3U);
  EXPECT_EQ(all.lost, 0U);
  EXPECT_EQ(all.next, 4U);
  EXPECT_EQ(texts(log.since(2, 1)), (std::vector<std::string>{"b"}));
  EXPECT_EQ(log.since(2, 1).next, 3U);
  EXPECT_TRUE(log.since(4, 100).events.empty());
  EXPECT_EQ(log.since(4, 100).next, 4U);
}

// A position that is not reached yet cannot be one that was read: it continues with what comes.
TEST(EventLogTest, a_position_beyond_the_end_is_the_end) {
  EventLog log;
  log.add(event("a"));
  const auto none = log.since(1000, 10);
  EXPECT_TRUE(none.events.empty());
  EXPECT_EQ(none.lost, 0U);
  EXPECT_EQ(none.next, 2U);
}

TEST(EventLogTest, who_is_slow_loses_the_oldest_and_learns_how_many) {
  EventLog log(3);
  for (int i = 1; i <= 10; ++i) log.add(event(std::to_string(i)));
  const auto part = log.since(4, 100);
  EXPECT_EQ(texts(part), (std::vector<std::string>{"8", "9", "10"}));
  EXPECT_EQ(part.lost, 4U);  // 4, 5, 6 and 7
  EXPECT_EQ(part.next, 11U);
  EXPECT_EQ(log.since(8, 100).lost, 0U);
  EXPECT_EQ(log.since(0, 100).lost, 8U);  // 0 counts as a number, too
}

Event event_of(std::uint32_t place, const std::string& text) {
  Event one = event(text);
  one.cause = {"peers_cc", place};
  return one;
}

// 16 are kept, of which two are the share of a cause.
TEST(EventLogTest, H_4_a_flood_from_two_places_hides_no_other_event) {
  EventLog log(16);
  for (const char* text : {"attached", "refused", "blocked"}) {
    log.add(event_of(static_cast<std::uint32_t>(log.next()), text));
  }
  for (int i = 0; i < 1000; ++i) {
    log.add(event_of(100, "down " + std::to_string(i)));
    log.add(event_of(101, "up " + std::to_string(i)));
  }
  log.add(event_of(102, "stopping"));
  const auto all = log.since(1, 100);
  EXPECT_EQ(texts(all), (std::vector<std::string>{"attached", "refused", "blocked", "down 994",
                                                  "up 994", "down 995", "up 995", "down 996",
                                                  "up 996", "down 997", "up 997", "down 998",
                                                  "up 998", "down 999", "up 999", "stopping"}));
  EXPECT_EQ(all.lost, 2004U - 16U);
  EXPECT_EQ(all.next, 2005U);
}

// One peer has this many: its link, host, address and MTU change all the time.
TEST(EventLogTest, H_4_a_flood_from_eight_places_hides_no_refusal) {
  EventLog log(64);
  log.add(event_of(1, "refused"));
  log.add(event_of(2, "gone"));
  log.add(event_of(2, "gone too"));
  for (std::uint32_t i = 0; i < 4000; ++i) log.add(event_of(100 + i % 8, std::to_string(i)));
  const auto all = log.since(1, 3);
  EXPECT_EQ(texts(all), (std::vector<std::string>{"refused", "gone", "gone too"}));
}

// Nobody has more than the share: the oldest event of all goes.
TEST(EventLogTest, events_of_many_places_are_overwritten_in_their_order) {
  EventLog log(16);
  for (std::uint32_t i = 1; i <= 30; ++i) log.add(event_of(i % 10, std::to_string(i)));
  const auto all = log.since(1, 100);
  EXPECT_EQ(all.events.front()->text, "15");
  EXPECT_EQ(all.lost, 14U);
}

// Whoever reads in parts learns of each gap once, and of no event twice.
TEST(EventLogTest, H_4_what_a_flood_has_lost_is_counted_where_it_was) {
  EventLog log(16);
  log.add(event_of(1, "attached"));
  for (int i = 0; i < 50; ++i) log.add(event_of(100, "flood"));
  const auto first = log.since(1, 1);
  EXPECT_EQ(texts(first), std::vector<std::string>{"attached"});
  EXPECT_EQ(first.lost, 35U);
  EXPECT_EQ(first.next, 37U);
  EXPECT_EQ(log.since(20, 0).lost, 17U);
  const auto second = log.since(first.next, 100);
  EXPECT_EQ(second.events.size(), 15U);
  EXPECT_EQ(second.lost, 0U);
  EXPECT_EQ(second.next, 52U);
}

TEST(EventLogTest, H_4_the_newest_are_counted_without_those_that_are_gone) {
  EventLog log(16);
  EXPECT_EQ(log.newest(5), 1U) << "there is none: the next one";
  log.add(event_of(1, "attached"));
  EXPECT_EQ(log.newest(5), 1U);
  for (int i = 0; i < 50; ++i) log.add(event_of(100, "flood"));
  EXPECT_EQ(log.newest(0), log.next());
  EXPECT_EQ(log.newest(1), 51U);
  EXPECT_EQ(log.newest(15), 37U);
  EXPECT_EQ(log.newest(16), 1U);
  EXPECT_EQ(log.newest(1000), 1U);
}

TEST(EventLogTest, a_text_is_cut) {
  EventLog log;
  log.add(event(std::string(5000, 'x')));
  EXPECT_EQ(log.since(1, 1).events.at(0)->text, std::string(kEventTextBytesMax, 'x'));
}

TEST(EventLogTest, who_waits_is_called_once_by_the_event_that_comes) {
  EventLog log;
  int calls = 0;
  log.wait_for(1, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  log.add(event("a"));
  EXPECT_EQ(calls, 1);
  log.add(event("b"));
  EXPECT_EQ(calls, 1);
  log.wait_for(2, [&] { ++calls; });
  EXPECT_EQ(calls, 2) << "the event is there";
  log.wait_for(5, [&] { ++calls; });
  log.add(event("c"));
  log.add(event("d"));
  EXPECT_EQ(calls, 2) << "a later one is waited for";
  log.add(event("e"));
  EXPECT_EQ(calls, 3);
}

TEST(EventLogTest, who_does_not_wait_any_more_is_not_called) {
  EventLog log;
  bool is_called = false;
  const auto id = log.wait_for(1, [&] { is_called = true; });
  log.forget(id);
  log.forget(id);
  log.add(event("a"));
  EXPECT_FALSE(is_called);
}

// A wake-up that reads and waits once more, as a watcher does, finds the log unlocked.
TEST(EventLogTest, a_wake_up_may_use_the_log) {
  EventLog log;
  std::vector<std::string> seen;
  std::uint64_t next = 1;
  std::function<void()> read = [&] {
    const auto part = log.since(next, 10);
    for (const std::string& text : texts(part)) seen.push_back(text);
    next = part.next;
    log.wait_for(next, read);
  };
  log.wait_for(next, read);
  for (const char* text : {"a", "b", "c"}) log.add(event(text));
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(EventLogTest, threads_add_at_once_and_nothing_is_missing) {
  EventLog log(100000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&log] {
      for (int k = 0; k < 1000; ++k) log.add(event("x"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = log.since(1, 100000);
  ASSERT_EQ(all.events.size(), 4000U);
  for (std::size_t i = 0; i < all.events.size(); ++i) EXPECT_EQ(all.events[i]->number, i + 1);
}

TEST(EventLogTest, every_kind_has_a_name_and_is_found_by_it) {
  for (std::size_t i = 0; i < kEventNames.size(); ++i) {
    const auto kind = static_cast<EventKind>(i);
    EXPECT_EQ(event_kind_of(name(kind)), kind);
  }
  EXPECT_EQ(name(EventKind::kStopping), "stopping");
  EXPECT_EQ(event_kind_of("colour"), std::nullopt);
}

// One place makes both: whatever is logged is an event, whichever lines the log has.
TEST(EventLogTest, lines_of_the_log_are_events_but_those_for_debugging) {
  const std::uint64_t first = events().next();
  set_log_level("error");
  log_info({EventKind::kConnected, "hA"}, "host hA attached");
  log_warn("something else");
  log_error({EventKind::kReloadFailed}, "the file is gone");
  log_debug("of no use to a user");
  set_log_level("info");
  const auto part = events().since(first, 10);
  ASSERT_EQ(part.events.size(), 3U);
  EXPECT_EQ(part.events[0]->topic.kind, EventKind::kConnected);
  EXPECT_EQ(part.events[0]->topic.about, "hA");
  EXPECT_EQ(part.events[0]->text, "host hA attached");
  EXPECT_EQ(part.events[0]->level, "info");
  EXPECT_EQ(part.events[1]->topic.kind, EventKind::kNote);
  EXPECT_EQ(part.events[1]->level, "warn");
  EXPECT_EQ(part.events[2]->level, "error");
  EXPECT_EQ(part.events[2]->topic.about, "");
  EXPECT_LT(std::chrono::system_clock::now() - part.events[0]->at, std::chrono::hours(1));
}

}  // namespace event_log_test
}  // namespace splitnic::base
