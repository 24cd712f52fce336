// Verbs over memory regions and windows, on a real pair of adapters: 18 cases. An old key is dead
// from the call that ends it, and a call that is refused changes nothing.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"
#include "tests/support/reader.h"

namespace splitnic::fabric::testing::verbs_memory_test {

// End b reaches for memory of end a.
class VerbsMemory : public ::testing::Test {
 protected:
  Mrwt& table() { return pair_.a().adapter->memory(); }
  PdId pd() { return pair_.a().pd; }
  MemoryHandle reg(base::MutableBytes memory, std::uint8_t rights) {
    return table().regions().register_region(pd(), memory, rights).value();
  }
  // A fresh queue pair each time: a refusal ends it.
  WcStatus write(MemoryHandle handle, VirtualAddress to, std::size_t bytes = 64) {
    qp_ = pair_.connect(reading());
    pair_.b().sent.clear();
    EXPECT_TRUE(pair_.b().post_write(qp_.b, {from_.sge(0, bytes)}, to, handle));
    return outcome();
  }
  WcStatus read(MemoryHandle handle, VirtualAddress at, std::size_t bytes = 64) {
    qp_ = pair_.connect(reading());
    pair_.b().sent.clear();
    const Memory named{.bytes = {}, .handle = handle, .start = at};
    EXPECT_TRUE(post_read(pair_.b(), qp_.b, {into_.sge(0, bytes)}, named));
    return outcome();
  }
  WcStatus write(MemoryHandle handle) { return write(handle, table().start_of(handle)); }
  WcStatus outcome() {
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.b().sent.empty(); }));
    return pair_.b().sent.empty() ? WcStatus::kCount_ : pair_.b().sent[0].status;
  }
  bool has_arrived(const std::vector<std::byte>& memory, std::size_t bytes = 64) const {
    return std::equal(from_.bytes.begin(), from_.bytes.begin() + static_cast<std::ptrdiff_t>(bytes),
                      memory.begin());
  }

  AdapterPair pair_;
  QpPair qp_;
  Memory& from_ = pair_.b().memory(256, 9);
  Memory& into_ = pair_.b().memory(256);
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  std::vector<std::byte> other_ = std::vector<std::byte>(8192);
};
constexpr std::uint8_t kAll = kAccessRights | kWindowBind;

// -- memory regions --

TEST_F(VerbsMemory, mr_01_reg_mr_and_dereg_mr) {
  const MemoryHandle handle = reg(memory_, kAll);
  const VirtualAddress start = table().start_of(handle);
  EXPECT_EQ(write(handle), WcStatus::kSuccess);
  EXPECT_TRUE(has_arrived(memory_));
  ASSERT_TRUE(table().regions().deregister(handle));
  EXPECT_EQ(write(handle, start), WcStatus::kRemoteAccess);
}

TEST_F(VerbsMemory, mr_02_dereg_mr_twice) {
  const MemoryHandle handle = reg(memory_, kAll);
  ASSERT_TRUE(table().regions().deregister(handle));
  const std::size_t live = table().live_count();
  EXPECT_FALSE(table().regions().deregister(handle));
  const MemoryHandle next = reg(memory_, kAll);  // may have the same index
  EXPECT_FALSE(table().regions().deregister(handle));
  EXPECT_EQ(table().live_count(), live + 1);
  EXPECT_EQ(write(next), WcStatus::kSuccess);
}

TEST_F(VerbsMemory, mr_03_each_of_many_regions_has_its_own_keys) {
  std::set<std::uint32_t> keys;
  std::vector<MemoryHandle> handles;
  for (int i = 0; i < 100; ++i) handles.push_back(reg(memory_, kAll));
  for (const MemoryHandle handle : handles) keys.insert(handle.value);
  EXPECT_EQ(keys.size(), handles.size());
  ASSERT_TRUE(table().regions().deregister(handles[50]));
  EXPECT_EQ(write(handles[49]), WcStatus::kSuccess);
}

