// The text for Prometheus, the addresses, and the server with clients that behave and others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <future>

#include "control/metrics/metrics_resource.h"
#include "control/metrics/metrics_server.h"
#include "control/metrics/metrics_text.h"
#include "control/report/counter_texts.h"
#include "fabric_emul/subnet/subnet_counters.h"
#include "fabric_emul/switching/attachment_counters.h"
#include "fabric_emul/switching/datagram_gate.h"
#include "fabric_emul/switching/router_counters.h"
#include "fabric_emul/switching/switch_counters.h"
#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/control/unit_snapshot.h"

namespace splitnic::control {
namespace metrics_test {

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Snapshot unit() {
  PeerInfo peer;
  peer.name = "a.b";
  peer.address = "192.0.2.1:\"\\\n";
  peer.state = "up";
  peer.nic = 1;
  Snapshot s = unit_snapshot(peer);
  s.lan.push_back({"packet:eth1", "down", 1500, ""});
  s.counters = {{"lan.rx.frames", 1},
                {"lan1.rx.frames", 20},
                {"lan1.rx.frames", 3},
                {"lan.rx.drop.no_host", 4},
                {"host.a.b.iou.to_host.frames", 5},
                {"iou.to_host.frames", 6},
                {"host.gone.iou.to_host.frames", 7}};
  return s;
}

TEST(MetricsText, S001_49_round_trips_in_seconds) {
  Snapshot s = unit();
  s.channels = {{"a", 1, 2, 3, "RC", "RTS", 0, std::chrono::nanoseconds(12345)},
                {"a", 1, 4, 5, "RC", "RTS", 1, std::chrono::milliseconds(1500)},
                {"a", 0, 6, 7, "RC", "RTS", 0}};
  const std::string text = metrics_text(s);
  EXPECT_THAT(text,
              HasSubstr("# TYPE splitnic_round_trip_seconds gauge\n"
                        "splitnic_round_trip_seconds{peer=\"a\",channel=\"1\"} 1.500000000\n"));
  EXPECT_THAT(text, Not(HasSubstr("channel=\"0\""))) << "not known yet";
  s.channels.erase(s.channels.begin() + 1);
  EXPECT_THAT(metrics_text(s), HasSubstr("channel=\"1\"} 0.000012345\n"));
}

TEST(MetricsText, a_host_takes_no_series_of_another_by_its_name) {
  Snapshot s = unit();
  s.peers[0].name = "a";
  s.peers.push_back(s.peers[0]);
  s.peers[1].name = "a.iou";
  s.counters = {{"host.a.iou.to_host.frames", 5}, {"host.a.iou.iou.to_host.frames", 7}};
  const std::string text = metrics_text(s);
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_iou_to_host_frames_total{host=\"a\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_iou_to_host_frames_total{host=\"a.iou\"} 7\n"));
}

TEST(MetricsText, nics_causes_and_hosts_are_labels) {
  const std::string text = metrics_text(unit());
  EXPECT_THAT(text, HasSubstr("# TYPE splitnic_lan_rx_frames_total counter\n"
                              "splitnic_lan_rx_frames_total{nic=\"0\"} 1\n"
                              "splitnic_lan_rx_frames_total{nic=\"1\"} 23\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_lan_rx_drop_total{nic=\"0\",cause=\"no_host\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_iou_to_host_frames_total{host=\"a.b\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_iou_to_host_frames_total 6\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_gone_iou_to_host_frames_total 7\n"));
  EXPECT_THAT(text, HasSubstr("# HELP splitnic_iou_to_host_frames_total Frames that were sent"));
}

TEST(MetricsText, states_are_gauges_and_values_of_labels_are_escaped) {
  const std::string text = metrics_text(unit());
  EXPECT_THAT(text, HasSubstr("\nsplitnic_up 1\n"));
  EXPECT_THAT(text, HasSubstr("{peer=\"a.b\",address=\"192.0.2.1:\\\"\\\\?\",nic=\"1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("splitnic_lan_link_up{nic=\"0\",port=\"packet:eth1\"} 0\n"));
}

TEST(MetricsText, a_host_program_has_a_layer_of_that_name) {
  Snapshot s;
  s.role = "host";
  s.counters = {{"host.tx.frames", 1}, {"host.tx.drop.too_long", 2}};
  const std::string text = metrics_text(s);
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_tx_frames_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nsplitnic_host_tx_drop_total{cause=\"too_long\"} 2\n"));
}

TEST(CounterTexts, a_family_shares_a_sentence_and_a_stranger_has_none) {
  EXPECT_FALSE(counter_text("lan.rx.drop").empty());
  EXPECT_EQ(counter_text("lan.rx.drop.no_host"), counter_text("lan.rx.drop"));
  EXPECT_EQ(counter_text("iou.to_host.size.64"), counter_text("iou.to_host.size"));
  EXPECT_EQ(counter_text("lan.rx.nothing"), "");
  EXPECT_EQ(counter_text("hop.link.rx.cell"), counter_text("link.rx.cell"));
  EXPECT_FALSE(counter_text("switch.port12.rx.cell").empty());
  EXPECT_EQ(counter_text("switch.port12.rx.cell"), counter_text("switch.port3.rx.cell"));
  EXPECT_EQ(counter_text("switch.port12"), "");
  EXPECT_EQ(counter_text(""), "");
}

template <typename Counter>
void expect_sentences() {
  for (const std::string_view name : base::CounterNames<Counter>::kNames) {
    EXPECT_FALSE(counter_text(name).empty()) << name;
  }
}

TEST(CounterTexts, each_counter_of_a_switch_has_a_sentence) {
  expect_sentences<fabric::SwitchCounter>();
  expect_sentences<fabric::RouterCounter>();
  expect_sentences<fabric::SubnetCounter>();
  expect_sentences<fabric::AttachmentCounter>();
  expect_sentences<fabric::GateCounter>();
}

TEST(MetricsAddressTest, only_loopback_unless_it_is_requested) {
  EXPECT_EQ(parse_metrics_address("unix:/run/x", false)->path, "/run/x");
  EXPECT_EQ(parse_metrics_address("127.0.0.1:9477", false)->port, 9477);
  EXPECT_TRUE(parse_metrics_address("[::1]:9477", false)->ip.is_v6());
  for (const char* text : {"", "unix:", "9477", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536",
                           "localhost:9477", "::1:9477", "[fe80::1%eth0]:9477"}) {
    EXPECT_FALSE(parse_metrics_address(text, true)) << text;
  }
  for (const char* text : {"0.0.0.0:9477", "[::]:9477", "192.0.2.1:9477"}) {
    const auto refused = parse_metrics_address(text, false);
    ASSERT_FALSE(refused) << text;
    EXPECT_THAT(refused.error().text(), HasSubstr("--metrics-remote"));
    EXPECT_TRUE(parse_metrics_address(text, true)) << text;
  }
}

TEST(MetricsListenTest, B_06_it_listens_at_an_address_that_no_interface_has_yet) {
  for (const char* text : {"192.0.2.1:9477", "[2001:db8::1]:9477"}) {
    asio::io_context io;
    const support::LogLines log;
    const auto opened =
        MetricsServer::open(io, parse_metrics_address(text, true).value(),
                            [](const std::function<void(Snapshot)>&) { return false; });
    ASSERT_TRUE(opened) << text << ": " << opened.error().text();
    EXPECT_THAT(log.text(), HasSubstr("no interface of this machine has the address "));
    EXPECT_THAT(log.text(), HasSubstr("; waiting for that to change"));
  }
}

TEST(MetricsListenTest, a_socket_that_cannot_be_made_is_an_error_with_the_option) {
  const support::TempFolder folder;
  asio::io_context io;
  const auto open = [&](const std::string& path) {
    const auto opened =
        MetricsServer::open(io, parse_metrics_address("unix:" + path, false).value(),
                            [](const std::function<void(Snapshot)>&) { return false; });
    return opened ? "" : opened.error().text();
  };
  EXPECT_EQ(open(folder.path("a/b/m")), "making the folder of the socket " + folder.path("a/b/m") +
                                            ": No such file or directory: make it before, or "
                                            "choose another --metrics");
  EXPECT_EQ(open(folder.path()),
            folder.path() + " exists and is not a socket: choose another --metrics");
}

class MetricsServerTest : public ::testing::Test {
 protected:
  MetricsServerTest() {
    MetricsAddress address;
    address.path = folder_.path("m");
    auto opened = MetricsServer::open(io_, address, [this](std::function<void(Snapshot)> done) {
      ++snapshots_;
      if (is_busy_) return false;
      if (holds_) {
        held_.push_back(std::move(done));
      } else {
        done(unit());
      }
      return true;
    });
    EXPECT_TRUE(opened) << opened.error().text();
    if (opened) server_ = *std::move(opened);
  }
  Local::socket client() {
    Local::socket socket(io_);
    socket.connect(Local::endpoint(folder_.path("m")));
    return socket;
  }
  void step() {
    io_.restart();
    while (io_.poll() > 0) {
    }
  }
  // Returns what comes until the server closes, or what there is.
  std::string response_to(Local::socket& socket, const std::string& request) {
    boost::system::error_code error;
    asio::write(socket, asio::buffer(request), error);
    step();
    std::string out(1 << 16, '\0');
    socket.non_blocking(true);
    std::size_t length = 0;
    while (!error)
      length += socket.read_some(asio::buffer(&out[length], out.size() - length), error);
    out.resize(length);
    return out;
  }
  std::string get(const std::string& path = "/metrics") {
    auto socket = client();
    return response_to(socket, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  }

  support::TempFolder folder_;
  asio::io_context io_;
  int snapshots_ = 0;
  bool is_busy_ = false;
  bool holds_ = false;
  std::vector<std::function<void(Snapshot)>> held_;
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, requests_get_what_they_are_due) {
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(get(), HasSubstr("\r\n\r\n# HELP splitnic_"));
  EXPECT_THAT(get("/other"), StartsWith("HTTP/1.1 404 "));
  auto posting = client();
  EXPECT_THAT(response_to(posting, "POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  auto head = client();
  EXPECT_THAT(response_to(head, "HEAD /metrics HTTP/1.0\r\n\r\n"), Not(HasSubstr("splitnic_up")));
  auto garbage = client();
  EXPECT_THAT(response_to(garbage, "\x16\x03\x01 garbage\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  auto endless = client();
  EXPECT_THAT(response_to(endless, "GET /" + std::string(kMetricsRequestBytesMax, 'x')),
              testing::AnyOf("", StartsWith("HTTP/1.1 400 ")));
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, clients_share_a_snapshot) {
  holds_ = true;
  std::vector<Local::socket> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(client());
    const std::string path = i % 2 == 0 ? "/metrics" : "/state.json";
    EXPECT_EQ(response_to(clients.back(), "GET " + path + " HTTP/1.1\r\n\r\n"), "");
  }
  EXPECT_EQ(snapshots_, 1);
  ASSERT_EQ(held_.size(), 1U);
  held_[0](unit());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    EXPECT_THAT(response_to(clients[i], ""),
                HasSubstr(i % 2 == 0 ? "splitnic_up 1" : "\"state\":\"up\""));
  }
}

TEST_F(MetricsServerTest, the_page_needs_no_snapshot) {
  is_busy_ = true;
  EXPECT_THAT(get("/"), HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(get("/page.js"), HasSubstr("Content-Type: text/javascript; charset=utf-8\r\n"));
  EXPECT_THAT(get("/page.css"), HasSubstr("Content-Type: text/css; charset=utf-8\r\n"));
  EXPECT_THAT(get("/state.json"), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(snapshots_, 1);
}

TEST_F(MetricsServerTest, every_response_carries_what_browsers_obey) {
  for (const char* path : {"/", "/state.json", "/metrics", "/other"}) {
    const std::string response = get(path);
    for (const auto& [name, value] : kSecurityHeaders) {
      EXPECT_THAT(response, HasSubstr(std::string(name) + ": " + std::string(value) + "\r\n"));
    }
  }
}

TEST_F(MetricsServerTest, a_queue_that_is_full_is_reported) {
  is_busy_ = true;
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 503 "));
  is_busy_ = false;
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, no_more_clients_than_the_limit) {
  holds_ = true;
  std::vector<Local::socket> waiting;
  for (std::size_t i = 0; i < kMetricsClientsMax; ++i) {
    waiting.push_back(client());
    EXPECT_EQ(response_to(waiting.back(), "GET /metrics HTTP/1.1\r\n\r\n"), "");
  }
  EXPECT_EQ(get(), "") << "closed without a response";
  ASSERT_EQ(held_.size(), 1U);
  holds_ = false;  // on a slow machine the snapshot is too old for the last request
  held_[0](unit());
  for (auto& one : waiting) EXPECT_THAT(response_to(one, ""), HasSubstr("splitnic_up 1"));
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, idle_clients_do_not_shut_out_others) {
  std::vector<Local::socket> idle;
  for (std::size_t i = 0; i < kMetricsClientsMax; ++i) {
    idle.push_back(client());
    step();
  }
  const std::string text = get();
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text, HasSubstr("splitnic_metrics_drop_total{cause=\"busy\"} 1\n"));
  EXPECT_EQ(response_to(idle[0], ""), "");
  EXPECT_THAT(response_to(idle[1], "GET /metrics HTTP/1.1\r\n\r\n"), HasSubstr("200 OK"));
}

TEST_F(MetricsServerTest, a_snapshot_may_come_after_the_end) {
  holds_ = true;
  auto waiting = client();
  EXPECT_EQ(response_to(waiting, "GET /metrics HTTP/1.1\r\n\r\n"), "");
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_.path("m")));
  ASSERT_EQ(held_.size(), 1U);
  held_[0](unit());
  step();
}

}  // namespace metrics_test
}  // namespace splitnic::control
