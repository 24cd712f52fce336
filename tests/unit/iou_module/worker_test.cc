// A queue of the unit: where it listens, what it listens to, and what it captures.
#include "iou_module/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

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
  std::vector<std::unique_ptr<lan::FramePort>> lans;
  for (const char* out : {"a.pcap", "b.pcap"}) {
    lans.push_back(support::open_lan_port("file:," + folder_.path(out), {}, clock_).value());
  }
  lan::FramePort* const second = lans[1].get();
  QueueSet queues(2);
  worker.start(std::move(lans), 2, queues);
  ASSERT_EQ(worker.ports(), 2U);
  EXPECT_EQ(&worker.port(1), second);
  control::Request show;
  std::string text;
  worker.admin().handle(show, [&](const control::Reply& reply) { text = reply.text; });
  EXPECT_THAT(text, HasSubstr("iou node: connecting\n"));
  worker.begin_stop();
  worker.stop(clock_.now());
}

}  // namespace worker_test
}  // namespace splitnic::iou
