// Remote keys of processes over the fabric: node 0 has the processes, nodes 1 and 2 write and read.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"
#include "tests/support/vm_harness.h"

namespace splitnic::fabric::testing::rkey_test {

class RkeyTest : public ::testing::TestWithParam<PageTableForm> {
 protected:
  static constexpr std::size_t kSourceBytes = 3 * kVmPageBytes;

  RkeyTest() : pair(options()), node(*pair.a().adapter, clock, GetParam()) {
    for (std::size_t i : {1U, 2U}) sources.push_back(&pair.end(i).memory(kSourceBytes, i));
    node.driver.set_default_error_handler(
        [this](const UnmappedAccess& access) { heard.push_back(access); });
  }
  static PairOptions options() {
    PairOptions made;
    made.ends = 3;
    return made;
  }
  // A new queue pair of the process, connected to a new one of a remote node.
  QpPair join(ProcessId process, std::size_t remote = 1) {
    End& from = pair.end(remote);
    QpInit init = node.init;
    const Qpn there = node.driver.open_qp(process, init).value();
    init.common.pd = from.pd;
    init.common.send_cq = from.send_cq;
    init.common.recv_cq = from.recv_cq;
    const Qpn here = from.adapter->create_qp(init, from.now()).value();
    const MgmtPair theirs = pair.a().adapter->describe(there, 0, 0);
    const MgmtPair ours = from.adapter->describe(here, 0, 0);
    EXPECT_TRUE(pair.a().adapter->connect_qp(theirs, ours, *pair.a().links[remote - 1]));
    EXPECT_TRUE(from.adapter->connect_qp(ours, theirs, from.link()));
    return {there, here};
  }
  // Writes the first bytes of the source and returns the status.
  WcStatus write_by(QpPair qp, MemoryHandle key, EffectiveAddress to, std::size_t bytes,
                    std::size_t remote = 1) {
    End& from = pair.end(remote);
    from.sent.clear();
    EXPECT_TRUE(
        from.post_write(qp.b, {sources[remote - 1]->sge(0, bytes)}, VirtualAddress(to.value), key));
    EXPECT_TRUE(pair.run_until([&] { return !from.sent.empty(); }));
    return from.sent.empty() ? WcStatus::kFlushed : from.sent[0].status;
  }
  WcStatus write(ProcessId process, MemoryHandle key, EffectiveAddress to, std::size_t bytes) {
    return write_by(join(process), key, to, bytes);
  }
  // A refused one: NAK, the access counted once, and no byte of the process changed.
  void expect_refused(ProcessId process, MemoryHandle key, EffectiveAddress to, std::size_t bytes) {
    const std::uint64_t drops = pair.a().count(TransportCounter::kDropAccess);
    EXPECT_EQ(write(process, key, to, bytes), WcStatus::kRemoteAccess);
    EXPECT_EQ(pair.a().count(TransportCounter::kDropAccess), drops + 1);
  }
  bool holds_source(ProcessId process, EffectiveAddress at, std::size_t bytes,
                    std::size_t remote = 1) {
    const auto got = node.load(process, at, bytes);
    return std::equal(got.begin(), got.end(), sources[remote - 1]->bytes.begin());
  }

