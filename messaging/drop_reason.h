// Why a message or an indication of the peer was dropped. A dropped message changes no state; it is
// counted under msg.drop.<reason> and nothing else happens, except that a `state` or `range` error
// of an Update closes an RC connection. docs/wire/message.md#errors
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
  kShort,     // less than 12 bytes, or less than the minimum of its function
  kAlign,     // the length rule of its function is violated
  kFunction,  // unknown function code
  kVersion,   // version is not 1
  kTooLong,   // more than MSG_MAX of its channel
  kRole,      // sent by the wrong side
  kPool,      // unknown pool reference
  kRange,     // an index, size or number outside of what is allowed
  kState,     // not valid in the state of the pool or element
  kContext,   // a reply that answers no open request
  kCount_
};

}  // namespace splitnic::messaging

template <>
struct splitnic::base::CounterNames<splitnic::messaging::DropReason> {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"msg.drop.short", "msg.drop.align", "msg.drop.function", "msg.drop.version",
       "msg.drop.too_long", "msg.drop.role", "msg.drop.pool", "msg.drop.range", "msg.drop.state",
       "msg.drop.context"});
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

// Never thrown: boost asks for it when value() is called on a dropped message, a bug of the caller.
[[noreturn]] inline void throw_exception_from_error(DropReason /*reason*/,
                                                    const boost::source_location& where) {
  base::check_failed("value() of a dropped message", where.file_name(),
                     static_cast<int>(where.line()));
}

// What was read, or why the message is dropped.
template <typename T>
using Parsed = boost::system::result<T, DropReason>;
// Applied completely, or dropped without any effect.
using Verdict = boost::system::result<void, DropReason>;

}  // namespace splitnic::messaging
