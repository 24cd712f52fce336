// The result of a request about the remote NIC, in rows of a name and a value: as `ethtool` prints
// them, or as one JSON object. Plain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace splitnic::host {

// A NIC that the I/O unit lends.
struct ReportedNic {
  std::uint64_t number = 0, mtu = 0, speed_mbps = 0;  // speed 0: unknown
  std::string mac;
  bool is_up = false, is_full_duplex = true, is_in_use = false;
};

// Frames that may be on their way, of all queues.
struct ReportedRings {
  std::uint64_t rx_max = 0, tx_max = 0, rx = 0, tx = 0;
  void add(const ReportedRings& queue) {
    rx_max += queue.rx_max;
    tx_max += queue.tx_max;
    rx += queue.rx;
    tx += queue.tx;
  }
};

// Queues: of the I/O unit, and those that are connected.
struct ReportedChannels {
  std::uint64_t max = 0, used = 0;
};

struct NicReport {
  std::string heading;
  std::string indent = "\t";
  std::vector<std::pair<std::string, std::variant<std::string, std::uint64_t, bool>>> rows{};

  // If there are some they are the report, as a table or as {"nics":[...]}.
  std::vector<ReportedNic> nics{};
  // The same, as `ethtool -g` prints them, below the heading.
  std::optional<ReportedRings> rings{};
  // The same, as `ethtool -l` prints them.
  std::optional<ReportedChannels> channels{};

  // Adds to the number in the row `name`, which is made if there is none.
  void add(const std::string& name, std::uint64_t value);
  // A bool is "yes" or "no".
  std::string text() const;
  // Returns one line; the keys are the names in lower case, with '-' for blanks.
  std::string json() const;

 private:
  std::string nics_text() const;
  std::string rings_text() const;
  std::string channels_text() const;
  std::string nics_json() const;
};

}  // namespace splitnic::host
