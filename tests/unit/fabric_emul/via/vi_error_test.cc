// Wrong descriptors, refused transfers, and what each reliability level makes of them.
#include <gtest/gtest.h>

#include "fabric_emul/via/vi.h"
#include "tests/support/vi_harness.h"

namespace splitnic::fabric::testing::vi_error_test {

struct Wrong {
  std::string name;
  ViQueue queue;
  std::uint32_t status;
  // Makes the descriptor; may spoil its bytes.
  std::function<ViDescriptorRef(ViSide& self, ViSide& peer)> make;
};
std::ostream& operator<<(std::ostream& out, const Wrong& w) { return out << w.name; }

ViDescriptorRef spoiled(ViSide& side, const ViDescriptor& d, std::size_t byte, unsigned value) {
  const auto at = side.write(d);
  side.bytes(at)[byte] = std::byte(value);
  return at;
}
Sge shifted(Sge piece, std::uint64_t by) {
  piece.address = VirtualAddress(piece.address.value + by);
  return piece;
}

std::vector<Wrong> wrong_descriptors() {
  using enum ViQueue;
  const auto send = [](ViSide& s) { return send_of({s.data(0, 100)}); };
  return {
      {"unknown_control", kSend, kViFormatError,
       [=](ViSide& s, ViSide&) { return spoiled(s, send(s), 14, 0x10); }},
      {"reserved_operation", kSend, kViFormatError,
       [=](ViSide& s, ViSide&) { return spoiled(s, send(s), 14, 3); }},
      {"more_segments_than_fit", kSend, kViFormatError,
       [=](ViSide& s, ViSide&) { return spoiled(s, send(s), 13, 0xFF); }},
      {"no_address_segment", kSend, kViFormatError | kViOpRdmaWrite,
       [=](ViSide& s, ViSide&) { return spoiled(s, ViDescriptor{}, 14, 1); }},
      {"length_is_not_the_sum", kSend, kViLengthError,
       [=](ViSide& s, ViSide&) { return spoiled(s, send(s), kViLengthAt, 99); }},
      {"longer_than_the_largest_transfer", kSend, kViLengthError,
       [](ViSide& s, ViSide&) { return s.write(send_of({s.data(0, 100001)})); }},
      {"data_outside_registered_memory", kSend, kViProtectionError,
       [](ViSide& s, ViSide&) {
         return s.write(send_of({s.data(0, 8), shifted(s.data(0, 100), s.region.bytes.size())}));
       }},
      {"data_past_the_end", kSend, kViProtectionError,
       [](ViSide& s, ViSide&) {
         return s.write(send_of({shifted(s.data(0, 100), s.region.bytes.size() - 99)}));
       }},
      {"unknown_handle", kSend, kViProtectionError,
       [](ViSide& s, ViSide&) {
         auto piece = s.data(0, 100);
         piece.lkey = MemoryHandle(piece.lkey.value ^ 0x55555);
         return s.write(send_of({piece}));
       }},
      {"read_to_memory_that_may_not_be_written", kSend, kViProtectionError | kViOpRdmaRead,
       [](ViSide& s, ViSide& peer) {
         auto& memory = s.end.memory(4096, 3, kLocalRead);
         return s.write(rdma_of(ViOp::kRdmaRead, {memory.sge(0, 100)}, peer.region));
       }},
      {"receive_with_an_rdma_operation", kReceive, kViFormatError | kViOpReceive,
       [](ViSide& s, ViSide& peer) {
         return s.write(rdma_of(ViOp::kRdmaWrite, {s.data(0, 100)}, peer.region));
       }},
      {"receive_with_unknown_control", kReceive, kViFormatError | kViOpReceive,
       [=](ViSide& s, ViSide&) { return spoiled(s, send(s), 15, 0x80); }},
      {"receive_outside_registered_memory", kReceive, kViProtectionError | kViOpReceive,
       [](ViSide& s, ViSide&) {
         return s.write(send_of({shifted(s.data(0, 100), s.region.bytes.size())}));
       }},
      {"segments_cross_the_end_of_the_region", kSend, kViProtectionError,
       [=](ViSide& s, ViSide&) {
         // Only the control segment lies in the region.
         auto& memory = s.end.memory(64 + kViControlBytes);
         emit_vi_descriptor(std::span(memory.bytes).subspan(64), ViDescriptor{});
         memory.bytes[64 + 12] = std::byte{1};
         return ViDescriptorRef{memory.at(64), memory.handle};
       }},
  };
}

ViAttributes attributes_of(ViReliability level) {
  ViAttributes attributes = ViHarness::with(level);
  attributes.transfer_max = 100000;
  return attributes;
}

class WrongDescriptor : public ::testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(All, WrongDescriptor, ::testing::ValuesIn(wrong_descriptors()),
                         [](const auto& one) { return one.param.name; });

TEST_P(WrongDescriptor, S001_42_S001_44_touches_nothing_but_its_status_and_ends_a_reliable_vi) {
  ViHarness harness(attributes_of(ViReliability::kReception));
  const auto here = harness.b.region.bytes;
  const auto there = harness.a.region.bytes;
  const auto first = GetParam().make(harness.b, harness.a);
  const auto behind = harness.b.write(ViDescriptor{});
  ASSERT_TRUE(harness.b.vi->post(GetParam().queue, first));
  ASSERT_TRUE(harness.b.vi->post(GetParam().queue, behind));
  harness.b.vi->ring(GetParam().queue);
  harness.settle();
  ASSERT_EQ(harness.b.done.size(), 2U);
  EXPECT_EQ(harness.b.done[0].descriptor, first);
  EXPECT_EQ(harness.b.done[0].status, GetParam().status | kViDone);
  EXPECT_EQ(harness.b.done[1].descriptor, behind);
  EXPECT_EQ(harness.b.status(behind) & kViErrors, kViFlushed);
  EXPECT_EQ(harness.b.vi->state(), ViState::kError);
  EXPECT_EQ(harness.a.vi->state(), ViState::kError) << "the peer is notified";
  EXPECT_EQ(harness.b.region.bytes, here);
  EXPECT_EQ(harness.a.region.bytes, there);
}

TEST_P(WrongDescriptor, S001_42_an_unreliable_vi_goes_on_behind_it) {
  ViHarness harness(attributes_of(ViReliability::kUnreliable));
  harness.b.post_and_ring(GetParam().queue, GetParam().make(harness.b, harness.a));
  ASSERT_EQ(harness.b.cq->done()->status & ~7U << 16, (GetParam().status | kViDone) & ~7U << 16);
  harness.a.receive({harness.a.data(0, 100)});
  harness.b.receive({harness.b.data(0, 100)});
  const auto to = harness.b.send(send_of({harness.b.data(200, 100)}));
  const auto from = harness.a.send(send_of({harness.a.data(200, 100)}));
  ASSERT_TRUE(
      harness.run_until([&] { return harness.a.done.size() + harness.b.done.size() == 4; }));
  EXPECT_EQ(harness.b.status(to), kViDone);
  EXPECT_EQ(harness.a.status(from), kViDone);
  EXPECT_EQ(harness.b.vi->state(), ViState::kConnected);
}

TEST(ViErrorTest, S001_41_a_wrong_one_waits_for_those_before_it_and_stops_those_behind_it) {
  ViHarness harness(ViReliability::kReception);
  harness.a.receive({harness.a.data(0, 50000)});
  const std::vector<ViDescriptorRef> posted = {
      harness.b.write(send_of({harness.b.data(0, 50000)})),
      spoiled(harness.b, ViDescriptor{}, 14, 0x10),
      harness.b.write(
          rdma_of(ViOp::kRdmaWrite, {harness.b.data(0, 100)}, harness.a.region, 60000))};
  for (const auto at : posted) ASSERT_TRUE(harness.b.vi->post(ViQueue::kSend, at));
  const auto before = harness.a.region.bytes;
  harness.b.vi->ring(ViQueue::kSend);
  EXPECT_EQ(harness.b.status(posted[1]), 0U);
  ASSERT_TRUE(harness.run_until([&] { return harness.b.done.size() == 3; }));
  EXPECT_EQ(harness.b.done[0].status, kViDone + 0U);
  EXPECT_EQ(harness.b.done[1].status, kViDone | kViFormatError);
  EXPECT_EQ(harness.b.done[2].status, kViDone | kViFlushed | kViOpRdmaWrite);
  EXPECT_TRUE(std::ranges::equal(std::span(harness.a.region.bytes).subspan(50000),
                                 std::span(before).subspan(50000)));
}

TEST(ViErrorTest, S001_41_a_descriptor_that_cannot_hold_a_status_is_not_posted) {
  ViHarness harness(ViReliability::kDelivery);
  auto at = harness.b.write(ViDescriptor{});
  const auto refused = [&](ViDescriptorRef ref) {
    return !harness.b.vi->post(ViQueue::kSend, ref).has_value();
  };
  EXPECT_TRUE(refused({VirtualAddress(at.address.value + 32), at.handle})) << "not aligned";
  EXPECT_TRUE(refused({at.address, MemoryHandle(at.handle.value ^ 0x1234)}));
  const std::uint64_t end = harness.b.slots.start.value + harness.b.slots.bytes.size();
  EXPECT_TRUE(refused({VirtualAddress(end), at.handle}));
  auto& locked = harness.b.end.memory(64, 0, kLocalRead);
  EXPECT_TRUE(refused({locked.start, locked.handle})) << "no status could be written";
  EXPECT_TRUE(refused({harness.a.slots.start, harness.a.slots.handle})) << "of another adapter";
  EXPECT_EQ(harness.b.vi->held(ViQueue::kSend), 0U);
  EXPECT_EQ(harness.b.vi->state(), ViState::kConnected);
}

// Status of the two sides when the target refuses a transfer.
struct Refusal {
  std::string name;
  std::uint32_t sender;
  std::uint32_t receiver;  // 0: it has no descriptor in this
  std::function<void(ViSide& a)> prepare;
  std::function<ViDescriptor(ViSide& a, ViSide& b)> send;
};
std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }

