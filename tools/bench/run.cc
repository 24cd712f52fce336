#include "tools/bench/run.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace splitnic::bench {

std::string_view name(Op op) {
  constexpr std::array<std::string_view, 5> kNames = {"write", "send", "read", "fetchop", "mmsg"};
  return kNames[static_cast<std::size_t>(op)];
}

void print_head(bool has_services) {
  std::printf("%-12s %-6s %-7s", "carrier", "waits", "op");
  if (has_services) std::printf(" %-7s %3s", "service", "qps");
  std::printf(" %8s %10s %14s %12s %12s %8s\n", "bytes", "MB/s", "messages/s", "one-way us",
              "mean us", "lost");
}

namespace {

void print_figure(int width, int digits, double value) {
  if (value > 0) {
    std::printf(" %*.*f", width, digits, value);
  } else {
    std::printf(" %*s", width, "-");
  }
}

}  // namespace

void print(const Row& row) {
  std::printf("%-12s %-6s %-7s", row.carrier.c_str(), row.spins ? "spins" : "sleeps",
              row.op.c_str());
  if (!row.service.empty()) std::printf(" %-7s %3zu", row.service.c_str(), row.queue_pairs);
  std::printf(" %8zu", row.bytes);
  print_figure(10, 2, row.rate() * static_cast<double>(row.bytes) / 1e6);
  print_figure(14, 0, row.rate());
  print_figure(12, 3, row.median_us);
  print_figure(12, 3, row.mean_us);
  std::printf(" %8s\n", row.lost ? std::to_string(*row.lost).c_str() : "-");
  std::fflush(stdout);
}

void take_round_trips(std::vector<float>& nanoseconds, Row& row) {
  if (nanoseconds.empty()) return;
  const auto middle = nanoseconds.begin() + static_cast<std::ptrdiff_t>(nanoseconds.size() / 2);
  std::nth_element(nanoseconds.begin(), middle, nanoseconds.end());
  row.median_us = static_cast<double>(*middle) / 2000;
  row.mean_us = std::accumulate(nanoseconds.begin(), nanoseconds.end(), 0.0) /
                static_cast<double>(nanoseconds.size()) / 2000;
}

}  // namespace splitnic::bench
