// The reason why a message or an indication of the peer was dropped. A dropped message changes no
// state; it is counted as msg.drop.<reason> and has no other effect, except that a `state` or
// `range` error of an Update closes an RC connection. docs/protocol/message.md#errors
#pragma once

#include <array>
#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/counters.h"

namespace splitnic::messaging {

enum class DropReason : std::uint8_t {
  kShort,     // fewer than 12 bytes, or fewer than the minimum of its function
  kAlign,     // the length rule of its function is violated
  kFunction,  // unknown function code
  kVersion,   // version is not 1
  kTooLong,   // more than MSG_MAX of its channel
  kRole,      // sent by the wrong side
  kPool,      // unknown pool reference
  kRange,     // an index, size or number outside of its bounds
  kState,     // not valid in the state of the pool or element
  kContext,   // a reply to no open request
  kMemory,    // it needs more memory than the peer may use
  kCount_
};

}  // namespace splitnic::messaging

template <>
struct splitnic::base::CounterNames<splitnic::messaging::DropReason> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"msg.drop.short", "msg.drop.align", "msg.drop.function", "msg.drop.version",
       "msg.drop.too_long", "msg.drop.role", "msg.drop.pool", "msg.drop.range", "msg.drop.state",
       "msg.drop.context", "msg.drop.memory"});
  static_assert(kNames.size() ==
                static_cast<std::size_t>(splitnic::messaging::DropReason::kCount_));
};

namespace splitnic::messaging {

using DropCounters = base::Counters<DropReason>;

// "short", "align", ...
constexpr std::string_view name(DropReason reason) {
  constexpr std::string_view kPrefix = "msg.drop.";
  return base::CounterNames<DropReason>::kNames.at(static_cast<std::size_t>(reason))
      .substr(kPrefix.size());
}

// Called by boost when value() is called on a dropped message, which is a bug of the caller.
[[noreturn]] inline void throw_exception_from_error(DropReason /*reason*/,
                                                    const boost::source_location& where) {
  base::check_failed("value() of a dropped message", where.file_name(),
                     static_cast<int>(where.line()));
}

// A parsed message, or the reason why it is dropped.
template <typename T>
using Parsed = boost::system::result<T, DropReason>;
// The message was applied completely, or was dropped without any effect.
using Verdict = boost::system::result<void, DropReason>;

}  // namespace splitnic::messaging
