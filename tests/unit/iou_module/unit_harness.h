// An I/O unit with LAN ports and hosts of one channel pair each, in one thread with a manual clock:
// tests of frames and requests without the host module.
//
//   UnitHarness harness({.nics = 2});
//   TestHost& host = harness.add_host({.nic = 1});
//   ASSERT_TRUE(harness.attach(host, kMac));
//   harness.lan(1).queue(frame_of(kMac, kPeer));
//   harness.run(1ms);   // host.got
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "fabric_emul/underlay/in_process_underlay.h"
#include "iou_module/iou.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "tests/sim/fake_port.h"
#include "tests/support/fault_underlay.h"
#include "tests/unit/iou_module/frame_maker.h"
#include "tests/unit/iou_module/user_underlay.h"

namespace splitnic::iou::harness {

using namespace std::chrono_literals;
namespace cfg = messaging::cfg;
using messaging::CfgCode;
using messaging::CfgReply;
using messaging::CfgStatus;

struct HostOptions {
  std::uint32_t nic = 0;
  messaging::Mode mode = messaging::Mode::kRdma;
  std::vector<messaging::PoolSpec> pools{};  // none: the default ones
  std::uint32_t queues = 1;                  // requested; only the first is ever made
  std::uint32_t queue = 0;                   // its number in CONNECT_REQ
  fabric::PartitionKey partition = fabric::kDefaultPartition;
};

class TestHost final : public messaging::PairOwner, private fabric::ConnectionHandler {
 public:
  TestHost(std::size_t number, fabric::InProcessHub& hub, const fabric::PeerAddress& unit,
           base::ManualClock& clock, const HostOptions& options)
      : nic(options.nic),
        name("host" + std::to_string(number)),
        eui64(0x1000 + number),
        random(number),
        endpoint(hub.add_endpoint()),
        faults(endpoint, random, clock, {}),
        unit_(unit),
        clock_(clock),
        mode_(options.mode),
        pools_(options.pools),
        queues_(options.queues),
        queue_(options.queue),
        partition_(options.partition),
        arena_(1 << 20) {
    start();
  }
  ~TestHost() override { end(); }

  // Starts another process of this host; the old one ends silently.
  void start() {
    end();
    link = nullptr;
    adapter = std::make_unique<fabric::Adapter>(
        fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows,
                              .partitions = fabric::PartitionTable({partition_})},
        random);
    fabric::PortConfig port;
    port.eui64 = fabric::Eui64(eui64);
    port.instance = random.next() | 1;
    fabric::Port* added = adapter->add_port(faults, port).value();
    adapter->connections().set_handler(*this);
    added->connect(unit_, clock_.now());
  }
  // Makes a new connection of the same process and ends the one before.
  void connect() {
    end();
    refusal.clear();
    messaging::PairConfig config;
    config.mode = mode_;
    config.nic = nic;
    config.queues = queues_;
    config.queue = queue_;
    config.partition = partition_;
    if (!pools_.empty()) config.pools = pools_;
    config.node_name = name;
    pair = std::make_unique<messaging::ChannelPair>(*adapter, config, random, *this);
    CHECK(pair->register_frames(arena_).has_value());
    used_ = 0;
    CHECK(pair->connect(*link, clock_.now()).has_value());
  }
  void end() {
    if (pair) pair->close(clock_.now());
    pair.reset();
  }
  // Frames are copied one after another; no memory is used twice in a connection.
  bool push(const Frame& frame) {
    CHECK(used_ + frame.size() <= arena_.size());
    const base::MutableBytes room(arena_.data() + used_, frame.size());
    std::ranges::copy(frame, room.begin());
    if (!pair->push(room, clock_.now())) return false;
    used_ += base::round_up(frame.size(), std::size_t{64});
    return true;
  }
  bool step() {
    bool made_progress = adapter->poll(clock_.now());
    if (pair) {
      made_progress |= pair->poll(clock_.now());
      static_cast<void>(pair->take_completed());
      std::array<messaging::ReceivedFrame, 64> frames;
      const std::size_t count = takes ? pair->receive(frames) : 0;
      for (std::size_t i = 0; i < count; ++i) {
        got.emplace_back(frames[i].bytes.begin(), frames[i].bytes.end());
        pair->release(frames[i], clock_.now());
      }
      made_progress |= count > 0;
    }
    adapter->transmit(clock_.now());
    return made_progress;
  }
  base::Time deadline() const {
    return pair ? std::min(adapter->deadline(), pair->deadline()) : adapter->deadline();
  }
  bool up() const { return pair && pair->up(); }
  bool link_up() const { return link != nullptr && link->up(); }

