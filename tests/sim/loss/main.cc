// loss_sweep [--check FILE | --write FILE]: writes of 64 KiB over paths of a grid of loss, delay
// and buffer, as a table (tests/sim/table_page.h). A difference is a change of how the fabric
// repairs loss.
#include <string>

#include "tests/sim/loss/loss_run.h"
#include "tests/sim/table_page.h"

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kMessages = 512;

std::string percent(std::uint32_t ppm) {
  if (ppm % 10'000 == 0) return std::to_string(ppm / 10'000) + " %";
  return "0." + std::to_string(ppm / 1000) + " %";
}

std::string row(const PathConfig& path) {
  const LossFigures f = run_loss(path, 1, kMessages);
  return "| " + percent(path.loss_ppm) + (path.loses_batches ? " of batches" : "") + " | " +
         std::to_string(path.delay / 1us) + " us | " + std::to_string(path.buffer_bytes >> 10) +
         " KiB | " + std::to_string(f.goodput_permille) + " | " + std::to_string(f.again_permille) +
         " | " + std::to_string(f.timeouts) + " | " + std::to_string(f.p99_us) + " |\n";
}

std::string table() {
  std::string out =
      "| lost | delay | buffer | goodput ‰ | retransmitted ‰ | time-outs | p99 us |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const base::Duration delay : {25us, 200us, 2000us}) {
    for (const std::uint64_t buffer : {64U << 10, 512U << 10, 4U << 20}) {
      for (const std::uint32_t loss : {0U, 1'000U, 10'000U, 50'000U}) {
        out += row({.loss_ppm = loss, .delay = delay, .buffer_bytes = buffer});
      }
    }
  }
  for (const base::Duration delay : {25us, 200us}) {
    out += row({.loss_ppm = 10'000, .loses_batches = true, .delay = delay});
  }
  return out;
}

}  // namespace
}  // namespace splitnic::sim

int main(int argc, char** argv) {
  return splitnic::sim::run_table_page("loss_sweep", splitnic::sim::table, argc, argv);
}
