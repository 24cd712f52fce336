#include "control/toml_config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <string>

namespace splitnic::control {
namespace {

std::string scalar_text(const std::string& name, const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  throw CLI::ConfigError("in the configuration file, '" + name +
                             "' is neither a string, a whole number, a flag nor a list of them",
                         CLI::ExitCodes::ConfigError);
}

class TomlConfig final : public CLI::Config {
 public:
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  // CLI11 expects errors as its own exceptions; run_parser() makes them one line.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    const std::string text{std::istreambuf_iterator<char>(input), {}};
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
      throw CLI::ConfigError("in the configuration file, line " +
                                 std::to_string(parsed.error().source().begin.line) + ": " +
                                 std::string(parsed.error().description()),
                             CLI::ExitCodes::ConfigError);
    }
    std::vector<CLI::ConfigItem> found;
    for (const auto& [key, node] : parsed.table()) {
      CLI::ConfigItem item;
      item.name = std::string(key.str());
      if (const auto* list = node.as_array()) {
        for (const toml::node& element : *list) {
          item.inputs.push_back(scalar_text(item.name, element));
        }
      } else {
        item.inputs.push_back(scalar_text(item.name, node));
      }
      if (!item.inputs.empty()) found.push_back(std::move(item));
    }
    return found;
  }
};

}  // namespace

std::shared_ptr<CLI::Config> make_toml_config() { return std::make_shared<TomlConfig>(); }

}  // namespace splitnic::control
