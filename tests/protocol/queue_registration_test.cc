// Registration through the send queue: the key at once, the region in queue order.
#include <gtest/gtest.h>

#include "tests/support/registrar.h"

namespace splitnic::fabric::testing::queue_registration_test {

using S = WcStatus;

TEST_F(QueueRegistration, S002_28_the_key_of_the_blocking_verb_works_on_return) {
  const QpPair qp = pair_.connect(QpInit{});
  Pages pages(2, 5);
  PagedMemory memory;
  memory.pages = pages.list;
  memory.length = 2 * Pages::kBytes;
  const auto key = table().regions().register_pages(pair_.b().pd, memory, kAccessRights);
  ASSERT_TRUE(key);
  EXPECT_TRUE(use(*key).ok()) << "no iteration of the adapter, no completion";
  ASSERT_TRUE(
      pair_.b().post_write(qp.b, {piece_of(pair_.b(), *key, 8192)}, target_.start, target_.handle));
  ASSERT_TRUE(completes(1));
  EXPECT_EQ(pair_.b().sent[0].status, S::kSuccess);
  for (std::size_t i = 0; i < 8192; ++i) ASSERT_EQ(target_.bytes[i], pages.at(i)) << i;
}

TEST_F(QueueRegistration, S002_29_refused_unless_the_queue_pair_was_made_for_it) {
  const QpPair plain = pair_.connect(QpInit{});
  const QpPair qp = pair_.connect(registering());
  std::vector<std::byte> memory(64);
  const std::size_t live = table().live_count();
  const auto refused = post_register(pair_.b(), plain.b, span_region(memory));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EINVAL);
  EXPECT_EQ(table().live_count(), live);
  ASSERT_TRUE(post_register(pair_.b(), qp.b, span_region(memory)));
  ASSERT_TRUE(completes(1));
  EXPECT_EQ(pair_.b().sent[0].status, S::kSuccess);
  EXPECT_EQ(pair_.b().sent[0].op, WcOp::kRegister);
}

TEST_F(QueueRegistration, S002_30_what_no_registration_takes_is_refused_when_it_is_posted) {
  const QpPair qp = pair_.connect(registering());
  const Qpn young = pair_.b().create_qp(registering());
  std::vector<std::byte> memory(64);
  Memory& message = pair_.b().memory(20);
  const std::size_t live = table().live_count();
  End& b = pair_.b();
  EXPECT_FALSE(post_register(b, qp.b, NewRegion{})) << "no memory";
  EXPECT_FALSE(post_register(b, qp.b, span_region(memory, 0x80))) << "unknown rights";
  NewRegion both = Pages(1).region();
  both.memory = memory;
  EXPECT_FALSE(post_register(b, qp.b, both));
  Pages pages(2);
  NewRegion crooked = pages.region();
  crooked.pages.length = 100;
  EXPECT_FALSE(post_register(b, qp.b, crooked)) << "one page too many";
  EXPECT_FALSE(post_register(b, young, span_region(memory))) << "not in RTS";
  EXPECT_FALSE(post_register_send(b, qp.b, span_region(memory), {message.sge()}, 5))
      << "16 bytes do not fit behind the fifth of 20";
  SendWr wr;
  wr.op = WrOp::kRegister;
  EXPECT_FALSE(b.adapter->post_send(qp.b, wr)) << "post_register gives the key";
  wr.op = WrOp::kSend;
  EXPECT_FALSE(b.adapter->post_register(qp.b, wr, span_region(memory)));
  EXPECT_EQ(table().live_count(), live) << "nothing stays reserved";
  EXPECT_TRUE(b.sent.empty());
}

