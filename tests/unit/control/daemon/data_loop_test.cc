// The order of an iteration, what ends a wait, and the ways a run ends. The module counts its steps
// and the test decides what happens in each; the clock is the test's, but for tests of a sleep.
#include "control/daemon/data_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "tests/support/adapter_pair.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/control/daemon/event_port.h"

namespace splitnic::control {
namespace data_loop_test {

using namespace std::chrono_literals;

// Shorter than the longest sleep of the poller, 10 s: only a wait that nothing ended takes longer.
constexpr auto kPatience = 9s;

// Two ports: one with a descriptor, and one that is always ready, as a capture file is.
class TestModule final : public Module {
 public:
  std::size_t ports() const override { return ports_.size(); }
  lan::FramePort& port(std::size_t index) override { return ports_[index]; }
  bool wants_input(std::size_t index) override { return input_wanted[index]; }
  bool wants_output(std::size_t index) override { return output_wanted[index]; }
  void on_port_event(std::size_t index, base::Time /*now*/) override {
    log.push_back("event " + std::to_string(index));
    eventfd_t ignored = 0;
    ::eventfd_read(ports_[index].events.get(), &ignored);
    if (index == deleted_at_event) ports_[index].gone = true;
  }
  void set_readable(std::size_t index, bool is_readable) override { readable[index] = is_readable; }
  bool reads_carrier(std::size_t /*index*/) const override { return reads_carriers; }
  bool step(base::Time now) override {
    log.push_back("step");
    ++steps;
    return on_step(now);
  }
  base::Time deadline() const override { return next_deadline; }
  std::uint64_t bytes_processed() const override { return bytes; }
  void begin_stop() override { log.push_back("begin_stop"); }
  bool is_drained() const override { return steps >= steps_until_drained; }
  void stop(base::Time /*now*/) override { log.push_back("stop"); }

  EventPort& event_port(std::size_t index) { return ports_[index]; }

  std::string status() const override { return status_text; }

  std::function<bool(base::Time)> on_step;
  std::string status_text;
  std::vector<std::string> log;
  std::atomic<std::size_t> steps = 0;
  std::size_t steps_until_drained = 0;
  base::Time next_deadline = base::kNever;
  std::array<bool, 2> input_wanted{true, true}, output_wanted{}, readable{};
  std::size_t deleted_at_event = SIZE_MAX;
  bool reads_carriers = true;
  std::uint64_t bytes = 0;

 private:
  std::array<EventPort, 2> ports_{EventPort{"packet:eth1", make_event()},
                                  EventPort{"file:a,b", {}}};
};

// An underlay that only has a descriptor.
class EventUnderlay final : public fabric::Underlay {
 public:
  explicit EventUnderlay(base::UniqueFd event) : event_(std::move(event)) {}
  SendStatus send(const fabric::PeerAddress& /*to*/, base::Bytes /*bytes*/,
                  std::size_t /*stride*/) override {
    return SendStatus::kRefused;
  }
  std::optional<Received> receive() override { return std::nullopt; }
  std::size_t datagram_bytes_max(const fabric::PeerAddress& /*to*/) const override { return 1472; }
  std::size_t receive_buffer_bytes() const override { return 1 << 20; }
  int fd() const override { return event_.get(); }
  std::string name_of(const fabric::PeerAddress& /*peer*/) const override { return "event"; }

 private:
  base::UniqueFd event_;
};

class DataLoopTest : public ::testing::Test {
 protected:
  DataLoopTest()
      : control_(ControlThread::open(folder_.path("loop.sock"), commands_,
                                     [](const Request&, const ReplyFunction& reply) { reply({}); })
                     .value()) {}

