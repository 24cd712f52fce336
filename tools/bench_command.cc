#include "tools/bench_command.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>

#include "base/unique_fd.h"
#include "control/daemon/carriers.h"
#include "tools/bench/bench_service.h"
#include "tools/bench/measure.h"
#include "tools/commands.h"
#include "tools/end_options.h"

namespace splitnic::tools {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {64, 4096, 65536, 1048576};
constexpr double kSecondsMin = 0.001;
constexpr double kSecondsMax = 3600;
constexpr base::Duration kPatience = std::chrono::seconds(3);

base::Result<bench::Op> parse_op(const std::string& text) {
  using bench::Op;
  for (const Op op : {Op::kWrite, Op::kSend, Op::kRead, Op::kFetchOp}) {
    if (bench::name(op) == text) return op;
  }
  return base::Error("bench: the operation must be write, send, read or fetchop");
}

base::Status parse_service(const BenchArguments& typed, bench::Run& run) {
  const auto service = bench::service_of(typed.service.empty() ? "rc" : typed.service);
  if (!service) {
    return base::Error("--service: '" + typed.service + "' is not rc, uc, ud, rd or stream");
  }
  run.service = *service;
  if (!typed.queue_pairs.empty()) {
    const auto count = control::number_option("--qps", typed.queue_pairs, 1, bench::kQueuePairsMax);
    if (!count) return count.error();
    if (*service != fabric::Service::kRd) {
      return base::Error(
          "--qps needs --service rd, whose queue pairs share one end-to-end context");
    }
    run.queue_pairs = *count;
  }
  return bench::check_run(run.service, run.op, run.queue_pairs);
}

base::Status parse_pieces(const std::string& text, bench::Run& run) {
  if (text.empty()) return {};
  const auto count = control::number_option("--pieces", text, 1, fabric::kSgeMax);
  if (!count) return count.error();
  run.pieces = *count;
  return {};
}

base::Status parse_sizes(const BenchArguments& typed, BenchOptions& out) {
  for (const std::string& text : typed.sizes) {
    const auto size = control::number_option("--size", text, 1, bench::kSizeMax);
    if (!size) return size.error();
    if (auto fits = bench::check_size(out.run.op, *size); !fits) return fits;
    out.sizes.push_back(*size);
  }
  out.has_default_sizes = out.sizes.empty();
  if (out.has_default_sizes && out.run.op == bench::Op::kFetchOp) {
    out.sizes = {bench::kFetchOpBytes};
  } else if (out.has_default_sizes) {
    out.sizes.assign(kSizes.begin(), kSizes.end());
  }
  bench::Run run = out.run;
  run.bytes = *std::min_element(out.sizes.begin(), out.sizes.end());
  return bench::check_pieces(run);
}

constexpr std::size_t kPeersMax = 4;  // ports of an adapter, and links of a queue pair

// --peer behind the first: of the same listener, each by another port.
base::Status parse_other_peers(const BenchArguments& typed, BenchOptions& out) {
  if (typed.peers.size() > kPeersMax) {
    return base::Error("bench: --peer may be given up to " + std::to_string(kPeersMax) + " times");
  }
  for (std::size_t i = 1; i < typed.peers.size(); ++i) {
    auto endpoint = control::parse_endpoint(typed.peers[i]);
    if (!endpoint) return endpoint.error().within("--peer");
    if (out.endpoint.is_shm() || endpoint->is_shm()) {
      return base::Error(
          "bench: several --peer are addresses of one listener over UDP: shm has "
          "one way only");
    }
    out.other_endpoints.push_back(*std::move(endpoint));
  }
  return {};
}

// Where the other end is.
base::Status check_place(const BenchArguments& typed, BenchOptions& out) {
  const int places = int{!typed.peers.empty()} + int{!typed.listen.empty()} + int{typed.loopback};
  if (places != 1) {
    return base::Error("bench: one of --peer, --listen and --loopback is needed");
  }
  out.run.is_loopback = typed.loopback;
  if (typed.loopback) return {};
  out.is_listening = typed.peers.empty();
  const std::string option = out.is_listening ? "--listen" : "--peer";
  auto endpoint = endpoint_option(option, out.is_listening ? typed.listen : typed.peers.front());
  if (!endpoint) return endpoint.error();
  out.endpoint = *std::move(endpoint);
  out.run.is_shm = out.endpoint.is_shm();
  if (auto others = parse_other_peers(typed, out); !others) return others;
  return control::check_lab(typed.insecure_lab, option, out.endpoint);
}

base::Result<control::Carrier> open_carrier(const BenchOptions& options) {
  return options.is_listening ? control::listen_carrier(options.endpoint, {})
                              : control::connect_carrier(options.endpoint, {});
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::llround(value)); }

