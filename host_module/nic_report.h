// The result of a request about the remote NIC, in rows of a name and a value: as `ethtool` prints
// them, or as one JSON object. Plain.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace splitnic::host {

struct NicReport {
  std::string heading;
  std::string indent = "\t";
  std::vector<std::pair<std::string, std::variant<std::string, std::uint64_t, bool>>> rows{};

  // Adds to the number in the row `name`, which is made if there is none.
  void add(const std::string& name, std::uint64_t value);
  // A bool is "yes" or "no".
  std::string text() const;
  // Returns one line; the keys are the names in lower case, with '-' for blanks.
  std::string json() const;
};

}  // namespace splitnic::host