  base::Status run(base::Clock& clock, bool never_sleeps = false) {
    return run(clock, adapter_, never_sleeps);
  }
  base::Status run(base::Clock& clock, fabric::Adapter& adapter, bool never_sleeps = false) {
    const auto began = std::chrono::steady_clock::now();
    DataLoop loop(module_, adapter, carriers_, *control_, commands_, clock, never_sleeps);
    if (alive_interval_) loop.report_alive(*alive_interval_, heartbeats_, 0);
    if (reports_status_) loop.report_status();
    if (wake_latency_) loop.keep_processors_awake(*wake_latency_);
    auto ended = loop.run();
    took_ = std::chrono::steady_clock::now() - began;
    return ended;
  }
  // Each step takes 1 ms, so that no iteration spins, does what `at` has for it and makes no
  // progress; the last requests a stop.
  base::Status run_steps(const std::vector<std::function<void()>>& at) {
    module_.steps_until_drained = at.size();
    module_.on_step = [this, at](base::Time) {
      if (at[module_.steps - 1]) at[module_.steps - 1]();
      if (module_.steps == at.size()) control_->request_stop();
      clock_.advance(1ms);
      module_.next_deadline = clock_.now() + 1ms;
      return false;
    };
    return run(clock_);
  }
  // Returns what a service manager hears while these steps are run.
  std::vector<std::string> heard_of(const std::vector<std::function<void()>>& steps) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, folder_.path("notify").c_str(), sizeof(address.sun_path) - 1);
    const base::UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    EXPECT_TRUE(run_steps(steps));
    EXPECT_EQ(::unsetenv("NOTIFY_SOCKET"), 0);
    std::vector<std::string> heard;
    std::array<char, 64> text{};
    for (ssize_t n = 0; (n = ::recv(manager.get(), text.data(), text.size(), 0)) > 0;) {
      heard.emplace_back(text.data(), static_cast<std::size_t>(n));
    }
    return heard;
  }
  void add_carrier(base::UniqueFd event) {
    Carrier carrier{.underlay = std::make_unique<EventUnderlay>(std::move(event))};
    ASSERT_TRUE(carriers_.add(std::move(carrier), "event"));
  }
  static void signal(const base::UniqueFd& event) { ASSERT_EQ(::eventfd_write(event.get(), 1), 0); }

  const support::TempFolder folder_;
  base::ManualClock clock_;
  base::SystemClock system_clock_;
  base::SeededRandom random_{1};
  CommandQueue commands_;
  TestModule module_;
  fabric::Adapter adapter_{fabric::AdapterLimits{}, random_};
  Carriers carriers_{"test", "", clock_};
  std::unique_ptr<ControlThread> control_;
  base::Duration took_{};
  std::optional<base::Duration> alive_interval_;
  Heartbeats heartbeats_{1};
  bool reports_status_ = false;
  std::optional<WakeLatency> wake_latency_;
};

using Log = std::vector<std::string>;

// A thread that hangs in a step reports no more.
TEST_F(DataLoopTest, L_14_the_service_manager_hears_of_it_at_its_interval) {
  alive_interval_ = 10ms;
  EXPECT_EQ(heard_of(std::vector<std::function<void()>>(31)), Log(4, "WATCHDOG=1"));
}

TEST_F(DataLoopTest, B_04_the_service_manager_hears_of_each_change_of_the_status) {
  reports_status_ = true;
  module_.status_text = "0 hosts";
  std::vector<std::function<void()>> steps(60);
  const auto tick = [this] { clock_.advance(200ms); };
  for (auto& step : steps) step = tick;
  steps[20] = [this] { module_.status_text = "1 host"; };
  steps[21] = [this] { module_.status_text = "2 hosts"; };
  EXPECT_EQ(heard_of(steps), (Log{"STATUS=0 hosts", "STATUS=2 hosts"})) << "once per second";
}

TEST_F(DataLoopTest, a_stop_with_nothing_in_flight_ends_it_before_another_step) {
  control_->request_stop();
  EXPECT_TRUE(run(clock_));
  EXPECT_EQ(module_.log, Log{"begin_stop"});
}