void print_json(const bench::Row& row) {
  const boost::json::object json{
      {"op", row.op},
      {"service", row.service},
      {"queue_pairs", row.queue_pairs},
      {"pieces", row.pieces},
      {"carrier", row.carrier},
      {"waits", row.spins ? "spins" : "sleeps"},
      {"bytes", row.bytes},
      {"messages", row.messages},
      {"messages_per_second", whole(row.rate())},
      {"bytes_per_second", whole(row.rate() * static_cast<double>(row.bytes))},
      {"one_way_p50_ns", whole(row.median_us * 1000)},
      {"one_way_mean_ns", whole(row.mean_us * 1000)},
      {"lost", row.lost.value_or(0)}};
  std::puts(boost::json::serialize(json).c_str());
}

// `connected`: the result of connecting this end.
base::Result<bench::Row> row_of(bench::FabricEnd& end, const base::Status& connected,
                                const bench::Run& run) {
  if (!connected) {
    end.disconnect();
    return connected.error();
  }
  auto row = bench::measure(end, run);
  end.disconnect();
  if (!row) return row.error();
  row->service = bench::word_of(run.service);
  row->queue_pairs = run.queue_pairs;
  row->pieces = run.pieces;
  return row;
}

// Opens a separate connection for each size.
base::Result<bench::Row> measure_one(const BenchOptions& options, const bench::EndConfig& config,
                                     std::size_t bytes) {
  bench::Run run = options.run;
  run.bytes = bytes;
  if (run.is_loopback) {
    bench::FabricEnd both(config);
    return row_of(both, both.connect_loopback(run, kPatience), run);
  }
  auto carrier = open_carrier(options);
  if (!carrier) return carrier.error();
  std::vector<control::Carrier> others;  // outlive the end
  for (const control::Endpoint& endpoint : options.other_endpoints) {
    auto other = control::connect_carrier(endpoint, {});
    if (!other) return other.error().within(endpoint.text());
    others.push_back(*std::move(other));
  }
  bench::FabricEnd end(*carrier->underlay, config);
  for (const control::Carrier& other : others) end.add_port(*other.underlay, other.peer);
  const auto connected = end.connect(carrier->peer, run, kPatience);
  if (!connected && !end.has_link() && connected.error().errno_value() == ETIMEDOUT) {
    return base::Error("no program listens at " + options.endpoint.text() +
                       ": is `splitnic bench --listen` running there?");
  }
  return row_of(end, connected, run);
}

fabric::Eui64 own_eui64() {
  base::OsRandom random;
  return fabric::local_eui64(random.next());
}

int measure_all(const BenchOptions& options) {
  const bench::EndConfig config{own_eui64(), true, options.run.is_shm, options.run.spins};
  bool is_first = true;
  for (const std::size_t bytes : options.sizes) {
    const auto row = measure_one(options, config, bytes);
    const bool is_too_long = !row && row.error().errno_value() == EMSGSIZE;
    if (is_too_long && options.has_default_sizes && !is_first) break;
    if (!row) return fail(row.error().text());
    if (options.json) {
      print_json(*row);
    } else {
      if (is_first) bench::print_head(true);
      bench::print(*row);
    }
    is_first = false;
  }
  return std::fflush(stdout) == 0 ? control::kExitOk : fail("cannot write to the standard output");
}