TEST_F(VerbsMemory, mr_04_rereg_addr) {
  const MemoryHandle old = reg(memory_, kAll);
  const VirtualAddress old_start = table().start_of(old);
  const auto handle = table().regions().reregister(old, {.memory = base::MutableBytes(other_)});
  ASSERT_TRUE(handle);
  EXPECT_EQ(table().length_of(*handle), other_.size());
  EXPECT_NE(table().start_of(*handle), old_start) << "other memory, another start";
  EXPECT_EQ(write(*handle), WcStatus::kSuccess);
  EXPECT_TRUE(has_arrived(other_));
  EXPECT_FALSE(has_arrived(memory_));
  EXPECT_EQ(write(old, old_start), WcStatus::kRemoteAccess);
}

TEST_F(VerbsMemory, mr_05_rereg_access) {
  const MemoryHandle old = reg(memory_, kLocalRead | kLocalWrite);
  const VirtualAddress start = table().start_of(old);
  EXPECT_EQ(write(old), WcStatus::kRemoteAccess);
  const auto handle = table().regions().reregister(old, {.rights = kAll});
  ASSERT_TRUE(handle);
  EXPECT_EQ(table().start_of(*handle), start);
  EXPECT_EQ(write(*handle), WcStatus::kSuccess);
  const auto less = table().regions().reregister(*handle, {.rights = kLocalRead});
  ASSERT_TRUE(less);
  EXPECT_EQ(write(*less), WcStatus::kRemoteAccess);
}

TEST_F(VerbsMemory, mr_06_rereg_access_bad_flow) {
  const MemoryHandle handle = reg(memory_, kAll);
  EXPECT_FALSE(table().regions().reregister(handle, {.rights = 0x80}));
  EXPECT_FALSE(table().regions().reregister(handle, {.memory = base::MutableBytes()}));
  EXPECT_FALSE(
      table().regions().reregister(MemoryHandle(handle.value ^ 1), {.rights = kLocalRead}));
  const auto window =
      table().windows().bind_window(pd(), handle, table().start_of(handle), 8, kRemoteRead, {});
  ASSERT_TRUE(window);
  EXPECT_FALSE(table().regions().reregister(handle, {.rights = kLocalRead}));
  EXPECT_FALSE(table().regions().reregister(*window, {.rights = kLocalRead}));
  EXPECT_EQ(write(handle), WcStatus::kSuccess) << "nothing has changed";
  EXPECT_EQ(read(*window, table().start_of(handle), 8), WcStatus::kSuccess);
  ASSERT_TRUE(table().windows().unbind(*window));
  ASSERT_TRUE(table().set_valid(handle, false));
  ASSERT_FALSE(table().regions().reregister(handle, {.rights = kLocalRead})) << "it is not valid";
  ASSERT_TRUE(table().set_valid(handle, true));
  struct : WriteGuard {
    bool may_write(VirtualAddress, std::uint64_t) const noexcept override { return true; }
  } guard;
  table().regions().set_guard(handle, guard);
  ASSERT_FALSE(table().regions().reregister(handle, {.memory = base::MutableBytes(other_)}))
      << "the guard speaks of the memory that it was given for";
  EXPECT_EQ(write(handle), WcStatus::kSuccess);
  EXPECT_TRUE(table().regions().reregister(handle, {.rights = kLocalRead}));
}

TEST_F(VerbsMemory, mr_07_rereg_pd) {
  const MemoryHandle old = reg(memory_, kAll);
  const VirtualAddress start = table().start_of(old);
  const PdId elsewhere = pair_.a().adapter->alloc_pd();
  const auto moved = table().regions().reregister(old, {.pd = elsewhere});
  ASSERT_TRUE(moved);
  EXPECT_EQ(write(*moved, start), WcStatus::kRemoteAccess) << "the queue pair is of the old domain";
  const auto back = table().regions().reregister(*moved, {.pd = pd()});
  ASSERT_TRUE(back);
  EXPECT_EQ(write(*back, start), WcStatus::kSuccess);
  EXPECT_EQ(write(*moved, start), WcStatus::kRemoteAccess);
}

TEST_F(VerbsMemory, mr_08_rereg_atomic) {
  const MemoryHandle old = reg(memory_, kRemoteRead);
  const VirtualAddress start = table().start_of(old);
  const auto add = [&](MemoryHandle handle) {
    qp_ = pair_.connect(reading());
    pair_.b().sent.clear();
    EXPECT_TRUE(post_fetch(pair_.b(), qp_.b, into_, {FetchOp::kFetchAdd, 3, 0}, start, handle));
    return outcome();
  };
  EXPECT_EQ(add(old), WcStatus::kRemoteAccess);
  const auto handle = table().regions().reregister(old, {.rights = kRemoteRead | kRemoteWrite});
  ASSERT_TRUE(handle);
  EXPECT_EQ(add(*handle), WcStatus::kSuccess);
  EXPECT_EQ(memory_[0], std::byte{3});
}

