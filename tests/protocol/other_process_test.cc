// Local addresses of work requests are in the address space of the process that opened the queue
// pair: what is another's cannot be named, not even with the other's key.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing::other_process_test {

class OtherProcessTest : public ::testing::TestWithParam<PageTableForm> {
 protected:
  static constexpr std::size_t kBytes = 500;

  // A queue pair of the process, connected to one of end b.
  QpPair join(ProcessId process) {
    End& b = pair.b();
    const Qpn there = node.driver.open_qp(process, node.init).value();
    const Qpn here = b.create_qp({});
    const MgmtPair of_there = pair.a().adapter->describe(there, 0, 0);
    const MgmtPair of_here = b.adapter->describe(here, 0, 0);
    EXPECT_TRUE(pair.a().adapter->connect_qp(of_there, of_here, pair.a().link()));
    EXPECT_TRUE(b.adapter->connect_qp(of_here, of_there, b.link()));
    return {there, here};
  }
  Sge piece(MemoryHandle key, EffectiveAddress at) const {
    return {VirtualAddress(at.value), kBytes, key};
  }
  // Status of a Send of the piece; nullopt: it is still open.
  std::optional<WcStatus> send(ProcessId process, const Sge& from) {
    const QpPair qp = join(process);
    EXPECT_TRUE(pair.b().post_recv(qp.b, {inbox.sge()}));
    EXPECT_TRUE(pair.a().post_send(qp.a, {from}));
    return status(node.init.common.send_cq);
  }
  // Status of a receive into the piece when a message comes.
  std::optional<WcStatus> receive(ProcessId process, const Sge& into) {
    const QpPair qp = join(process);
    EXPECT_TRUE(pair.a().post_recv(qp.a, {into}));
    EXPECT_TRUE(pair.b().post_send(qp.b, {message.sge()}));
    return status(node.init.common.recv_cq);
  }
  std::optional<WcStatus> status(CqId cq) {
    Wc wc;
    const auto has_one = [&] { return pair.a().adapter->poll_cq(cq, {&wc, 1}) == 1; };
    return pair.run_until(has_one) ? std::optional(wc.status) : std::nullopt;
  }

  base::ManualClock clock;
  AdapterPair pair;
  VmNode node{*pair.a().adapter, clock, GetParam()};
  ProcessId user = node.process();
  ProcessId other = node.process();
  EffectiveAddress mine = node.memory(user, 1, 1);
  EffectiveAddress theirs = node.memory(other, 1, 2);
  MemoryHandle my_key = node.driver.effective_key(user).value();
  MemoryHandle their_key = node.driver.effective_key(other).value();
  Memory& inbox = pair.b().memory(kBytes);
  Memory& message = pair.b().memory(kBytes, 9);
};

TEST_P(OtherProcessTest, S000_10_a_send_reads_only_what_its_process_has) {
  EXPECT_EQ(send(user, piece(my_key, theirs)), WcStatus::kLocalProtection) << "its own key";
  EXPECT_EQ(send(user, piece(their_key, theirs)), WcStatus::kLocalProtection) << "the other's key";
  EXPECT_EQ(send(user, piece(their_key, mine)), WcStatus::kLocalProtection);
  EXPECT_TRUE(inbox.is_zero());
  EXPECT_EQ(send(user, piece(my_key, mine)), WcStatus::kSuccess);
  EXPECT_EQ(inbox.bytes, node.load(user, mine, kBytes));
}

TEST_P(OtherProcessTest, S000_10_a_receive_writes_only_what_its_process_has) {
  const auto before = node.load(other, theirs, kVmPageBytes);
  EXPECT_EQ(receive(user, piece(my_key, theirs)), WcStatus::kLocalProtection) << "its own key";
  EXPECT_EQ(receive(user, piece(their_key, theirs)), WcStatus::kLocalProtection);
  EXPECT_EQ(node.load(other, theirs, kVmPageBytes), before);
  EXPECT_EQ(receive(user, piece(my_key, mine)), WcStatus::kSuccess);
  EXPECT_EQ(node.load(user, mine, kBytes), message.bytes);
}

TEST_P(OtherProcessTest, S000_27_S000_10_the_domain_is_that_of_the_process_whatever_it_names) {
  node.init.common.pd = node.domain(other);
  EXPECT_EQ(send(user, piece(their_key, theirs)), WcStatus::kLocalProtection);
  EXPECT_TRUE(inbox.is_zero());
  EXPECT_EQ(send(user, piece(my_key, mine)), WcStatus::kSuccess);
  EXPECT_EQ(inbox.bytes, node.load(user, mine, kBytes));
}

INSTANTIATE_TEST_SUITE_P(Forms, OtherProcessTest, ::testing::ValuesIn(kForms), FormName());

}  // namespace splitnic::fabric::testing::other_process_test
