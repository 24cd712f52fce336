// A process of several workers: its threads, its control socket and its end. A worker counts what
// reaches it; the program runs in a thread of the test, as main() would.
#include "control/daemon/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "control/client.h"
#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/control/daemon/event_port.h"

namespace splitnic::control {
namespace daemon_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kPatience = 60s;

// All counts of a worker are plain: only its own thread uses them.
class TestAdmin final : public Admin {
 public:
  TestAdmin(base::Clock& clock, const std::uint64_t& steps)
      : Admin(clock, [](const base::CounterVisitor& visit) { visit("carrier.things", 1); }),
        steps_(steps) {}
  const std::vector<std::string>& sets() const { return sets_; }
  std::vector<std::string> evicted;

 private:
  base::Result<KnownPeers> known_peers() const override {
    KnownPeer peer{"office", ""};
    peer.rx_bytes = 10;
    return KnownPeers{peer};
  }
  base::Status evict(const std::string& name) override {
    if (name != "office") return base::Error("no such host");
    evicted.push_back(name);
    return {};
  }
  Snapshot snapshot(SnapshotParts) const override {
    Snapshot now;
    now.role = "host";
    now.name = "n";
    now.state = "up";
    now.peers = {{"peer", "shm://x", "up", "rdma", ""}};
    now.links = {{"shm://x", "UP", 1364, 1}};
    now.counters = {{"worker.sets", sets_.size()}, {"worker.steps", steps_}};
    return now;
  }
  Reply set(const std::string& what, const std::string& value) override {
    if (value == "bad") return {ReplyStatus::kBadRequest, "bad"};
    sets_.push_back(what + "=" + value);
    return {ReplyStatus::kOk, ""};
  }
  base::Result<messaging::Connection*> connection_to_ping() override {
    return base::Error("nothing to ping");
  }

  const std::uint64_t& steps_;
  std::vector<std::string> sets_;
};

class TestWorker final : public Worker {
 public:
  TestWorker(const Process& process, const CommonOptions& common, std::uint32_t queue)
      : Worker(process, common, fabric::AdapterLimits{}, queue), admin_(clock_, steps_) {}

  TestAdmin& admin() override { return admin_; }
  std::size_t ports() const override { return 1; }
  lan::FramePort& port(std::size_t) override { return port_; }
  bool wants_input(std::size_t) override { return false; }
  bool wants_output(std::size_t) override { return false; }
  void on_port_event(std::size_t, base::Time) override { port_.gone = true; }
  void set_readable(std::size_t, bool) override {}
  bool step(base::Time) override {
    ++steps_;
    allowed_ = processors_of_this_thread();
    return false;
  }
  base::Time deadline() const override { return base::kNever; }
  std::uint64_t bytes_processed() const override { return 0; }
  void begin_stop() override { ends_.emplace_back("begin_stop"); }
  bool is_drained() const override { return true; }
  void stop(base::Time) override { ends_.emplace_back("stop"); }

  // Any thread: the interface is deleted.
  void delete_port() { ASSERT_EQ(::eventfd_write(port_.events.get(), 1), 0); }
  // After the end of its thread.
  const std::vector<std::string>& sets() const { return admin_.sets(); }
  const std::vector<std::string>& ends() const { return ends_; }
  const Processors& allowed() const { return allowed_; }

 private:
  std::uint64_t steps_ = 0;
  TestAdmin admin_;
  EventPort port_{"tap:test", make_event()};
  std::vector<std::string> ends_;
  Processors allowed_;
};

class TestDaemon final : public Daemon {
 public:
  explicit TestDaemon(const CommonOptions& common) : Daemon("test", common), common_(common) {
    add_worker();
  }
  std::size_t workers() const override { return workers_.size(); }
  TestWorker& worker(std::size_t queue) override { return *workers_[queue]; }
  using Daemon::queues_at;

  std::size_t queues_max = messaging::kQueuesMax;
  std::optional<std::string> open_error;
  bool may_reload = false;
  std::atomic<int> reloads{0};

 private:
  ReloadHandler reload_handler() override {
    if (!may_reload) return {};
    return [this](const ReplyFunction& reply) {
      ++reloads;
      reply({ReplyStatus::kOk, "reloaded\n"});
    };
  }
  base::Status open() override {
    if (open_error) return base::Error(*open_error);
    while (workers_.size() < std::min<std::size_t>(queues_wanted(), queues_max)) add_worker();
    return {};
  }
  void add_worker() {
    workers_.push_back(std::make_unique<TestWorker>(process(), common_,
                                                    static_cast<std::uint32_t>(workers_.size())));
  }

  const CommonOptions& common_;
  std::vector<std::unique_ptr<TestWorker>> workers_;
};

Request request(Command command, bool is_json = false, std::string what = {},
                std::string value = {}) {
  return {command, is_json, std::move(what), std::move(value), 0};
}

std::uint64_t number_of(const std::string& stats, const std::string& name) {
  const std::size_t at = stats.find(name + " ");
  return at == std::string::npos ? 0 : std::stoull(stats.substr(at + name.size()));
}

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    common_.control_path = folder_.path("d.sock");
    common_.queues = 3;
    common_.is_sandboxed = false;  // it would hold for the tests, too
  }

  void start() {
    ::testing::internal::CaptureStderr();
    daemon_ = std::make_unique<TestDaemon>(common_);
    daemon_->queues_max = queues_max_;
    daemon_->may_reload = may_reload_;
    ended_ = std::async(std::launch::async, [this] { return daemon_->run(); });
  }
  // Replies once the program is up.
  Reply ask(const Request& request) {
    for (;;) {
      if (auto client = Client::connect(common_.control_path)) {
        return client->ask(request, kPatience).value();
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  Reply stats() { return ask(request(Command::kStats)); }
  Reply set(const std::string& what, const std::string& value) {
    return ask(request(Command::kSet, false, what, value));
  }
  int end() {
    EXPECT_EQ(ended_.wait_for(kPatience), std::future_status::ready);
    stderr_ = ::testing::internal::GetCapturedStderr();
    return ended_.get();
  }
  int stop() {
    EXPECT_EQ(::kill(::getpid(), SIGTERM), 0);
    return end();
  }

  const support::TempFolder folder_;
  CommonOptions common_;
  std::size_t queues_max_ = messaging::kQueuesMax;
  bool may_reload_ = false;
  std::unique_ptr<TestDaemon> daemon_;
  std::future<int> ended_;
  const support::LogLines log_;
  std::string stderr_;
};

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

TEST_F(DaemonTest, reload_and_sighup_reach_the_program_that_can_reload) {
  may_reload_ = true;
  start();
  EXPECT_EQ(ask(request(Command::kReload)), (Reply{ReplyStatus::kOk, "reloaded\n"}));
  EXPECT_EQ(daemon_->reloads, 1);
  for (int expected = 2; expected < 4; ++expected) {
    ASSERT_EQ(::kill(::getpid(), SIGHUP), 0);
    while (daemon_->reloads < expected) std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(stop(), 0);
}

TEST_F(DaemonTest, reload_is_refused_by_a_program_that_has_nothing_to_reload) {
  start();
  EXPECT_EQ(ask(request(Command::kReload)).status, ReplyStatus::kBadRequest);
  EXPECT_EQ(stop(), 0);
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