TEST_F(DataLoopTest, a_stop_waits_until_everything_has_arrived) {
  module_.steps_until_drained = 4;
  module_.on_step = [this](base::Time) {
    if (module_.steps == 2) control_->request_stop();
    return true;
  };
  EXPECT_TRUE(run(clock_));
  EXPECT_EQ(module_.log, (Log{"step", "step", "begin_stop", "step", "step"}));
}

TEST_F(DataLoopTest, what_does_not_arrive_is_waited_for_no_longer_than_stop_max) {
  module_.steps_until_drained = SIZE_MAX;
  module_.on_step = [this](base::Time) {
    clock_.advance(100ms);
    return true;
  };
  control_->request_stop();
  EXPECT_TRUE(run(clock_));
  EXPECT_EQ(module_.log, (Log{"begin_stop", "step", "step", "step"}));
}

TEST_F(DataLoopTest, commands_then_port_events_then_one_step) {
  EXPECT_TRUE(run_steps({[this] {
                           signal(module_.event_port(1).events);
                           ASSERT_TRUE(
                               commands_.post([this] { module_.log.push_back("command"); }));
                         },
                         {},
                         [this] { signal(module_.event_port(0).events); },
                         {}}));
  EXPECT_EQ(module_.log,
            (Log{"step", "command", "event 1", "step", "step", "event 0", "step", "begin_stop"}));
}

// Under load each iteration makes progress, and few of them poll.
TEST_F(DataLoopTest, a_busy_loop_runs_a_command_in_its_next_iteration) {
  module_.steps_until_drained = 4;
  module_.on_step = [this](base::Time) {
    if (module_.steps == 2) {
      EXPECT_TRUE(commands_.post([this] { module_.log.push_back("command"); }));
    }
    if (module_.steps == 4) control_->request_stop();
    return true;
  };
  EXPECT_TRUE(run(clock_));
  EXPECT_EQ(module_.log, (Log{"step", "step", "command", "step", "step", "begin_stop"}));
}

TEST_F(DataLoopTest, a_deleted_interface_ends_it_with_its_name_and_without_another_step) {
  module_.deleted_at_event = 0;
  const base::Status ended = run_steps({[this] { signal(module_.event_port(0).events); }, {}, {}});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().text(), "packet:eth1 was deleted: start again");
  EXPECT_EQ(module_.log, (Log{"step", "event 0"}));
}

TEST_F(DataLoopTest, a_port_is_readable_if_it_has_input_that_is_wanted_or_no_descriptor) {
  std::vector<std::array<bool, 2>> seen;
  const auto see = [&] { seen.push_back(module_.readable); };
  EXPECT_TRUE(run_steps({{},  // the first iteration waits for nothing, and asks no descriptor
                         [&] {
                           see();
                           signal(module_.event_port(0).input);
                         },
                         [&] {
                           see();
                           module_.input_wanted[0] = false;
                         },
                         see}));
  using Both = std::array<bool, 2>;
  EXPECT_EQ(seen, (std::vector<Both>{{false, true}, {true, true}, {false, true}}));
}

// Runs two steps without progress or deadline; the second comes when something has ended the wait.
class SleepTest : public DataLoopTest {
 protected:
  SleepTest() {
    module_.steps_until_drained = 2;
    module_.on_step = [this](base::Time) {
      if (module_.steps == 1 && at_first_step) at_first_step();
      if (module_.steps == 2) control_->request_stop();
      clock_.advance(1ms);
      return false;
    };
  }
  std::function<void()> at_first_step;
};

TEST_F(SleepTest, room_for_output_ends_it) {
  module_.output_wanted[0] = true;
  EXPECT_TRUE(run(clock_));
  EXPECT_LT(took_, kPatience);
}

