// sim_runner --seed N --count M [--frames F] [--twice] [--full] [--cell B] [--queues Q] [--hostile]
// [--verbose]: runs the seeds N .. N+M-1, with --full, --cell and --queues as given and not as
// drawn. One line per failing seed, then one line of results; exit status 1 if any failed. --twice
// runs each again and compares the traces. --hostile attaches a hostile host, and compares the
// goodput with that next to a quiet one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "base/log.h"
#include "tests/sim/scenario.h"

namespace {

volatile std::sig_atomic_t running_seed = 0;

// A CHECK that fails ends the program: the seed is what is needed then.
void on_abort(int) { std::fprintf(stderr, "seed %ld aborted\n", static_cast<long>(running_seed)); }

}  // namespace

int main(int argc, char** argv) {
  using namespace splitnic;
  std::uint64_t seed = 0;
  std::uint64_t count = 1;
  std::uint64_t frames = 1000;
  bool twice = false;
  bool is_full = false;
  std::uint16_t cell_bytes = 0;
  std::uint32_t queues = 0;
  bool is_hostile = false;
  bool verbose = false;
  CLI::App app("Runs host, fabric and I/O unit in one thread, faults drawn from a seed",
               "sim_runner");
  app.add_option("--seed", seed, "First seed");
  app.add_option("--count", count, "How many");
  app.add_option("--frames", frames, "Frames each way");
  app.add_flag("--twice", twice, "Run each seed twice and compare the traces");
  app.add_flag("--full", is_full, "Every run in the full link profile");
  app.add_option("--cell", cell_bytes, "Every run with this cell size");
  app.add_option("--queues", queues, "Number of queues of every run");
  app.add_flag("--hostile", is_hostile, "With a hostile host; the goodput keeps 90 %");
  app.add_flag("--verbose", verbose, "A line for each seed, and log lines");
  CLI11_PARSE(app, argc, argv);

  std::signal(SIGABRT, on_abort);
  base::set_log_level(verbose ? "debug" : "error");
  std::uint64_t failed = 0;
  std::uint64_t arrived = 0;
  double least = 1;  // share of the goodput that was kept
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t s = seed; s < seed + count; ++s) {
    running_seed = static_cast<std::sig_atomic_t>(s);
    sim::Scenario scenario = sim::draw(s, frames);
    if (is_full) scenario.world.profile = fabric::LinkProfile::kFull;
    if (cell_bytes != 0) scenario.world.cell_bytes = cell_bytes;
    if (queues != 0) scenario.world.host_pair.queues = scenario.world.iou_pair.queues = queues;
    if (is_hostile) scenario.world.hostility = sim::Hostility::kHostile;
    if (verbose) std::printf("seed %lu: %s\n", s, sim::describe(scenario).c_str());
    const auto start = std::chrono::steady_clock::now();
    sim::Outcome out = sim::run(scenario);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (twice && sim::run(scenario).trace_hash != out.trace_hash) {
      out.failure += (out.failure.empty() ? "" : "; ") + std::string("two runs differ");
    }
    if (is_hostile) {
      const double quiet = static_cast<double>(sim::goodput(s, sim::Hostility::kQuiet));
      const double kept = static_cast<double>(sim::goodput(s, sim::Hostility::kHostile)) / quiet;
      least = std::min(least, kept);
      if (!(kept >= 0.9)) out.failure += "; the goodput is " + std::to_string(kept);
    }
    arrived += out.frames_arrived;
    if (verbose) {
      std::printf(
          "seed %lu: %lu frames, %lu iterations, %.3f s virtual, %.3f s real, %lu pair ends, trace "
          "%016lx\n",
          s, out.frames_arrived, out.iterations,
          std::chrono::duration<double>(out.virtual_time).count(), took.count(), out.pair_downs,
          out.trace_hash);
    }
    if (out.failure.empty()) continue;
    ++failed;
    std::printf("seed %lu failed: %s [%s]\n", s, out.failure.c_str(),
                sim::describe(scenario).c_str());
    std::fflush(stdout);
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  std::printf("%lu seeds, %lu failed, %lu frames, %.1f s\n", count, failed, arrived, all.count());
  if (is_hostile) std::printf("least share of the goodput that was kept: %.3f\n", least);
  return failed == 0 ? 0 : 1;
}
