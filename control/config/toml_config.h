// --config FILE as TOML, read by toml++: quoted values may hold commas, brackets and '#'. Top level
// only: NAME = value, or NAME = [value, value] for what may repeat; flags are true or false. Errors
// have the line and the name.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "control/config/toml.h"

namespace CLI {
class App;
class Config;
}  // namespace CLI

namespace splitnic::control {

// For files of options of `app`, which outlives it.
std::shared_ptr<CLI::Config> make_toml_config(const CLI::App& app);
// Returns where the file that `app` has read names the option, by its name without hyphens; none if
// it does not, or if the command line has replaced what it has there.
std::optional<TomlPlace> place_in_config(const CLI::App& app, const std::string& option);

}  // namespace splitnic::control
