#include "tools/conform_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "conformance/report/reports.h"
#include "conformance/selection.h"
#include "tools/commands.h"
#include "tools/conform_ends.h"

namespace splitnic::tools {
namespace {

using conformance::Role;
using conformance::Verdict;

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

// SIGINT and SIGTERM end the run after the case that is running, so that the reports have what is
// known; a second one ends the program.
class Interruption {
 public:
  Interruption() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
  }
  // Returns true once.
  bool has_come() {
    constexpr timespec kNow{};
    if (::sigtimedwait(&signals_, nullptr, &kNow) < 0) return false;
    sigprocmask(SIG_UNBLOCK, &signals_, nullptr);
    return true;
  }

 private:
  sigset_t signals_{};
};

int print_list(const std::optional<Role>& role) {
  for (const conformance::Case& one : role ? conformance::cases(*role) : conformance::all_cases()) {
    std::printf("%-36s %-12s %-10s %s\n", one.id.c_str(), one.clause.c_str(),
                std::string(name(one.level)).c_str(), one.description.c_str());
  }
  return std::fflush(stdout) == 0 ? control::kExitOk : fail("cannot write to the standard output");
}

int print_topology(const ConformOptions& options) {
  const auto text = topology_of(options);
  if (!text) return fail(text.error().text());
  std::fputs(text->c_str(), stdout);
  return std::fflush(stdout) == 0 ? control::kExitOk : fail("cannot write to the standard output");
}

// `stranger`: what another program has sent, if one has.
std::string nobody_text(const ConformOptions& options, const std::string& stranger) {
  if (!stranger.empty()) {
    const std::string peer = options.role == Role::kUnit   ? "no host came to "
                             : options.role == Role::kHost ? "no I/O unit replies at "
                                                           : "no switch replies at ";
    const std::string& at =
        options.ports.empty() ? options.target.text() : options.ports.front().text();
    return peer + at + ", but another program does: " + stranger + "; is the address right?";
  }
  if (options.role == Role::kNodes || options.role == Role::kSubnet) {
    return "no switch replies at " + options.ports.front().text() +
           ": is it running there, with the topology of --print-topology, and with these keys, or "
           "with --insecure-lab?";
  }
  if (options.role == Role::kHost) {
    return "no I/O unit replies at " + options.target.text() +
           ": is it running there, with these keys, or with --insecure-lab?";
  }
  return "no host came to " + options.target.text() +
         ": does one connect to it, with these keys, or without?";
}

}  // namespace

int run_conform(const ConformOptions& options) {
  if (options.prints_topology) return print_topology(options);
  if (options.is_list) {
    return print_list(options.has_role ? std::optional(options.role) : std::nullopt);
  }
  auto reports = conformance::Reports::open(
      {.junit = options.junit, .json = options.json, .html = options.html});
  if (!reports) return fail(reports.error().text());
  auto ends = open_ends(options);
  if (!ends) return fail(ends.error().text());
  conformance::Runner& suite = (*ends)->runner();
  if (!suite.is_reachable()) return fail(nobody_text(options, suite.stranger()));
  const auto selected =
      conformance::select(conformance::cases(options.role), options.select, options.skips);
  conformance::Report report{.target = options.target_text(), .seed = options.seed};
  const bool has_terminal = ::isatty(STDERR_FILENO) != 0;
  const bool shares_terminal = has_terminal && ::isatty(STDOUT_FILENO) != 0;
  Interruption interruption;
  bool is_interrupted = false;
  suite.run(selected, [&](const conformance::CaseResult& result) {
    if (shares_terminal) std::fputs(kClearLine, stderr);
    print_result(result);
    if (shares_terminal) std::fflush(stdout);
    report.results.push_back(result);
    if (has_terminal) print_progress(report.results.size(), selected.size());
    if (!interruption.has_come()) return;
    is_interrupted = true;
    suite.skip_rest("the run was interrupted");
  });
  (*ends)->end();
  if (has_terminal) std::fputs("\n", stderr);
  report.coverage = suite.coverage().tables();
  std::fputs(text_of(report.coverage, options.select.empty() && !is_interrupted).c_str(), stdout);
  std::puts(report.summary().c_str());
  if (std::fflush(stdout) != 0) return fail("cannot write to the standard output");
  if (const auto written = reports->write(report); !written) return fail(written.error().text());
  if (is_interrupted) return fail("interrupted: the cases that had not begun are skipped");
  return report.is_good() ? control::kExitOk : control::kExitFailed;
}

}  // namespace splitnic::tools
