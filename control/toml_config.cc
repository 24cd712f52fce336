#include "control/toml_config.h"

#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <string>
#include <vector>

#include "base/status.h"
#include "control/toml.h"

namespace splitnic::control {
namespace {

using Items = std::vector<CLI::ConfigItem>;

base::Status add_value(CLI::ConfigItem& item, const TomlValue& value) {
  switch (value.kind) {
    case TomlValue::Kind::kText:
      item.inputs.push_back(value.text);
      return {};
    case TomlValue::Kind::kNumber:
      item.inputs.push_back(std::to_string(value.number));
      return {};
    case TomlValue::Kind::kFlag:
      item.inputs.emplace_back(value.is_set ? "true" : "false");
      return {};
    case TomlValue::Kind::kList:
    case TomlValue::Kind::kTable:
    case TomlValue::Kind::kOther:
      break;
  }
  return error_at(value.at, "'" + item.name +
                                "' is neither a string, a whole number, a flag nor a list of them");
}

base::Status add_values(CLI::ConfigItem& item, const TomlValue& value) {
  if (value.kind != TomlValue::Kind::kList) return add_value(item, value);
  for (const TomlValue& element : value.inside) {
    if (auto added = add_value(item, element); !added) return added;
  }
  return {};
}

base::Result<Items> parse_items(const std::string& text) {
  const auto parsed = parse_toml(text);
  if (!parsed) return parsed.error();
  Items found;
  for (const TomlValue& value : parsed->inside) {
    CLI::ConfigItem item;
    item.name = value.name;
    if (auto added = add_values(item, value); !added) return added.error();
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