  base::ManualClock clock;
  AdapterPair pair;
  VmNode node;
  AdapterDriver& driver = node.driver;
  Vmm& vmm = node.vmm;
  std::vector<Memory*> sources;
  std::vector<UnmappedAccess> heard;
  ProcessId user = node.process();
};

TEST_P(RkeyTest, S000_19_a_key_opens_memory_until_it_is_deallocated) {
  const EffectiveAddress at = node.memory(user, 3);
  const MemoryHandle key = node.key(user);
  const auto before = node.load(user, at, kSourceBytes);
  expect_refused(user, key, at, 100);  // bound to nothing
  ASSERT_TRUE(driver.bind_rkey(user, key, {at, kSourceBytes, kRemoteWrite}));
  EXPECT_EQ(node.load(user, at, kSourceBytes), before);
  EXPECT_EQ(write(user, key, at, kSourceBytes), WcStatus::kSuccess);
  EXPECT_TRUE(holds_source(user, at, kSourceBytes));
  ASSERT_TRUE(driver.deallocate_rkey(user, key));
  ASSERT_TRUE(vmm.store(user, at, before));
  expect_refused(user, key, at, 100);
  EXPECT_EQ(node.load(user, at, kSourceBytes), before);
}

TEST_P(RkeyTest, S000_20_thirteen_bytes_at_an_odd_address) {
  const EffectiveAddress base = node.memory(user, 2);
  const EffectiveAddress at = base + 4091;  // they span two pages
  const auto before = node.load(user, base, 2 * kVmPageBytes);
  const MemoryHandle key = node.key(user);
  const std::uint64_t entries = driver.entries() + vmm.entries();
  ASSERT_TRUE(driver.bind_rkey(user, key, {at, 13, kRemoteWrite}));
  EXPECT_EQ(driver.entries() + vmm.entries(), entries) << "no kernel";
  expect_refused(user, key, EffectiveAddress(at.value - 1), 1);
  expect_refused(user, key, at + 13, 1);
  expect_refused(user, key, at, 14);
  EXPECT_EQ(node.load(user, base, before.size()), before);
  EXPECT_EQ(write(user, key, at, 13), WcStatus::kSuccess);
  auto expected = before;
  std::copy_n(sources[0]->bytes.begin(), 13, expected.begin() + 4091);
  EXPECT_EQ(node.load(user, base, before.size()), expected);
}

TEST_P(RkeyTest, S000_21_a_kernel_process_gives_virtual_addresses_too) {
  const ProcessId kernel = node.process(ProcessKind::kKernel);
  const EffectiveAddress at = node.memory(kernel, 3);
  const VirtualAddress virtual_at = vmm.to_virtual(kernel, at).value();
  const MemoryHandle key = node.key(kernel);
  ASSERT_TRUE(driver.bind_rkey(kernel, key, {virtual_at, 9000, kRemoteWrite}));
  EXPECT_EQ(write(kernel, key, EffectiveAddress(virtual_at.value), 9000), WcStatus::kSuccess);
  EXPECT_TRUE(holds_source(kernel, at, 9000));
  ASSERT_TRUE(driver.bind_rkey(kernel, key, {at, 9000, kRemoteWrite}));
  EXPECT_EQ(write(kernel, key, at, 9000), WcStatus::kSuccess);
  const auto refused = driver.bind_rkey(user, node.key(user), {virtual_at, 1, kRemoteWrite});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value(), EINVAL);
}

TEST_P(RkeyTest, S000_22_after_unbinding_nothing_is_reached) {
  const EffectiveAddress at = node.memory(user, 1);
  const ProcessId other = node.process();
  const MemoryHandle key = node.bound_key(user, at, 100);
  EXPECT_FALSE(driver.unbind_rkey(other, key));
  EXPECT_EQ(write(user, key, at, 100), WcStatus::kSuccess);
  ASSERT_TRUE(driver.unbind_rkey(user, key));
  const auto before = node.load(user, at, 100);
  expect_refused(user, key, at, 1);
  EXPECT_EQ(node.load(user, at, 100), before);
}

TEST_P(RkeyTest, S000_23_one_key_on_ten_queue_pairs_from_two_nodes) {
  const EffectiveAddress at = node.memory(user, 2);
  const EffectiveAddress next = node.memory(user, 1);
  const MemoryHandle key = node.bound_key(user, at, 2 * kVmPageBytes);
  std::vector<std::pair<QpPair, std::size_t>> joined;
  for (std::size_t i = 0; i < 10; ++i) joined.emplace_back(join(user, 1 + i % 2), 1 + i % 2);
  EXPECT_EQ(driver.process_count(), 1U);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto& [qp, remote] = joined[i];
    const EffectiveAddress to = at + i * 800;
    EXPECT_EQ(write_by(qp, key, to, 700, remote), WcStatus::kSuccess) << i;
    EXPECT_TRUE(holds_source(user, to, 700, remote)) << i;
  }
  ASSERT_TRUE(driver.bind_rkey(user, key, {next, 4096, kRemoteWrite}));
  EXPECT_EQ(write_by(joined[0].first, key, next, 4096), WcStatus::kSuccess);
  EXPECT_TRUE(holds_source(user, next, 4096));
  const auto before = node.load(user, at, 2 * kVmPageBytes);
  EXPECT_EQ(write_by(joined[1].first, key, at, 10, 2), WcStatus::kRemoteAccess) << "the old range";
  expect_refused(node.process(), key, next, 10);  // a queue pair of another address space
  EXPECT_EQ(node.load(user, at, 2 * kVmPageBytes), before);
  EXPECT_TRUE(holds_source(user, next, 4096));
}

