// A process of several workers, each of which counts what reaches it; the program runs in a thread
// of the test, as main() would.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "control/daemon/daemon.h"
#include "control/socket/client.h"
#include "tests/support/log_lines.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/control/daemon/event_port.h"

namespace splitnic::control {
namespace daemon_test {

using namespace std::chrono_literals;

inline constexpr auto kPatience = 60s;

// All counts of a worker are plain: only its own thread uses them.
class TestAdmin final : public Admin {
 public:
  TestAdmin(base::Clock& clock, const std::uint64_t& steps, std::uint32_t queue)
      : Admin(clock, [](const base::CounterVisitor& visit) { visit("carrier.things", 1); }),
        steps_(steps),
        queue_(queue) {}
  const std::vector<std::string>& sets() const { return sets_; }
  std::vector<std::string> evicted;

 private:
  base::Result<KnownPeers> known_peers() const override {
    KnownPeer peer{"office", ""};
    peer.rx_bytes = 10;
    return KnownPeers{peer};
  }
  // The host "guest" is at queue 2 only.
  base::Status evict(const std::string& name) override {
    const bool is_here = name == "office" || (name == "guest" && queue_ == 2);
    if (!is_here) return base::Error("no such host");
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
  const std::uint32_t queue_;
  std::vector<std::string> sets_;
};

class TestWorker final : public Worker {
 public:
  TestWorker(const Process& process, const CommonOptions& common, std::uint32_t queue)
      : Worker(process, common, fabric::AdapterLimits{}, queue), admin_(clock_, steps_, queue) {}

  TestAdmin& admin() override { return admin_; }
  std::size_t ports() const override { return 1; }
  lan::FramePort& port(std::size_t) override { return port_; }
  bool wants_input(std::size_t) override { return false; }
  bool wants_output(std::size_t) override { return false; }
  void on_port_event(std::size_t, base::Time) override { port_.gone = true; }
  void set_readable(std::size_t, bool) override {}
  bool step(base::Time) override {
    ++steps_;
    while (hangs) {
      is_hanging = true;
      std::this_thread::sleep_for(1ms);
    }
    allowed_ = processors_of_this_thread();
    return false;
  }
  base::Time deadline() const override { return base::kNever; }
  std::uint64_t bytes_processed() const override { return steps_; }
  void begin_stop() override { ends_.emplace_back("begin_stop"); }
  bool is_drained() const override { return true; }
  void stop(base::Time) override { ends_.emplace_back("stop"); }

  // Any thread: each step hangs for as long as `hangs`.
  std::atomic<bool> hangs{false}, is_hanging{false};
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
  std::atomic<bool> waits{false};  // for an interface that comes later
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
    const auto attempt = [this]() -> base::Status {
      return waits ? base::Error("no such interface", ENODEV) : base::Status();
    };
    if (auto opened = when_possible(attempt); !opened) return opened;
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

// A service manager, whose socket is NOTIFY_SOCKET while it is there.
class TestManager {
 public:
  explicit TestManager(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
  }
  ~TestManager() { ::unsetenv("NOTIFY_SOCKET"); }
  TestManager(const TestManager&) = delete;
  TestManager& operator=(const TestManager&) = delete;

  // Waits for the next message that is not WATCHDOG=1. Returns "" if none comes in time.
  std::string heard() {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < until) {
      const std::string text = receive(MSG_DONTWAIT);
      if (!text.empty() && text != "WATCHDOG=1") return text;
      if (text.empty()) std::this_thread::sleep_for(1ms);
    }
    return {};
  }
  // Returns how many messages WATCHDOG=1 have come, and forgets all.
  int alive() {
    int count = 0;
    for (std::string text; !(text = receive(MSG_DONTWAIT)).empty();) {
      if (text == "WATCHDOG=1") ++count;
    }
    return count;
  }

 private:
  std::string receive(int flags) {
    std::array<char, 128> text{};
    const ssize_t n = ::recv(socket_.get(), text.data(), text.size(), flags);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }

  base::UniqueFd socket_;
};

inline Request request(Command command, bool is_json = false, std::string what = {},
                       std::string value = {}) {
  return {command, is_json, std::move(what), std::move(value), 0};
}

inline std::uint64_t number_of(const std::string& stats, const std::string& name) {
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
    daemon_->waits = waits_;
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
  bool waits_ = false;
  std::unique_ptr<TestDaemon> daemon_;
  std::future<int> ended_;
  const support::LogLines log_;
  std::string stderr_;
};

}  // namespace daemon_test
}  // namespace splitnic::control
