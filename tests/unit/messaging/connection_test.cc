// Several channel pairs in one connection: the number is agreed by both sides, each flow keeps its
// order, completions are in the order of pushes, and the memory is shared.
#include "messaging/connection.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/endian.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "tests/support/counter_sum.h"
#include "tests/support/pair_harness.h"

namespace splitnic::messaging::connection_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFrameBytes = 1000;
constexpr std::size_t kFrames = 1024;  // that fit in the arena; used as a ring

struct Arrived {
  std::uint32_t flow = 0;
  std::uint32_t number = 0;
};

class Side final : public harness::PairSide {
 public:
  Side(std::size_t number, fabric::InProcessUnderlay& endpoint, base::ManualClock& clock,
       std::uint64_t seed, const PairConfig& config_in)
      : PairSide(number, endpoint, clock, seed, config_in), is_unit_(number == 0) {}
  ~Side() override { make(0); }

  // Replaces the connection by one with this many queues; 0: none.
  void make(std::uint32_t queues) {
    if (connection) connection->close(clock_.now());
    connection.reset();
    ids.clear();
    if (queues == 0) return;
    PairConfig some = config;
    some.queues = queues;
    connection = std::make_unique<Connection>(*adapter, some, random, *this);
    CHECK(connection->register_frames(arena_).has_value());
  }
  bool push(std::uint32_t flow, std::uint32_t number) {
    const base::MutableBytes frame(arena_.data() + next_ % kFrames * kFrameBytes, kFrameBytes);
    base::store_be(frame.data(), flow);
    base::store_be(frame.data() + 4, number);
    if (!connection->push(frame, flow, clock_.now())) return false;
    ++next_;
    return true;
  }
  bool step(base::Time now) {
    bool made_progress = adapter->poll(now);
    if (connection) {
      made_progress |= connection->poll(now);
      completed += connection->take_completed();
      std::array<ReceivedFrame, 64> frames;
      const std::size_t count = connection->up() ? connection->receive(frames) : 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::byte* at = frames[i].bytes.data();
        got.push_back({base::load_be<std::uint32_t>(at), base::load_be<std::uint32_t>(at + 4)});
        connection->release(frames[i], now);
      }
      made_progress |= count > 0;
      made_progress |= connection->poll(now);
    }
    adapter->transmit(now);
    return made_progress;
  }
  base::Time deadline() const {
    return connection ? std::min(adapter->deadline(), connection->deadline()) : adapter->deadline();
  }
  std::size_t elements(std::uint32_t size) const {
    std::size_t sum = 0;
    for (const PoolView& pool : connection->pools())
      sum += pool.ours && pool.size == size ? pool.elements : 0;
    return sum;
  }
  // Returns the queue pair of the data channel of this queue.
  fabric::Qpn data_qpn(std::uint32_t queue) const {
    for (const ChannelView& channel : connection->channels()) {
      if (channel.queue == queue && channel.number == 1) return channel.qpn;
    }
    return {};
  }

  std::unique_ptr<Connection> connection;
  std::map<std::uint32_t, fabric::ConnectionId> ids;  // unit: by queue
  std::vector<Arrived> got;
  std::size_t completed = 0;
  int connected = 0;
  ChannelPair* alone = nullptr;             // of no connection
  std::vector<fabric::MgmtReject> replies;  // by the unit, to each request

 private:
  fabric::MgmtReject on_connect_request(fabric::ConnectionId id, fabric::Link& from,
                                        const fabric::Mgmt& request, fabric::Mgmt& reply) override {
    if (!is_unit_) return fabric::MgmtReject::kRefused;
    const std::uint32_t queue = queues_asked(request.private_data).queue;
    if (queue == 0) {
      make(queues_given(request.private_data, config));
    }
    ids.try_emplace(queue, id);
    replies.push_back(connection->accept(id, from, request, reply, clock_.now()));
    return replies.back();
  }
  bool on_connected(fabric::ConnectionId id, fabric::Link& to, const fabric::Mgmt& reply) override {
    ++connected;
    if (alone != nullptr && alone->connection() == id) {
      return alone->on_connected(to, reply);
    }
    return connection && connection->on_connected(id, to, reply);
  }
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes data) override {
    if (connection) connection->on_rejected(id, code, data);
  }
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override {
    if (connection) connection->on_disconnected(id, why);
  }
  CfgReply on_cfg_request(ChannelPair&, const CfgRequest&) override { return {}; }

  const bool is_unit_;
  std::vector<std::byte> arena_ = std::vector<std::byte>(kFrames * kFrameBytes);
  std::size_t next_ = 0;
};

