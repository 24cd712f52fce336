// --config FILE as TOML, by a real TOML parser: values may hold commas, brackets and '#' in their
// quotes. Top level only: NAME = value, or NAME = [value, value] for what may repeat; flags are
// true or false.
#pragma once

#include <memory>

namespace CLI {
class Config;
}

namespace splitnic::control {
std::shared_ptr<CLI::Config> make_toml_config();
}  // namespace splitnic::control
