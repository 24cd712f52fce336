// Time that the reports of `show`, `show --verbose` and `stats` take of the data thread of an I/O
// unit, between two rounds of frames: of the first step, which lists the hosts and adds up their
// counters, and of the longest of those that follow. Asserts nothing.
//   report_bench [HOSTS]     default 64
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "iou_module/iou_admin.h"
#include "tests/support/cpu_time.h"
#include "tests/unit/iou_module/unit_harness.h"

namespace splitnic::iou {
namespace {

constexpr std::size_t kRounds = 201;

template <typename Step>
double microseconds(const Step& step) {
  const double begin = support::cpu_nanoseconds();
  step();
  return (support::cpu_nanoseconds() - begin) / 1e3;
}

double median(std::vector<double> took) {
  std::ranges::nth_element(took, took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2));
  return took[took.size() / 2];
}

// Each step but the first is a run of the commands; the text of a reply is made in another thread.
void measure(IouAdmin& admin, control::CommandQueue& commands, const char* name,
             const control::Request& request) {
  std::function<void()> make_text;
  admin.set_text_thread([&](std::function<void()> make) { make_text = std::move(make); });
  std::vector<double> first;
  std::vector<double> longest;
  std::size_t steps = 1;
  for (std::size_t i = 0; i < kRounds; ++i) {
    make_text = nullptr;
    first.push_back(microseconds([&] { admin.handle(request, [](const control::Reply&) {}); }));
    double most = 0;
    for (steps = 1; !make_text; ++steps) {
      most = std::max(most, microseconds([&] { commands.run(); }));
    }
    longest.push_back(most);
  }
  std::printf("%-14s  first step %6.1f us, longest of %zu others %6.1f us (medians of %zu)\n", name,
              median(first), steps - 1, median(longest), kRounds);
}

int run(std::size_t hosts) {
  harness::UnitHarness unit({.hosts_max = hosts, .pools = {{4, 2048}}});
  for (std::size_t i = 0; i < hosts; ++i) {
    if (!unit.connect(unit.add_host({.pools = {{4, 2048}}}))) {
      std::fprintf(stderr, "report_bench: host %zu does not connect\n", i + 1);
      return 1;
    }
  }
  const IouOptions options;
  control::KeyedCarriers keyed{options.common.keys, 1, 0, unit.clock, unit.random};
  Admission admission(keyed, unit.clock,
                      std::make_shared<KnownHosts>(std::nullopt, options.common.keys.peers),
                      [](const fabric::Link&, const HostRights&) {});
  base::SystemClock clock;
  control::CommandQueue commands;
  IouAdmin admin(options, clock, admission, [](const base::CounterVisitor&) {});
  admin.attach(*unit.unit);
  admin.set_commands(commands);
  std::printf("%zu hosts, steps of %lld us\n", hosts,
              static_cast<long long>(control::Admin::kStep.count() / 1000));
  control::Request request;
  request.command = control::Command::kShow;
  measure(admin, commands, "show", request);
  request.verbose = true;
  measure(admin, commands, "show --verbose", request);
  request = {};
  request.command = control::Command::kStats;
  measure(admin, commands, "stats", request);
  return 0;
}

}  // namespace
}  // namespace splitnic::iou

int main(int argc, char** argv) {
  const long hosts = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 64;
  if (hosts < 1 || hosts > 64) {
    std::fprintf(stderr, "report_bench [HOSTS]: 1 to 64\n");
    return 2;
  }
  return splitnic::iou::run(static_cast<std::size_t>(hosts));
}