struct NoOwner final : PairOwner {
  void on_pair_up(ChannelPair&) override {}
  void on_pair_down(ChannelPair&, const std::string&) override {}
  CfgReply on_cfg_request(ChannelPair&, const CfgRequest&) override { return {}; }
};

PairConfig gives(std::uint32_t queues) {
  PairConfig config;
  config.queues = queues;
  return config;
}

struct ConnectionTest : testing::Test {
  harness::PairHarness<Side> harness{{.unit = gives(8), .hub = {.batch_queue_max = 4096}}};
  base::ManualClock& clock = harness.clock;
  Side& unit = harness.unit();
  Side& host = harness.host();

  bool run_until(const std::function<bool()>& done, base::Duration limit = 5s) {
    return harness.run_until(done, limit);
  }
  void begin(std::uint32_t queues) {
    harness.link_up();
    host.make(queues);
    CHECK(host.connection->connect(*host.link, clock.now()).has_value());
  }
  bool connect(std::uint32_t queues) {
    begin(queues);
    return run_until(
        [&] { return host.connection->up() && unit.connection && unit.connection->up(); });
  }
};

// Two flows that use different queues, if there are two.
constexpr std::uint32_t kFirst = 0x10000000, kSecond = 0xF0000000;

TEST_F(ConnectionTest, S001_27_each_queue_has_a_channel_0_and_a_channel_1) {
  ASSERT_TRUE(connect(3));
  for (const Side* side : {&unit, &host}) {
    EXPECT_EQ(side->ups, 1);
    const auto channels = side->connection->channels();
    ASSERT_EQ(channels.size(), 6U);
    std::map<std::uint32_t, int> qpns;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      EXPECT_EQ(channels[i].queue, i / 2);
      EXPECT_EQ(channels[i].number, i % 2);
      EXPECT_EQ(channels[i].service, "RC");
      ++qpns[channels[i].qpn.value];
    }
    EXPECT_EQ(qpns.size(), 6U) << "each has its own queue pair";
  }
}

TEST_F(ConnectionTest, S001_28_flows_go_by_their_queue_and_keep_their_order) {
  ASSERT_TRUE(connect(4));
  for (std::uint32_t i = 0; i < 400; ++i) {
    const std::uint32_t flow = (i % 8) << 29;
    ASSERT_TRUE(run_until([&] { return host.push(flow, i); }));
  }
  ASSERT_TRUE(run_until([&] { return unit.got.size() == 400 && host.completed == 400; }));
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Arrived& frame : unit.got) {
    EXPECT_GE(frame.number, next[frame.flow]);
    next[frame.flow] = frame.number + 1;
  }
  EXPECT_EQ(support::counter_of(*host.connection, "msg.tx.writes"), 400U);
}

TEST_F(ConnectionTest, P_CH_22_both_sides_send_a_queue_with_its_level) {
  host.config.levels = {5, 9};
  ASSERT_TRUE(connect(3));
  const std::vector<std::uint8_t> levels{5, 9};
  std::map<std::uint32_t, std::set<int>> seen;  // levels by queue pair, of data
  const auto watch = [&](const Side& to) {
    return [&](base::Bytes datagram) {
      fabric::FlitWalker walker(datagram);
      fabric::FlitView flit;
      while (walker.next(flit) == fabric::FlitWalker::Step::kFlit) {
        if (flit.header.type != fabric::FlitType::kData) continue;
        const auto header = fabric::MacHeader::parse(flit.payload.data());
        for (std::uint32_t queue = 0; queue < 3; ++queue) {
          if (header.dqpn == to.data_qpn(queue)) seen[queue].insert(header.sl);
        }
      }
      return false;
    };
  };
  EXPECT_EQ(host.connection->levels(), levels);
  EXPECT_EQ(unit.connection->levels(), levels);
  unit.faults.drop_received(watch(unit));
  host.faults.drop_received(watch(host));
  for (const std::uint32_t flow : {0U, 0x60000000U, 0xF0000000U}) {
    ASSERT_TRUE(host.push(flow, 1));
    ASSERT_TRUE(unit.push(flow, 1));
  }
  ASSERT_TRUE(run_until([&] { return unit.got.size() == 3 && host.got.size() == 3; }));
  EXPECT_EQ(seen[0], std::set<int>{0});
  EXPECT_EQ(seen[1], std::set<int>{5});
  EXPECT_EQ(seen[2], std::set<int>{9});
}

