// The edge table of the queue pair states over all 49 pairs.
#include "fabric_emul/transport/qp_state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace splitnic::fabric {
namespace qp_state_test {

// Rows are "from", columns "to": RESET INIT RTR RTS SQD SQE ERR.
constexpr std::array<std::string_view, kQpStates> kExpected = {
    "xx.....",  // RESET
    "xxx...x",  // INIT
    "x..x..x",  // RTR
    "x..xx.x",  // RTS
    "x..xx.x",  // SQD
    "x..x..x",  // SQE
    "x.....x",  // ERR
};

constexpr QpState state(std::size_t i) { return static_cast<QpState>(i); }

TEST(QpStateTest, T_14_22_of_the_49_pairs_are_legal) {
  int legal = 0;
  for (std::size_t from = 0; from < kQpStates; ++from) {
    for (std::size_t to = 0; to < kQpStates; ++to) {
      EXPECT_EQ(is_legal(state(from), state(to)), kExpected[from][to] == 'x')
          << name(state(from)) << " to " << name(state(to));
      legal += is_legal(state(from), state(to)) ? 1 : 0;
    }
  }
  EXPECT_EQ(legal, 22);
}

TEST(QpStateTest, the_table_holds_each_edge_once) {
  std::set<std::pair<QpState, QpState>> seen;
  for (const QpEdge& edge : kQpEdges) EXPECT_TRUE(seen.insert({edge.from, edge.to}).second);
}

TEST(QpStateTest, T_14_no_modify_leads_to_sqe_and_rc_never_enters_it) {
  for (std::size_t from = 0; from < kQpStates; ++from) {
    EXPECT_FALSE(is_legal(state(from), QpState::kSqe));
  }
  EXPECT_EQ(state_after_send_error(Service::kRc), QpState::kErr);
  EXPECT_EQ(state_after_send_error(Service::kUc), QpState::kSqe);
  EXPECT_EQ(state_after_send_error(Service::kUd), QpState::kSqe);
  EXPECT_EQ(state_after_send_error(Service::kRd), QpState::kSqe);
  EXPECT_EQ(state_after_send_error(Service::kRaw), QpState::kSqe);
}

TEST(QpStateTest, every_state_leads_to_reset_and_only_reset_leads_out_of_err) {
  for (std::size_t i = 0; i < kQpStates; ++i) {
    EXPECT_TRUE(is_legal(state(i), QpState::kReset));
    if (state(i) != QpState::kReset) {
      EXPECT_TRUE(is_legal(state(i), QpState::kErr));
    }
    const bool stays = state(i) == QpState::kReset || state(i) == QpState::kErr;
    EXPECT_EQ(is_legal(QpState::kErr, state(i)), stays);
  }
}

TEST(QpStateTest, names_are_those_of_the_glossary) {
  EXPECT_EQ(name(QpState::kReset), "RESET");
  EXPECT_EQ(name(QpState::kSqd), "SQD");
  EXPECT_EQ(name(QpState::kErr), "ERR");
}

}  // namespace qp_state_test
}  // namespace splitnic::fabric
