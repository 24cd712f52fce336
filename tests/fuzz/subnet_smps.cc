// Two hostile switches at the cables of a switch that manages: SMPs of any bytes, and well-formed
// ones with any numbers; replies to the requests of the manager, right or changed, late or by the
// other cable; a hostile manager; links that end; time. Whatever comes, the table in force has only
// ports of the topology, only the port of the node has partitions, the manager obeyed is one of the
// switches, what the sweep has found is in the file, loads are those of its switches, the process
// does not spin, and what parses is written as the same bytes.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "fabric_emul/subnet/node_lids.h"
#include "fabric_emul/subnet/subnet_agent.h"
#include "fabric_emul/subnet/subnet_manager.h"
#include "fabric_emul/subnet/table_blocks.h"
#include "fabric_emul/switching/switch.h"
#include "fabric_emul/switching/switch_lanes.h"
#include "fabric_emul/switching/topology.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/wire/partition.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_lids.h"
#include "fabric_emul/wire/smp_load.h"
#include "fabric_emul/wire/smp_policy.h"
#include "tests/fuzz/smp_codec.h"
#include "tests/fuzz/targets.h"
#include "tests/support/input.h"

namespace splitnic::fuzz {
namespace {

using namespace fabric;
using namespace std::chrono_literals;
using support::Input;

constexpr int kSubnetSmpsStepsMax = 48;
constexpr std::size_t kKept = 8;  // requests that have no reply yet
constexpr std::uint8_t kNodePort = 3;
constexpr std::array kSmpLids{Lid(1), Lid(2), Lid(3), Lid(11), Lid(12), Lid(300), Lid(99), Lid(0)};

// A triangle: sw:1 - b:1, sw:2 - c:1, b:2 - c:2; nodes at port 3 of each. Bits of `kind` choose the
// tables that there are, and what the manager gives.
Topology topology(std::uint8_t kind) {
  Topology t;
  t.tables_per = kind >= 128 ? TablesPer::kInput : TablesPer::kSwitch;
  if ((kind & 64U) != 0) t.lids_from = GivenBy::kManager;
  if ((kind & 32U) != 0) t.policy_from = GivenBy::kManager;
  t.switches = {{"sw", Lid(1)}, {"b", Lid(2)}, {"c", Lid(3)}};
  t.nodes = {{"n", Lid(11), {"sw", 3}}, {"m", Lid(12), {"b", 3}}, {"o", Lid(300), {"c", 3}}};
  t.cables = {{{"sw", 1}, {"b", 1}}, {{"sw", 2}, {"c", 1}}, {{"b", 2}, {"c", 2}}};
  t.nodes[0].partitions = {PartitionKey(0x8001), PartitionKey(0x0002)};
  t.nodes[1].partitions = {PartitionKey(0x8001)};
  t.nodes[2].partitions = {PartitionKey(0x8002)};
  return t;
}

PortConfig config(std::uint64_t number, std::uint64_t instance) {
  PortConfig out;
  out.eui64 = Eui64(number);
  out.instance = instance;
  return out;
}

// A hostile switch at one cable, which keeps what comes.
class Hostile final : private SmpReceiver {
 public:
  Hostile(const std::string& name, const Topology& file, std::uint64_t instance,
          base::Random& random)
      : sw(plan_of(file, name).value(), random), instance_(instance) {
    sw.set_smp_receiver(this);
  }
  void attach(Underlay& at, const PeerAddress& to, base::Time now) {
    sw.add_port(1, at, config(instance_, instance_), &to, now);
  }

  Switch sw;
  std::deque<std::vector<std::byte>> kept;  // requests, as they came

 private:
  void on_smp(std::uint8_t /*port*/, base::Bytes bytes) override {
    Smp smp;
    CHECK(parse_smp(bytes, smp) == SmpError::kNone && smp.hop != 0);
    if (smp.method != SmpMethod::kGet && smp.method != SmpMethod::kSet) return;
    kept.emplace_back(bytes.begin(), bytes.end());
    if (kept.size() > kKept) kept.pop_front();
  }

