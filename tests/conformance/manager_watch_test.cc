// The watch of a manager that sets a table of two parts: the replies to its requests decide which
// edge of the state table it has passed.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "conformance/states/watch.h"

namespace splitnic::conformance::manager_watch_test {
namespace {

constexpr std::uint32_t kOldCheck = 5, kNewCheck = 7;

// The suite's side of a line to a manager that has found one switch, over port 1.
class ManagerWatch : public ::testing::Test {
 protected:
  ManagerWatch() { sweep(1); }

  void sweep(std::uint64_t transaction) {
    show(Direction::kReceived, SmpMethod::kSet, SmpAttribute::kManager, transaction, {});
    show(Direction::kSent, SmpMethod::kReply, SmpAttribute::kManager, transaction, {});
  }
  // A part of the table, and the reply to it, of a switch with the table of this check.
  void request(std::uint64_t transaction, std::uint16_t block) {
    show_table(Direction::kReceived, SmpMethod::kSet, transaction, block, kNewCheck);
  }
  void reply(std::uint64_t transaction, std::uint16_t block, std::uint32_t check) {
    show_table(Direction::kSent, SmpMethod::kReply, transaction, block, check);
  }
  bool has(std::string_view edge) const { return coverage_.has("subnet manager", edge); }

 private:
  using SmpMethod = fabric::SmpMethod;
  using SmpAttribute = fabric::SmpAttribute;

  void show_table(Direction direction, SmpMethod method, std::uint64_t transaction,
                  std::uint16_t block, std::uint32_t check) {
    fabric::SmpTable part;
    part.block = block;
    part.stage = fabric::SmpTable::Stage::kSet;
    part.parts = 2;
    part.check = check;
    std::array<std::byte, fabric::kSmpTableBytes> bytes{};
    fabric::emit_smp_table(bytes, part);
    show(direction, method, SmpAttribute::kTable, transaction, bytes);
  }
  void show(Direction direction, SmpMethod method, SmpAttribute attribute,
            std::uint64_t transaction, base::Bytes body) {
    Seen seen;
    seen.kind = SeenKind::kSmp;
    seen.direction = direction;
    seen.smp.method = method;
    seen.smp.attribute = attribute;
    seen.smp.transaction = transaction;
    seen.smp.route.hops = seen.smp.hop = 1;
    seen.smp.route.ports[0] = 1;
    seen.smp.body = body;
    watch_->on(seen);
  }

  Coverage coverage_{Role::kSubnet};
  const std::unique_ptr<Watch> watch_ = watch_manager(coverage_);
};

TEST_F(ManagerWatch, a_reply_that_crosses_a_retransmission_is_one_part) {
  request(2, 0);
  request(3, 1);
  reply(2, 0, kOldCheck);
  request(2, 0);
  reply(2, 0, kOldCheck);
  reply(3, 1, kNewCheck);
  sweep(4);
  EXPECT_TRUE(has("set"));
  EXPECT_FALSE(has("set_differs")) << "the check counts behind the last part";
}

TEST_F(ManagerWatch, the_check_behind_the_last_part_counts_after_a_retransmission) {
  request(2, 0);
  request(3, 1);
  reply(2, 0, kOldCheck);
  request(2, 0);
  reply(2, 0, kOldCheck);
  reply(3, 1, kOldCheck);
  sweep(4);
  EXPECT_FALSE(has("set"));
  EXPECT_TRUE(has("set_differs"));
}

TEST_F(ManagerWatch, a_request_without_reply_is_not_done) {
  request(2, 0);
  request(3, 1);
  reply(2, 0, kOldCheck);
  request(3, 1);
  sweep(4);
  EXPECT_FALSE(has("set"));
  EXPECT_TRUE(has("set_silent"));
}

}  // namespace
}  // namespace splitnic::conformance::manager_watch_test
