// A process of several workers: its threads, its control socket and its end.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "tests/unit/control/daemon/daemon_fixture.h"

namespace splitnic::control {
namespace daemon_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(DaemonTest, counters_of_all_workers_are_summed_and_links_have_their_queue) {
  start();
  EXPECT_THAT(stats().text, HasSubstr("carrier.things 3\n"));
  const std::string shown = ask(request(Command::kShow, true)).text;
  EXPECT_THAT(shown, HasSubstr(R"("peers":[{"name":"peer","address":"shm://x","state":"up",)"
                               R"("mode":"rdma","mac":"","queues":3}])"));
  for (const char* queue : {"0", "1", "2"}) {
    EXPECT_THAT(shown, HasSubstr(R"("address":"shm://x","queue":)" + std::string(queue)));
  }
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, H_4_log_lines_that_were_not_written_are_counted) {
  start();
  const auto left_out = [this] { return number_of(stats().text, "log.drop.limit"); };
  const std::uint64_t before = left_out();
  for (int i = 0; i < 50; ++i) base::log_warn("flood");
  EXPECT_GE(left_out() - before, 40U - 10U);
  EXPECT_THAT(stats().text, HasSubstr("log.drop.blocked "));
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, one_worker_has_no_queue_numbers) {
  common_.queues = 1;
  start();
  EXPECT_THAT(stats().text, HasSubstr("carrier.things 1\n"));
  EXPECT_THAT(ask(request(Command::kShow, true)).text, Not(HasSubstr("queue")));
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(daemon_->worker(0).allowed(), processors_of_this_thread()) << "it is not bound";
}

TEST_F(DaemonTest, set_link_reaches_every_worker_and_the_rest_queue_0) {
  start();
  EXPECT_EQ(set("link", "down").status, ReplyStatus::kOk);
  EXPECT_EQ(set("mtu", "1400").status, ReplyStatus::kOk);
  EXPECT_EQ(set("link", "bad").status, ReplyStatus::kBadRequest);
  EXPECT_THAT(stats().text, HasSubstr("worker.sets 4\n"));
  EXPECT_EQ(stop(), 0);
  EXPECT_THAT(daemon_->worker(0).sets(), ElementsAre("link=down", "mtu=1400"));
  EXPECT_THAT(daemon_->worker(1).sets(), ElementsAre("link=down"));
  EXPECT_THAT(daemon_->worker(2).sets(), ElementsAre("link=down"));
}

TEST_F(DaemonTest, peers_of_all_queues_are_one_list_and_evict_reaches_every_queue) {
  start();
  EXPECT_THAT(ask(request(Command::kPeers, true)).text, HasSubstr(R"("rx_bytes":30,)"));
  EXPECT_THAT(ask(request(Command::kPeers)).text, HasSubstr("office"));
  EXPECT_EQ(ask(request(Command::kEvict, false, "", "office")).status, ReplyStatus::kOk);
  const Reply refused = ask(request(Command::kEvict, false, "", "lab"));
  EXPECT_EQ(refused.status, ReplyStatus::kRefused);
  EXPECT_EQ(refused.text, "no such host");
  ask(request(Command::kPeers));  // passes every queue, after what was posted before
  EXPECT_EQ(stop(), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(daemon_->worker(i).admin().evicted, ElementsAre("office")) << i;
  }
}

TEST_F(DaemonTest, a_host_that_only_an_additional_queue_has_is_evicted) {
  start();
  EXPECT_EQ(ask(request(Command::kEvict, false, "", "guest")).status, ReplyStatus::kOk);
  EXPECT_EQ(stop(), 0);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(daemon_->worker(i).admin().evicted, ElementsAre()) << i;
  }
  EXPECT_THAT(daemon_->worker(2).admin().evicted, ElementsAre("guest"));
}

TEST_F(DaemonTest, requests_from_several_clients_are_collected_at_the_same_time) {
  start();
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::async(std::launch::async, [this] {
      for (int n = 0; n < 50; ++n) EXPECT_THAT(stats().text, HasSubstr("carrier.things 3\n"));
    }));
  }
  for (auto& client : clients) client.get();
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, a_signal_stops_every_worker_cleanly) {
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(daemon_->worker(i).ends(), ElementsAre("begin_stop", "stop")) << i;
  }
  EXPECT_FALSE(Client::connect(common_.control_path).has_value());
}