  const std::uint64_t instance_;
};

class SubnetRun {
 public:
  explicit SubnetRun(base::Bytes bytes) : in_(bytes), priority_(in_.u8()) {
    for (std::uint8_t port = 1; port <= 3; ++port) {
      ends_.push_back(&hub_.add_endpoint());
      sw_.add_port(port, *ends_.back(), config(100U + port, 1), nullptr, now());
    }
    agent_.emplace(sw_, Eui64(1));
    manager_.emplace(file_, "sw", priority_, *agent_, random_);
    for (std::size_t i = 0; i < hostile_.size(); ++i) {
      hostile_[i]->attach(hub_.add_endpoint(), ends_[i]->address(), now());
    }
    for (int i = 0; i < 30; ++i) run();
  }
  void all() {
    for (int steps = 0; !in_.empty() && steps < kSubnetSmpsStepsMax; ++steps) {
      step();
      run();
      check();
    }
  }

 private:
  base::Time now() { return clock_.now(); }

  void step() {
    const std::uint8_t choice = in_.u8();
    Hostile& from = *hostile_[(choice >> 3) % hostile_.size()];
    switch (choice % 6) {
      case 0:
        return send(from, in_.bytes(255));
      case 1:
        return send_smp(from);
      case 2:
      case 3:
        return reply(from, *hostile_[(choice >> 4) % hostile_.size()]);
      case 4:
        return clock_.advance(1ms * (choice >> 3) * (choice >> 3) * 2);
      default:
        from.sw.send_bye(now());
    }
  }
  static void send(Hostile& from, base::Bytes bytes) {
    if (!bytes.empty()) from.sw.send_smp(1, bytes);
  }
  void send(Hostile& from, Smp smp) {
    std::array<std::byte, kSmpBytesMax> bytes;
    std::size_t size = emit_smp(bytes, smp);
    const std::uint8_t spoils = in_.u8();
    if ((spoils & 1U) != 0) bytes[in_.below(size)] ^= std::byte{in_.u8()};
    if ((spoils & 2U) != 0) size = in_.below(size + 1);
    send(from, base::Bytes(bytes).first(size));
  }