  std::uint32_t nic;
  std::string name;
  std::uint64_t eui64;  // that it states from the next start() on
  base::SeededRandom random;
  fabric::InProcessUnderlay& endpoint;
  fabric::FaultUnderlay faults;
  std::unique_ptr<fabric::Adapter> adapter;
  std::unique_ptr<messaging::ChannelPair> pair;
  fabric::Link* link = nullptr;
  std::vector<Frame> got;
  std::string refusal;
  bool takes = true;  // false: what arrived stays in its element
  std::uint64_t events = 0;
  std::uint64_t announces = 0;
  cfg::EventRequest event;  // the last one

 private:
  void on_link_up(fabric::Link& up) override { link = &up; }
  void on_link_down(fabric::Link&, std::string_view) override {}
  bool on_connected(fabric::ConnectionId id, fabric::Link& over,
                    const fabric::Mgmt& reply) override {
    return pair && pair->connection() == id && pair->on_connected(over, reply);
  }
  void on_rejected(fabric::ConnectionId id, fabric::MgmtReject code, base::Bytes data) override {
    if (pair && pair->connection() == id) pair->on_rejected(id, code, data);
  }
  void on_disconnected(fabric::ConnectionId id, std::string_view why) override {
    if (pair) pair->on_disconnected(id, why);
  }
  void on_pair_up(messaging::ChannelPair&) override {}
  void on_pair_down(messaging::ChannelPair&, const std::string& why) override { refusal = why; }
  CfgReply on_cfg_request(messaging::ChannelPair&, const messaging::CfgRequest& request) override {
    if (request.code == CfgCode::kAnnounce) ++announces;
    if (request.code != CfgCode::kEvent) return {};
    ++events;
    CHECK(event.ParseFromString(std::string(base::as_text(request.data))));
    return {};
  }

  const fabric::PeerAddress unit_;
  base::ManualClock& clock_;
  const messaging::Mode mode_;
  const std::vector<messaging::PoolSpec> pools_;
  const std::uint32_t queues_, queue_;
  const fabric::PartitionKey partition_;
  Frame arena_;
  std::size_t used_ = 0;
};

struct HarnessConfig {
  std::size_t nics = 1;
  std::size_t hosts_max = 64;
  std::uint32_t queues = 1;                  // that the unit grants
  std::vector<messaging::PoolSpec> pools{};  // its own; none: the default ones
  std::size_t queue = 0;                     // that the unit is
  Siblings* siblings = nullptr;              // its other queues
  const AdmissionRule* admission = nullptr;  // none: everybody may attach
  const RightsSource* rights = nullptr;      // null: HostRights{} for all
  NicPolicy policy{};
  fabric::PartitionTable partitions{};
  std::uint8_t sl = 0;
};

class UnitHarness {
 public:
  explicit UnitHarness(const HarnessConfig& config = {})
      : random(7), hub({.datagram_bytes_max = 1472, .batch_queue_max = 4096}), config_(config) {
    end_ = &hub.add_endpoint();
    faults = std::make_unique<fabric::FaultUnderlay>(*end_, faults_random_, clock);
    users = std::make_unique<UserUnderlay>(*faults);
    for (std::size_t i = 0; i < config.nics; ++i) {
      const auto byte = static_cast<std::uint8_t>(0xE0 + i);
      lans_.push_back(std::make_unique<sim::FakePort>(lan::MacAddress{0x02, 0, 0, 0, 0, byte}));
      written.emplace_back();
      lans_.back()->on_write = [this, i](base::Bytes frame) {
        written[i].emplace_back(frame.begin(), frame.end());
      };
    }
    start_unit();
  }
  ~UnitHarness() {
    hosts_.clear();
    unit->abandon(clock.now());
  }

