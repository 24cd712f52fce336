// Random messages of several cells on RD: whatever a path loses, repeats and reorders, each arrives
// once, whole, and behind those that its sender sent before. The seed is the run.
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/services/rd_fixture.h"

namespace splitnic::fabric::testing::rd_property_test {

using namespace std::chrono_literals;

constexpr std::size_t kNodes = 3;
constexpr std::size_t kProcesses = 2;
constexpr std::size_t kQps = kNodes * kProcesses;
constexpr std::size_t kPerWay = 4;  // messages from one queue pair to another
constexpr std::size_t kCellsMax = 40;
constexpr std::size_t kShiftMax = 1000;
// To one queue pair, and from one.
constexpr std::size_t kPerQp = (kNodes - 1) * kProcesses * kPerWay;

// Each queue pair of three nodes sends to each of the other nodes.
class AllToAll {
 public:
  explicit AllToAll(std::uint64_t seed) : random_(seed), mesh_(kNodes, init()) {
    mcp_ = mesh_.context(0, 1).mcp();
    for (std::size_t n = 0; n < kNodes; ++n) {
      mesh_.node(n).random = base::SeededRandom(100 * seed + n);
      for (std::size_t p = 0; p < kProcesses; ++p) {
        qps_.push_back({n, mesh_.make(n)});
        sources_.push_back(&mesh_.node(n).memory(kCellsMax * mcp_ + kShiftMax, qps_.size()));
      }
    }
    FaultConfig faults;
    faults.loss_ppm = 30'000;
    faults.duplicate_ppm = 30'000;
    faults.reorder_ppm = 30'000;
    mesh_.set_faults(faults);
  }

  void post_receives(std::size_t count) {
    for (const Place& to : qps_) {
      for (std::size_t i = 0; i < count; ++i) {
        MeshNode& node = mesh_.node(to.node);
        const Memory& room = node.memory(kCellsMax * mcp_);
        const std::array scatter{room.sge()};
        CHECK(node.adapter.post_recv(to.qpn, RecvWr{rooms_.size(), scatter}).has_value());
        rooms_.push_back(&room);
      }
    }
  }
  void post_messages() {
    for (std::uint32_t number = 0; number < kPerWay; ++number) {
      for (std::size_t from = 0; from < kQps; ++from) {
        for (std::size_t to = 0; to < kQps; ++to) {
          if (qps_[from].node != qps_[to].node) post(from, to, number);
        }
      }
    }
  }
  bool run() {
    return mesh_.run_until([&] {
      for (std::size_t n = 0; n < kNodes; ++n) {
        if (mesh_.node(n).sent.size() < kProcesses * kPerQp) return false;
      }
      return true;
    });
  }
  void expect_all() {
    std::uint64_t repeated = 0;
    for (std::size_t n = 0; n < kNodes; ++n) {
      MeshNode& node = mesh_.node(n);
      EXPECT_EQ(node.adapter.contexts().size(), kNodes - 1);
      EXPECT_EQ(node.adapter.qp_count(), kProcesses);
      for (const Wc& wc : node.sent) ASSERT_EQ(wc.status, WcStatus::kSuccess);
      ASSERT_EQ(node.received.size(), kProcesses * kPerQp);
      for (const Wc& wc : node.received) expect_next(n, wc);
      repeated += mesh_.count(n, TransportCounter::kTxRetransmit);
    }
    EXPECT_GT(repeated, 0U);
  }
  RdMesh& mesh() { return mesh_; }

 private:
  struct Place {
    std::size_t node = 0;
    Qpn qpn;
  };
  // The bytes of a message: a part of the memory of its sender.
  struct Part {
    std::size_t shift = 0, bytes = 0;
  };
  using Way = std::pair<std::size_t, std::size_t>;  // of qps_

  static EeInit init() {
    EeInit out;
    out.message_max = 1 << 20;
    return out;
  }
  void post(std::size_t from, std::size_t to, std::uint32_t number) {
    // 1 to 40 cells, the last of any length.
    const std::size_t cells = 1 + random_.below(kCellsMax);
    Part part;
    part.bytes = (cells - 1) * mcp_ + 1 + random_.below(mcp_);
    part.shift = random_.below(kShiftMax);
    parts_[{from, to}].push_back(part);
    SendWr wr;
    wr.idata = number;
    const std::vector<Sge> pieces{sources_[from]->sge(part.shift, part.bytes)};
    const base::Status posted =
        mesh_.send(qps_[from].node, qps_[from].qpn, qps_[to].node, qps_[to].qpn, pieces, wr);
    CHECK(posted.has_value());
  }
  std::size_t index_of(std::size_t node, Qpn qpn) const {
    for (std::size_t i = 0; i < kQps; ++i) {
      if (qps_[i].node == node && qps_[i].qpn == qpn) return i;
    }
    return kQps;
  }
  // A message that has arrived at `node`.
  void expect_next(std::size_t node, const Wc& wc) {
    ASSERT_EQ(wc.status, WcStatus::kSuccess);
    std::size_t source_node = 0;
    while (source_node == node || mesh_.ee(node, source_node) != wc.source_ee) {
      ASSERT_LT(++source_node, kNodes);
    }
    const Way way{index_of(source_node, wc.source_qpn), index_of(node, wc.qpn)};
    ASSERT_LT(way.first, kQps);
    ASSERT_LT(way.second, kQps);
    const std::uint32_t number = arrived_[way]++;
    ASSERT_LT(number, kPerWay);
    ASSERT_EQ(wc.idata, number);
    const Part& part = parts_[way][number];
    ASSERT_EQ(wc.bytes, part.bytes);
    ASSERT_LT(wc.wr_id, rooms_.size());
    ASSERT_TRUE(
        std::ranges::equal(std::span(rooms_[wc.wr_id]->bytes).first(part.bytes),
                           std::span(sources_[way.first]->bytes).subspan(part.shift, part.bytes)));
  }

  base::SeededRandom random_;
  RdMesh mesh_;
  std::size_t mcp_ = 0;
  std::vector<Place> qps_;
  std::vector<const Memory*> sources_;  // of qps_
  std::vector<const Memory*> rooms_;    // by wr_id
  std::map<Way, std::vector<Part>> parts_;
  std::map<Way, std::uint32_t> arrived_;
};

TEST(RdPropertyTest,
     S000_12_X_10_three_nodes_with_two_processes_each_and_messages_of_1_to_40_cells) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    AllToAll all(seed);
    // Half of the receives come late.
    all.post_receives(kPerQp / 2);
    all.post_messages();
    all.mesh().run_for(20ms);
    all.post_receives(kPerQp - kPerQp / 2);
    ASSERT_TRUE(all.run());
    all.expect_all();
  }
}

}  // namespace splitnic::fabric::testing::rd_property_test