  // Any SMP, of a hostile manager or of nobody.
  void send_smp(Hostile& from) {
    Smp smp;
    smp.method = static_cast<SmpMethod>(1 + in_.below(4));
    smp.attribute = static_cast<SmpAttribute>(1 + in_.below(7));
    smp.manager = {in_.one_of(kSmpLids), in_.u8()};
    smp.transaction = in_.u8();
    smp.route.hops = static_cast<std::uint8_t>(1 + in_.below(4));
    smp.hop = static_cast<std::uint8_t>(in_.below(smp.route.hops + 1U));
    for (std::size_t i = 0; i < smp.route.hops; ++i) {
      smp.route.ports[i] = static_cast<std::uint8_t>(1 + in_.below(4));
    }
    std::array<std::byte, kSmpBytesMax> body;
    const bool has_table = smp.attribute == SmpAttribute::kTable && smp.method != SmpMethod::kTrap;
    if (has_table) smp.body = base::Bytes(body).first(table_body(body, smp.method));
    if (smp.attribute == SmpAttribute::kLids && smp.method != SmpMethod::kTrap) {
      smp.body = base::Bytes(body).first(lids_body(body, smp.method));
    }
    if (smp.attribute == SmpAttribute::kPolicy && smp.method != SmpMethod::kTrap) {
      smp.body = base::Bytes(body).first(policy_body(body, smp.method, "sw"));
    }
    if (smp.attribute == SmpAttribute::kLoad && smp.method == SmpMethod::kReply) {
      smp.body = base::Bytes(body).first(load_body(body));
    }
    if (smp.attribute == SmpAttribute::kPort &&
        (smp.method == SmpMethod::kSet || smp.method == SmpMethod::kReply)) {
      smp.body = base::Bytes(body).first(emit_smp_port(body, {in_.one_of(kSmpLids), in_.u8()}));
    }
    send(from, smp);
  }
  // Those of the topology, some of them, or others.
  std::size_t lids_body(base::MutableBytes body, SmpMethod method) {
    NodeLids nodes = lids_of(file_);
    const std::uint8_t what = in_.u8();
    for (auto& [name, lids] : nodes) {
      if ((what & 1U) != 0) lids.base = in_.one_of(kSmpLids);
    }
    SmpLids lids = LidParts(nodes).part(0);
    if (method != SmpMethod::kSet) lids.entry_count = lids.first = 0;
    if ((what & 2U) == 0) return emit_smp_lids(body, lids);
    if (in_.flag()) lids.check = in_.u8();
    if (in_.flag()) lids.count = in_.u8();
    if (in_.flag()) lids.first = in_.u8();
    return emit_smp_lids(body, lids);
  }
  // A part of the policy of a switch, or of one with another lane, with other keys, at more ports
  // than there are, or with any byte; then its numbers may be any too.
  std::size_t policy_body(base::MutableBytes body, SmpMethod method, const std::string& of) {
    SwitchPolicy policy = policies_of(file_).at(of);
    const std::uint8_t what = in_.u8();
    if ((what & 1U) != 0) policy.lanes[in_.below(policy.lanes.size())] = in_.u8();
    if ((what & 6U) != 0) {
      policy.has_partitions = true;
      std::vector<PartitionKey> keys(1 + in_.below(PartitionTable::kKeysMax));
      for (PartitionKey& key : keys) key = PartitionKey(in_.u16());
      policy.ports.clear();
      const std::size_t last = (what & 4U) != 0 ? kSmpPortsMax : kNodePort;
      for (std::size_t port = kNodePort; port <= last; ++port)
        policy.ports.push_back({static_cast<std::uint8_t>(port), keys});
    }
    std::vector<std::byte> all = emit_policy(policy);
    if ((what & 8U) != 0) all[in_.below(all.size())] = std::byte{in_.u8()};
    SmpPolicy part = policy_part(all, base::crc32c(all), in_.below(policy_parts(all.size())));
    if (method != SmpMethod::kSet) {
      part.first = 0;
      part.data = {};
    }
    if ((what & 16U) == 0) return emit_smp_policy(body, part);
    if (in_.flag()) part.check = in_.u8();
    if (in_.flag()) part.count = in_.u16();
    if (in_.flag()) part.first = in_.u16();
    return emit_smp_policy(body, part);
  }
  std::size_t table_body(base::MutableBytes body, SmpMethod method) {
    SmpTable part;
    TableBlock ports{};
    part.block = static_cast<std::uint16_t>(in_.below(3));
    if (sw_.plan().tables.per() == TablesPer::kInput)
      part.input = static_cast<std::uint8_t>(in_.below(5));
    if (method == SmpMethod::kGet) return emit_smp_table(body, part);
    part.stage = static_cast<SmpTable::Stage>(1 + in_.below(2));
    part.parts = static_cast<std::uint8_t>(1 + in_.below(2));
    part.changes = in_.u8();
    for (const Lid lid : kSmpLids) {
      if (lid.value / kSmpBlockLids == part.block) {
        ports[lid.value % kSmpBlockLids] = static_cast<std::byte>(in_.below(5));
      }
    }
    // The check of a table of this block alone, or any.
    ForwardingTables tables(sw_.plan().tables.per());
    set_block(tables.of(part.input), part.block, ports);
    part.check = in_.flag() ? check_of(tables) : in_.u8();
    part.ports = ports;
    return emit_smp_table(body, part);
  }

