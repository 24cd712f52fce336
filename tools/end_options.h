// Options of the commands of `splitnic` that are one end of a link, as bench and conform are: an
// endpoint, the permission to use UDP without keys, a time in seconds. Errors name the option.
#pragma once

#include <string>

#include "base/status.h"
#include "control/config/cli_app.h"
#include "control/config/values.h"

namespace splitnic::tools {

// Adds an option that names an endpoint.
void add_endpoint(CLI::App& command, const std::string& name, std::string& into,
                  const std::string& help);
// Adds --insecure-lab.
void add_insecure_lab(CLI::App& command, bool& into);

base::Result<control::Endpoint> endpoint_option(const std::string& option, const std::string& text);
// Returns the number, or the error "--option: 'x' is not a number from min to max".
base::Result<double> seconds_option(const std::string& option, const std::string& text, double min,
                                    double max);

}  // namespace splitnic::tools