int serve(const BenchOptions& options) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  const base::UniqueFd stop_fd(::signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  const auto carrier = open_carrier(options);
  if (!carrier) return fail(carrier.error().within(options.endpoint.text()).text());
  const bench::EndConfig config{own_eui64(), false, options.run.is_shm, options.run.spins};
  bench::FabricEnd end(*carrier->underlay, config, stop_fd.get());
  // A spinning end reads the descriptor once in 1024 iterations.
  for (signalfd_siginfo signal{}; ::read(stop_fd.get(), &signal, sizeof signal) < 0;) {
    for (unsigned i = 0; i < 1024 && !end.is_woken(); ++i) end.iterate();
  }
  return control::kExitOk;
}

}  // namespace

void add_bench(CLI::App& app, BenchArguments& into) {
  auto* bench = app.add_subcommand("bench", "Bandwidth and latency of the fabric itself");
  bench->add_option("op", into.op, "The operation to measure: write, send, read or fetchop")
      ->type_name("");
  control::add_repeated(*bench, "--peer", into.peers,
                        "Address of the other end: udp://ADDRESS:PORT or shm://NAME; several of "
                        "one listener: rc sends by all of them, each over another port",
                        "ADDR");
  add_endpoint(*bench, "--listen", into.listen, "Serve the ends that measure");
  bench->add_flag("--loopback", into.loopback,
                  "Both ends are queue pairs of one adapter, in this process");
  bench
      ->add_option("--service", into.service,
                   "Transport service of the queue pairs: rc, uc, ud, rd or stream (default rc)")
      ->type_name("NAME");
  bench
      ->add_option("--qps", into.queue_pairs,
                   "With --service rd: queue pairs at each end, 1 to 64, each of which sends to "
                   "all of the other end (default 1)")
      ->type_name("N");
  bench
      ->add_option("--pieces", into.pieces,
                   "Pieces of memory that each message is gathered from, or a read is scattered "
                   "to, 1 to 4 (default 1)")
      ->type_name("N");
  control::add_repeated(*bench, "--size", into.sizes,
                        "Bytes per message; may repeat (default 64, 4096, 65536, 1048576; of ud, "
                        "and of write and read on rd, those that fit in one cell; of fetchop "
                        "always 8)",
                        "N");
  bench
      ->add_option("--seconds", into.seconds,
                   control::with_default("Seconds per measurement", into.seconds))
      ->type_name("S");
  bench->add_flag("--spin", into.spin, "Poll for input instead of sleeping (this end only)");
  bench->add_flag("--json", into.json, "One JSON object per line");
  add_insecure_lab(*bench, into.insecure_lab);
}

base::Result<BenchOptions> check_bench(const BenchArguments& typed) {
  BenchOptions out;
  if (auto place = check_place(typed, out); !place) return place.error();
  out.run.spins = typed.spin;
  out.json = typed.json;
  if (out.is_listening) {
    const bool names_run = !typed.op.empty() || !typed.sizes.empty() || !typed.service.empty() ||
                           !typed.queue_pairs.empty() || !typed.pieces.empty();
    if (!names_run) return out;
    return base::Error(
        "bench: --listen takes no operation, no --service, no --qps, no --pieces and no --size: "
        "give them at the end that measures");
  }
  const auto op = parse_op(typed.op);
  if (!op) return op.error();
  out.run.op = *op;
  if (auto service = parse_service(typed, out.run); !service) return service.error();
  if (!out.other_endpoints.empty() && out.run.service != fabric::Service::kRc) {
    return base::Error("bench: several --peer need --service rc, which sends by all of them");
  }
  if (auto pieces = parse_pieces(typed.pieces, out.run); !pieces) return pieces.error();
  const auto seconds = seconds_option("--seconds", typed.seconds, kSecondsMin, kSecondsMax);
  if (!seconds) return seconds.error();
  out.run.seconds = *seconds;
  if (auto sizes = parse_sizes(typed, out); !sizes) return sizes.error();
  return out;
}

int run_bench(const BenchOptions& options) {
  return options.is_listening ? serve(options) : measure_all(options);
}

}  // namespace splitnic::tools
