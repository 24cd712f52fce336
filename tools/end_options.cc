#include "tools/end_options.h"

#include <fmt/format.h>

#include "base/parse_number.h"

namespace splitnic::tools {

void add_endpoint(CLI::App& command, const std::string& name, std::string& into,
                  const std::string& help) {
  command.add_option(name, into, help)->type_name("ADDR");
}

void add_insecure_lab(CLI::App& command, bool& into) {
  command.add_flag("--insecure-lab", into,
                   "Allow UDP without keys, on loopback too (shm needs none)");
}

base::Result<control::Endpoint> endpoint_option(const std::string& option,
                                                const std::string& text) {
  auto endpoint = control::parse_endpoint(text);
  if (!endpoint) return endpoint.error().within(option);
  return endpoint;
}

base::Result<double> seconds_option(const std::string& option, const std::string& text, double min,
                                    double max) {
  const auto value = base::parse_number(text, min, max);
  if (value) return *value;
  return base::Error(
      fmt::format("{}: '{}' is not a number from {:g} to {:g}", option, text, min, max));
}

}  // namespace splitnic::tools