  // To a request that came to `of`, by the cable of `from`.
  void reply(Hostile& from, Hostile& of) {
    if (of.kept.empty()) return;
    const std::uint8_t what = in_.u8();
    const std::vector<std::byte> bytes = of.kept[in_.below(of.kept.size())];
    Smp request;
    CHECK(parse_smp(bytes, request) == SmpError::kNone);
    Smp smp;
    smp.method = SmpMethod::kReply;
    smp.attribute =
        (what & 1U) != 0 ? static_cast<SmpAttribute>(1 + in_.below(7)) : request.attribute;
    smp.status = (what & 2U) != 0 ? static_cast<SmpStatus>(in_.below(4)) : SmpStatus::kDone;
    smp.manager = (what & 4U) != 0 ? ManagerId{in_.one_of(kSmpLids), in_.u8()} : request.manager;
    smp.transaction = request.transaction + ((what & 8U) != 0 ? in_.u8() : 0U);
    smp.route = request.route.reversed();
    smp.hop = 1;
    std::array<std::byte, kSmpBytesMax> body;
    if (smp.attribute == SmpAttribute::kNode && smp.status == SmpStatus::kDone) {
      smp.body = base::Bytes(body).first(node_body(body, of.sw.plan(), what));
    } else if (smp.attribute == SmpAttribute::kTable) {
      smp.body = base::Bytes(body).first(reply_body(body, request));
    } else if (smp.attribute == SmpAttribute::kLids) {
      smp.body = base::Bytes(body).first(lids_body(body, smp.method));
    } else if (smp.attribute == SmpAttribute::kPolicy) {
      smp.body = base::Bytes(body).first(policy_body(body, smp.method, of.sw.plan().name));
    } else if (smp.attribute == SmpAttribute::kPort) {
      smp.body = base::Bytes(body).first(emit_smp_port(body, {in_.one_of(kSmpLids), 0}));
    } else if (smp.attribute == SmpAttribute::kLoad && smp.status == SmpStatus::kDone) {
      smp.body = base::Bytes(body).first(load_body(body));
    }
    send(from, smp);
  }
  std::size_t node_body(base::MutableBytes body, const SwitchPlan& plan, std::uint8_t what) {
    SmpNode node;
    node.lid = (what & 16U) != 0 ? in_.one_of(kSmpLids) : plan.lid;
    node.name = (what & 32U) != 0 ? "x" : plan.name;
    node.changes = in_.u8();
    node.check = in_.u8();
    node.eui64 = Eui64((what & 64U) != 0 ? 1U : 100U + plan.lid.value);  // 1 is that of "sw"
    for (std::uint8_t port = 1; port <= 4; ++port) {
      const std::uint8_t state = in_.u8();
      if ((state & 128U) != 0) continue;
      SmpNode::PortInfo& info = node.ports[node.port_count++];
      info.number = port;
      info.state = static_cast<SmpNode::PortState>(state % 4);
      const SwitchPlan::Port& at = plan.ports.at(port);
      const Lid right = at.is_node() && !at.peer.empty() ? lids_of(file_).at(at.peer).base : at.lid;
      info.lid = (state & 64U) != 0 ? in_.one_of(kSmpLids) : right;
    }
    return emit_smp_node(body, node);
  }
  // Any counts.
  std::size_t load_body(base::MutableBytes body) {
    SmpLoad load;
    const unsigned ports = in_.u8();
    for (std::uint8_t port = 1; port <= 4; ++port) {
      if ((ports >> port & 1U) != 0) load.ports[load.port_count++] = {port, in_.u64()};
    }
    return emit_smp_load(body, load);
  }
  std::size_t reply_body(base::MutableBytes body, const Smp& request) {
    SmpTable part;
    if (request.attribute == SmpAttribute::kTable) {
      CHECK(parse_smp_table(request.body, part) == SmpError::kNone);
    }
    TableBlock ports{};
    if (in_.flag()) part.check = in_.u8();
    part.ports = {};
    if (request.method == SmpMethod::kGet) {
      for (const Lid lid : kSmpLids) ports[lid.value % kSmpBlockLids] = std::byte{in_.u8()};
      part.ports = ports;
    }
    return emit_smp_table(body, part);
  }