TEST_F(QueueRegistration, S002_30_the_key_serves_what_is_posted_right_behind_it) {
  for (const Service service : {Service::kRc, Service::kUc}) {
    const QpPair qp = pair_.connect(registering(FailureOption::kReactive, service));
    Pages pages(2, 9);
    Memory& message = pair_.b().memory(4);
    pair_.a().received.clear();
    pair_.b().sent.clear();
    target_.clear();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(pair_.a().post_recv(qp.a, {inbox_.sge()}));
    const auto key = post_register(pair_.b(), qp.b, pages.region(), 1).value();
    EXPECT_EQ(use(key).failed, AccessCheck::kA) << "reserved, and not valid [X-21]";
    const auto piece = [&](std::uint32_t n) { return piece_of(pair_.b(), key, n); };
    ASSERT_TRUE(pair_.b().post_send(qp.b, {piece(100)}, 2));
    ASSERT_TRUE(pair_.b().post_write(qp.b, {piece(8192)}, target_.start, target_.handle, 3));
    std::memcpy(message.bytes.data(), &key.value, 4);
    ASSERT_TRUE(pair_.b().post_send(qp.b, {message.sge()}, 4));
    ASSERT_TRUE(completes(4));
    ASSERT_TRUE(pair_.run_until([&] { return pair_.a().received.size() == 2; }));
    EXPECT_EQ(statuses(pair_.b().sent), std::vector(4, S::kSuccess));
    EXPECT_EQ(wr_ids(pair_.b().sent), (std::vector<std::uint64_t>{1, 2, 3, 4}));
    for (std::size_t i = 0; i < 8192; ++i) ASSERT_EQ(target_.bytes[i], pages.at(i)) << i;
    // The second message announced it to the peer, which writes to it.
    MemoryHandle sent;
    std::memcpy(&sent.value, inbox_.bytes.data(), 4);
    Memory& from = pair_.a().memory(32, 77);
    ASSERT_TRUE(pair_.a().post_write(qp.a, {from.sge()},
                                     VirtualAddress(table().start_of(key).value + 4090), sent));
    ASSERT_TRUE(pair_.run_until([&] { return pages.at(4121) == from.bytes[31]; }));
    EXPECT_EQ(pages.at(4090), from.bytes[0]);
    ASSERT_TRUE(table().regions().deregister(key));
  }
}

TEST_F(QueueRegistration, X_21_a_reserved_key_gives_no_other_call_a_way_in) {
  const QpPair qp = pair_.connect(registering());
  Pages pages(1);
  const auto key =
      post_register(pair_.b(), qp.b, pages.region(kAccessRights | kWindowBind)).value();
  const VirtualAddress start = table().start_of(key);
  EXPECT_FALSE(table().set_valid(key, true));
  EXPECT_FALSE(table().regions().set_page(key, 0, pages.list[0]));
  EXPECT_FALSE(table().regions().register_shared(pair_.b().pd, key, kAccessRights));
  EXPECT_FALSE(table().windows().bind_window(pair_.b().pd, key, start, 1, kRemoteRead, Qpn{}));
  EXPECT_EQ(table().end_by_peer(pair_.b().pd, qp.b, key), AccessCheck::kA);
  ASSERT_TRUE(completes(1));
  EXPECT_TRUE(table().windows().bind_window(pair_.b().pd, key, start, 1, kRemoteRead, Qpn{}));
}

TEST_F(QueueRegistration, S002_31_another_domain_makes_no_region_of_a_reserved_entry) {
  std::vector<std::byte> memory(64);
  const NewRegion region = span_region(memory);
  const MemoryHandle key = table().regions().reserve_region(pair_.b().pd, region).value();
  EXPECT_EQ(table().regions().make_reserved(pair_.b().adapter->alloc_pd(), key, region),
            RegisterCheck::kEntry);
  EXPECT_FALSE(table().entry(key)->is_valid);
  EXPECT_EQ(table().regions().make_reserved(pair_.b().pd, key, region), std::nullopt);
  EXPECT_TRUE(table().entry(key)->is_valid);
}

