#include "tools/conform_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>

#include "conformance/report/reports.h"
#include "conformance/selection.h"
#include "tools/commands.h"
#include "tools/conform_ends.h"

namespace splitnic::tools {
namespace {

using conformance::Role;
using conformance::Verdict;

constexpr double kTimeoutMin = 0.05;
constexpr double kTimeoutMax = 60;
constexpr std::size_t kKeysMax = 64;

base::Result<base::Duration> parse_timeout(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || !(value >= kTimeoutMin && value <= kTimeoutMax)) {
    return base::Error("--timeout: '" + text + "' is not a number from 0.05 to 60");
  }
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(value));
}

// One line per case: its id or a pattern, and behind the first blank the reason.
base::Result<std::map<std::string, std::string>> read_skips(const std::string& path) {
  constexpr const char* kBlanks = " \t";
  std::map<std::string, std::string> skips;
  std::ifstream file(path);
  if (!file) return base::Error::from_errno("--skip " + path, errno);
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find_first_of(kBlanks);
    const std::size_t reason = line.find_first_not_of(kBlanks, space);
    if (space == std::string::npos || reason == std::string::npos) {
      return base::Error(
          fmt::format("--skip {}, line {}: the reason is missing behind '{}'", path, number, line));
    }
    skips[line.substr(0, space)] = conformance::printable(line.substr(reason));
  }
  // The end of the file, and no other reason, ends the loop: a directory can be opened too.
  if (!file.eof()) return base::Error("--skip " + path + ": cannot be read");
  return skips;
}

base::Status check_patterns(const std::vector<std::string>& patterns, const std::string& option,
                            Role role) {
  const auto all = conformance::cases(role);
  for (const std::string& pattern : patterns) {
    const bool is_known = std::ranges::any_of(
        all, [&](const auto& one) { return conformance::is_named(one, pattern); });
    if (!is_known)
      return base::Error(fmt::format("{}: no case is named '{}' (see --list)", option, pattern));
  }
  return {};
}

void print_result(const conformance::CaseResult& result) {
  std::printf("%-8s %s (%s)\n", std::string(name(result.verdict)).c_str(), result.about.id.c_str(),
              result.about.clause.c_str());
  if (result.verdict == Verdict::kPass) return;
  if (result.verdict == Verdict::kSkip) {
    std::printf("         %s\n", result.expected.c_str());
    return;
  }
  std::printf("         %s\n         expected: %s\n         received: %s\n",
              result.about.description.c_str(), result.expected.c_str(), result.received.c_str());
}

constexpr const char* kClearLine = "\r\x1b[K";

void print_progress(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = all == 0 ? kWidth : done * kWidth / all;
  std::fputs(
      fmt::format("\r[{:<{}}] {} of {}", std::string(filled, '='), kWidth, done, all).c_str(),
      stderr);
}

int print_list(const std::optional<Role>& role) {
  for (const conformance::Case& one : role ? conformance::cases(*role) : conformance::all_cases()) {
    std::printf("%-36s %-12s %-10s %s\n", one.id.c_str(), one.clause.c_str(),
                std::string(name(one.level)).c_str(), one.description.c_str());
  }
  return std::fflush(stdout) == 0 ? control::kExitOk : fail("cannot write to the standard output");
}

std::string nobody_text(const ConformOptions& options) {
  if (options.role == Role::kHost) {
    return "no I/O unit replies at " + options.target.text() +
           ": is it running there, with these keys, or with --insecure-lab?";
  }
  return "no host came to " + options.target.text() +
         ": does one connect to it, with these keys, or without?";
}

}  // namespace

void add_conform(CLI::App& app, ConformArguments& into) {
  auto* conform = app.add_subcommand(
      "conform", "Check an implementation of the protocol against its specification");
  conform->add_option("--target", into.target, "An I/O unit: udp://ADDRESS:PORT or shm://NAME")
      ->type_name("ADDR");
  conform
      ->add_option("--listen", into.listen,
                   "Where a host is to connect to: udp://ADDRESS:PORT or shm://NAME")
      ->type_name("ADDR");
  conform
      ->add_option("--as", into.role,
                   "What this command plays: host (with --target), or iou (with --listen)")
      ->type_name("ROLE");
  conform->add_flag("--list", into.list, "Print the cases with their clauses, and stop");
  control::add_repeated(*conform, "--select", into.select,
                        "Run only these: an id, a group, or a pattern with *; may repeat", "CASE");
  conform
      ->add_option("--skip", into.skip,
                   "File of cases that are not run: lines with an id or pattern and the reason")
      ->type_name("FILE");
  conform->add_option("--timeout", into.timeout, "Seconds to wait for one reply (default 1)")
      ->type_name("S");
  conform
      ->add_option("--seed", into.seed,
                   "Number that what is sent follows from, but for identities and keys (default 1)")
      ->type_name("N");
  conform->add_option("--junit", into.junit, "Write a report in JUnit's XML")->type_name("FILE");
  conform->add_option("--json", into.json, "Write a report in JSON")->type_name("FILE");
  conform->add_option("--html", into.html, "Write a page with the messages of each case")
      ->type_name("FILE");
  control::add_repeated(*conform, "--key-file", into.key_files,
                        "File of the suite's private key; of a host may repeat: as many hosts",
                        "FILE");
  conform->add_option("--peer", into.peer, "Public key of the target, with --key-file")
      ->type_name("KEY");
  conform->add_option("--psk-file", into.psk_file, "File of a pre-shared key (default: none)")
      ->type_name("FILE");
  conform->add_flag("--insecure-lab", into.insecure_lab,
                    "Allow UDP without keys, on loopback too (shm needs none)");
}

