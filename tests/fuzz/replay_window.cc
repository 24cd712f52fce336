#include "fabric_emul/session/replay_window.h"

#include <algorithm>

#include "base/check.h"
#include "base/endian.h"
#include "tests/fuzz/targets.h"
#include "tests/support/replay_model.h"

namespace splitnic::fuzz {

// A step of 3 bytes: the kind, and 16 bits of distance. Kinds: forwards from the highest counter,
// backwards, far forwards, and backwards from the end of all counters.
void replay_window(base::Bytes in) {
  constexpr std::size_t kStepsMax = 4096;
  fabric::session::ReplayWindow window;
  support::ReplayModel model;
  for (std::size_t step = 0; step < kStepsMax && 3 * (step + 1) <= in.size(); ++step) {
    const auto kind = std::to_integer<unsigned>(in[3 * step]) % 4;
    const std::uint64_t distance = base::load_be<std::uint16_t>(&in[3 * step + 1]);
    std::uint64_t counter = model.highest();
    if (kind == 0) counter += distance;
    if (kind == 1) counter -= std::min(counter, distance);
    if (kind == 2) counter += distance << 20;
    if (kind == 3) counter = ~distance;
    CHECK(window.accept(counter) == model.accept(counter));
  }
}

}  // namespace splitnic::fuzz
