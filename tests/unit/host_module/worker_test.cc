// A queue of the host: with whom it connects and what it captures.
#include "host_module/host_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/support/late_peer.h"
#include "tests/support/log_lines.h"
#include "tests/support/open_lan_port.h"
#include "tests/support/shm_folder.h"

namespace splitnic::host {
namespace worker_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    options_.units = {unit("shm://lab")};
    options_.tap = control::parse_tap("file:," + folder_.path("out.pcap")).value();
    options_.common.pair.node_name = "desk";
  }

  control::Uplinks::Endpoints at() const {
    control::Uplinks::Endpoints all;
    for (const UnitOptions& each : options_.units) all.emplace_back(each.connect);
    return all;
  }
  static UnitOptions unit(const char* at) { return {control::parse_endpoint(at).value(), ""}; }
  std::unique_ptr<lan::FramePort> file() {
    return support::open_lan_port(options_.tap.text, {}, clock_).value();
  }
  static control::Carrier listen(const char* at) {
    return control::listen_carrier(control::parse_endpoint(at).value(), {}).value();
  }
  static bool is_reached(control::Carrier& listener) {
    listener.underlay->may_sleep();  // as an owner that has slept: notices connections
    EXPECT_FALSE(listener.underlay->receive());
    return listener.shm->clients() > 0;
  }

  const support::ShmFolder folder_;
  const control::Process process_{"test", 1};
  HostOptions options_;
  base::SystemClock clock_;
};

TEST_F(WorkerTest, each_queue_connects_to_the_same_queue_of_the_unit) {
  control::Carrier first = listen("shm://lab");
  control::Carrier second = listen("shm://lab.1");
  HostWorker worker(process_, options_, 1);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  EXPECT_GT(worker.call_bytes(), 1500U);
  EXPECT_TRUE(is_reached(second));
  EXPECT_FALSE(is_reached(first));
}

TEST_F(WorkerTest, a_port_beyond_the_last_is_an_error) {
  options_.units = {unit("udp://127.0.0.1:65535")};
  HostWorker worker(process_, options_, 1);
  const auto refused = worker.uplinks().open(at(), true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("port 65536"));
}

TEST_F(WorkerTest, no_two_queues_capture_to_one_file) {
  options_.common.capture_path = folder_.path("all.pcapng");
  HostWorker worker(process_, options_, 2);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("all.pcapng.2")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("all.pcapng")));
}

TEST_F(WorkerTest, it_serves_its_queue_of_the_interface_once_started) {
  HostWorker worker(process_, options_, 1);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  auto port = file();
  const std::string name = port->name();
  worker.start(std::move(port), 2);
  ASSERT_EQ(worker.ports(), 1U);
  EXPECT_EQ(worker.port(0).name(), name);
  std::string text;
  worker.admin().handle({}, [&](const control::Reply& reply) { text = reply.text; });
  EXPECT_THAT(text, HasSubstr("host desk: connecting\n"));
  worker.begin_stop();
  worker.stop(clock_.now());
}

TEST_F(WorkerTest, the_mode_of_a_unit_that_is_not_connected_is_the_one_that_is_requested) {
  options_.common.pair.mode = messaging::Mode::kSend;
  HostWorker worker(process_, options_, 0);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  control::Request show;
  show.json = true;
  std::string text;
  worker.admin().handle(show, [&](const control::Reply& reply) { text = reply.text; });
  EXPECT_THAT(text, HasSubstr(R"("mode":"send")"));
}

