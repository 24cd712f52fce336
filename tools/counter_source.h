// Samples of a program's counters, with the pause between two of them. Thread: the main thread.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

#include "base/status.h"
#include "control/report/traffic_rates.h"
#include "control/socket/client.h"

namespace splitnic::tools {

// Seconds between two samples.
inline constexpr std::uint32_t kIntervalMax = 3600;
inline constexpr const char* kIntervalDefault = "1";
// Returns the value of --interval, the default for "", or an error.
base::Result<std::uint32_t> seconds_of(const std::string& interval);

struct CounterSample {
  control::CounterValues counters;
  std::chrono::steady_clock::time_point at;
};

class CounterSource {
 public:
  // `socket` is as of connect() in commands.h. A pattern with wildcards is one of a whole name, any
  // other a part of it; "": all.
  explicit CounterSource(std::string socket, std::string pattern = {})
      : socket_(std::move(socket)), pattern_(std::move(pattern)) {}
  // After an error the next call connects again.
  base::Result<CounterSample> read();

 private:
  std::string socket_;
  std::string pattern_;
  std::optional<control::Client> client_;
};

// SIGINT and SIGTERM are blocked, so that they end the pause and nothing else.
class Pause {
 public:
  explicit Pause(std::uint32_t seconds);
  // Returns false if the user wants to stop.
  bool wait() const;

 private:
  sigset_t stop_{};
  timespec time_;
};

}  // namespace splitnic::tools
