// `splitnic conform` runs the conformance suite against an implementation of the protocol: it plays
// the other end, reports what is kept and broken, and writes reports. docs/conformance.md
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "conformance/case.h"
#include "control/config/cli_app.h"
#include "control/config/values.h"

namespace splitnic::tools {

// As typed.
struct ConformArguments {
  std::string target, listen, role;
  std::vector<std::string> select;
  std::string skip, timeout = "1", seed = "1";
  std::string junit, json, html;
  std::vector<std::string> key_files;
  std::string peer, psk_file;
  bool insecure_lab = false;
  bool list = false, print_topology = false;
};

struct ConformOptions {
  bool has_role = false;
  conformance::Role role = conformance::Role::kHost;
  control::Endpoint target;                  // of the role host; where the role iou listens
  std::vector<control::Endpoint> ports;      // of a switch, from port 1 on
  std::vector<std::string> select;           // id, group, or a pattern with '*'
  std::map<std::string, std::string> skips;  // id or pattern, and the reason
  base::Duration timeout{};
  std::uint64_t seed = 1;
  std::string junit, json, html;
  std::vector<std::string> key_files;
  std::string peer, psk_file;
  bool is_list = false, prints_topology = false;

  std::string target_text() const;  // for people
};

void add_conform(CLI::App& app, ConformArguments& into);
// An error is bad usage. Reads the skip file.
base::Result<ConformOptions> check_conform(const ConformArguments& typed);
// Returns the exit status: 0 if one case ran at least, and none failed.
int run_conform(const ConformOptions& options);

}  // namespace splitnic::tools
