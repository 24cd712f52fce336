// `splitnic bench` measures bandwidth and latency of the fabric itself. One end listens and serves;
// the other measures, and sends the listener the parameters of each run. With --loopback both are
// in one adapter of one process.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "control/config/cli_app.h"
#include "control/config/values.h"
#include "tools/bench/run.h"

namespace splitnic::tools {

// As typed.
struct BenchArguments {
  std::string op, listen;
  std::vector<std::string> peers;
  std::string service, queue_pairs, pieces;  // "": not typed
  std::vector<std::string> sizes;
  std::string seconds = "1";
  bool loopback = false;
  bool spin = false;
  bool json = false;
  bool insecure_lab = false;
};

struct BenchOptions {
  bool is_listening = false;
  control::Endpoint endpoint;                      // without --loopback
  std::vector<control::Endpoint> other_endpoints;  // of the same listener, by other ports
  bench::Run run;                                  // repeated for each size
  std::vector<std::size_t> sizes;
  bool has_default_sizes = false;  // those that the path and the service carry are measured
  bool json = false;
};

void add_bench(CLI::App& app, BenchArguments& into);
// An error is bad usage.
base::Result<BenchOptions> check_bench(const BenchArguments& typed);
// Returns the exit status, having printed a row for each size or one line on stderr. A listener
// runs until SIGINT or SIGTERM.
int run_bench(const BenchOptions& options);

}  // namespace splitnic::tools
