// The subnet manager reads by management cells how many cells each switch has forwarded out of each
// port.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric_emul/subnet/load_reader.h"
#include "fabric_emul/wire/smp_load.h"
#include "tests/unit/fabric_emul/switching/subnet_world.h"

namespace splitnic::fabric {
namespace subnet_load_test {

using namespace subnet_world;

// Asks the agent of a switch that has no manager.
class Asker final : private SubnetAgent::Manager {
 public:
  explicit Asker(SubnetAgent& agent) : agent_(agent) { agent_.set_manager_here(this); }
  ~Asker() override { agent_.set_manager_here(nullptr); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  SmpStatus ask(SmpMethod method) {
    Smp smp;
    smp.method = method;
    smp.attribute = SmpAttribute::kLoad;
    smp.manager = {Lid(2), 0};
    agent_.send(smp);
    return status_;
  }
  std::vector<SmpLoad::Port> ports() {
    EXPECT_EQ(ask(SmpMethod::kGet), SmpStatus::kDone);
    return ports_;
  }

 private:
  void on_smp(const Smp& smp) override {
    status_ = smp.status;
    SmpLoad load;
    ASSERT_EQ(parse_smp_load(smp.body, load), SmpError::kNone);
    ports_.assign(load.used_ports().begin(), load.used_ports().end());
  }

  SubnetAgent& agent_;
  SmpStatus status_ = SmpStatus::kStale;
  std::vector<SmpLoad::Port> ports_;
};

TEST(SubnetLoadTest, S000_13_P_SUBN_30_a_switch_reports_the_cells_that_left_by_each_port) {
  World world(ring(3));
  world.start_all("none");
  world.run(2s);
  Asker s1(*world.boxes.at("s1")->agent);
  using Ports = std::vector<SmpLoad::Port>;
  EXPECT_EQ(s1.ports(), (Ports{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(world.reaches("n1", "n4"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(world.reaches("n1", "n2"));
  EXPECT_TRUE(world.reaches("n3", "n1"));
  EXPECT_EQ(s1.ports(), (Ports{{1, 3}, {2, 0}, {3, 1}, {4, 7}}));
  EXPECT_EQ(s1.ask(SmpMethod::kSet), SmpStatus::kBad);
  EXPECT_EQ(s1.ports(), (Ports{{1, 3}, {2, 0}, {3, 1}, {4, 7}}));
}

TEST(SubnetLoadTest, S004_19_P_SUBN_32_the_manager_has_the_load_of_each_port_of_the_subnet) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  const PortLoads& loads = world.boxes.at("s1")->manager->loads();
  EXPECT_EQ(loads.per_second().size(), 4U + 3U + 3U);
  // One cell each 10 ms, by s2 and s3.
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(world.reaches("n2", "n3"));
    world.clock.advance(10ms);
  }
  for (const auto& [place, cells] : loads.per_second()) {
    const bool is_on_the_way = place == PortPlace{"s2", 1} || place == PortPlace{"s3", 3};
    EXPECT_GE(cells, is_on_the_way ? 90U : 0U) << place.of_switch << " " << int{place.port};
    EXPECT_LE(cells, is_on_the_way ? 110U : 0U) << place.of_switch << " " << int{place.port};
  }
  // Management cells of the manager are none.
  const std::uint64_t sweeps = world.count("s1", SubnetCounter::kSweep);
  world.run(2s);
  EXPECT_GT(world.count("s1", SubnetCounter::kSweep), sweeps);
  for (const auto& [place, cells] : loads.per_second()) EXPECT_EQ(cells, 0U) << place.of_switch;
}

TEST(SubnetLoadTest, S004_19_P_SUBN_32_loads_change_no_table_and_make_nobody_sweep) {
  World world(ring(3));
  world.start_all("s1");
  world.run(2s);
  const std::uint64_t rounds = world.count("s1", SubnetCounter::kRound);
  const std::uint64_t sweeps = world.count("s1", SubnetCounter::kSweep);
  for (int i = 0; i < 500; ++i) {
    world.write("n1", "n2");
    world.settle();
    world.clock.advance(10ms);
  }
  EXPECT_EQ(world.count("s1", SubnetCounter::kRound), rounds);
  EXPECT_LE(world.count("s1", SubnetCounter::kSweep), sweeps + 11);
}

TEST(SubnetLoadTest, S004_19_P_SUBN_32_who_stands_by_has_no_loads) {
  World world(ring(3));
  world.start("s1", 7);
  world.start("s2", 5);
  world.start("s3");
  world.run(4s);
  const PortLoads& of_standby = world.boxes.at("s2")->manager->loads();
  EXPECT_FALSE(world.boxes.at("s1")->manager->loads().per_second().empty());
  EXPECT_TRUE(of_standby.per_second().empty());
  world.kill("s1");
  EXPECT_TRUE(world.run_until(6s, [&] { return of_standby.per_second().size() == 3U + 3U; }));
  world.start("s1", 7);
  EXPECT_TRUE(world.run_until(6s, [&] { return of_standby.per_second().empty(); }));
  EXPECT_TRUE(world.run_until(
      4s, [&] { return world.boxes.at("s1")->manager->loads().per_second().size() == 10U; }));
}

// A switch with a reader, and the way to its neighbour.
class Reader final : private SubnetAgent::Manager {
 public:
  explicit Reader(World& world) : world_(world), reader_({Lid(1), 5}, agent(), 1000) {
    agent().set_manager_here(this);
    routes_["s1"] = {};
    routes_["s2"].hops = 1;
    routes_["s2"].ports[0] = 1;
  }
  ~Reader() override { agent().set_manager_here(nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  SubnetAgent& agent() { return *world_.boxes.at("s1")->agent; }
  LoadReader& operator*() { return reader_; }
  void read() {
    const base::Time now = world_.clock.now();
    reader_.read(routes_, now, now);
    step();
  }
  void step() {
    world_.settle();
    reader_.step(world_.clock.now());
  }
  void step_for(base::Duration time) {
    for (const base::Time end = world_.clock.now() + time; world_.clock.now() < end;) {
      world_.clock.advance(10ms);
      step();
    }
  }
  std::optional<std::uint64_t> load(const PortPlace& place) {
    const auto all = reader_.loads().per_second();
    const auto at = all.find(place);
    return at == all.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  void on_smp(const Smp& smp) override { reader_.on_smp(smp); }

  World& world_;
  LoadReader reader_;
  LoadReader::Routes routes_;
};

TEST(LoadReaderTest, P_SUBN_32_it_reads_every_500_ms) {
  World world(ring(3));
  world.start_all("none");
  world.run(2s);
  Reader reader(world);
  const base::Time begun = world.clock.now();
  EXPECT_TRUE((*reader).is_due(begun));
  reader.read();
  EXPECT_FALSE((*reader).is_due(begun + 499ms));
  EXPECT_TRUE((*reader).is_due(begun + 500ms));
  EXPECT_EQ((*reader).deadline(world.clock.now()), base::kNever) << "both have replied";
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.reaches("n1", "n2"));
  world.run(500ms);
  reader.read();
  EXPECT_EQ(reader.load({"s1", 1}), 10U);
  EXPECT_EQ(reader.load({"s2", 3}), 10U);
  EXPECT_EQ(reader.load({"s2", 1}), 0U);
  EXPECT_EQ(reader.load({"s3", 3}), std::nullopt) << "nobody asks it";
  EXPECT_EQ(reader.agent().counters()[SubnetCounter::kRepeat], 0U);
  (*reader).stop();
  EXPECT_TRUE((*reader).loads().per_second().empty());
  EXPECT_TRUE((*reader).is_due(begun)) << "the next time it manages";
}

TEST(LoadReaderTest, P_SUBN_12_P_SUBN_32_a_switch_that_does_not_reply_has_no_load) {
  World world(ring(3));
  world.start_all("none");
  world.run(2s);
  Reader reader(world);
  reader.read();
  world.run(500ms);
  reader.read();
  ASSERT_TRUE(reader.load({"s1", 1}) && reader.load({"s2", 1}));
  world.set_cut(0, true);  // s1 - s2
  reader.read();
  const base::Time now = world.clock.now();
  EXPECT_EQ((*reader).deadline(now), now + SmpRequest::kRepeatAfter);
  reader.step_for(700ms);
  EXPECT_EQ(reader.agent().counters()[SubnetCounter::kRepeat], 11U);
  EXPECT_EQ(reader.agent().counters()[SubnetCounter::kSilent], 1U);
  EXPECT_EQ((*reader).deadline(world.clock.now()), base::kNever);
  reader.read();
  EXPECT_TRUE(reader.load({"s1", 1}));
  EXPECT_FALSE(reader.load({"s2", 1}));
  (*reader).stop();
  EXPECT_EQ((*reader).deadline(world.clock.now()), base::kNever) << "what waits is forgotten";
}

}  // namespace subnet_load_test
}  // namespace splitnic::fabric
