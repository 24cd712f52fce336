#include "control/toml_config.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <string>
#include <vector>

#include "base/status.h"

namespace splitnic::control {
namespace {

using Items = std::vector<CLI::ConfigItem>;

base::Status add_value(CLI::ConfigItem& item, const toml::node& node) {
  if (const auto* text = node.as_string()) {
    item.inputs.push_back(text->get());
  } else if (const auto* number = node.as_integer()) {
    item.inputs.push_back(std::to_string(number->get()));
  } else if (const auto* flag = node.as_boolean()) {
    item.inputs.emplace_back(flag->get() ? "true" : "false");
  } else {
    return base::Error("'" + item.name +
                       "' is neither a string, a whole number, a flag nor a list of them");
  }
  return {};
}

base::Status add_values(CLI::ConfigItem& item, const toml::node& node) {
  const auto* list = node.as_array();
  if (list == nullptr) return add_value(item, node);
  for (const toml::node& element : *list) {
    if (auto added = add_value(item, element); !added) return added;
  }
  return {};
}

base::Result<Items> parse_items(const std::string& text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return base::Error("line " + std::to_string(parsed.error().source().begin.line) + ": " +
                       std::string(parsed.error().description()));
  }
  Items found;
  for (const auto& [key, node] : parsed.table()) {
    CLI::ConfigItem item;
    item.name = std::string(key.str());
    if (auto added = add_values(item, node); !added) return added.error();
    if (!item.inputs.empty()) found.push_back(std::move(item));
  }
  return found;
}

class TomlConfig final : public CLI::Config {
 public:
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  // CLI11 expects errors as its own exceptions; run_parser() makes them one line.
  Items from_config(std::istream& input) const override {
    auto parsed = parse_items(std::string(std::istreambuf_iterator<char>(input), {}));
    if (parsed) return *std::move(parsed);
    throw CLI::ConfigError("in the configuration file, " + parsed.error().text(),
                           CLI::ExitCodes::ConfigError);
  }
};

}  // namespace

std::shared_ptr<CLI::Config> make_toml_config() { return std::make_shared<TomlConfig>(); }

}  // namespace splitnic::control
