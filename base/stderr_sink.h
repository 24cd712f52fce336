// The destination of log lines: stderr, without ever waiting for its reader. A line that finds no
// room is dropped and counted. stderr itself stays as it is, since O_NONBLOCK would hold for every
// process that shares it. Thread: any; lines do not mix.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

namespace splitnic::base {

// A pipe that is ready for output takes as many bytes at once. A longer line is cut.
inline constexpr std::size_t kLogLineBytesMax = 4096;

// Writes a line, its newline included, unless the stream has no room for it. Returns false if it
// was not written whole.
bool write_without_waiting(int fd, std::string_view line);

class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace splitnic::base
