// Which interface holds an address of this machine: a fabric whose route leads through the
// interface that it carries would run over itself.
#pragma once

#include <string>

namespace splitnic::host {

// `address` as "192.0.2.1:7471" or "[fe80::1%2]:7471"; empty if no interface has it.
std::string interface_of(const std::string& address);

}  // namespace splitnic::host
