// RDMA writes that must not be: wrong keys, domains, ranges and rights are refused with the letter
// of the check, both queue pairs end, and no byte changes.
#include <gtest/gtest.h>

#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing::memory_access_test {

using namespace std::chrono_literals;

struct Target {
  VirtualAddress address;
  MemoryHandle handle;
};
using Choose = std::function<Target(AdapterPair&, Memory&, QpPair)>;

// The last NAK that this end has received.
AckExt nak_at(End& end) {
  AckExt nak;
  for (const TappedCell& cell : end.tap.cells) {
    if (cell.sent || cell.header().op != Op::kNak) continue;
    EXPECT_TRUE(parse_ack(cell.view(), nak));
  }
  return nak;
}

// Registers this memory until each index of the table that was free is in use.
void reuse_index(End& end, std::vector<std::byte>& memory) {
  Mrwt& table = end.adapter->memory();
  const std::size_t before = table.index_count();
  do {
    ASSERT_TRUE(table.regions().register_region(end.pd, memory, kAccessRights));
  } while (table.index_count() == before);
}

// The region of a test lies between canaries. 3000 bytes go to the target that `choose` returns.
void expect_refused(char letter, const Choose& choose,
                    std::uint8_t rights = kAccessRights | kWindowBind) {
  AdapterPair pair;
  pair.b().tap.is_recording = true;
  const QpPair qp = pair.connect(QpInit{});
  std::vector<std::byte> room(4096 + 6000, std::byte{0xCA});
  Memory region;
  Mrwt& table = pair.a().adapter->memory();
  region.handle =
      table.regions()
          .register_region(pair.a().pd, base::MutableBytes(room).subspan(2048, 6000), rights)
          .value();
  region.start = table.start_of(region.handle);
  Memory& from = pair.b().memory(3000, 1);
  const Target to = choose(pair, region, qp);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.address, to.handle, 5));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(pair.b().qp(qp.b).state(), QpState::kErr);
  EXPECT_EQ(pair.a().qp(qp.a).state(), QpState::kErr);
  EXPECT_TRUE(std::ranges::all_of(room, [](std::byte b) { return b == std::byte{0xCA}; }));
  EXPECT_EQ(pair.a().count(TransportCounter::kDropAccess), 1U);
  const AckExt ack = nak_at(pair.b());
  EXPECT_EQ(ack.code, AckCode::kRemoteAccess);
  EXPECT_EQ(ack.detail, static_cast<std::uint16_t>(letter));
}

TEST(MemoryAccessTest, S001_40_M_01_a_handle_that_never_was) {
  expect_refused('a', [](AdapterPair&, Memory& m, QpPair) {
    return Target{m.start, MemoryHandle(0x7FFFFFFF)};
  });
}

TEST(MemoryAccessTest, S001_40_M_01_a_handle_that_is_no_more) {
  expect_refused('d', [](AdapterPair& pair, Memory& m, QpPair) {
    static std::vector<std::byte> other(100);
    Mrwt& table = pair.a().adapter->memory();
    const MemoryHandle old =
        table.regions().register_region(pair.a().pd, other, kAccessRights).value();
    EXPECT_TRUE(table.regions().deregister(old));
    // The index is reused, so that only the instance differs.
    std::optional<MemoryHandle> now;
    const std::size_t before = table.index_count();
    do {
      now = table.regions().register_region(pair.a().pd, other, kAccessRights).value();
    } while (table.index_count() > before);
    return Target{m.start, old};
  });
}

TEST(MemoryAccessTest, M_02_a_region_of_another_domain) {
  expect_refused('c', [](AdapterPair& pair, Memory& m, QpPair) {
    static std::vector<std::byte> other(6000, std::byte{0});
    Mrwt& table = pair.a().adapter->memory();
    const PdId pd = pair.a().adapter->alloc_pd();
    const MemoryHandle handle =
        table.regions().register_region(pd, other, kAccessRights, m.start).value();
    return Target{m.start, handle};
  });
}

TEST(MemoryAccessTest, M_03_a_window_of_another_queue_pair) {
  expect_refused('c', [](AdapterPair& pair, Memory& m, QpPair qp) {
    const MemoryHandle window =
        pair.a()
            .adapter->memory()
            .windows()
            .bind_window(pair.a().pd, m.handle, m.start, 6000, kRemoteWrite, Qpn(qp.a.value ^ 1))
            .value();
    return Target{m.start, window};
  });
}

TEST(MemoryAccessTest, M_03_a_window_of_this_queue_pair_is_fine) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(6000);
  Memory& from = pair.b().memory(3000, 1);
  const MemoryHandle window =
      pair.a()
          .adapter->memory()
          .windows()
          .bind_window(pair.a().pd, to.handle, to.at(1000), 3000, kRemoteWrite, qp.a)
          .value();
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.at(1000), window));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_TRUE(std::equal(from.bytes.begin(), from.bytes.end(), to.bytes.begin() + 1000));
}

