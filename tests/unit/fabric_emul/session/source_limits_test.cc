// The budget of each source of handshakes.
#include <gtest/gtest.h>

#include "fabric_emul/session/handshake_gate.h"
#include "tests/unit/fabric_emul/session/keyed_world.h"

namespace splitnic::fabric::session {
namespace {

using namespace std::chrono_literals;

TEST(SourceLimitsTest, S_60_a_source_with_a_cookie_has_its_share_only) {
  SourceLimits limits(20, 5);
  PeerAddress here;
  here.bytes[3] = std::byte{1};
  PeerAddress there;
  there.bytes[3] = std::byte{2};
  const base::Time now = base::Time{} + 1h;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(limits.take(now, here));
  EXPECT_FALSE(limits.take(now, here));
  EXPECT_TRUE(limits.take(now, there));
  EXPECT_FALSE(limits.take(now + 49ms, here));
  EXPECT_TRUE(limits.take(now + 50ms, here));
  // The table is bounded: idle sources make room.
  std::size_t admitted = 0;
  for (std::uint32_t i = 0; i < 2 * SourceLimits::kSourcesMax; ++i) {
    admitted += limits.take(now + 60ms, InProcessHub::address_of(1000 + i)) ? 1 : 0;
  }
  EXPECT_LT(admitted, SourceLimits::kSourcesMax);
  EXPECT_TRUE(limits.take(now + 10s, InProcessHub::address_of(100'000)));
}

}  // namespace
}  // namespace splitnic::fabric::session
