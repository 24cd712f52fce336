// fabric_bench's results, measured on libfabric: RDMA write with immediate data (fi_writedata),
// Send (fi_senddata), both with a completion at the other end, and RDMA read (fi_read), between two
// processes that ask and never sleep. Debian's libfabric-bin has nothing like it. Prints rows of
// fabric_bench's table; the carrier is the provider. A row that fails is named on standard error,
// the others stay, and the exit status is 1.
//   --provider tcp|udp;ofi_rxd|shm
//   --op write|send|read|all     default all
//   --size N|all                 bytes, 1 to 1048576; default all
//   --seconds S                  of each result, default 1
//   --limit S                    a row that takes longer has failed; default 4 * seconds + 20
//   --pin                        each end has its own processor
//   --netns A,B                  the active and the passive end are in these network namespaces
//   --addresses ACTIVE,PASSIVE   of the two ends, default 127.0.0.1
//   --no-head                    rows only
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/fabric/bench_options.h"
#include "tests/bench/fabric/libfabric_end.h"
#include "tests/bench/fabric/two_ends.h"

namespace splitnic::bench {
namespace {

struct Options : CommonOptions {
  std::string provider = "tcp";
  std::string active_address = "127.0.0.1";
  double limit_s = 0;  // 0: the default
};

// Of one row.
LibfabricEnd::Config config_of(const Options& options, Op op, std::size_t bytes, bool is_active) {
  return {options.provider, is_active ? options.active_address : options.ends.address, op, bytes,
          is_active};
}

// Ends this process then, wherever it is: a provider may wait indefinitely within a call.
void limit_time(const Options& options) {
  const double limit_s = options.limit_s > 0 ? options.limit_s : 4 * options.seconds + 20;
  ::alarm(static_cast<unsigned>(std::ceil(limit_s)));
}

void serve(LibfabricEnd::Config config, Control& control) {
  LibfabricEnd end(std::move(config), control);
  for (unsigned iterations = 1; iterations % 1024 != 0 || !control.is_readable(); ++iterations)
    end.iterate();
}

// One message, and until the other end has replied; a read is its own reply.
void take_round_trip(LibfabricEnd& end, Op op) {
  const auto replies = [&] { return op == Op::kRead ? end.sent() : end.received(); };
  const std::size_t known = replies();
  end.iterate_until([&] { return end.post(Word::kReply); });
  end.iterate_until([&] { return replies() > known; });
}

void measure_latency(LibfabricEnd& end, double seconds, Op op, Row& row) {
  std::vector<float> took;
  took.reserve(kRoundTripsMax);
  take_round_trip(end, op);  // makes the connection
  base::Time begin = end.clock.now();
  const base::Time until = begin + seconds_of(seconds);
  while (begin < until && took.size() < kRoundTripsMax) {
    take_round_trip(end, op);
    const base::Time now = end.clock.now();
    took.push_back(static_cast<float>((now - begin).count()));
    begin = now;
  }
  take_round_trips(took, row);
  end.iterate_until([&] { return end.open() == 0; });
}

// More small reads make ofi_rxd of libfabric 1.17 slower, and it may come to a stop for good.
std::size_t in_flight_max(const Row& row) {
  constexpr std::size_t kRxdReads = 16;
  const std::size_t slots = slots_for(row.bytes);
  return row.op == name(Op::kRead) && row.carrier == "udp;ofi_rxd" ? std::min(slots, kRxdReads)
                                                                   : slots;
}

void stream(LibfabricEnd& end, double seconds, Op op, Row& row) {
  const std::size_t slots = in_flight_max(row);
  const std::size_t before = end.sent();
  const base::Time begin = end.clock.now();
  const base::Time until = begin + seconds_of(seconds);
  while (end.clock.now() < until) {
    const std::size_t known = end.sent();
    bool has_room = true;
    while (end.open() < slots && has_room) has_room = end.post(Word::kCount);
    end.iterate_until([&] { return end.sent() > known || (!has_room && end.open() == 0); });
  }
  // A completion here may come before the message is there: the reply to the last one does not.
  take_round_trip(end, op);
  end.iterate_until([&] { return end.open() == 0; });
  row.messages = end.sent() - before;
  row.seconds = seconds_in(end.clock.now() - begin);
}

void measure(const LibfabricEnd::Config& config, double seconds, Control& control) {
  LibfabricEnd end(config, control);
  Row row;
  row.carrier = config.provider;
  row.op = name(config.op);
  row.spins = true;
  row.bytes = config.bytes;
  measure_latency(end, seconds, config.op, row);
  stream(end, seconds / 10, config.op, row);
  stream(end, seconds, config.op, row);
  control.send_value(true);
  print(row);
}

bool run_one(const Options& options, Op op, std::size_t bytes) {
  const bool succeeded = run_two(
      options.ends,
      [&](Control& control) {
        limit_time(options);
        serve(config_of(options, op, bytes, false), control);
      },
      [&](Control& control) {
        limit_time(options);
        measure(config_of(options, op, bytes, true), options.seconds, control);
      });
  if (!succeeded) {
    std::fprintf(stderr, "libfabric_bench: %s %s of %zu B has no result\n",
                 options.provider.c_str(), std::string(name(op)).c_str(), bytes);
  }
  return succeeded;
}

Options options_of(int argc, char** argv) {
  Options options;
  parse_options(argc, argv, options,
                {{"provider", true, [&](std::string_view value) { options.provider = value; }},
                 number_option("limit", options.limit_s, 1, 3600),
                 {"addresses", true,
                  [&](std::string_view value) {
                    options.active_address = value.substr(0, value.find(','));
                    options.ends.address = value.substr(value.find(',') + 1);
                  }}},
                "tests/bench/fabric/libfabric_bench.cc");
  for (const Op op : options.ops) {
    if (op == Op::kDatagrams) fail("libfabric has no mmsg");
  }
  return options;
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  const Options options = options_of(argc, argv);
  return run_rows(options, [&](Op op, std::size_t bytes) { return run_one(options, op, bytes); });
}
