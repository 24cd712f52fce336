// --config FILE as TOML, read by toml++: quoted values may hold commas, brackets and '#'. Top level
// only: NAME = value, or NAME = [value, value] for what may repeat; flags are true or false.
#pragma once

#include <memory>

namespace CLI {
class Config;
}

namespace splitnic::control {
std::shared_ptr<CLI::Config> make_toml_config();
}  // namespace splitnic::control
