// Events: their bytes, their JSON and text, and what watchers of a control socket get.
#include "control/socket/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <chrono>
#include <thread>

#include "control/socket/event_client.h"
#include "control/socket/server.h"
#include "tests/support/temp_folder.h"

namespace splitnic::control {
namespace event_stream_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr auto kPatience = 60s;

base::Event event(const std::string& text) {
  return {0,
          std::chrono::system_clock::time_point(1769860800123ms),  // 2026-01-31 12:00:00.123 UTC
          "warn",
          {base::EventKind::kRefused, "hA"},
          text};
}

TEST(EventStreamTest, events_survive_the_way_through_bytes) {
  base::EventLog log(2);
  for (const char* text : {"a", "b", "c"}) log.add(event(text));
  const std::string bytes = encode(log.since(1, 10));
  ASSERT_EQ(decode_length(bytes), bytes.size() - kLengthBytes);
  const auto sent = decode_events(std::string_view(bytes).substr(kLengthBytes)).value();
  EXPECT_EQ(sent.lost, 1U);
  ASSERT_EQ(sent.events.size(), 2U);
  EXPECT_EQ(sent.events[0].number, 2U);
  EXPECT_EQ(sent.events[1].text, "c");
  EXPECT_EQ(sent.events[1].at, event("").at);
  EXPECT_EQ(sent.events[1].level, "warn");
  EXPECT_EQ(sent.events[1].topic.kind, base::EventKind::kRefused);
  EXPECT_EQ(sent.events[1].topic.about, "hA");
}

TEST(EventStreamTest, bytes_that_are_no_message_and_words_of_later_versions) {
  EXPECT_FALSE(decode_events("\xff\xff"));
  // An event with the kind "x" and the level "y".
  const auto sent = decode_events(std::string("\x0a\x06\x1a\x01x\x2a\x01y", 8)).value();
  EXPECT_EQ(sent.events.at(0).topic.kind, base::EventKind::kNote);
  EXPECT_EQ(sent.events.at(0).level, "info");
  // No message of the most and longest events is too long.
  base::EventLog log;
  for (std::size_t i = 0; i < kEventsPerMessage; ++i) {
    base::Event longest = event(std::string(10000, 'x'));
    longest.topic.about = longest.text;
    log.add(longest);
  }
  const auto part = log.since(1, kEventsPerMessage);
  EXPECT_EQ(part.events.size(), kEventsPerMessage);
  EXPECT_LT(encode(part).size(), kReplyBytesMax);
}

TEST(EventStreamTest, json_and_text) {
  base::Event one = event("host \"hA\" \xff");
  one.number = 7;
  EXPECT_EQ(boost::json::serialize(event_json(one, EventTime::kText)),
            "{\"number\":7,\"time\":\"2026-01-31T12:00:00.123Z\",\"event\":\"refused\","
            "\"about\":\"hA\",\"level\":\"warn\",\"text\":\"host \\\"hA\\\" \xef\xbf\xbd\"}");
  EXPECT_THAT(event_text("unit", event("no")),
              ::testing::MatchesRegex("..:..:00\\.123 unit refused hA: no"));
  one.topic = {};
  EXPECT_THAT(event_text("unit", one), HasSubstr(".123 unit note: host"));
}

// A program with its own events, and those who watch it, in one thread.
class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest()
      : server_(Server::open(
                    io_, folder_.path("a.sock"),
                    [](const Request&, const ReplyFunction& reply) {
                      reply({ReplyStatus::kOk, "ok"});
                    },
                    log_)
                    .value()) {}
  ~MonitorTest() override { server_->stop(); }