std::vector<Refusal> refusals() {
  const auto nothing = [](ViSide&) {};
  const auto send = [](ViSide&, ViSide& b) { return send_of({b.data(0, 1000)}); };
  return {
      {"no_receive", kViRemoteDescriptorError, 0, nothing, send},
      {"no_receive_for_idata", kViRemoteDescriptorError | kViOpRdmaWrite, 0, nothing,
       [](ViSide& a, ViSide&) { return rdma_of(ViOp::kRdmaWrite, {}, a.region, 0, 5); }},
      {"receive_too_short", kViRemoteDescriptorError, kViLengthError,
       [](ViSide& a) { a.receive({a.data(0, 999)}); }, send},
      {"receive_memory_gone", kViRemoteDescriptorError, kViProtectionError,
       [](ViSide& a) {
         auto& memory = a.end.memory(4096);
         a.receive({memory.sge()});
         CHECK(a.agent.deregister_memory(memory.handle).has_value());
       },
       send},
      {"write_with_a_wrong_handle", kViRdmaProtectionError | kViOpRdmaWrite, 0, nothing,
       [](ViSide& a, ViSide& b) {
         auto d = rdma_of(ViOp::kRdmaWrite, {b.data(0, 1000)}, a.region);
         d.remote_handle = MemoryHandle(d.remote_handle.value ^ 0x77777);
         return d;
       }},
      {"write_past_the_end", kViRdmaProtectionError | kViOpRdmaWrite, 0, nothing,
       [](ViSide& a, ViSide& b) {
         return rdma_of(ViOp::kRdmaWrite, {b.data(0, 1000)}, a.region, a.region.bytes.size() - 999);
       }},
      {"read_with_a_wrong_handle", kViRdmaProtectionError | kViOpRdmaRead, 0, nothing,
       [](ViSide& a, ViSide& b) {
         auto d = rdma_of(ViOp::kRdmaRead, {b.data(0, 1000)}, a.region);
         d.remote_handle = MemoryHandle(d.remote_handle.value ^ 0x77777);
         return d;
       }},
  };
}

