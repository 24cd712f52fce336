// The processors of a process, and which of them each of its data threads is bound to. A datagram
// that is sent on one processor is received there, so a thread that stays on one keeps its frames
// there (docs/adr/0006-a-queue-is-whole.md). Thread: that which the function names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace splitnic::control {

inline constexpr std::uint32_t kProcessorMax = 1023;  // of cpu_set_t

// Numbers of processors, in the order in which queues take them.
using Processors = std::vector<std::uint32_t>;

// Parses a list such as 0,2-3. The order and repetitions are kept.
base::Result<Processors> parse_processors(const std::string& text);

// Returns the processors that the calling thread may run on, ascending; none if that is unknown.
Processors processors_of_this_thread();

// The thread of queue i takes processor i, from the start again after the last. Without any
// processor there is none.
std::optional<std::uint32_t> processor_of_queue(const Processors& processors, std::uint32_t queue);

// Binds the calling thread to one processor. An error, such as for a processor that is offline,
// has changed nothing.
base::Status bind_this_thread(std::uint32_t processor);

}  // namespace splitnic::control