TEST_F(ConnectionTest, P_CH_22_a_level_that_there_is_not_is_refused) {
  host.config.levels = {16};
  EXPECT_FALSE(connect(2));
}

TEST_F(ConnectionTest, L_27_a_queue_that_loses_does_not_hold_another) {
  ASSERT_TRUE(connect(2));
  const fabric::Qpn losing = unit.data_qpn(1);
  unit.faults.drop_received([&](base::Bytes datagram) {
    fabric::FlitWalker walker(datagram);
    fabric::FlitView flit;
    while (walker.next(flit) == fabric::FlitWalker::Step::kFlit) {
      if (flit.header.type != fabric::FlitType::kData) continue;
      if (fabric::MacHeader::parse(flit.payload.data()).dqpn == losing) return true;
    }
    return false;
  });
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(run_until([&] { return host.push(i % 2 == 0 ? kFirst : kSecond, i); }));
    ASSERT_TRUE(run_until([&] { return unit.got.size() == i / 2 + 1; }, 100ms)) << i;
  }
  // All frames of the first queue have arrived; the memory of those behind a lost one stays in use.
  EXPECT_EQ(host.completed, 1U);
  unit.faults.drop_received({});
  ASSERT_TRUE(run_until([&] { return unit.got.size() == 40 && host.completed == 40; }));
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(unit.got[i].number, 2 * i);
    EXPECT_EQ(unit.got[20 + i].number, 2 * i + 1);
  }
}

TEST_F(ConnectionTest, pools_are_shared_and_rounded_up) {
  ASSERT_TRUE(connect(4));
  for (const Side* side : {&unit, &host}) {
    EXPECT_EQ(side->elements(2048), 1024U);
    EXPECT_EQ(side->elements(65536), 64U);
  }
  ASSERT_TRUE(connect(3));
  EXPECT_EQ(host.elements(2048), 3 * 342U);
  EXPECT_EQ(host.elements(65536), 3 * 22U);
  const PairConfig small{.pools = {{3, 2048}, {9, 65536}}};
  const PairConfig part = share_of(small, 8);
  EXPECT_EQ(part.pools, (std::vector<PoolSpec>{{3, 2048}, {4, 65536}}));
  EXPECT_EQ(part.grant_bytes_max, small.grant_bytes_max / 8);
  EXPECT_EQ(part.window_bytes_max, 256U << 10);
  EXPECT_EQ(share_of(small, 1).pools, small.pools);
}

TEST_F(ConnectionTest, X_46_a_peer_with_fewer_queues_gives_fewer) {
  for (const std::uint32_t most : {2U, 1U}) {
    unit.config.queues = most;
    host.downs.clear();
    begin(8);
    ASSERT_TRUE(run_until([&] { return !host.downs.empty(); }));
    EXPECT_FALSE(host.connection->up());
    EXPECT_EQ(host.connection->possible(), most);
    EXPECT_EQ(host.downs.size(), 1U);
    EXPECT_NE(host.downs[0].find("gives " + std::to_string(most) + " of 8"), std::string::npos);
    ASSERT_TRUE(connect(most));
    EXPECT_EQ(host.connection->queues(), most);
    EXPECT_EQ(unit.connection->queues(), most);
    EXPECT_EQ(host.elements(2048), 1024U);
  }
}

TEST_F(ConnectionTest, S001_26_the_send_mode_has_one_queue) {
  host.config.mode = Mode::kSend;
  begin(2);
  ASSERT_TRUE(run_until([&] { return !host.downs.empty(); }));
  EXPECT_EQ(host.connection->possible(), 1U);
}

TEST_F(ConnectionTest, it_is_up_when_every_queue_is) {
  std::size_t blocked = 0;
  begin(2);
  // The second CONNECT_REQ is lost.
  ASSERT_TRUE(run_until([&] { return host.connected == 1; }));
  host.faults.drop_sent([&](base::Bytes) { return ++blocked > 0; });
  harness.run_for(50ms);
  EXPECT_GT(blocked, 0U);
  EXPECT_FALSE(host.connection->up());
  EXPECT_FALSE(unit.connection->up());
  EXPECT_FALSE(host.push(kFirst, 0));
  EXPECT_EQ(host.ups + unit.ups, 0);
  host.faults.drop_sent({});
  ASSERT_TRUE(run_until([&] { return host.connection->up() && unit.connection->up(); }));
}

