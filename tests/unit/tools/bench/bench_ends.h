// The two ends of `splitnic bench` in one thread, and the path between them. In place of sleeping,
// each end asks again; nothing depends on how long that takes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/underlay/underlay_decorator.h"
#include "tests/support/fault_underlay.h"
#include "tools/bench/bench_service.h"
#include "tools/bench/measure.h"

namespace splitnic::bench::bench_ends {

inline constexpr fabric::Eui64 kActive(0x0200000000000001ULL);
inline constexpr fabric::Eui64 kPassive(0x0200000000000002ULL);
inline constexpr std::size_t kCell = 1364;  // of a path with datagrams of 1472 bytes

// Never lets its owner sleep, and calls a function before it asks for input.
class DrivingUnderlay final : public fabric::UnderlayDecorator {
 public:
  using UnderlayDecorator::UnderlayDecorator;
  std::function<void()> before_receive;

  SendStatus send(const fabric::PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override {
    if (before_receive) before_receive();
    return below_.receive();
  }
  bool may_sleep() override { return false; }
  base::Time deadline() const override { return below_.deadline(); }
};

// A passive end; `faults` are of what it receives.
class Listener {
 public:
  fabric::InProcessHub hub;
  fabric::InProcessUnderlay& endpoint = hub.add_endpoint();

 private:
  base::SystemClock clock_;
  base::SeededRandom random_{7};
  DrivingUnderlay driving_{endpoint};

 public:
  fabric::FaultUnderlay faults{driving_, random_, clock_};
  FabricEnd end{faults, {.eui64 = kPassive, .spins = true}};
};

// Both ends: the passive one has an iteration whenever the active one asks for input.
class Ends : public Listener {
 public:
  Ends() {
    near_.before_receive = [this] { end.iterate(); };
  }
  base::Status connect(const Run& run) {
    return active.connect(endpoint.address(), run, std::chrono::seconds(10));
  }

 private:
  DrivingUnderlay near_{hub.add_endpoint()};

 public:
  FabricEnd active{near_, {.eui64 = kActive, .is_active = true, .spins = true}};
};

inline Run run_of(fabric::Service service, Op op, std::size_t bytes = 64,
                  std::size_t queue_pairs = 1) {
  Run run;
  run.service = service;
  run.op = op;
  run.bytes = op == Op::kFetchOp ? kFetchOpBytes : bytes;
  run.queue_pairs = queue_pairs;
  run.seconds = 0.01;
  run.spins = true;
  return run;
}

inline std::string title(const Run& run) {
  return std::string(word_of(run.service)) + " " + std::string(name(run.op)) + " " +
         std::to_string(run.bytes);
}

inline void expect_measured(const Run& run) {
  SCOPED_TRACE(title(run));
  Ends ends;
  const auto connected = ends.connect(run);
  ASSERT_TRUE(connected.has_value()) << connected.error().text();
  const auto row = measure(ends.active, run);
  ASSERT_TRUE(row.has_value()) << row.error().text();
  EXPECT_GT(row->messages, 0U);
  EXPECT_GT(row->median_us, 0);
  if (is_reliable(run.service)) {
    EXPECT_FALSE(row->lost.has_value());
  } else {
    EXPECT_EQ(row->lost, std::optional<std::size_t>(0)) << "in memory nothing is lost";
  }
  if (!has_response(run.op)) {
    EXPECT_EQ(ends.end.arrived(), ends.active.posted());
  }
}

// Every tenth datagram to the passive end is lost from now on.
inline void lose_a_tenth(Ends& ends) {
  ends.faults.drop_received([seen = 0U](base::Bytes) mutable { return ++seen % 10 == 0; });
}

}  // namespace splitnic::bench::bench_ends