// Nobody listens there, which the kernel reports.
TEST_F(WorkerTest, B_23_a_silent_unit_is_reported_every_minute_and_why_nothing_reaches_it) {
  const support::LogLines log;
  auto gone = fabric::UdpUnderlay::open({.bind = "127.0.0.1:0"}).value();
  const std::string where = gone->name_of(gone->local_address());
  options_.units = {unit(("udp://" + where).c_str())};
  options_.common.is_insecure_lab = true;
  const auto lines = [&] {
    const std::string text = log.text();
    std::size_t count = 0;
    for (std::size_t at = text.find("no reply from"); at != std::string::npos;
         at = text.find("no reply from", at + 1)) {
      ++count;
    }
    return count;
  };
  HostWorker worker(process_, options_, 0);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  worker.start(file(), 1);
  const base::Time begin = clock_.now();
  worker.step(begin + 2900ms);
  EXPECT_EQ(lines(), 0U);
  worker.step(begin + 4s);
  EXPECT_EQ(lines(), 1U);
  worker.step(begin + 63s);
  EXPECT_EQ(lines(), 1U);
  worker.step(begin + 65s);
  EXPECT_EQ(lines(), 2U);
  EXPECT_EQ(log.text().find("sending to it fails"), std::string::npos) << "the port is there";

  gone.reset();
  for (int i = 0; i < 5; ++i) {
    worker.step(begin + 70s + i * 2s);
    std::this_thread::sleep_for(5ms);  // the report of the kernel may come a moment later
  }
  worker.step(begin + 130s);
  EXPECT_THAT(log.text(), HasSubstr("no reply from " + where +
                                    " (sending to it fails: Connection refused), still trying"));
  EXPECT_THAT(worker.status(), HasSubstr("connecting to udp://" + where));
  control::Request show;
  show.json = true;
  worker.admin().handle(show, [&](const control::Reply& reply) {
    EXPECT_THAT(reply.text, HasSubstr("sending to it fails: Connection refused"));
    EXPECT_THAT(reply.text, HasSubstr("no reply: is splitnic-iou running there"));
  });
  worker.begin_stop();
  worker.stop(clock_.now());
}

TEST_F(WorkerTest, B_04_options_that_are_read_again_change_the_interface_or_nothing) {
  HostWorker worker(process_, options_, 0);
  ASSERT_TRUE(worker.uplinks().open(at(), true));
  worker.start(file(), 1);
  const lan::PortState before = worker.port(0).state();
  const lan::MacAddress mac{0x02, 0, 0, 0, 0, 0x09};
  const control::OptionChanges changes{{"mac", "mtu"}, {}};
  HostOptions read = options_;
  read.mac = {MacChoice::Kind::kGiven, mac};
  read.common.mtu = lan::kLanMtuMax + 1;
  EXPECT_FALSE(worker.change_interface(read, changes));
  EXPECT_EQ(worker.port(0).state(), before) << "the address, too";

  read.common.mtu = 1400;
  ASSERT_TRUE(worker.change_interface(read, changes));
  worker.change(read, changes);
  EXPECT_EQ(worker.port(0).state().mac, mac);
  EXPECT_EQ(worker.port(0).state().mtu, 1400U);
  int settled = 0;
  worker.when_settled(changes, [&](const std::optional<std::string>& why) {
    ++settled;
    EXPECT_FALSE(why);
  });
  EXPECT_EQ(settled, 1) << "there is no I/O unit to wait for";

  read.mac.kind = MacChoice::Kind::kNic;
  ASSERT_TRUE(worker.change_interface(read, changes));
  EXPECT_EQ(worker.port(0).state().mac, mac) << "that of the NIC is not known yet";
  read.mac = {};
  ASSERT_TRUE(worker.change_interface(read, {{"mtu"}, {}}));
  EXPECT_EQ(worker.port(0).state().mac, mac) << "only what has changed";
  ASSERT_TRUE(worker.change_interface(read, changes));
  EXPECT_EQ(worker.port(0).state().mac, control::stable_mac(options_.common.name()));
  worker.begin_stop();
  worker.stop(clock_.now());
}

TEST_F(WorkerTest, B_06_a_unit_that_has_no_address_at_the_start_is_found_later) {
  options_.units.push_back(unit("udp://unit.example:7471"));
  const control::Uplinks::Endpoints known{options_.units[0].connect, std::nullopt};
  HostWorker worker(process_, options_, 0);
  ASSERT_TRUE(worker.uplinks().open(known, true));
  EXPECT_FALSE(worker.uplinks().is_open(1));
  ASSERT_TRUE(worker.uplinks().open(known, false));
  EXPECT_TRUE(worker.uplinks().is_awaited(1));
  EXPECT_FALSE(worker.uplinks().is_awaited(0));

  const support::LatePeer late;
  worker.start(file(), 1);
  worker.uplinks().follow_names(late.lookups(options_.units[0].connect), clock_.now());
  worker.step(clock_.now());
  EXPECT_FALSE(worker.uplinks().is_awaited(1));
  EXPECT_TRUE(late.is_reached_by(worker, clock_));
  worker.begin_stop();
  worker.stop(clock_.now());
}

}  // namespace worker_test
}  // namespace splitnic::host
