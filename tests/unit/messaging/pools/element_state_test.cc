// Every state x event of the three edge tables: each edge leads to the state that the protocol
// defines, and everything else is refused.
#include "messaging/pools/element_state.h"

#include <gtest/gtest.h>

#include <string>

namespace splitnic::messaging::element_state_test {

template <typename State, typename Event, int kStates, int kEvents>
std::string graph() {
  std::string out;
  for (int s = 0; s < kStates; ++s) {
    for (int e = 0; e < kEvents; ++e) {
      const auto to = next(State(s), Event(e));
      out += to ? name(*to)[0] : '-';
      if (to && name(*to) == "RELEASED") out.back() = 'L';
    }
    out += ' ';
  }
  return out;
}

TEST(ElementStateTest, S001_14_owner_element) {
  // columns: indicated, released, update sent; rows POSTED FILLED RELEASED RETURNED
  EXPECT_EQ((graph<OwnerElement, OwnerEvent, 4, 3>()), "F-- -L- --R F-- ");
}
TEST(ElementStateTest, P_40_user_element) {
  // columns: taken, cancelled, written, updated; rows AVAILABLE WRITING CONSUMED
  EXPECT_EQ((graph<UserElement, UserEvent, 3, 4>()), "W--- -ACA ---A ");
}
TEST(ElementStateTest, S001_17_pool) {
  // columns: advertised, flush begun, flush ended; rows FREE ADVERTISED FLUSHING
  EXPECT_EQ((graph<PoolState, PoolEvent, 3, 3>()), "A-- -F- --F ");
  EXPECT_EQ(next(PoolState::kAdvertised, PoolEvent::kFlushBegun), PoolState::kFlushing);
  EXPECT_EQ(next(PoolState::kFlushing, PoolEvent::kFlushEnded), PoolState::kFree);
}

}  // namespace splitnic::messaging::element_state_test