base::Result<ConformOptions> check_conform(const ConformArguments& typed) {
  ConformOptions out;
  const bool is_unit = typed.role == "iou";
  if (typed.role == "host" || is_unit) {
    out.has_role = true;
    out.role = is_unit ? Role::kUnit : Role::kHost;
  }
  out.is_list = typed.list;
  if (out.is_list && (out.has_role || typed.role.empty())) return out;
  if (typed.target.empty() && typed.listen.empty()) {
    return base::Error("conform: --target or --listen is missing");
  }
  if (!out.has_role) return base::Error("conform: --as must be host or iou");
  if (is_unit ? !typed.target.empty() : !typed.listen.empty()) {
    return base::Error(is_unit ? "conform: --as iou takes --listen, not --target"
                               : "conform: --as host takes --target, not --listen");
  }
  const std::string option = is_unit ? "--listen" : "--target";
  auto target = control::parse_endpoint(is_unit ? typed.listen : typed.target);
  if (!target) return target.error().within(option);
  out.target = *std::move(target);
  if (is_unit && typed.key_files.size() > 1) {
    return base::Error("--key-file: an I/O unit has one");
  }
  if (typed.key_files.size() > kKeysMax) return base::Error("--key-file: more than 64 files");
  if (typed.key_files.empty() != typed.peer.empty()) {
    return base::Error(typed.peer.empty() ? "--key-file: --peer is missing"
                                          : "--peer: --key-file is missing");
  }
  if (!typed.psk_file.empty() && typed.key_files.empty()) {
    return base::Error("--psk-file: --key-file is missing");
  }
  if (typed.key_files.empty()) {
    if (auto lab = control::check_lab(typed.insecure_lab, option, out.target); !lab) {
      return lab.error();
    }
  } else if (out.target.is_shm()) {
    return base::Error("--key-file: shared memory has no keys");
  }
  const auto timeout = parse_timeout(typed.timeout);
  if (!timeout) return timeout.error();
  out.timeout = *timeout;
  const auto seed = control::number_option("--seed", typed.seed, 0, 0xFFFFFFFF);
  if (!seed) return seed.error();
  out.seed = *seed;
  if (auto known = check_patterns(typed.select, "--select", out.role); !known) return known.error();
  out.select = typed.select;
  if (!typed.skip.empty()) {
    auto skips = read_skips(typed.skip);
    if (!skips) return skips.error();
    out.skips = *std::move(skips);
    std::vector<std::string> patterns;
    for (const auto& [pattern, why] : out.skips) patterns.push_back(pattern);
    if (auto known = check_patterns(patterns, "--skip", out.role); !known) return known.error();
  }
  std::vector<std::string> reports{typed.junit, typed.json, typed.html};
  std::erase(reports, "");
  std::ranges::sort(reports);
  if (const auto twice = std::ranges::adjacent_find(reports); twice != reports.end()) {
    return base::Error("two reports cannot have the file " + *twice);
  }
  out.junit = typed.junit;
  out.json = typed.json;
  out.html = typed.html;
  out.key_files = typed.key_files;
  out.peer = typed.peer;
  out.psk_file = typed.psk_file;
  return out;
}

int run_conform(const ConformOptions& options) {
  if (options.is_list) {
    return print_list(options.has_role ? std::optional(options.role) : std::nullopt);
  }
  auto reports = conformance::Reports::open(
      {.junit = options.junit, .json = options.json, .html = options.html});
  if (!reports) return fail(reports.error().text());
  auto ends = open_ends(options);
  if (!ends) return fail(ends.error().text());
  conformance::Runner& suite = (*ends)->runner();
  if (!suite.is_reachable()) return fail(nobody_text(options));
  const auto selected =
      conformance::select(conformance::cases(options.role), options.select, options.skips);
  conformance::Report report{.target = options.target.text(), .seed = options.seed};
  const bool has_terminal = ::isatty(STDERR_FILENO) != 0;
  const bool shares_terminal = has_terminal && ::isatty(STDOUT_FILENO) != 0;
  suite.run(selected, [&](const conformance::CaseResult& result) {
    if (shares_terminal) std::fputs(kClearLine, stderr);
    print_result(result);
    if (shares_terminal) std::fflush(stdout);
    report.results.push_back(result);
    if (has_terminal) print_progress(report.results.size(), selected.size());
  });
  (*ends)->end();
  if (has_terminal) std::fputs("\n", stderr);
  std::puts(report.summary().c_str());
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  if (const auto written = reports->write(report); !written) return fail(written.error().text());
  return report.is_good() ? control::kExitOk : control::kExitFailed;
}

}  // namespace splitnic::tools
