#include "control/daemon/processors.h"

#include <sched.h>

#include <cerrno>
#include <string_view>

#include "control/config/values.h"

namespace splitnic::control {
namespace {

static_assert(kProcessorMax == CPU_SETSIZE - 1);

// `part` is N or N-M with N <= M.
bool add_range(std::string_view part, Processors& out) {
  const std::size_t dash = part.find('-');
  const auto first = parse_number(part.substr(0, dash), kProcessorMax);
  const auto last =
      dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1), kProcessorMax);
  if (!first || !last || *first > *last) return false;
  for (std::uint64_t i = *first; i <= *last; ++i) out.push_back(static_cast<std::uint32_t>(i));
  return true;
}

}  // namespace

base::Result<Processors> parse_processors(const std::string& text) {
  Processors out;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    if (!add_range(rest.substr(0, comma), out)) {
      return base::Error("'" + text + "' is not a list of processors like 0,2-3, each up to " +
                         std::to_string(kProcessorMax));
    }
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

Processors processors_of_this_thread() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return {};
  Processors out;
  for (std::uint32_t i = 0; i <= kProcessorMax; ++i) {
    if (CPU_ISSET(i, &mine)) out.push_back(i);
  }
  return out;
}

std::optional<std::uint32_t> processor_of_queue(const Processors& processors, std::uint32_t queue) {
  if (processors.empty()) return std::nullopt;
  return processors[queue % processors.size()];
}

base::Status bind_this_thread(std::uint32_t processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) return {};
  return base::Error::from_errno("binding to processor " + std::to_string(processor), errno);
}

}  // namespace splitnic::control
