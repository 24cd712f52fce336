// What the programs' parsers share around CLI11: one outcome for "go on", "print this and stop" and
// "bad usage". The only header of ours that shows CLI11; included by .cc files of options and by
// the tools.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "control/parse_outcome.h"

namespace splitnic::control {

// With --help, --version and one line for each error.
std::unique_ptr<CLI::App> make_app(const std::string& name, const std::string& description);
// The same, and --config FILE: the same names, TOML. What the command line says wins.
void add_config_file(CLI::App& app);
// Nothing if the program may go on.
std::optional<Refusal> run_parser(CLI::App& app, int argc, const char* const* argv);

// Options of one value that may repeat. Each use takes exactly one value.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& into,
                          const std::string& help, const std::string& type);

}  // namespace splitnic::control
