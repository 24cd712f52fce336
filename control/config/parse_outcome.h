// The result of reading a command line: options, or what to print and the exit status.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace splitnic::control {

inline constexpr int kExitOk = 0;      // --help, --version
inline constexpr int kExitFailed = 1;  // understood, and cannot be done
inline constexpr int kExitUsage = 2;

// Exit status 0: `text` is for stdout. Else it is one line for stderr, with its newline.
struct Refusal {
  int exit_code = kExitUsage;
  std::string text;
};

// The options of the command line and the configuration file: the values of each that was given, by
// its name without hyphens. A flag that is false is not given.
struct GivenOptions {
  std::map<std::string, std::vector<std::string>> values{};
  std::string config_path{};  // of --config; "": none
};

template <typename Options>
struct ParseOutcome {
  ParseOutcome(Options parsed) : options(std::move(parsed)) {}
  ParseOutcome(Refusal refusal) : exit_code(refusal.exit_code), text(std::move(refusal.text)) {}
  std::optional<Options> options;  // none: print `text`, exit with `exit_code`
  int exit_code = kExitOk;
  std::string text;
  GivenOptions given{};  // with options
};

// Prints the text of an outcome without options, for the journal as an error. Returns exit_code.
int print_text(int exit_code, const std::string& text);
// "PROGRAM: why", one line.
Refusal refuse(int exit_code, const std::string& program, const std::string& why);

}  // namespace splitnic::control