TEST(MemoryAccessTest, M_04_one_before_the_start) {
  expect_refused('e', [](AdapterPair&, Memory& m, QpPair) {
    return Target{VirtualAddress(m.start.value - 1), m.handle};
  });
}
TEST(MemoryAccessTest, M_04_one_past_the_end) {
  expect_refused('e', [](AdapterPair&, Memory& m, QpPair) {
    return Target{VirtualAddress(m.start.value + 3001), m.handle};
  });
}
TEST(MemoryAccessTest, M_04_wrapping_past_two_to_the_64) {
  expect_refused('e', [](AdapterPair&, Memory& m, QpPair) {
    return Target{VirtualAddress(UINT64_MAX - 1500), m.handle};
  });
}

TEST(MemoryAccessTest, M_05_a_region_that_may_only_be_read) {
  expect_refused(
      'f',
      [](AdapterPair&, Memory& m, QpPair) {
        return Target{m.start, m.handle};
      },
      kLocalRead | kLocalWrite | kRemoteRead);
}

// The queue pair gives its peer rights too, whatever those of the region are.
TEST(MemoryAccessTest, S002_17_M_05_a_write_needs_the_right_of_the_queue_pair) {
  for (const std::uint8_t rights :
       {std::uint8_t{0}, std::uint8_t{kRemoteRead}, std::uint8_t{kRemoteWrite}}) {
    AdapterPair pair;
    QpAttr attr;
    attr.rights = rights;
    const QpPair qp = pair.connect_by_hand(QpInit{}, attr);
    Memory& to = pair.a().memory(64);
    Memory& from = pair.b().memory(64, 1);
    ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
    const bool is_permitted = rights == kRemoteWrite;
    EXPECT_EQ(pair.b().sent[0].status,
              is_permitted ? WcStatus::kSuccess : WcStatus::kRemoteInvalid);
    EXPECT_EQ(to.is_zero(), !is_permitted);
  }
}

TEST(MemoryAccessTest, M_06_nothing_cannot_be_registered) {
  AdapterPair pair;
  std::vector<std::byte> room(10);
  EXPECT_FALSE(pair.a().adapter->memory().regions().register_region(
      pair.a().pd, base::MutableBytes(room).first(0), kAccessRights));
  Memory& m = pair.a().memory(100);
  EXPECT_FALSE(pair.a().adapter->memory().windows().bind_window(pair.a().pd, m.handle, m.start, 0,
                                                                kRemoteWrite, Qpn(0)));
}

// what is ended in mid-packet is refused from the next cell on, and the packet never
// completes.
TEST(MemoryAccessTest, M_11_a_region_that_ends_in_mid_packet) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.window_bytes_max = 64 * 1024});
  Memory& to = pair.a().memory(1 << 20);
  Memory& from = pair.b().memory(1 << 20, 1);
  ASSERT_TRUE(pair.a().post_recv(qp.a));
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1, 7));
  for (int i = 0; i < 6; ++i) pair.step();
  ASSERT_TRUE(pair.b().sent.empty());
  ASSERT_TRUE(pair.a().adapter->memory().regions().deregister(to.handle));
  const std::vector<std::byte> at_end = to.bytes;
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(to.bytes, at_end);
  ASSERT_EQ(pair.a().received.size(), 1U);
  EXPECT_EQ(pair.a().received[0].status, WcStatus::kFlushed);
}

// The letter is that of the check that fails then, not that of a key without an entry: the index
// belongs to another region.
TEST(MemoryAccessTest, X_47_X_48_M_11_the_letter_of_a_refusal_in_mid_packet) {
  AdapterPair pair;
  const QpPair qp = pair.connect({.window_bytes_max = 64 * 1024});
  Memory& to = pair.a().memory(1 << 20);
  Memory& from = pair.b().memory(1 << 20, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle, 1));
  for (int i = 0; i < 6; ++i) pair.step();
  ASSERT_TRUE(std::ranges::any_of(to.bytes, [](std::byte b) { return b != std::byte{0}; }));
  ASSERT_TRUE(pair.b().sent.empty());
  ASSERT_TRUE(pair.a().adapter->memory().regions().deregister(to.handle));
  reuse_index(pair.a(), to.bytes);
  pair.b().tap.is_recording = true;
  const std::vector<std::byte> at_end = to.bytes;
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(to.bytes, at_end);
  const AckExt nak = nak_at(pair.b());
  EXPECT_EQ(nak.code, AckCode::kRemoteAccess);
  EXPECT_EQ(nak.detail, static_cast<std::uint16_t>('d'));
}

TEST(MemoryAccessTest, S001_40_the_right_handle_and_range) {
  AdapterPair pair;
  const QpPair qp = pair.connect(QpInit{});
  Memory& to = pair.a().memory(6000);
  Memory& from = pair.b().memory(6000, 1);
  ASSERT_TRUE(pair.b().post_write(qp.b, {from.sge()}, to.start, to.handle));
  ASSERT_TRUE(pair.run_until([&] { return !pair.b().sent.empty(); }));
  EXPECT_EQ(pair.b().sent[0].status, WcStatus::kSuccess);
  EXPECT_EQ(to.bytes, from.bytes);
}

}  // namespace splitnic::fabric::testing::memory_access_test
