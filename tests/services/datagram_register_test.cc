// Registration through the send queue of a queue pair of UD.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::datagram_register_test {

using namespace std::chrono_literals;

// The message goes nowhere, which is no reason that the key does not work, or the next one.
TEST(DatagramRegisterTest, S002_30_each_key_works_although_no_link_leads_to_the_message) {
  RdMesh mesh(2);
  MeshNode& node = mesh.node(0);
  QpInit init = node.init(Service::kUd);
  init.registers_in_queue = true;
  const Qpn qpn = mesh.make(0, init);
  const std::array pieces{node.memory(64).sge()};
  std::array<std::vector<std::byte>, 2> memory;
  std::vector<MemoryHandle> keys;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i].resize(100);
    NewRegion region;
    region.memory = memory[i];
    region.rights = kAccessRights;
    SendWr wr;
    wr.op = i == 0 ? WrOp::kRegisterSend : WrOp::kRegister;
    if (i == 0) wr.gather = pieces;
    wr.destination_lid = Lid(0x7777);
    wr.destination_qpn = Qpn(99);
    const auto key = node.adapter.post_register(qpn, wr, region);
    ASSERT_TRUE(key);
    keys.push_back(*key);
  }
  mesh.run_for(1ms);
  ASSERT_EQ(node.sent.size(), 2U);
  for (const Wc& wc : node.sent) EXPECT_EQ(wc.status, WcStatus::kSuccess);
  EXPECT_EQ(mesh.count(0, TransportCounter::kDropNoLink), 1U);
  Mrwt& table = node.adapter.memory();
  for (const MemoryHandle key : keys) {
    EXPECT_TRUE(
        table.access(key, table.start_of(key), 1, AccessKind::kLocalRead, node.pd, {}).ok());
  }
}

}  // namespace splitnic::fabric::testing::datagram_register_test
