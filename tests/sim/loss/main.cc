// loss_sweep [--check FILE | --write FILE]: writes of 64 KiB over paths of a grid of loss, delay
// and buffer, as a table. --write puts it between the marks of a page, --check compares it with
// what is there: the results are the same in every build, so a difference is a change of how the
// fabric repairs loss. Exit status 1 if they differ.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "tests/sim/loss/loss_run.h"

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kMessages = 512;
constexpr std::string_view kBegin = "<!-- loss_sweep begin -->\n";
constexpr std::string_view kEnd = "<!-- loss_sweep end -->\n";

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

struct Page {
  std::string before, table, after;
};

std::optional<Page> read_page(const std::string& file) {
  std::ifstream in(file);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = all.find(kBegin);
  const std::size_t end = all.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
  const std::size_t at = begin + kBegin.size();
  return Page{all.substr(0, at), all.substr(at, end - at), all.substr(end)};
}

int run(std::string_view what, const std::string& file) {
  const auto page = read_page(file);
  if (!page) {
    std::fprintf(stderr, "loss_sweep: %s has no marks for the table\n", file.c_str());
    return 1;
  }
  const std::string fresh = table();
  if (what == "--write") {
    std::ofstream(file) << page->before << fresh << page->after;
    return 0;
  }
  if (fresh == page->table) return 0;
  std::printf("The table of %s:\n%sis now:\n%s", file.c_str(), page->table.c_str(), fresh.c_str());
  std::printf("If that is meant: loss_sweep --write docs/performance/loss.md\n");
  return 1;
}

}  // namespace
}  // namespace splitnic::sim

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (argc == 1) {
    std::fputs(splitnic::sim::table().c_str(), stdout);
    return 0;
  }
  if (what == "--write" || what == "--check") return splitnic::sim::run(what, argv[2]);
  std::fputs("usage: loss_sweep [--check FILE | --write FILE]\n", stderr);
  return 2;
}