TEST_F(ConnectionTest, a_queue_that_ends_ends_all) {
  ASSERT_TRUE(connect(3));
  host.connection->on_disconnected(unit.ids.at(2), "test");
  EXPECT_FALSE(host.connection->up());
  EXPECT_FALSE(host.push(kFirst, 0));
  EXPECT_EQ(host.downs, (std::vector<std::string>{"test"}));
  host.connection->on_disconnected(unit.ids.at(0), "test");
  EXPECT_EQ(host.downs.size(), 1U) << "reported once";
  host.make(0);
  ASSERT_TRUE(run_until([&] { return !unit.downs.empty(); })) << "DISC";
  EXPECT_EQ(unit.downs.size(), 1U);
}

TEST_F(ConnectionTest, a_queue_for_which_the_peer_has_no_room_is_not_asked_for_again) {
  ASSERT_TRUE(connect(4));
  host.connection->on_rejected(unit.ids.at(2), fabric::MgmtReject::kNoResources, {});
  EXPECT_EQ(host.connection->possible(), 2U);
  EXPECT_EQ(host.downs.size(), 1U);
  ASSERT_TRUE(connect(4));
  host.connection->on_rejected(unit.ids.at(2), fabric::MgmtReject::kRefused, {});
  EXPECT_EQ(host.connection->possible(), 4U) << "it may be available later";
}

// A faulty host requests a queue that exists already, and one that was not agreed.
TEST_F(ConnectionTest, P_43_a_queue_that_was_not_agreed_is_refused) {
  ASSERT_TRUE(connect(2));
  for (const auto& [queues, queue] : {std::pair{2U, 1U}, {2U, 2U}, {3U, 1U}, {2U, 0xFFFFFFFFU}}) {
    PairConfig config;
    config.queues = queues;
    config.queue = queue;
    NoOwner nobody;
    ChannelPair pair(*host.adapter, config, host.random, nobody);
    unit.replies.clear();
    ASSERT_TRUE(pair.connect(*host.link, clock.now()).has_value());
    ASSERT_TRUE(run_until([&] { return !unit.replies.empty(); }));
    EXPECT_EQ(unit.replies[0], fabric::MgmtReject::kRefused) << queues << " " << queue;
    EXPECT_TRUE(unit.connection->up());
    pair.close(clock.now());
  }
}

TEST_F(ConnectionTest, P_43_an_additional_queue_has_the_number_that_was_agreed) {
  ASSERT_TRUE(connect(1));
  NoOwner nobody;
  const auto ask = [&](std::uint32_t queues, std::uint32_t queue) {
    PairConfig config;
    config.queues = queues;
    config.queue = queue;
    auto pair = std::make_unique<ChannelPair>(*host.adapter, config, host.random, nobody);
    unit.replies.clear();
    host.alone = pair.get();
    CHECK(pair->connect(*host.link, clock.now()).has_value());
    EXPECT_TRUE(run_until([&] { return !unit.replies.empty(); }));
    harness.run_for(5ms);
    return pair;
  };
  const auto first = ask(2, 0);
  const auto wrong = ask(3, 1);
  EXPECT_EQ(unit.replies.at(0), fabric::MgmtReject::kRefused);
  const auto second = ask(2, 1);
  EXPECT_EQ(unit.replies.at(0), fabric::MgmtReject::kNone);
  EXPECT_TRUE(unit.downs.empty());
  for (const auto* pair : {&first, &wrong, &second}) (*pair)->close(clock.now());
}

TEST_F(ConnectionTest, S001_16_an_orderly_end_flushes_the_pools_of_all) {
  ASSERT_TRUE(connect(3));
  host.connection->begin_close();
  EXPECT_FALSE(host.connection->is_drained());
  ASSERT_TRUE(run_until([&] { return host.connection->is_drained(); }, 1s));
  EXPECT_TRUE(host.connection->pools().empty());
}

}  // namespace
}  // namespace splitnic::messaging::connection_test
