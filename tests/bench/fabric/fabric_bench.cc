// What one queue pair of the fabric does: RDMA write with immediate data, Send and RDMA read by
// size, as bandwidth, messages a second and one-way latency (half a round trip; of a read half of
// the time that it takes). Two processes, each with an adapter on an underlay of its own. Prints a
// table; asserts nothing. tests/bench/fabric.sh puts it beside libfabric.
//   --underlay udp|shm    default udp
//   --op write|send|read|mmsg|all
//                         all: the first three. mmsg: plain datagrams by sendmmsg and recvmmsg
//   --size N|all          octets, 1 to 1048576; default all
//   --seconds S           of each figure, default 1
//   --spin                both ends ask instead of sleeping
//   --pin                 each end has a processor of its own
//   --loss PERCENT        of the datagrams that the passive end receives
//   --go-back-n           instead of selective repeat
//   --netns A,B           the active and the passive end are in these network namespaces
//   --address ADDRESS     of the passive end, default 127.0.0.1
//   --no-head             rows only
#include <getopt.h>

#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "tests/bench/fabric/datagrams.h"
#include "tests/bench/fabric/fabric_end.h"
#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {
namespace {

struct Options {
  Ends ends;
  Run run;
  std::vector<Op> ops{Op::kWrite, Op::kSend, Op::kRead};
  std::vector<std::size_t> sizes{kSizes.begin(), kSizes.end()};
  bool has_head = true;
};

// Answers what asks for it, until the other end has measured.
void serve(const Options& options, const Run& run, Control& control) {
  FabricEnd end(options.ends, run, control, false);
  for (unsigned turns = 1;; ++turns) {
    end.turn();
    if (run.spins ? turns % 1024 == 0 && control.is_readable() : end.other_has_spoken()) break;
  }
  static_cast<void>(control.hear_value<bool>());
  control.tell_value(end.lost());
}

void measure_latency(FabricEnd& end, const Run& run, Row& row) {
  std::vector<float> took;
  took.reserve(kRoundTripsMax);
  base::Time begin = end.now();
  const base::Time until = begin + seconds_of(run.seconds);
  while (begin < until && took.size() < kRoundTripsMax) {
    const std::size_t answered = run.op == Op::kRead ? end.sent() : end.received();
    end.post(Word::kAnswer);
    end.transmit();
    end.turn_until([&] { return (run.op == Op::kRead ? end.sent() : end.received()) > answered; });
    const base::Time now = end.now();
    took.push_back(static_cast<float>((now - begin).count()));
    begin = now;
  }
  take_round_trips(took, row);
}

// Keeps all slots under way for so long, then waits for the rest.
void stream(FabricEnd& end, const Run& run, double seconds, Row& row) {
  const std::size_t slots = slots_for(run.bytes);
  const std::size_t before = end.sent();
  const base::Time begin = end.now();
  const base::Time until = begin + seconds_of(seconds);
  for (base::Time now = begin; now < until; now = end.now()) {
    while (end.open() < slots) end.post(Word::kCount);
    end.transmit();
    const std::size_t known = end.sent();
    end.turn_until([&] { return end.sent() > known; });
  }
  end.turn_until([&] { return end.open() == 0; });
  row.messages = end.sent() - before;
  row.seconds = seconds_in(end.now() - begin);
}

void measure(const Options& options, const Run& run, Control& control) {
  FabricEnd end(options.ends, run, control, true);
  Row row;
  row.carrier = run.is_shm ? "shm" : "udp";
  row.op = name(run.op);
  row.spins = run.spins;
  row.bytes = run.bytes;
  measure_latency(end, run, row);
  end.turn_until([&] { return end.open() == 0; });
  stream(end, run, run.seconds / 10, row);
  stream(end, run, run.seconds, row);
  control.tell_value(true);
  row.lost = control.hear_value<std::size_t>();
  print(row);
}

Op op_of(std::string_view text) {
  for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kDatagrams}) {
    if (name(op) == text) return op;
  }
  fail("--op takes write, send, read, mmsg or all");
}

void take(Options& options, int option, std::string_view value) {
  switch (option) {
    case 'u':
      if (value != "udp" && value != "shm") fail("--underlay takes udp or shm");
      options.run.is_shm = value == "shm";
      break;
    case 'o':
      if (value != "all") options.ops = {op_of(value)};
      break;
    case 'n':
      options.sizes = sizes_of(value);
      break;
    case 't':
      options.run.seconds = number_of("--seconds", value, 0.001, 3600);
      break;
    case 's':
      options.run.spins = true;
      break;
    case 'p':
      options.ends.is_pinned = true;
      break;
    case 'l':
      options.run.loss_percent = number_of("--loss", value, 0, 50);
      break;
    case 'g':
      options.run.goes_back_n = true;
      break;
    case 'w':
      take_netns(value, options.ends);
      break;
    case 'a':
      options.ends.address = value;
      break;
    case 'h':
      options.has_head = false;
      break;
    default:
      fail("unknown option; the head of tests/bench/fabric/fabric_bench.cc lists them");
  }
}

Options options_of(int argc, char** argv) {
  static constexpr std::array<option, 12> kOptions = {{{"underlay", 1, nullptr, 'u'},
                                                       {"op", 1, nullptr, 'o'},
                                                       {"size", 1, nullptr, 'n'},
                                                       {"seconds", 1, nullptr, 't'},
                                                       {"spin", 0, nullptr, 's'},
                                                       {"pin", 0, nullptr, 'p'},
                                                       {"loss", 1, nullptr, 'l'},
                                                       {"go-back-n", 0, nullptr, 'g'},
                                                       {"netns", 1, nullptr, 'w'},
                                                       {"address", 1, nullptr, 'a'},
                                                       {"no-head", 0, nullptr, 'h'},
                                                       {nullptr, 0, nullptr, 0}}};
  Options options;
  for (int c = 0; (c = ::getopt_long(argc, argv, "", kOptions.data(), nullptr)) != -1;) {
    take(options, c, optarg == nullptr ? "" : optarg);
  }
  if (::optind != argc) fail("there are options only");
  return options;
}

bool run_one(const Options& options, const Run& run) {
  if (run.op == Op::kDatagrams) {
    return run_two(
        options.ends, [&](Control& control) { serve_datagrams(options.ends, run, control); },
        [&](Control& control) { measure_datagrams(run, control); });
  }
  return run_two(
      options.ends, [&](Control& control) { serve(options, run, control); },
      [&](Control& control) { measure(options, run, control); });
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  const Options options = options_of(argc, argv);
  if (options.has_head) print_head();
  bool succeeded = true;
  for (const Op op : options.ops) {
    for (const std::size_t bytes : options.sizes) {
      Run run = options.run;
      run.op = op;
      run.bytes = bytes;
      succeeded &= run_one(options, run);
    }
  }
  return succeeded ? 0 : 1;
}