TEST_P(RkeyTest, S000_24_what_does_not_match_is_refused_without_data) {
  const EffectiveAddress one = node.memory(user, 1);
  const EffectiveAddress two = node.memory(user, 1);
  const MemoryHandle key_one = node.bound_key(user, one, 4096);
  const MemoryHandle key_two = node.bound_key(user, two, 4096);
  const auto before = node.load(user, one, 4096);
  const auto before_two = node.load(user, two, 4096);
  expect_refused(user, key_one, two, 100);
  expect_refused(user, key_two, one, 100);
  EXPECT_EQ(node.load(user, one, 4096), before);
  EXPECT_EQ(node.load(user, two, 4096), before_two);
  ASSERT_TRUE(vmm.remove_segment(user, one));
  expect_refused(user, key_one, one, 100);
  EXPECT_EQ(write(user, key_two, two, 100), WcStatus::kSuccess);
  EXPECT_TRUE(heard.empty()) << "that is no unmapped address";
}

TEST_P(RkeyTest, S000_24_an_unmapped_address_calls_the_handler_once) {
  const EffectiveAddress at = node.memory(user, 3, 1, 9);  // its first page is mapped
  const auto before = node.load(user, at, kSourceBytes);
  const MemoryHandle key = node.bound_key(user, at, kSourceBytes);
  EXPECT_EQ(write(user, key, at, 4096), WcStatus::kSuccess);
  EXPECT_TRUE(heard.empty());
  ASSERT_TRUE(vmm.store(user, at, before));
  expect_refused(user, key, at, kSourceBytes);
  pair.run_for(std::chrono::seconds(10));
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].process, user);
  EXPECT_EQ(heard[0].address, vmm.to_virtual(user, at + kVmPageBytes).value());
  EXPECT_EQ(node.load(user, at, kSourceBytes), before) << "not even the page that is mapped";
  for (const std::uint64_t page : {1U, 2U}) {
    ASSERT_TRUE(driver.map_local_page(user, at + page * kVmPageBytes));
  }
  EXPECT_EQ(write(user, key, at, kSourceBytes), WcStatus::kSuccess);
  EXPECT_EQ(heard.size(), 1U);
}

TEST_P(RkeyTest, S000_25_a_key_with_one_shot_takes_one_operation) {
  const EffectiveAddress at = node.memory(user, 3);
  const MemoryHandle key = node.key(user);
  ASSERT_TRUE(driver.bind_rkey(user, key, {at, kSourceBytes, kRemoteWrite, true}));
  EXPECT_EQ(write(user, key, at, kSourceBytes), WcStatus::kSuccess);
  EXPECT_TRUE(holds_source(user, at, kSourceBytes));
  expect_refused(user, key, at, 1);
}

TEST_P(RkeyTest, S000_28_the_next_post_uses_the_new_segment_table) {
  const EffectiveAddress at = node.memory(user, 1, 1);
  const EffectiveAddress other = node.memory(user, 1, 2);
  const QpPair qp = join(user);
  const MemoryHandle local = driver.effective_key(user).value();
  Memory& to = pair.b().memory(kVmPageBytes);
  std::vector<Wc> done(1);
  const auto post = [&](EffectiveAddress from) {
    std::vector<Sge> gather{{VirtualAddress(from.value), 100, local}};
    SendWr wr;
    wr.op = WrOp::kRdmaWrite;
    wr.gather = gather;
    wr.remote_address = to.start;
    wr.remote_handle = to.handle;
    const auto posted = pair.a().adapter->post_send(qp.a, wr);
    return posted && pair.run_until([&] {
      return pair.a().adapter->poll_cq(node.init.common.send_cq, done) == 1;
    }) && done[0].status == WcStatus::kSuccess;
  };
  const auto is_pattern = [&](std::size_t seed, std::size_t from) {
    const auto pattern = VmNode::pattern_of(seed, from + 100);
    return std::equal(pattern.begin() + static_cast<std::ptrdiff_t>(from), pattern.end(),
                      to.bytes.begin());
  };
  ASSERT_TRUE(post(at));
  EXPECT_TRUE(is_pattern(1, 0));
  ASSERT_TRUE(vmm.resize_segment(user, at, 2));  // grows
  const EffectiveAddress grown = at + kVmPageBytes;
  ASSERT_TRUE(vmm.store(user, grown, VmNode::pattern_of(3, 100)));
  ASSERT_TRUE(driver.map_local_page(user, grown));
  ASSERT_TRUE(post(grown));
  EXPECT_TRUE(is_pattern(3, 0));
  ASSERT_TRUE(vmm.remap_segment(user, at, other));
  ASSERT_TRUE(post(at));
  EXPECT_TRUE(is_pattern(2, 0));
  EXPECT_FALSE(post(grown)) << "it has one page now";
}

