// Measures one queue pair of the fabric: RDMA write with immediate data, Send and RDMA read by
// size, as bandwidth, messages per second and one-way latency (half a round trip; of a read half of
// the time that it takes). Two processes, each with its own adapter and underlay. Prints a table;
// asserts nothing. tests/bench/fabric.sh compares it with libfabric.
//   --underlay udp|shm    default udp
//   --op write|send|read|mmsg|all
//                         all: the first three. mmsg: plain datagrams by sendmmsg and recvmmsg
//   --size N|all          bytes, 1 to 1048576; default all
//   --seconds S           of each result, default 1
//   --spin                both ends ask instead of sleeping
//   --pin                 each end has its own processor
//   --loss PERCENT        of the datagrams that the passive end receives
//   --go-back-n           instead of selective repeat
//   --netns A,B           the active and the passive end are in these network namespaces
//   --address ADDRESS     of the passive end, default 127.0.0.1
//   --no-head             rows only
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "fabric_emul/underlay/shm_underlay.h"
#include "fabric_emul/underlay/udp_underlay.h"
#include "tests/bench/fabric/bench_options.h"
#include "tests/bench/fabric/datagrams.h"
#include "tests/bench/fabric/two_ends.h"
#include "tests/support/fault_underlay.h"
#include "tools/bench/measure.h"

namespace splitnic::bench {
namespace {

struct Options : CommonOptions {
  Run run;
};

constexpr fabric::Eui64 kActive(0x0200000000000001ULL);
constexpr fabric::Eui64 kPassive(0x0200000000000002ULL);

void check(const base::Status& status) {
  if (!status) fail(status.error().text());
}
template <class T>
T value_of(base::Result<T> result) {
  if (!result) fail(result.error().text());
  return std::move(*result);
}

// The passive end's result, as it reports it to the other.
using Address = std::array<char, 64>;

std::unique_ptr<fabric::Underlay> listen(const Options& options, const Run& run, Address& address) {
  std::string text = "bench-" + std::to_string(::getpid());
  std::unique_ptr<fabric::Underlay> underlay;
  if (run.is_shm) {
    underlay = value_of(fabric::ShmUnderlay::open({.name = text, .listens = true}));
  } else {
    fabric::UdpConfig udp;
    udp.bind = options.ends.address + ":0";
    auto opened = value_of(fabric::UdpUnderlay::open(udp));
    text = opened->name_of(opened->local_address());
    underlay = std::move(opened);
  }
  text.copy(address.data(), address.size() - 1);
  return underlay;
}

// Replies to requests until the other end has measured.
void serve(const Options& options, const Run& run, Control& control) {
  Address address{};
  const auto underlay = listen(options, run, address);
  base::SystemClock clock;
  base::SeededRandom random(1);  // asked for every datagram: no system call
  fabric::FaultUnderlay faults(*underlay, random, clock, {});
  fabric::Underlay& below =
      run.loss_percent > 0 ? static_cast<fabric::Underlay&>(faults) : *underlay;
  FabricEnd end(below, {kPassive, false, run.is_shm, run.spins}, control.fd());
  control.send_value(address);
  check(end.iterate_until([&] { return end.is_connected(); }));
  // From now on; the set-up is not what is measured.
  fabric::FaultConfig lossy;
  lossy.loss_ppm = static_cast<std::uint32_t>(run.loss_percent * 10'000);
  faults.set_config(lossy);
  for (unsigned iterations = 1;; ++iterations) {
    end.iterate();
    if (run.spins ? iterations % 1024 == 0 && control.is_readable() : end.is_woken()) break;
  }
  static_cast<void>(control.receive_value<bool>());
  control.send_value(std::uint64_t{faults.counts().lost});
}

void measure_one(const Run& run, Control& control) {
  const auto address = control.receive_value<Address>();
  std::unique_ptr<fabric::Underlay> underlay;
  fabric::PeerAddress peer = fabric::ShmUnderlay::listener_address();
  if (run.is_shm) {
    underlay = value_of(fabric::ShmUnderlay::open({.name = address.data()}));
  } else {
    fabric::UdpConfig udp;
    udp.connect = address.data();
    auto opened = value_of(fabric::UdpUnderlay::open(udp));
    peer = opened->connected_to();
    underlay = std::move(opened);
  }
  FabricEnd end(*underlay, {kActive, true, run.is_shm, run.spins});
  check(end.connect(peer, run, kSilenceMax));
  Row row = value_of(measure(end, run));
  control.send_value(true);
  const auto lost = control.receive_value<std::uint64_t>();
  if (run.loss_percent > 0) row.lost = lost;
  print(row);
}

Options options_of(int argc, char** argv) {
  Options options;
  Run& run = options.run;
  parse_options(
      argc, argv, options,
      {{"underlay", true,
        [&](std::string_view value) {
          if (value != "udp" && value != "shm") fail("--underlay takes udp or shm");
          run.is_shm = value == "shm";
        }},
       {"spin", false, [&](std::string_view) { run.spins = true; }},
       {"loss", true,
        [&](std::string_view value) { run.loss_percent = number_of("--loss", value, 0, 50); }},
       {"go-back-n", false, [&](std::string_view) { run.goes_back_n = true; }},
       {"address", true, [&](std::string_view value) { options.ends.address = value; }}},
      "tests/bench/fabric/fabric_bench.cc");
  run.seconds = options.seconds;
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
      [&](Control& control) { measure_one(run, control); });
}

}  // namespace
}  // namespace splitnic::bench

int main(int argc, char** argv) {
  using namespace splitnic::bench;
  const Options options = options_of(argc, argv);
  return run_rows(options, [&](Op op, std::size_t bytes) {
    Run run = options.run;
    run.op = op;
    run.bytes = bytes;
    return run_one(options, run);
  });
}