TEST_F(QueueRegistration, S002_31_the_three_checks_at_execution) {
  std::vector<std::byte> memory(64);
  const QpPair qp = pair_.connect(registering());
  End& b = pair_.b();
  // The key points to no entry: its reservation was returned before the work request ran.
  const auto ended = post_register(b, qp.b, span_region(memory), 1).value();
  ASSERT_TRUE(table().regions().deregister(ended));
  ASSERT_TRUE(completes(1));
  EXPECT_EQ(b.sent[0].status, S::kRegisterEntry);
  ASSERT_TRUE(b.adapter->resume_sq(qp.b));
  // The entry is another key's by now: the instance differs.
  const auto again = post_register(b, qp.b, span_region(memory), 2).value();
  ASSERT_TRUE(table().regions().deregister(again));
  std::vector<MemoryHandle> others;
  const std::size_t indices = table().index_count();
  while (table().live_count() < indices) {
    others.push_back(table().regions().register_region(b.pd, memory, kLocalRead).value());
  }
  ASSERT_TRUE(completes(2));
  EXPECT_EQ(b.sent[1].status, S::kRegisterInstance);
  for (const MemoryHandle other : others) EXPECT_NE(table().entry(other), nullptr);
  ASSERT_TRUE(b.adapter->resume_sq(qp.b));
  // No space: 513 pages take 3 ATT pages, and one is used.
  Pages small(1);
  PagedMemory one;
  one.pages = small.list;
  one.length = Pages::kBytes;
  const auto holder = table().regions().register_pages(b.pd, one, kLocalRead).value();
  Pages large(513);
  const auto key = post_register(b, qp.b, large.region(), 3).value();
  const std::size_t live = table().live_count();
  ASSERT_TRUE(completes(3));
  EXPECT_EQ(b.sent[2].status, S::kRegisterSpace);
  EXPECT_EQ(table().live_count(), live - 1) << "the reservation is gone";
  EXPECT_EQ(table().entry(key), nullptr) << "and its instance is over";
  EXPECT_EQ(table().regions().atts().pages_used(), 1U);
  // Success: one completion.
  ASSERT_TRUE(b.adapter->resume_sq(qp.b));
  ASSERT_TRUE(table().regions().deregister(holder));
  ASSERT_TRUE(post_register(b, qp.b, large.region(), 4));
  ASSERT_TRUE(completes(4));
  pair_.run_for(std::chrono::seconds(1));
  EXPECT_EQ(wr_ids(b.sent), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(b.sent[3].status, S::kSuccess);
  EXPECT_EQ(table().regions().atts().pages_used(), 3U);
}

TEST_F(QueueRegistration, S002_31_the_blocking_verb_obeys_the_same_space) {
  Pages large(513), small(1);
  PagedMemory memory;
  memory.pages = large.list;
  memory.length = 513 * Pages::kBytes;
  PagedMemory one;
  one.pages = small.list;
  one.length = Pages::kBytes;
  const PdId pd = pair_.b().pd;
  const auto first = table().regions().register_pages(pd, memory, kAccessRights).value();
  const std::size_t live = table().live_count();
  EXPECT_FALSE(table().regions().register_pages(pd, one, kAccessRights));
  EXPECT_EQ(table().live_count(), live);
  const auto shared = table().regions().register_shared(pd, first, kAccessRights);
  EXPECT_TRUE(shared) << "the same table, no more space";
  ASSERT_TRUE(table().regions().deregister(first));
  EXPECT_FALSE(table().regions().register_pages(pd, one, kAccessRights))
      << "the other uses it still";
  ASSERT_TRUE(table().regions().deregister(*shared));
  EXPECT_TRUE(table().regions().register_pages(pd, one, kAccessRights));
}

TEST_F(QueueRegistration, X_21_flushed_and_forgotten_registrations_leave_nothing) {
  std::vector<std::byte> memory(64);
  const std::size_t live = table().live_count();
  End& b = pair_.b();
  const QpPair qp = pair_.connect(registering());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(post_register(b, qp.b, span_region(memory)));
  EXPECT_EQ(table().live_count(), live + 3);
  ASSERT_TRUE(b.adapter->modify_qp(qp.b, QpState::kErr, 0, {}));
  b.drain();
  EXPECT_EQ(statuses(b.sent), std::vector(3, S::kFlushed));
  EXPECT_EQ(table().live_count(), live);
  const auto dead = post_register(b, qp.b, span_region(memory)).value();
  EXPECT_EQ(table().entry(dead), nullptr) << "posted in ERR";
  b.drain();
  EXPECT_EQ(b.sent.size(), 4U);
  const QpPair other = pair_.connect(registering());
  ASSERT_TRUE(post_register(b, other.b, span_region(memory)));
  b.adapter->destroy_qp(other.b, pair_.now());
  EXPECT_EQ(table().live_count(), live);
}

TEST_F(QueueRegistration, S002_34_the_peer_writes_to_what_the_message_names) {
  enum { kClean, kLossy, kGoBackN };
  for (const int path : {kClean, kLossy, kGoBackN}) {
    QpInit init = registering();
    init.selective_repeat = path != kGoBackN;
    init.common.mcp = 8;  // so that the 16 bytes lie over three cells
    init.packet_crc = true;
    const QpPair qp = pair_.connect(init);
    if (path == kLossy) pair_.a().faults.set_config({.loss_ppm = 200'000, .reorder_ppm = 100'000});
    Memory& message = pair_.b().memory(100, 6);
    const auto unchanged = message.bytes;
    std::vector<std::byte> span(5000);
    pair_.b().sent.clear();
    pair_.a().received.clear();
    ASSERT_TRUE(pair_.a().post_recv(qp.a, {inbox_.sge()}));
    const auto key =
        post_register_send(pair_.b(), qp.b, span_region(span), {message.sge()}, 13, 1).value();
    if (path == kGoBackN) {  // all of it is lost, and retransmitted from its first cell
      pair_.a().faults.set_config({.loss_ppm = 1'000'000});
      pair_.run_for(std::chrono::microseconds(10));
      pair_.a().faults.set_config({});
    }
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
    ASSERT_EQ(pair_.a().received[0].status, S::kSuccess);
    EXPECT_EQ(pair_.a().received[0].bytes, 100U);
    ASSERT_TRUE(completes(1));
    const auto range = VaMh::parse(base::Bytes(inbox_.bytes).subspan(13, kVaMhBytes));
    ASSERT_TRUE(range.has_value());
    EXPECT_EQ(range->handle, key);
    EXPECT_EQ(range->address, table().start_of(key));
    EXPECT_EQ(range->length, 5000U);
    EXPECT_EQ(message.bytes, unchanged) << "the gather list itself stays";
    for (const std::size_t i : {0U, 12U, 29U, 99U}) EXPECT_EQ(inbox_.bytes[i], message.bytes[i]);
    Memory& from = pair_.a().memory(5000, 41);
    pair_.a().sent.clear();
    ASSERT_TRUE(pair_.a().post_write(qp.a, {from.sge()}, range->address, range->handle));
    ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().sent.empty(); }));
    EXPECT_EQ(pair_.a().sent[0].status, S::kSuccess);
    EXPECT_EQ(span, from.bytes);
    pair_.run_for(std::chrono::seconds(1));
    ASSERT_EQ(pair_.b().sent.size(), 1U) << "one work request, one completion";
    EXPECT_EQ(pair_.b().sent[0].op, WcOp::kSend);
    pair_.a().faults.set_config({});
  }
}

