// Expectations of the connection of an end after it has sent something. Each ends the case
// with `expected` if the target does another thing, and does nothing after a failure. The functions
// that return bool return whether the case is still good.
#pragma once

#include <optional>
#include <string_view>

#include "conformance/end.h"

namespace splitnic::conformance {

// ECHO: what was sent before has been dealt with, and the target serves this connection.
bool expect_serving(End& end, std::string_view expected);
// The same, and the target has neither refused anything nor ended the connection.
bool expect_ignored(End& end, std::string_view expected);
// Returns the NAK.
std::optional<Event> expect_nak(End& end, unsigned channel, fabric::AckCode code,
                                std::string_view expected);
// The target has sent DISC of this connection, or does so now.
bool expect_disc(End& end, std::string_view expected);
// The target ends the connection by DISC, and does not serve it any more.
bool expect_ended(End& end, std::string_view expected);
// The target does not serve this connection any more.
bool expect_unserved(End& end, std::string_view expected);
// The queue pair that sent this NAK takes no cell any more, neither one with the numbers of the
// cell that was refused nor the next one, and the target ends the connection by DISC.
bool expect_ended_by(End& end, const Event& nak, std::string_view expected);

}  // namespace splitnic::conformance