TEST_P(RkeyTest, S000_29_physical_addresses_do_not_leave_the_node) {
  const ProcessId kernel = node.process(ProcessKind::kKernel);
  const EffectiveAddress at = node.memory(kernel, 3);
  const VirtualAddress virtual_at = vmm.to_virtual(kernel, at).value();
  std::vector<std::uint64_t> physical;  // first bytes of frames, in the node and in this process
  std::vector<VirtualAddress> mapped;
  for (std::uint64_t page = 0; page < 3; ++page) {
    const VirtualAddress here(virtual_at.value + page * kVmPageBytes);
    const PhysicalAddress frame = vmm.to_physical(here).value();
    physical.push_back(frame.value);
    physical.push_back(reinterpret_cast<std::uintptr_t>(vmm.at(frame)));
    mapped.push_back(driver.map_local_page(kernel, frame).value());
  }
  const MemoryHandle key = node.bound_key(kernel, mapped[0], kSourceBytes);
  pair.a().tap.is_recording = true;
  const QpPair qp = join(kernel);
  EXPECT_EQ(write_by(qp, key, EffectiveAddress(mapped[0].value), 9000), WcStatus::kSuccess);
  EXPECT_TRUE(holds_source(kernel, at, 9000)) << "the same bytes by either form";
  Memory& into = pair.b().memory(9000);
  const Memory named{.bytes = {}, .handle = key, .start = mapped[0]};
  pair.b().sent.clear();
  ASSERT_TRUE(post_read(pair.b(), qp.b, {into.sge()}, named));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_TRUE(std::equal(into.bytes.begin(), into.bytes.end(), sources[0]->bytes.begin()));
  std::size_t addresses = 0;
  for (const TappedCell& cell : pair.a().tap.cells) {
    const CellView view = cell.view();
    if (!view.va_mh) continue;
    ++addresses;
    const std::uint64_t seen = view.va_mh->address.value;
    for (const std::uint64_t frame : physical) {
      EXPECT_FALSE(seen >= frame && seen - frame < kVmPageBytes) << std::hex << seen;
    }
  }
  EXPECT_GE(addresses, 2U) << "a write and a read were seen";
}

TEST_P(RkeyTest, S000_31_a_write_and_a_read_of_pages_that_are_out) {
  const EffectiveAddress at = node.memory(user, 3);
  const MemoryHandle key = node.bound_key(user, at, kSourceBytes);
  const QpPair qp = join(user);
  const auto take_out = [&] {
    for (std::uint64_t page = 0; page < 3; ++page) {
      const auto where = vmm.to_virtual(user, at + page * kVmPageBytes).value();
      ASSERT_TRUE(vmm.take_out(page_of(where)));
    }
  };
  take_out();
  std::uint64_t brought_in = vmm.brought_in();
  EXPECT_EQ(write_by(qp, key, at + 1, kSourceBytes - 1), WcStatus::kSuccess);
  EXPECT_EQ(vmm.brought_in(), brought_in + 3) << "each page once";
  take_out();
  brought_in = vmm.brought_in();
  Memory& into = pair.b().memory(kSourceBytes - 1);
  const Memory named{.bytes = {}, .handle = key, .start = VirtualAddress(at.value + 1)};
  pair.b().sent.clear();
  ASSERT_TRUE(post_read(pair.b(), qp.b, {into.sge()}, named));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(vmm.brought_in(), brought_in + 3);
  EXPECT_TRUE(std::equal(into.bytes.begin(), into.bytes.end(), sources[0]->bytes.begin()));
  EXPECT_TRUE(heard.empty());
}

INSTANTIATE_TEST_SUITE_P(S000_30, RkeyTest, ::testing::ValuesIn(kForms), FormName{});

}  // namespace splitnic::fabric::testing::rkey_test
