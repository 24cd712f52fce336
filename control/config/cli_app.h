// The parts of a command-line parser that all programs share, around CLI11: help, version,
// configuration file, and one outcome for "continue", "print this and stop" and "bad usage". The
// only header that includes CLI11; for .cc files of options and for the tools.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "control/config/parse_outcome.h"

namespace splitnic::control {

// Returns a parser with --help and --version; each error is one line.
std::unique_ptr<CLI::App> make_app(const std::string& name, const std::string& description);
// Adds --config FILE: the same names as on the command line, in TOML. The command line wins.
void add_config_file(CLI::App& app);
// Returns what the last call of run_parser() has found.
GivenOptions given_options(const CLI::App& app);
// Returns an error if the value of an option is empty, as that of a variable of a shell that is not
// set.
base::Status check_not_empty(const GivenOptions& given);
// Of a parser with commands, after run_parser(): returns an error if an option stands in front of
// the command that follows it, which has options of the same names, or has an empty value.
base::Status check_commands(const CLI::App& app);
// Returns the error of an option with its place in the configuration file, if it is from there.
std::string with_place(const CLI::App& app, const std::string& error);
// Returns nothing if the program may continue.
std::optional<Refusal> run_parser(CLI::App& app, int argc, const char* const* argv);

// Parses the command line with `app`. Returns the options that check(), a base::Result<Options>,
// makes of it, or what to print: --help, --version, or an error with status kExitUsage.
template <class Options, class Check>
ParseOutcome<Options> parse_options(CLI::App& app, int argc, const char* const* argv,
                                    Check&& check) {
  if (auto refusal = run_parser(app, argc, argv)) return *std::move(refusal);
  base::Result<Options> options = check();
  if (!options) {
    return refuse(kExitUsage, app.get_name(), with_place(app, options.error().text()));
  }
  GivenOptions given = given_options(app);
  if (const auto full = check_not_empty(given); !full) {
    return refuse(kExitUsage, app.get_name(), with_place(app, full.error().text()));
  }
  ParseOutcome<Options> outcome = *std::move(options);
  outcome.given = std::move(given);
  return outcome;
}

// Returns the text with " (default VALUE)" behind it: of the variable that an option writes to,
// before it does.
std::string with_default(std::string text, const std::string& value);

// Adds an option that may repeat. Each use takes exactly one value.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& into,
                          const std::string& help, const std::string& type);

// Adds an option without a value that clears `into`.
CLI::Option* add_switch_off(CLI::App& app, const std::string& name, bool& into,
                            const std::string& help);

}  // namespace splitnic::control