TEST_F(QueueRegistration, S002_30_each_runs_once_however_often_its_neighbours_are_sent) {
  for (const bool selective : {true, false}) {
    QpInit init = registering();
    init.selective_repeat = selective;
    const QpPair qp = pair_.connect(init);
    pair_.a().faults.set_config({.loss_ppm = 100'000, .reorder_ppm = 50'000});
    pair_.b().faults.set_config({.loss_ppm = 100'000, .reorder_ppm = 50'000});
    std::vector<std::byte> span(3000, std::byte{5});
    const std::size_t live = table().live_count();
    pair_.b().sent.clear();
    std::vector<MemoryHandle> keys;
    for (std::uint64_t i = 0; i < 60; ++i) {
      keys.push_back(post_register(pair_.b(), qp.b, span_region(span), 2 * i).value());
      ASSERT_TRUE(pair_.b().post_write(qp.b, {piece_of(pair_.b(), keys.back(), 3000)},
                                       target_.start, target_.handle, 2 * i + 1));
    }
    ASSERT_TRUE(completes(120));
    for (std::uint64_t i = 0; i < 120; ++i) {
      ASSERT_EQ(pair_.b().sent[i].status, S::kSuccess) << i;
      ASSERT_EQ(pair_.b().sent[i].wr_id, i);
    }
    EXPECT_EQ(table().live_count(), live + 60);
    for (const MemoryHandle key : keys) EXPECT_TRUE(table().regions().deregister(key));
    pair_.a().faults.set_config({});
    pair_.b().faults.set_config({});
  }
}

}  // namespace splitnic::fabric::testing::queue_registration_test