  void start_unit() {
    if (unit) unit->abandon(clock.now());
    unit.reset();
    adapter = std::make_unique<fabric::Adapter>(
        fabric::AdapterLimits{.profile = fabric::MrwtProfile::kStrictWindows,
                              .partitions = config_.partitions},
        random);
    fabric::PortConfig port;
    port.eui64 = fabric::Eui64(0x10);
    port.instance = random.next() | 1;
    port.listens = true;
    port_ = adapter->add_port(*users, port).value();
    std::vector<lan::FramePort*> ports;
    for (const auto& lan : lans_) ports.push_back(lan.get());
    IouConfig config;
    config.host.pair.node_name = "unit";
    config.host.pair.sl = config_.sl;
    config.hosts_max = config_.hosts_max;
    config.host.pair.queues = config_.queues;
    config.queue = config_.queue;
    config.siblings = config_.siblings;
    config.admission = config_.admission;
    config.rights = config_.rights;
    config.policy = config_.policy;
    if (!config_.pools.empty()) config.host.pair.pools = config_.pools;
    unit = std::make_unique<Iou>(config, *adapter, ports, random);
  }

  TestHost& add_host(const HostOptions& options = {}) {
    hosts_.push_back(
        std::make_unique<TestHost>(hosts_.size() + 1, hub, end_->address(), clock, options));
    return *hosts_.back();
  }
  sim::FakePort& lan(std::size_t nic = 0) { return *lans_[nic]; }
  fabric::Port& port() { return *port_; }  // of the unit
  const fabric::PeerAddress& address() const { return end_->address(); }

  // Batches on the way are lost, and their memory is released.
  void clear_endpoints() {
    end_->clear();
    for (const auto& host : hosts_) host->endpoint.clear();
  }
  bool iterate() {
    bool made_progress = unit->step(clock.now(), true);
    for (const auto& host : hosts_) made_progress |= host->step();
    for (const auto& host : hosts_) made_progress |= host->endpoint.queued_batches() > 0;
    return made_progress || end_->queued_batches() > 0;
  }
  void run(base::Duration span) {
    const base::Time end = clock.now() + span;
    run_until([] { return false; }, end);
  }
  template <class Done>
  bool run_until(Done&& done, base::Duration span = 2s) {
    return run_until(done, clock.now() + span);
  }
  // Connects the host, sets this address and starts its NIC.
  bool attach(TestHost& host, const lan::MacAddress& mac) {
    if (!connect(host)) return false;
    cfg::InitNicRequest init;
    init.set_node_name(host.name);
    init.set_features_wanted(lan::kOffloadVnet);
    if (ask(host, CfgCode::kInitNic, init).status != CfgStatus::kOk) return false;
    return set_mac(host, mac) == CfgStatus::kOk && start(host);
  }
  bool connect(TestHost& host) {
    if (!run_until([&] { return host.link_up(); })) return false;
    // The request is repeated, as a host does, if the unit has attached a host just before.
    for (int tries = 0; tries < 3; ++tries) {
      host.connect();
      if (run_until([&] { return host.up() || !host.refusal.empty(); }) && host.up()) return true;
      run(Iou::kAttachInterval);
    }
    return false;
  }
  CfgStatus set_mac(TestHost& host, const lan::MacAddress& mac) {
    cfg::SetMacRequest ask_mac;
    ask_mac.set_mac(bytes(mac));
    return ask(host, CfgCode::kSetMac, ask_mac).status;
  }
  bool start(TestHost& host) { return ask(host, CfgCode::kStart).status == CfgStatus::kOk; }
  CfgReply filter(TestHost& host, const std::vector<lan::MacAddress>& unicast,
                  bool is_promiscuous = false) {
    cfg::SetFilterRequest request;
    for (const lan::MacAddress& mac : unicast) request.mutable_filter()->add_unicast(bytes(mac));
    request.mutable_filter()->set_promiscuous(is_promiscuous);
    return ask(host, CfgCode::kSetFilter, request);
  }
  CfgStatus vlan(TestHost& host, CfgCode code, std::uint32_t id) {
    cfg::VlanAddRequest request;
    request.set_vlan_id(id);
    return ask(host, code, request).status;
  }
  std::string digest(TestHost& host) {
    cfg::GetStateReply reply;
    EXPECT_TRUE(reply.ParseFromString(ask(host, CfgCode::kGetState).data));
    return reply.digest();
  }
  template <class Message>
  CfgReply ask(TestHost& host, CfgCode code, const Message& message) {
    return ask_bytes(host, code, message.SerializeAsString());
  }
  CfgReply ask(TestHost& host, CfgCode code) { return ask_bytes(host, code, {}); }