// As when setting the carrier reads the event of a user who has set the interface up.
TEST_F(SleepTest, an_event_of_a_port_that_the_module_has_read_ends_it) {
  at_first_step = [this] { ++module_.event_port(0).changes_read; };
  EXPECT_TRUE(run(clock_));
  EXPECT_EQ(module_.log, (Log{"step", "event 0", "step", "begin_stop"}));
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, input_of_a_carrier_ends_it) {
  auto event = make_event();
  const int fd = event.get();
  add_carrier(std::move(event));
  at_first_step = [fd] { ASSERT_EQ(::eventfd_write(fd, 1), 0); };
  EXPECT_TRUE(run(clock_));
  EXPECT_LT(took_, kPatience);
}

// The next step would leave it there, and the one behind it.
TEST_F(SleepTest, S000_45_input_of_a_carrier_that_is_not_read_does_not_end_it) {
  module_.reads_carriers = false;
  auto event = make_event();
  signal(event);
  add_carrier(std::move(event));
  at_first_step = [this] { module_.next_deadline = clock_.now() + 20ms; };
  EXPECT_TRUE(run(clock_));
  EXPECT_GE(took_, 15ms);
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, the_deadline_of_the_module_ends_it) {
  at_first_step = [this] { module_.next_deadline = clock_.now() + 20ms; };
  EXPECT_TRUE(run(clock_));
  EXPECT_GE(took_, 15ms);
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, the_end_of_the_time_that_processors_stay_awake_ends_it) {
  wake_latency_ = WakeLatency::open({.held_for = 20ms, .file = "/dev/null"}).value();
  module_.bytes = 100;
  EXPECT_TRUE(run(clock_));
  EXPECT_GE(took_, 15ms);
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, with_never_sleeps_there_is_none) {
  EXPECT_TRUE(run(clock_, true));
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, a_stop_from_another_thread_ends_it) {
  module_.steps_until_drained = 1;
  std::thread other([this] {
    while (module_.steps == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);  // it is asleep by now
    control_->request_stop();
  });
  EXPECT_TRUE(run(clock_));
  other.join();
  EXPECT_LT(took_, kPatience);
}

TEST_F(SleepTest, after_a_stop_its_descriptor_ends_no_further_sleep) {
  module_.steps_until_drained = SIZE_MAX;
  module_.on_step = [](base::Time) {
    std::this_thread::sleep_for(100us);  // longer than a spin
    return false;
  };
  control_->request_stop();
  EXPECT_TRUE(run(system_clock_));
  EXPECT_GE(took_, kStopMax);
  EXPECT_LT(took_, kPatience) << "the end of the stop ends the sleep";
  EXPECT_LT(module_.steps, 20U);
}

// An adapter that has a cell to send and a blocked underlay. The module leaves it alone.
class BlockedTest : public DataLoopTest {
 protected:
  void SetUp() override {
    const fabric::testing::QpPair qp = pair_.connect(fabric::QpInit{});
    fabric::testing::Memory& from = b().memory(64, 1);
    fabric::testing::Memory& to = pair_.a().memory(64);
    b().tap.blocks = true;
    ASSERT_TRUE(b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    b().adapter->transmit(pair_.now());
    ASSERT_TRUE(b().adapter->wants_write());
    module_.steps_until_drained = 3;
    module_.on_step = [this](base::Time) {
      b().tap.blocks = false;
      if (module_.steps == 3) control_->request_stop();
      return true;
    };
  }
  fabric::testing::End& b() { return pair_.b(); }
  void run_with_carrier(base::UniqueFd event) {
    add_carrier(std::move(event));
    EXPECT_TRUE(run(clock_, *b().adapter));
  }

  fabric::testing::AdapterPair pair_;
};

TEST_F(BlockedTest, room_in_a_carrier_lets_the_adapter_continue) {
  run_with_carrier(make_event());  // takes output at any time
  EXPECT_FALSE(b().adapter->wants_write());
}

TEST_F(BlockedTest, without_room_the_adapter_is_left_alone) {
  run_with_carrier({});
  EXPECT_TRUE(b().adapter->wants_write());
}

}  // namespace data_loop_test
}  // namespace splitnic::control
