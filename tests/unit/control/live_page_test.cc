// The files and the JSON of the live page, and whose requests are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "control/metrics/metrics_resource.h"
#include "control/metrics/state_json.h"
#include "tests/unit/control/unit_snapshot.h"

namespace splitnic::control {
namespace live_page_test {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LocalHost, a_browser_of_this_machine_names_localhost_or_an_address) {
  for (const char* host : {"localhost", "localhost:9477", "LocalHost:1", "unit.localhost",
                           "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:9477", "192.0.2.7:80"}) {
    EXPECT_TRUE(is_local_host(host)) << host;
  }
}

TEST(LocalHost, a_name_of_a_stranger_may_resolve_to_this_machine) {
  for (const char* host :
       {"", "evil.example", "evil.example:9477", "127.0.0.1.evil.example", "localhost.evil.example",
        "evillocalhost", "localhost:evil", "localhost:", "localhost:70000", "[::1", "::1",
        "[::1]evil", "127.0.0.1 evil", "0x7f000001", "[evil.example]"}) {
    EXPECT_FALSE(is_local_host(host)) << host;
  }
}

TEST(MetricsResourceTest, targets_are_exact) {
  EXPECT_EQ(resource_at("/metrics")->kind, MetricsResource::Kind::kMetrics);
  EXPECT_EQ(resource_at("/state.json")->kind, MetricsResource::Kind::kState);
  EXPECT_THAT(std::string(resource_at("/")->file), HasSubstr("<!doctype html>"));
  for (const char* target :
       {"", "//", "/page.html", "/page.css/", "/../page.css", "/page.css?x", "page.css", "*"}) {
    EXPECT_FALSE(resource_at(target)) << target;
  }
}

// The Content-Security-Policy forbids both: the page would not work with them.
TEST(PageTest, nothing_inline_and_nothing_from_elsewhere) {
  for (const char* target : {"/", "/page.css", "/page.js", "/view.js", "/model.js"}) {
    ASSERT_TRUE(resource_at(target)) << target;
    const std::string text(resource_at(target)->file);
    for (const char* never :
         {"https://", "//cdn", "innerHTML", "eval(", " onclick=", " style=", "<style"}) {
      EXPECT_THAT(text, Not(HasSubstr(never))) << target;
    }
  }
}

Snapshot unit() {
  PeerInfo peer;
  peer.name = "a\xFF\"<script>";
  Snapshot s = unit_snapshot(peer);
  s.counters = {{"lan1.rx.drop.vlan", 2}, {"lan1.rx.drop.vlan", 3}, {"lan.rx.drop.no_host", 0}};
  return s;
}

TEST(StateJsonTest, it_has_what_show_and_stats_have) {
  base::EventLog events;
  const Snapshot snapshot = unit();
  const json::object state =
      json::parse(state_json(snapshot, std::chrono::milliseconds(1234), events)).as_object();
  EXPECT_EQ(state.at("milliseconds"), 1234);
  EXPECT_EQ(state.at("show"), json::parse(show_json(snapshot)));
  EXPECT_EQ(state.at("stats"), json::parse(stats_json(snapshot)));
  EXPECT_EQ(state.at("stats").at("lan1.rx.drop.vlan"), 5);
  ASSERT_EQ(state.at("texts").as_object().size(), 1U) << "of causes that occurred";
  EXPECT_EQ(state.at("texts").at("lan1.rx.drop.vlan"),
            "Frames from the LAN that no host got, by cause.");
  EXPECT_TRUE(state.at("events").as_array().empty());
}

TEST(StateJsonTest, the_newest_events) {
  base::EventLog events;
  const base::Topic topic{base::EventKind::kConnected, "h\xFF"};
  for (std::size_t i = 0; i < kEventsShown + 3; ++i) {
    events.add({0, std::chrono::system_clock::time_point(std::chrono::milliseconds(5)), "warn",
                topic, "line \xFF " + std::to_string(i)});
  }
  const json::array shown = json::parse(state_json(unit(), {}, events)).at("events").as_array();
  ASSERT_EQ(shown.size(), kEventsShown);
  EXPECT_EQ(shown.front().at("number"), 4);
  EXPECT_EQ(shown.front().at("text"), "line \xEF\xBF\xBD 3");
  EXPECT_EQ(shown.back().at("number"), kEventsShown + 3);
  EXPECT_EQ(shown.back().at("milliseconds"), 5);
  EXPECT_EQ(shown.back().at("event"), "connected");
  EXPECT_EQ(shown.back().at("about"), "h\xEF\xBF\xBD");
  EXPECT_EQ(shown.back().at("level"), "warn");
}

}  // namespace live_page_test
}  // namespace splitnic::control