TEST_F(VerbsMemory, mr_09_reg_mr_bad_flags) {
  const std::size_t live = table().live_count();
  for (const unsigned rights : {0x20U, 0x40U, 0x80U, 0xFFU}) {
    EXPECT_FALSE(
        table().regions().register_region(pd(), memory_, static_cast<std::uint8_t>(rights)));
  }
  EXPECT_EQ(table().live_count(), live);
}

TEST_F(VerbsMemory, mr_10_a_region_of_no_bytes_or_past_the_end_of_addresses) {
  EXPECT_FALSE(table().regions().register_region(pd(), {}, kAll));
  EXPECT_FALSE(
      table().regions().register_region(pd(), memory_, kAll, VirtualAddress(UINT64_MAX - 100)));
  const auto last = table().regions().register_region(pd(), memory_, kAll,
                                                      VirtualAddress(UINT64_MAX - memory_.size()));
  ASSERT_TRUE(last);
  EXPECT_EQ(write(*last), WcStatus::kSuccess);
}

// -- memory windows --

TEST_F(VerbsMemory, mw_11_type1_any_queue_pair_of_the_domain) {
  const MemoryHandle region = reg(memory_, kLocalRead | kLocalWrite | kWindowBind);
  const VirtualAddress at(table().start_of(region).value + 100);
  const auto window = table().windows().bind_window(pd(), region, at, 64, kRemoteWrite, Qpn{});
  ASSERT_TRUE(window);
  EXPECT_EQ(write(*window, at), WcStatus::kSuccess);
  EXPECT_EQ(write(*window, at), WcStatus::kSuccess) << "from another queue pair";
  EXPECT_EQ(write(region, at), WcStatus::kRemoteAccess) << "the region has no remote right";
}

TEST_F(VerbsMemory, mw_12_invalidate_type1) {
  const MemoryHandle region = reg(memory_, kWindowBind | kLocalWrite);
  const VirtualAddress at = table().start_of(region);
  const auto window = table().windows().bind_window(pd(), region, at, 64, kRemoteWrite, Qpn{});
  ASSERT_TRUE(window);
  EXPECT_EQ(write(*window, at), WcStatus::kSuccess);
  ASSERT_TRUE(table().windows().unbind(*window));
  EXPECT_EQ(write(*window, at), WcStatus::kRemoteAccess);
  EXPECT_TRUE(table().regions().deregister(region));
}

// Windows that are bound by a work request, to one queue pair.
class VerbsWindow : public VerbsMemory {
 protected:
  VerbsWindow() { qp_ = pair_.connect(with_dereg()); }
  static QpInit with_dereg() {
    QpInit init = reading();
    init.common.takes_dereg = true;
    return init;
  }
  // At end a, for the peer of qp_.a.
  WcStatus post_at_a(WrOp op, const LocalWork& work) {
    pair_.a().sent.clear();
    SendWr wr;
    wr.op = op;
    wr.local = work;
    EXPECT_TRUE(pair_.a().adapter->post_send(qp_.a, wr));
    EXPECT_TRUE(pair_.run_until([&] { return !pair_.a().sent.empty(); }));
    return pair_.a().sent[0].status;
  }
  LocalWork bind() {
    return {.window = table().windows().reserve_window(pd()).value(),
            .region = region_,
            .address = at_,
            .length = 64,
            .rights = kRemoteWrite,
            .bound_qp = qp_.a};
  }
  WcStatus write_by(Qpn qpn, MemoryHandle handle) {
    pair_.b().sent.clear();
    EXPECT_TRUE(pair_.b().post_write(qpn, {from_.sge(0, 64)}, at_, handle));
    return outcome();
  }
  const MemoryHandle region_ = reg(memory_, kLocalRead | kLocalWrite | kWindowBind);
  const VirtualAddress at_{table().start_of(region_).value + 100};
};

