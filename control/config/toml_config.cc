#include "control/config/toml_config.h"

#include <CLI/CLI.hpp>
#include <istream>
#include <iterator>
#include <map>
#include <vector>

#include "base/status.h"
#include "control/config/toml_field.h"

namespace splitnic::control {
namespace {

using Items = std::vector<CLI::ConfigItem>;

// A flag has no value but true and false, and an option none of these. CLI11 would take 7 for true,
// and report other errors without their place.
base::Status add_value(CLI::ConfigItem& item, bool is_flag, const TomlValue& value) {
  const TomlField field(value, "--" + item.name);
  if (is_flag && value.kind != TomlValue::Kind::kFlag) return field.is_not("true or false");
  if (!is_flag && value.kind == TomlValue::Kind::kFlag) {
    return field.error("a value is needed, and neither true nor false is one");
  }
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

base::Status add_values(CLI::ConfigItem& item, const CLI::Option& option, const TomlValue& value) {
  const int values_max = option.get_items_expected_max();
  const bool is_flag = values_max == 0;
  if (value.kind != TomlValue::Kind::kList || is_flag) return add_value(item, is_flag, value);
  // Without this, allow = [] would admit everybody, as no allow does.
  if (value.inside.empty()) {
    return TomlField(value, "--" + item.name).error("the list is empty: leave the option out");
  }
  if (value.inside.size() > static_cast<std::size_t>(values_max)) {
    return TomlField(value, "--" + item.name)
        .error("one value is needed, and not a list of several");
  }
  for (const TomlValue& element : value.inside) {
    if (auto added = add_value(item, false, element); !added) return added;
  }
  return {};
}

class TomlConfig final : public CLI::Config {
 public:
  explicit TomlConfig(const CLI::App& app) : app_(app) {}
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

  // CLI11 expects errors as its own exceptions; run_parser() makes them one line.
  Items from_config(std::istream& input) const override {
    auto parsed = parse_items(std::string(std::istreambuf_iterator<char>(input), {}));
    if (!parsed) {
      throw CLI::ConfigError("in the configuration file, " + parsed.error().text(),
                             CLI::ExitCodes::ConfigError);
    }
    return *std::move(parsed);
  }
  std::optional<TomlPlace> place_of(const std::string& option) const {
    const auto read = read_.find(option);
    const CLI::Option* known = app_.get_option_no_throw("--" + option);
    if (read == read_.end() || known == nullptr || known->results() != read->second.values) {
      return std::nullopt;
    }
    return read->second.at;
  }

 private:
  struct Read {
    TomlPlace at;
    std::vector<std::string> values;
  };

  base::Result<Items> parse_items(const std::string& text) const {
    const auto parsed = parse_toml(text);
    if (!parsed) return parsed.error();
    Items found;
    for (const TomlValue& value : parsed->inside) {
      const CLI::Option* const known = app_.get_option_no_throw("--" + value.name);
      if (known == nullptr) {
        return error_at(value.name_at,
                        "'" + value.name + "' is not an option of " + app_.get_name());
      }
      CLI::ConfigItem item;
      item.name = value.name;
      if (auto added = add_values(item, *known, value); !added) return added.error();
      read_[item.name] = {value.name_at, item.inputs};
      found.push_back(std::move(item));
    }
    return found;
  }

  const CLI::App& app_;
  mutable std::map<std::string, Read> read_;
};

}  // namespace

std::shared_ptr<CLI::Config> make_toml_config(const CLI::App& app) {
  return std::make_shared<TomlConfig>(app);
}

std::optional<TomlPlace> place_in_config(const CLI::App& app, const std::string& option) {
  const auto config = std::dynamic_pointer_cast<TomlConfig>(app.get_config_formatter());
  return config ? config->place_of(option) : std::nullopt;
}

}  // namespace splitnic::control