class RefusedByPeer : public ::testing::TestWithParam<Refusal> {};
INSTANTIATE_TEST_SUITE_P(All, RefusedByPeer, ::testing::ValuesIn(refusals()),
                         [](const auto& one) { return one.param.name; });

TEST_P(RefusedByPeer, S001_44_a_reliable_vi_reports_the_reason_and_the_connection_ends) {
  for (const auto level : {ViReliability::kDelivery, ViReliability::kReception}) {
    ViHarness harness(level);
    const auto there = harness.a.region.bytes;
    const auto here = harness.b.region.bytes;
    GetParam().prepare(harness.a);
    const auto at = harness.b.send(GetParam().send(harness.a, harness.b));
    harness.settle();
    EXPECT_EQ(harness.b.status(at), GetParam().sender | kViDone);
    if (GetParam().receiver != 0) {
      ASSERT_EQ(harness.a.done.size(), 1U);
      EXPECT_EQ(harness.a.done[0].status, GetParam().receiver | kViDone | kViOpReceive);
    }
    EXPECT_EQ(harness.a.vi->state(), ViState::kError);
    EXPECT_EQ(harness.b.vi->state(), ViState::kError);
    EXPECT_EQ(harness.a.region.bytes, there);
    EXPECT_EQ(harness.b.region.bytes, here);
    EXPECT_EQ(harness.a.errors.size(), 1U);
    EXPECT_EQ(harness.b.errors.size(), 1U);
  }
}

// The unreliable level has no reads.
std::vector<Refusal> refusals_of_the_unreliable_level() {
  std::vector<Refusal> all = refusals();
  std::erase_if(all, [](const Refusal& one) { return one.name.starts_with("read"); });
  return all;
}

class DroppedByPeer : public ::testing::TestWithParam<Refusal> {};
INSTANTIATE_TEST_SUITE_P(All, DroppedByPeer,
                         ::testing::ValuesIn(refusals_of_the_unreliable_level()),
                         [](const auto& one) { return one.param.name; });