  std::uint64_t count(std::string_view name) const {
    std::uint64_t sum = 0;
    unit->visit_counters([&](std::string_view n, std::uint64_t v) { sum += n == name ? v : 0; });
    return sum;
  }
  bool has_counter(std::string_view name) const {
    bool found = false;
    unit->visit_counters([&](std::string_view n, std::uint64_t) { found = found || n == name; });
    return found;
  }

  base::ManualClock clock;
  base::SeededRandom random;
  fabric::InProcessHub hub;
  std::unique_ptr<fabric::FaultUnderlay> faults;  // on the way to the unit
  std::unique_ptr<UserUnderlay> users;            // the unit's end of the fabric
  std::unique_ptr<fabric::Adapter> adapter;
  std::unique_ptr<Iou> unit;
  std::vector<std::vector<Frame>> written;  // by NIC

 private:
  // Repeats the request while the unit is busy, as a host does.
  CfgReply ask_bytes(TestHost& host, CfgCode code, const std::string& data) {
    for (;;) {
      CfgReply reply = ask_once(host, code, data);
      if (reply.status != CfgStatus::kBusy) return reply;
      run(20ms);
    }
  }
  CfgReply ask_once(TestHost& host, CfgCode code, const std::string& data) {
    CfgReply reply;
    bool is_done = false;
    CHECK(host.pair
              ->request(code, data,
                        [&](const CfgReply& received) {
                          reply = received;
                          is_done = true;
                        })
              .has_value());
    EXPECT_TRUE(run_until([&] { return is_done; }));
    EXPECT_TRUE(reply.replied);
    return reply;
  }
  template <class Done>
  bool run_until(Done&& done, base::Time end) {
    while (!done()) {
      if (clock.now() >= end) return false;
      bool made_progress = false;
      for (int i = 0; i < 64 && iterate(); ++i) made_progress = true;
      base::Time due = unit->deadline();
      for (const auto& host : hosts_) {
        due = std::min({due, host->deadline(), host->faults.deadline()});
      }
      const base::Time now = clock.now();
      clock.set(std::clamp(due, now + (made_progress ? 5us : 1us), std::max(end, now + 5us)));
    }
    return true;
  }

  const HarnessConfig config_;
  base::SeededRandom faults_random_{11};
  fabric::InProcessUnderlay* end_ = nullptr;
  fabric::Port* port_ = nullptr;
  std::vector<std::unique_ptr<sim::FakePort>> lans_;
  std::vector<std::unique_ptr<TestHost>> hosts_;
};

// A host and, unless it is alone, another one; both are attached.
struct TwoHosts : UnitHarness {
  explicit TwoHosts(bool is_alone = false) {
    EXPECT_TRUE(attach(host, mac_number(1)));
    EXPECT_TRUE(is_alone || attach(other, mac_number(2)));
  }

  TestHost& host = add_host();
  TestHost& other = add_host();
};

}  // namespace splitnic::iou::harness