TEST_F(DaemonTest, an_error_of_any_worker_stops_all_with_status_1_and_one_line) {
  for (const std::size_t queue : {0U, 1U}) {
    start();
    stats();
    daemon_->worker(queue).delete_port();
    EXPECT_EQ(end(), 1);
    EXPECT_THAT(stderr_, HasSubstr("test: tap:test was deleted: start again\n"));
    for (std::size_t i = 0; i < 3; ++i) {
      const auto& ends = daemon_->worker(i).ends();
      ASSERT_FALSE(ends.empty());
      EXPECT_EQ(ends.back(), "stop") << i;
      EXPECT_EQ(ends.size(), i == queue ? 1U : 2U) << i;
    }
  }
}

TEST_F(DaemonTest, a_start_that_fails_is_status_1) {
  ::testing::internal::CaptureStderr();
  TestDaemon daemon(common_);
  daemon.open_error = "no such interface";
  EXPECT_EQ(daemon.run(), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("test: no such interface\n"));
}

// A pipe in place of the device has what all of them write.
TEST_F(DaemonTest, with_keep_awake_each_queue_has_a_request) {
  const std::string fifo = folder_.path("latency");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const base::UniqueFd reader(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader.valid());
  common_.wake_latency = {.held_for = kPatience, .file = fifo};
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  std::array<std::int32_t, 4> requests{-1, -1, -1, -1};
  EXPECT_EQ(::read(reader.get(), requests.data(), sizeof(requests)),
            static_cast<ssize_t>(3 * sizeof(std::int32_t)));
  EXPECT_THAT(requests, ElementsAre(0, 0, 0, -1));
}

TEST_F(DaemonTest, without_the_device_of_keep_awake_nothing_is_opened) {
  const std::string device = folder_.path("none");
  common_.wake_latency = {.held_for = 1s, .file = device};
  ::testing::internal::CaptureStderr();
  TestDaemon daemon(common_);
  daemon.open_error = "it is opened";
  EXPECT_EQ(daemon.run(), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("it is opened")));
  EXPECT_THAT(log_.text(), HasSubstr("test: --keep-awake: opening " + device + ": No such file"));
}

TEST_F(DaemonTest, L_14_no_reader_that_is_gone_ends_it_and_no_memory_becomes_a_core_file) {
  std::signal(SIGPIPE, SIG_DFL);
  const TestDaemon daemon(common_);
  EXPECT_TRUE(std::signal(SIGPIPE, SIG_DFL) == SIG_IGN);
  EXPECT_EQ(::prctl(PR_GET_DUMPABLE), 0);
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST_F(DaemonTest, it_runs_with_fewer_queues_than_wanted) {
  queues_max_ = 2;
  start();
  EXPECT_THAT(stats().text, HasSubstr("carrier.things 2\n"));
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, with_cpus_each_thread_is_bound_to_its_processor) {
  const Processors all = processors_of_this_thread();
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(daemon_->worker(i).allowed(), all) << i;

  common_.processors = all;
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(daemon_->worker(i).allowed(), Processors{*processor_of_queue(all, i)}) << i;
  }

  common_.processors = {all.back()};
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(daemon_->worker(i).allowed(), Processors{all.back()}) << i;
  }
  EXPECT_THAT(log_.text(), HasSubstr("3 data threads share 1 of the processors"));
}

TEST_F(DaemonTest, with_a_processor_that_is_not_there_the_thread_is_not_bound) {
  const Processors all = processors_of_this_thread();
  ASSERT_NE(all.back(), kProcessorMax);
  common_.processors = {all.front(), kProcessorMax, all.front()};
  start();
  stats();
  EXPECT_EQ(stop(), 0);
  EXPECT_EQ(daemon_->worker(0).allowed(), Processors{all.front()});
  EXPECT_EQ(daemon_->worker(1).allowed(), all);
  EXPECT_THAT(log_.text(), HasSubstr("queue 1 is not bound: binding to processor 1023"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("queue 2 is not bound")));
}

TEST_F(DaemonTest, there_are_no_more_queues_than_ports_of_the_endpoint) {
  const auto queues_at = [](const char* endpoint) {
    return TestDaemon::queues_at(parse_endpoint(endpoint).value(), 3);
  };
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(queues_at("udp://127.0.0.1:65533"), 3U);
  EXPECT_EQ(queues_at("shm://lab"), 3U);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(queues_at("udp://127.0.0.1:65534"), 2U);
  EXPECT_EQ(queues_at("udp://127.0.0.1:65535"), 1U);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("port 65536"));
}

}  // namespace daemon_test
}  // namespace splitnic::control
