// The immediate data of a message of `splitnic bench`, from its highest bit:
//   [word 2][number 14][count 16]
// The active end numbers its messages. A reply has word and number of its request, and how many
// messages have arrived: so losses are counted on a service that repeats nothing, whatever replies
// are lost themselves. Both numbers wrap; those of messages in flight are less than half apart.
#pragma once

#include <cstdint>
#include <optional>

#include "base/strong_id.h"
#include "tools/bench/run.h"

namespace splitnic::bench {

using MessageNumber = base::Serial<struct MessageNumberTag, 14>;
using ArrivalCount = base::Serial<struct ArrivalCountTag, 16>;

struct MessageMark {
  Word word = Word::kCount;
  MessageNumber number;  // of a report: that of the message before it
  ArrivalCount count;    // of a reply

  constexpr std::uint32_t emit() const {
    return (static_cast<std::uint32_t>(word) << 30) | (number.value << 16) | count.value;
  }
  // Returns nothing if no end of this version sends such data.
  static std::optional<MessageMark> parse(std::uint32_t idata) {
    const std::uint32_t word = idata >> 30;
    if (word > static_cast<std::uint32_t>(Word::kReport)) return std::nullopt;
    return MessageMark{static_cast<Word>(word), MessageNumber(idata >> 16), ArrivalCount(idata)};
  }
};

}  // namespace splitnic::bench