TEST_P(DroppedByPeer, S001_44_an_unreliable_vi_is_not_notified_and_both_continue) {
  ViHarness harness(ViReliability::kUnreliable);
  const auto there = harness.a.region.bytes;
  GetParam().prepare(harness.a);
  const auto at = harness.b.send(GetParam().send(harness.a, harness.b));
  harness.settle();
  EXPECT_EQ(harness.b.status(at) & (kViErrors | kViDone), kViDone + 0U);
  EXPECT_EQ(harness.a.region.bytes, there);
  if (GetParam().receiver != 0) {
    ASSERT_EQ(harness.a.done.size(), 1U);
    EXPECT_EQ(harness.a.done[0].status, GetParam().receiver | kViDone | kViOpReceive);
  }
  harness.a.done.clear();
  harness.a.receive({harness.a.data(0, 1000)});
  harness.b.send(send_of({harness.b.data(0, 1000)}));
  ASSERT_TRUE(harness.run_until([&] { return harness.a.done.size() == 1; }));
  EXPECT_EQ(harness.a.done[0].status, kViDone | kViOpReceive);
  EXPECT_EQ(harness.a.vi->state(), ViState::kConnected);
}

TEST(ViErrorTest, S001_44_rdma_that_the_peer_does_not_enable_is_a_protection_error) {
  ViAttributes attributes = ViHarness::with(ViReliability::kDelivery);
  attributes.enable_rdma_write = false;
  {
    ViHarness harness(attributes);
    const auto before = harness.a.region.bytes;
    const auto at =
        harness.b.send(rdma_of(ViOp::kRdmaWrite, {harness.b.data(0, 10)}, harness.a.region));
    harness.settle();
    EXPECT_EQ(harness.b.status(at), kViDone | kViOpRdmaWrite | kViRdmaProtectionError);
    EXPECT_EQ(harness.a.region.bytes, before);
  }
  ViHarness harness(attributes);  // reads are still enabled
  const auto at =
      harness.b.send(rdma_of(ViOp::kRdmaRead, {harness.b.data(0, 10)}, harness.a.region));
  harness.settle();
  EXPECT_EQ(harness.b.status(at), kViDone | kViOpRdmaRead);
}

TEST(ViErrorTest, S001_44_a_read_that_the_peer_does_not_enable_is_a_format_error) {
  ViAttributes attributes = ViHarness::with(ViReliability::kDelivery);
  attributes.enable_rdma_read = false;
  ViHarness harness(attributes);
  const auto at =
      harness.b.send(rdma_of(ViOp::kRdmaRead, {harness.b.data(0, 10)}, harness.a.region));
  EXPECT_EQ(harness.b.status(at), kViDone | kViOpRdmaRead | kViFormatError);
}

TEST(ViErrorTest, S001_44_a_path_that_is_gone_is_a_transport_error) {
  ViHarness harness(ViReliability::kReception);
  harness.b.end.faults.drop_sent([](base::Bytes datagram) { return datagram.size() > 300; });
  const auto at = harness.b.send(send_of({harness.b.data(0, 1000)}));
  const auto behind = harness.b.send(send_of({harness.b.data(0, 10)}));
  ASSERT_TRUE(harness.run_until([&] { return harness.b.done.size() == 2; }));
  EXPECT_EQ(harness.b.status(at), kViDone | kViTransportError);
  EXPECT_EQ(harness.b.status(behind), kViDone | kViFlushed);
  EXPECT_EQ(harness.b.vi->state(), ViState::kError);
}

// Between doorbell and wire.
TEST(ViErrorTest, S001_44_memory_that_goes_after_the_doorbell_is_a_protection_error) {
  for (const auto level : {ViReliability::kUnreliable, ViReliability::kReception}) {
    ViHarness harness(level);
    harness.a.receive({harness.a.data(0, 100)});
    auto& memory = harness.b.end.memory(100, 1);
    const auto at = harness.b.send(send_of({memory.sge()}));
    ASSERT_TRUE(harness.b.agent.deregister_memory(memory.handle));
    ASSERT_TRUE(harness.run_until([&] { return harness.b.done.size() == 1; }));
    EXPECT_EQ(harness.b.status(at), kViDone | kViProtectionError);
    if (level == ViReliability::kReception) {
      EXPECT_EQ(harness.b.vi->state(), ViState::kError);
      continue;
    }
    EXPECT_EQ(harness.b.vi->state(), ViState::kConnected);
    harness.b.send(send_of({harness.b.data(0, 100)}));
    ASSERT_TRUE(harness.run_until([&] { return harness.b.done.size() == 2; }));
    EXPECT_EQ(harness.b.done[1].status, kViDone + 0U);
  }
}

}  // namespace splitnic::fabric::testing::vi_error_test
