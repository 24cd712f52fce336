// Finds the interface that holds an address of this machine. A fabric whose route leads through the
// interface that it carries would run over itself.
#pragma once

#include <optional>
#include <string>

namespace splitnic::host {

// Returns the interface that has `address`, given as "192.0.2.1:7471" or "[fe80::1%2]:7471";
// nothing if none has it.
std::optional<std::string> interface_of(const std::string& address);

}  // namespace splitnic::host
