// The parts of the cases of the full profile: links with other terms, and with an INIT that begins
// their lanes once more. docs/protocol/flit.md#full-profile
#pragma once

#include <functional>

#include "conformance/cases/parts.h"

namespace splitnic::conformance {

// The target would have sent what it may.
inline constexpr base::Duration kLaneQuiet = std::chrono::milliseconds(100);
inline constexpr std::uint32_t kFewBlocks = 8;
inline constexpr std::uint32_t kManyBlocks = 64;

// A link that begins in this case, so that the terms of the case hold.
bool begin_link(Host& host);
bool begin_link(Unit& unit);
// The connection of such a link, and nothing on channel 0.
bool connect_only(Host& host);
bool connect_only(Unit& unit);

// A silence, in which the link stays down, and its end with the next INIT. Not even ACKs leave: a
// frame of a host would break the silence.
void set_speaking(End& end, bool speaks);
void begin_silence(Host& host);
void begin_silence(Unit& unit);
bool link_again(Host& host);
bool link_again(Unit& unit);

// Waits, and takes what arrives, until it holds.
bool wait_until(End& end, const std::function<bool()>& holds);
// An ECHO whose reply has several cells of the full profile.
bool ask_long_echo(End& end, messaging::TransactionContext context);
// The beginning of one on a link that grants too few blocks for it, and no more. Attaches by a new
// link.
template <class Player>
bool begin_reply(Player& h, messaging::TransactionContext context) {
  h.terms.granted_blocks = kFewBlocks;
  if (!attach_by_new_link(h)) return false;
  h.lanes().grants = false;
  if (!ask_long_echo(h, context)) return false;
  h.listen(kLaneQuiet);
  return h.expect(!h.inbox().has_message(context), "no reply that is longer than the credits");
}
// More blocks of each data lane.
void grant_all(End& end, std::uint32_t blocks);

}  // namespace splitnic::conformance