TEST_F(VerbsWindow, mw_13_type2_one_queue_pair_only) {
  const LocalWork work = bind();
  EXPECT_EQ(post_at_a(WrOp::kBind, work), WcStatus::kSuccess);
  EXPECT_EQ(write_by(qp_.b, work.window), WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(from_.bytes.begin(), from_.bytes.begin() + 64, memory_.begin() + 100));
  const QpPair other = pair_.connect(with_dereg());
  EXPECT_EQ(write_by(other.b, work.window), WcStatus::kRemoteAccess);
}

TEST_F(VerbsWindow, mw_14_type2_invalidate_local) {
  const LocalWork work = bind();
  EXPECT_EQ(post_at_a(WrOp::kBind, work), WcStatus::kSuccess);
  EXPECT_EQ(post_at_a(WrOp::kUnbind, {.window = work.window}), WcStatus::kSuccess);
  EXPECT_EQ(write_by(qp_.b, work.window), WcStatus::kRemoteAccess);
}

TEST_F(VerbsWindow, mw_15_type2_invalidate_remote) {
  const LocalWork work = bind();
  EXPECT_EQ(post_at_a(WrOp::kBind, work), WcStatus::kSuccess);
  ASSERT_TRUE(pair_.a().post_recv(qp_.a));
  SendWr wr;
  wr.op = WrOp::kSendDereg;
  wr.dereg = work.window;
  ASSERT_TRUE(pair_.b().adapter->post_send(qp_.b, wr));
  ASSERT_TRUE(pair_.run_until([&] { return !pair_.a().received.empty(); }));
  EXPECT_EQ(pair_.a().received[0].ended, work.window);
  EXPECT_EQ(write_by(qp_.b, work.window), WcStatus::kRemoteAccess);
}

TEST_F(VerbsWindow, mw_16_type2_invalidate_dealloc) {
  const LocalWork work = bind();
  EXPECT_EQ(post_at_a(WrOp::kBind, work), WcStatus::kSuccess);
  EXPECT_FALSE(table().regions().deregister(region_)) << "a window is bound to it";
  ASSERT_TRUE(table().windows().unbind(work.window));
  EXPECT_FALSE(table().windows().unbind(work.window));
  EXPECT_EQ(write_by(qp_.b, work.window), WcStatus::kRemoteAccess);
  EXPECT_TRUE(table().regions().deregister(region_));
}

TEST_F(VerbsWindow, mw_17_reg_mw_wrong_type) {
  const std::size_t live = table().live_count();
  const MemoryHandle closed = reg(memory_, kAccessRights);  // no windows
  EXPECT_FALSE(table().windows().bind_window(pd(), closed, at_, 8, kRemoteRead, Qpn{}));
  const auto window = table().windows().bind_window(pd(), region_, at_, 8, kRemoteRead, Qpn{});
  ASSERT_TRUE(window);
  EXPECT_FALSE(table().windows().bind_window(pd(), *window, at_, 8, kRemoteRead, Qpn{}))
      << "on a window";
  EXPECT_FALSE(table().windows().bind_window(pd(), region_, at_, 8, kWindowBind, Qpn{}));
  EXPECT_EQ(table().live_count(), live + 2);
  LocalWork work = bind();
  work.region = closed;
  EXPECT_EQ(post_at_a(WrOp::kBind, work), WcStatus::kBind);
}

TEST_F(VerbsWindow, mw_18_bind_of_nothing_or_beyond_the_region) {
  const VirtualAddress start = table().start_of(region_);
  const VirtualAddress end(start.value + memory_.size());
  const auto refused = [&](VirtualAddress address, std::uint64_t length) {
    return !table().windows().bind_window(pd(), region_, address, length, kRemoteWrite, Qpn{});
  };
  EXPECT_TRUE(refused(start, 0));
  EXPECT_TRUE(refused(VirtualAddress(start.value - 1), 8));
  EXPECT_TRUE(refused(VirtualAddress(end.value - 7), 8));
  EXPECT_TRUE(refused(start, memory_.size() + 1));
  EXPECT_TRUE(refused(start, UINT64_MAX - 1));
  EXPECT_FALSE(refused(VirtualAddress(end.value - 8), 8));
}

}  // namespace splitnic::fabric::testing::verbs_memory_test
