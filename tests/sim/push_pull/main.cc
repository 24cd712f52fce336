// push_pull_sweep [--check FILE | --write FILE]: push compared with pull over a grid of frame
// lengths and path delays, as two tables (tests/sim/table_page.h).
#include <memory>
#include <string>

#include "tests/sim/push_pull/models.h"
#include "tests/sim/table_page.h"

namespace splitnic::sim {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kWindowFrames = 1024;  // until the window is what it will be
constexpr std::size_t kWarmUp = 4 * kBuffers;
constexpr std::size_t kFrames = 1024;
constexpr auto kSizes = std::to_array<std::size_t>({64, 1500, 65536});
constexpr auto kDelays = std::to_array<base::Duration>({0us, 50us, 1ms, 10ms});

struct Row {
  base::Duration lone;
  Sustained sustained;
};

template <class Model>
Row measure(const TransferConfig& config) {
  Model model(config);
  Row row;
  model.sustain(0, kWindowFrames);
  row.sustained = model.sustain(kWarmUp, kFrames);
  row.lone = model.lone_frame();
  return row;
}

// value / divisor with `digits` decimals, cut off.
std::string decimal(std::uint64_t value, std::uint64_t divisor, unsigned digits) {
  std::uint64_t unit = 1;
  for (unsigned i = 0; i < digits; ++i) unit *= 10;
  const std::uint64_t scaled = value * unit / divisor;
  std::string fraction = std::to_string(scaled % unit);
  fraction.insert(0, digits - fraction.size(), '0');
  return std::to_string(scaled / unit) + "." + fraction;
}

std::string column(const std::string& text) { return " " + text + " |"; }

std::string path_of(const TransferConfig& config) {
  return "|" + column(std::to_string(config.frame_bytes) + " B") +
         column(std::to_string(config.delay / 1us) + " us");
}

std::uint64_t ns(base::Duration d) { return static_cast<std::uint64_t>(d.count()); }

std::string rate(const Sustained& s) {
  return column(decimal(s.timed_frames * 1'000'000, ns(s.took), 2));
}
std::string bit_rate(const Sustained& s, std::size_t frame_bytes) {
  return column(decimal(s.timed_frames * frame_bytes * 8'000, ns(s.took), 1));
}

std::string speed_row(const TransferConfig& config, const Row& push, const Row& pull) {
  return path_of(config) + column(decimal(ns(push.lone), 1000, 1)) +
         column(decimal(ns(pull.lone), 1000, 1)) + rate(push.sustained) + rate(pull.sustained) +
         bit_rate(push.sustained, config.frame_bytes) +
         bit_rate(pull.sustained, config.frame_bytes) + "\n";
}

std::string per_frame(const Sustained& s) {
  std::string out;
  for (const Sent* sent : {&s.by_sender, &s.by_receiver}) {
    out += column(decimal(sent->all_packets(), s.frames, 2));
    out += column(decimal(sent->cells, s.frames, 2));
    out += column(decimal(sent->acks, s.frames, 2));
  }
  return out;
}

std::string tables() {
  std::string speed =
      "| frame | delay | push us | pull us | push kframes/s | pull kframes/s | push Mbit/s | pull "
      "Mbit/s |\n|---|---|---|---|---|---|---|---|\n";
  std::string cost =
      "| frame | delay | model | packets -> | cells -> | ACKs -> | packets <- | cells <- | ACKs <- "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const std::size_t bytes : kSizes) {
    for (const base::Duration delay : kDelays) {
      const TransferConfig config{bytes, delay};
      const Row push = measure<Push>(config);
      const Row pull = measure<Pull>(config);
      speed += speed_row(config, push, pull);
      cost += path_of(config) + column("push") + per_frame(push.sustained) + "\n";
      cost += path_of(config) + column("pull") + per_frame(pull.sustained) + "\n";
    }
  }
  return speed + "\n" + cost;
}

}  // namespace
}  // namespace splitnic::sim

int main(int argc, char** argv) {
  return splitnic::sim::run_table_page("push_pull_sweep", splitnic::sim::tables, argc, argv);
}