  void run() {
    for (int i = 0; i < 4; ++i) {
      agent_->step(now());
      manager_->step(now());
      sw_.step(now());
      for (const auto& one : hostile_) one->sw.step(now());
    }
  }
  void check() {
    // A sweep may begin, and its first request stay in this switch: then it waits.
    for (int i = 0; i < 3; ++i) manager_->step(now());
    CHECK(manager_->deadline() > now());
    if (const auto obeyed = agent_->manager()) {
      CHECK(sw_.plan().switches.contains(obeyed->lid));
    }
    for (std::uint8_t input = 0; input <= 4; ++input) {
      for (const std::uint8_t port : sw_.tables().of(input).ports()) CHECK(port <= 3);
    }
    for (const auto& [name, node] : manager_->view().reports()) {
      const Topology::Switch* is = manager_->view().find(name);
      CHECK(is != nullptr && is->lid == node.lid && is->name == node.name);
    }
    for (const auto& [place, cells] : manager_->loads().per_second()) {
      CHECK(manager_->view().find(place.of_switch) != nullptr && place.port <= kSmpPortsMax);
    }
    for (const auto& [name, lids] : sw_.plan().nodes) CHECK(lids.base == Lid() || is_valid(lids));
    const auto up = manager_->view().up();
    CHECK(up.cables.size() <= 3 && up.switches.size() <= 3);
    check_policy_in_force();
  }
  // Lanes are data lanes, and only the port of a node has keys. Those of the file stay.
  void check_policy_in_force() {
    const SwitchPlan& plan = sw_.plan();
    SwitchPolicy policy;
    policy.lanes = plan.lanes;
    for (const std::uint8_t lane : policy.lanes) CHECK(lane < kDataLanes);
    for (std::uint8_t port = 1; port <= kSmpPortsMax; ++port) {
      const auto& keys = plan.ports.at(port).partitions;
      CHECK(keys.empty() || (port == kNodePort && keys.size() <= PartitionTable::kKeysMax));
      if (!keys.empty()) policy.ports.push_back({port, keys});
    }
    policy.has_partitions = !policy.ports.empty();
    CHECK(plan.has_policy || policy == SwitchPolicy());
    CHECK(plan.policy_from == GivenBy::kManager || policy == policies_of(file_).at("sw"));
  }

  Input in_;
  const std::uint8_t priority_;
  const Topology file_ = topology(priority_);
  base::ManualClock clock_;
  base::SeededRandom random_{1};
  InProcessHub hub_{{.batch_queue_max = 64}};
  std::vector<InProcessUnderlay*> ends_{};  // of the switch, by port
  Switch sw_{plan_of(file_, "sw").value(), random_};
  std::array<std::unique_ptr<Hostile>, 2> hostile_{
      std::make_unique<Hostile>("b", file_, 2, random_),
      std::make_unique<Hostile>("c", file_, 3, random_)};
  std::optional<SubnetAgent> agent_;
  std::optional<SubnetManager> manager_;
};

}  // namespace

// The bytes as an SMP, as the body of one, and then as steps of one byte and more.
void subnet_smps(base::Bytes in) {
  [[maybe_unused]] static const bool is_quiet = base::set_log_level("error");
  Smp smp;
  const SmpError error = parse_smp(in, smp);
  CHECK(name(error) != "unknown");
  if (error == SmpError::kNone) check_both_ways(in, smp);
  check_bodies(in);
  check_lids(in);
  check_load_body(in);
  check_policy_body(in);
  check_policy(in);
  SubnetRun(in).all();
}

}  // namespace splitnic::fuzz
