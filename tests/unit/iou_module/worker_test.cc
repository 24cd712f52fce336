// A queue of the unit: where it listens, what it listens to, and what it captures.
#include "iou_module/iou_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/late_peer.h"
#include "tests/support/open_lan_port.h"
#include "tests/support/shm_folder.h"

namespace splitnic::iou {
namespace worker_test {

using ::testing::HasSubstr;

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    options_.listen = {control::parse_endpoint("shm://lab").value(),
                       control::parse_endpoint("shm://attic").value()};
    options_.common.pair.node_name = "node";
  }

  bool has(const std::string& name) const { return std::filesystem::exists(folder_.path(name)); }

  std::vector<std::unique_ptr<lan::FramePort>> lans(const std::vector<std::string>& files) {
    std::vector<std::unique_ptr<lan::FramePort>> made;
    for (const std::string& out : files) {
      made.push_back(support::open_lan_port("file:," + folder_.path(out), {}, clock_).value());
    }
    return made;
  }

  const support::ShmFolder folder_;
  const control::Process process_{"test", 1};
  IouOptions options_;
  base::SystemClock clock_;
};

TEST_F(WorkerTest, each_queue_listens_at_its_own_endpoints) {
  IouWorker first(process_, options_, 0);
  IouWorker second(process_, options_, 1);
  ASSERT_TRUE(first.listen());
  EXPECT_TRUE(has("splitnic-lab"));
  EXPECT_FALSE(has("splitnic-lab.1"));
  ASSERT_TRUE(second.listen());
  EXPECT_TRUE(has("splitnic-lab.1"));
  EXPECT_TRUE(has("splitnic-attic.1"));
  EXPECT_EQ(first.queue(), 0U);
  EXPECT_EQ(second.queue(), 1U);
}

TEST_F(WorkerTest, an_address_in_use_is_an_error_that_can_be_recognised) {
  options_.listen = {control::parse_endpoint("shm://lab").value()};
  IouWorker first(process_, options_, 1);
  ASSERT_TRUE(first.listen());
  IouWorker second(process_, options_, 1);
  const base::Status refused = second.listen();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EADDRINUSE);
  EXPECT_THAT(refused.error().text(), HasSubstr("listening on shm://lab.1"));
}

TEST_F(WorkerTest, a_port_beyond_the_last_is_an_error) {
  options_.listen = {control::parse_endpoint("udp://127.0.0.1:65535").value()};
  IouWorker second(process_, options_, 1);
  const base::Status refused = second.listen();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("port 65536"));
}

TEST_F(WorkerTest, no_two_queues_capture_to_one_file) {
  options_.common.capture_path = folder_.path("all.pcapng");
  IouWorker first(process_, options_, 0);
  IouWorker second(process_, options_, 1);
  ASSERT_TRUE(first.listen());
  EXPECT_TRUE(has("all.pcapng"));
  EXPECT_FALSE(has("all.pcapng.1"));
  ASSERT_TRUE(second.listen());
  EXPECT_TRUE(has("all.pcapng.1"));
}

TEST_F(WorkerTest, it_serves_its_queue_of_each_lan_once_started) {
  IouWorker worker(process_, options_, 1);
  ASSERT_TRUE(worker.listen());
  auto files = lans({"a.pcap", "b.pcap"});
  const std::string second = files[1]->name();
  QueueSet queues(2);
  worker.start(std::move(files), 2, queues);
  ASSERT_EQ(worker.ports(), 2U);
  EXPECT_EQ(worker.port(1).name(), second);
  control::Request show;
  std::string text;
  worker.admin().handle(show, [&](const control::Reply& reply) { text = reply.text; });
  EXPECT_THAT(text, HasSubstr("iou node: up\n"));
  worker.begin_stop();
  worker.stop(clock_.now());
}

TEST_F(WorkerTest, B_06_a_switch_that_has_no_address_at_the_start_is_found_later) {
  options_.listen.clear();
  options_.switches = {{control::parse_endpoint("shm://lab").value()},
                       {control::parse_endpoint("udp://switch.example:7502").value()}};
  const control::Uplinks::Endpoints known{options_.switches[0].at, std::nullopt};
  IouWorker worker(process_, options_, 0);
  IouWorker follower(process_, options_, 1);
  ASSERT_TRUE(worker.uplinks().open(known, true));
  EXPECT_TRUE(worker.uplinks().is_open(0));
  EXPECT_FALSE(worker.uplinks().is_open(1));
  ASSERT_TRUE(worker.uplinks().open(known, false));
  ASSERT_TRUE(follower.uplinks().open(known, false));
  EXPECT_TRUE(worker.uplinks().is_awaited(1));
  EXPECT_TRUE(follower.uplinks().is_awaited(1));
  const control::Uplinks::Endpoints without_route{
      options_.switches[0].at, control::parse_endpoint("udp://127.0.0.1:9").value()};
  ASSERT_TRUE(worker.uplinks().open(without_route, false));
  EXPECT_TRUE(worker.uplinks().is_awaited(1)) << "it was when the ways were opened";
  EXPECT_FALSE(worker.uplinks().is_awaited(0));

  const support::LatePeer late;
  QueueSet queues(2);
  worker.start(lans({"a.pcap"}), 2, queues);
  follower.start(lans({"b.pcap"}), 2, queues);
  worker.lead({&follower});
  worker.uplinks().follow_names(late.lookups(options_.switches[0].at), clock_.now());
  worker.step(clock_.now());
  EXPECT_FALSE(worker.uplinks().is_awaited(1));
  EXPECT_GE(follower.commands().run(), 1U);
  EXPECT_FALSE(follower.uplinks().is_awaited(1));
  EXPECT_TRUE(late.is_reached_by(worker, clock_));
  std::string text;
  control::Request stats;
  stats.command = control::Command::kStats;
  worker.admin().handle(stats, [&](const control::Reply& reply) { text = reply.text; });
  EXPECT_THAT(text, ::testing::ContainsRegex("iou.switch.addresses +1\n"));
  for (IouWorker* each : {&worker, &follower}) {
    each->begin_stop();
    each->stop(clock_.now());
  }
}

}  // namespace worker_test
}  // namespace splitnic::iou