  struct Watcher {
    std::vector<std::string> texts;
    std::uint64_t lost = 0;
    std::string end;
    std::unique_ptr<EventClient> client;
  };
  std::unique_ptr<Watcher> watch(std::uint32_t past = 0) {
    auto watcher = std::make_unique<Watcher>();
    Watcher& self = *watcher;
    self.client = EventClient::open(io_, folder_.path("a.sock"), past,
                                    {[&self](const SentEvents& sent) {
                                       self.lost += sent.lost;
                                       for (const auto& one : sent.events)
                                         self.texts.push_back(one.text);
                                     },
                                     [&self](const base::Error& why) { self.end = why.text(); }})
                      .value();
    return watcher;
  }
  template <class Done>
  void run_until(const Done& is_done) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!is_done() && std::chrono::steady_clock::now() < until) io_.run_one_for(1ms);
    EXPECT_TRUE(is_done());
  }
  // On return the watcher is served, and has read all that there was.
  void settle(Watcher& watcher) {
    watcher.texts.clear();
    const auto has_last = [&] {
      return !watcher.texts.empty() && watcher.texts.back() == std::to_string(hellos_);
    };
    run_until([&] {
      log_.add(event(std::to_string(++hellos_)));
      return !watcher.texts.empty();
    });
    run_until(has_last);
    watcher.texts.clear();
    watcher.lost = 0;
  }

  const support::TempFolder folder_;
  base::EventLog log_{100};
  boost::asio::io_context io_{1};
  std::unique_ptr<Server> server_;
  int hellos_ = 0;
};

TEST_F(MonitorTest, a_watcher_gets_events_as_they_happen) {
  const auto watcher = watch();
  settle(*watcher);
  log_.add(event("one"));
  run_until([&] { return watcher->texts.size() == 1; });
  std::thread([&] { log_.add(event("two")); }).join();
  log_.add(event("three"));
  run_until([&] { return watcher->texts.size() == 3; });
  EXPECT_THAT(watcher->texts, ::testing::ElementsAre("one", "two", "three"));
  EXPECT_EQ(watcher->lost, 0U);
}

TEST_F(MonitorTest, the_past_comes_first_as_far_as_it_is_kept_and_is_no_loss) {
  for (int i = 1; i <= 150; ++i) log_.add(event(std::to_string(i)));
  const auto two = watch(2), all = watch(kPastEventsMax), none = watch();
  run_until([&] { return two->texts.size() == 2 && all->texts.size() == 100; });
  EXPECT_THAT(two->texts, ::testing::ElementsAre("149", "150"));
  EXPECT_EQ(all->texts.front(), "51");
  EXPECT_EQ(all->lost, 0U);
  settle(*none);
  EXPECT_EQ(none->lost, 0U);
}

TEST_F(MonitorTest, a_slow_watcher_loses_the_oldest_and_learns_how_many) {
  const auto watcher = watch();
  settle(*watcher);
  log_.add(event("first"));
  run_until([&] { return !watcher->texts.empty(); });
  // All at once, while nobody is served: 100 are kept.
  for (int i = 1; i <= 1000; ++i) log_.add(event(std::to_string(i)));
  run_until([&] { return watcher->texts.back() == "1000"; });
  EXPECT_EQ(watcher->texts.size() - 1 + watcher->lost, 1000U);
  EXPECT_EQ(watcher->lost, 900U);
  EXPECT_EQ(watcher->texts[1], "901");
}

TEST_F(MonitorTest, a_watcher_that_closes_or_sends_more_is_over_and_leaves_room) {
  std::vector<std::unique_ptr<Watcher>> all;
  for (std::size_t i = 0; i < kWatchersMax; ++i) all.push_back(watch());
  for (const auto& one : all) settle(*one);
  const auto refused = watch();
  run_until([&] { return !refused->end.empty(); });
  EXPECT_THAT(refused->end, HasSubstr("16 clients watch this program already"));
  all.pop_back();
  std::unique_ptr<Watcher> next;
  run_until([&] {
    if (!next || !next->end.empty()) next = watch();
    log_.add(event("x"));
    return !next->texts.empty();
  });
}

TEST_F(MonitorTest, the_end_of_the_program_is_reported_once) {
  const auto watcher = watch();
  settle(*watcher);
  server_->stop();
  run_until([&] { return !watcher->end.empty(); });
  EXPECT_THAT(watcher->end, HasSubstr("ended"));
  EXPECT_FALSE(EventClient::open(io_, folder_.path("a.sock"), 0, {}).has_value());
}

}  // namespace event_stream_test
}  // namespace splitnic::control
