// Two or more adapters over one carrier, driven step by step: the harness on which everything above
// the link is tested. End 0 listens, the others connect to it. With the in-process carrier time is
// a ManualClock that jumps to the next deadline when nothing is to do, so that a test of seconds
// takes milliseconds and the same seed gives the same run.
//
//   AdapterPair pair;                          // links are up
//   const QpPair qp = pair.connect(QpInit{});  // RC, RTS at both ends; then post_write(),
//   run_until()
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/verbs/adapter.h"
#include "tests/support/fault_underlay.h"
#include "tests/support/recording_underlay.h"
#include "tests/support/run_loop.h"
#include "tests/support/test_memory.h"

namespace splitnic::fabric::testing {

// Joins the ends.
class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual Underlay& underlay(std::size_t end) = 0;
  virtual PeerAddress address(std::size_t end) = 0;
  virtual base::Clock& clock() = 0;
  virtual bool has_traffic(std::size_t ends) = 0;
  // Nothing is to do before `until`.
  virtual void wait(base::Time until) = 0;
  virtual void after_step() {}
};

class InProcessCarrier final : public Carrier {
 public:
  explicit InProcessCarrier(const InProcessConfig& config, std::size_t ends) : hub_(config) {
    for (std::size_t i = 0; i < ends; ++i) endpoints_.push_back(&hub_.add_endpoint());
  }
  Underlay& underlay(std::size_t end) override { return *endpoints_[end]; }
  PeerAddress address(std::size_t end) override { return endpoints_[end]->address(); }
  base::Clock& clock() override { return clock_; }
  bool has_traffic(std::size_t) override {
    return std::ranges::any_of(endpoints_, [](auto* e) { return e->queued_batches() > 0; });
  }
  void wait(base::Time until) override { clock_.set(std::max(until, clock_.now())); }
  void after_step() override { clock_.advance(kStep); }
  InProcessHub& hub() { return hub_; }
  InProcessUnderlay& endpoint(std::size_t end) { return *endpoints_[end]; }

 private:
  static constexpr base::Duration kStep = std::chrono::microseconds(2);
  InProcessHub hub_;
  std::vector<InProcessUnderlay*> endpoints_;
  base::ManualClock clock_;
};

struct QpPair {
  Qpn a, b;
};

struct PairOptions {
  std::size_t ends = 2;
  std::uint64_t seed = 1;
  InProcessConfig hub;
  AdapterLimits limits;
  bool identity_keys = false, crc_head_only = false;
  std::uint16_t mcp = 0;  // 0: from the path
  std::uint16_t mcp_min = kMcpMin;
  PayloadCrcMode payload_crc = PayloadCrcMode::kOn;
  LinkProfile profile = LinkProfile::kSpeed;
  decltype(PortConfig::sl_to_vl) sl_to_vl = PortConfig().sl_to_vl;  // of all ends
  std::vector<PartitionTable> partitions{};  // by end; of those beyond, that of `limits`
  std::size_t cq_depth = 16384;              // of both completion queues of an end
  std::function<void(std::size_t end, PortConfig&)> adjust{};  // completes the settings
};

// One end: an adapter, its underlay stack (carrier, tap, faults), one PD, two CQs.
class End final : private ConnectionHandler {
 public:
  using Prepare = std::function<void(End&, Qpn)>;

  End(std::size_t number, Carrier& carrier, const PairOptions& options)
      : number_(number),
        carrier_(carrier),
        options_(options),
        payload_crc(options.payload_crc),
        random(options.seed * 1000 + number),
        tap(carrier.underlay(number)),
        faults(tap, random, carrier.clock()) {
    start();
  }

  // As the start of a process: nothing of the one before is left but its network address.
  void start() {
    AdapterLimits limits = options_.limits;
    if (number_ < options_.partitions.size()) limits.partitions = options_.partitions[number_];
    adapter = std::make_unique<Adapter>(limits, random, options_.identity_keys);
    PortConfig config;
    config.eui64 = Eui64(0x0200000000000000ULL + number_ + 1);
    config.instance = random.next() | 1;
    config.listens = number_ == 0;
    config.mcp_wanted = options_.mcp;
    config.mcp_min = options_.mcp_min;
    config.crc_head_only = options_.crc_head_only;
    config.payload_crc = payload_crc;
    config.machine_key = SipKey{7, 8};
    config.profile = options_.profile;
    config.sl_to_vl = options_.sl_to_vl;
    if (options_.adjust) options_.adjust(number_, config);
    port = adapter->add_port(faults, config).value();
    adapter->connections().set_handler(*this);
    pd = adapter->alloc_pd();
    send_cq = adapter->create_cq(options_.cq_depth).value();
    recv_cq = adapter->create_cq(options_.cq_depth).value();
    links.clear();
    if (number_ != 0) port->connect(carrier_.address(0), now());
  }

  base::Time now() { return carrier_.clock().now(); }
  Link& link(std::size_t i = 0) { return *links[i]; }
  Qp& qp(Qpn qpn) { return *adapter->find_qp(qpn); }
  std::uint64_t count(TransportCounter which) const { return adapter->counters()[which]; }

  Memory& memory(std::size_t bytes, std::size_t seed = 0,
                 std::uint8_t rights = kAccessRights | kWindowBind) {
    Memory& m = memories_.emplace_back();
    m.bytes.resize(bytes);
    if (seed != 0) m.fill(seed);
    m.handle = adapter->memory().regions().register_region(pd, m.bytes, rights).value();
    m.start = adapter->memory().start_of(m.handle);
    return m;
  }

  base::Status post_recv(Qpn qpn, std::vector<Sge> scatter = {}, std::uint64_t wr_id = 0) {
    return adapter->post_recv(qpn, RecvWr{wr_id, scatter});
  }
  base::Status post_send(Qpn qpn, std::vector<Sge> gather, std::uint64_t wr_id = 0,
                         std::optional<std::uint32_t> idata = {}) {
    SendWr wr;
    wr.wr_id = wr_id;
    wr.gather = gather;
    wr.idata = idata;
    return adapter->post_send(qpn, wr);
  }
  base::Status post_write(Qpn qpn, std::vector<Sge> gather, VirtualAddress to, MemoryHandle handle,
                          std::uint64_t wr_id = 0, std::optional<std::uint32_t> idata = {}) {
    SendWr wr;
    wr.wr_id = wr_id;
    wr.op = WrOp::kRdmaWrite;
    wr.gather = gather;
    wr.remote_address = to;
    wr.remote_handle = handle;
    wr.idata = idata;
    return adapter->post_send(qpn, wr);
  }

  // A queue pair of this end with its PD and CQs (unless init names a PD), in INIT.
  Qpn create_qp(QpInit init) {
    if (init.common.pd.value == 0) {
      init.common.pd = pd;
      init.common.send_cq = send_cq;
      init.common.recv_cq = recv_cq;
    }
    const Qpn qpn = adapter->create_qp(init, now()).value();
    const AttrMask given = required_attributes(init.service, QpState::kReset, QpState::kInit);
    QpAttr attr;
    attr.sl = init.common.sl;
    CHECK(adapter->modify_qp(qpn, QpState::kInit, given, attr).has_value());
    if (prepare) prepare(*this, qpn);
    return qpn;
  }

  bool poll() {
    bool made_progress = adapter->poll(now());
    if (adapter->wants_write()) adapter->on_writable(now());
    const std::size_t before = sent.size() + received.size();
    if (drains) drain();
    return made_progress || sent.size() + received.size() > before;
  }
  void drain() {
    std::array<Wc, 64> wcs;
    while (const std::size_t n = adapter->poll_cq(send_cq, wcs)) {
      sent.insert(sent.end(), wcs.begin(), wcs.begin() + static_cast<std::ptrdiff_t>(n));
    }
    while (const std::size_t n = adapter->poll_cq(recv_cq, wcs)) {
      received.insert(received.end(), wcs.begin(), wcs.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }

 private:
  friend class AdapterPair;

  void on_link_up(Link& link) override {
    if (std::ranges::find(links, &link) == links.end()) links.push_back(&link);
  }
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    if (passive_inits_.size() != request.pair_count) return MgmtReject::kRefused;
    reply.pair_count = request.pair_count;
    for (std::size_t i = 0; i < request.pair_count; ++i) {
      const Qpn qpn = create_qp(passive_inits_[i]);
      connected_.push_back(qpn);
      reply.pairs[i] = adapter->describe(qpn, static_cast<std::uint8_t>(i), 0);
      reply.pairs[i].peer_qpn = request.pairs[i].qpn;
      if (!adapter->connect_qp(reply.pairs[i], request.pairs[i], link)) {
        return MgmtReject::kBadParameter;
      }
    }
    last_connection = id;
    return MgmtReject::kNone;
  }
  bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) override {
    for (std::size_t i = 0; i < reply.pair_count; ++i) {
      const MgmtPair mine = adapter->describe(active_[i], static_cast<std::uint8_t>(i), 0);
      if (!adapter->connect_qp(mine, reply.pairs[i], link)) return false;
    }
    last_connection = id;
    connected_ = active_;
    return true;
  }
  void on_rejected(ConnectionId, MgmtReject code, base::Bytes) override { rejected = code; }
  void on_disconnected(ConnectionId, std::string_view) override { ++disconnects; }

  const std::size_t number_;
  Carrier& carrier_;
  const PairOptions options_;

 public:
  PayloadCrcMode payload_crc;  // from the next start() on
  base::SeededRandom random;
  RecordingUnderlay tap;
  FaultUnderlay faults;
  std::unique_ptr<Adapter> adapter;
  Port* port = nullptr;
  std::vector<Link*> links;  // that were ever up, in that order
  PdId pd;
  CqId send_cq, recv_cq;
  std::vector<Wc> sent, received;  // what the CQs gave, oldest first
  bool drains = true;              // false: the CQs are left alone
  Prepare prepare;                 // called for each new queue pair, in INIT
  ConnectionId last_connection;
  MgmtReject rejected = MgmtReject::kNone;
  int disconnects = 0;

 private:
  std::deque<Memory> memories_;
  std::vector<QpInit> passive_inits_;
  std::vector<Qpn> active_, connected_;
};

class AdapterPair : public support::RunLoop<AdapterPair> {
 public:
  explicit AdapterPair(const PairOptions& options = {})
      : AdapterPair(options, std::make_unique<InProcessCarrier>(options.hub, options.ends)) {}
  AdapterPair(const PairOptions& options, std::unique_ptr<Carrier> carrier)
      : carrier_(std::move(carrier)) {
    for (std::size_t i = 0; i < options.ends; ++i) {
      ends_.push_back(std::make_unique<End>(i, *carrier_, options));
    }
    const bool up = run_until([&] { return end(0).links.size() + 1 == ends_.size(); });
    CHECK(up);
  }

  End& end(std::size_t i) { return *ends_[i]; }
  End& a() { return end(0); }
  End& b() { return end(1); }
  base::Time now() { return carrier_->clock().now(); }
  PeerAddress address(std::size_t number) { return carrier_->address(number); }
  // Only of the in-process carrier.
  InProcessCarrier& in_process() { return dynamic_cast<InProcessCarrier&>(*carrier_); }

  // One queue pair each at end `active` (pair.b) and at end 0 (pair.a) for every init, connected by
  // CONNECT. Empty if refused.
  std::vector<QpPair> connect_all(const std::vector<QpInit>& inits, std::size_t active = 1) {
    End& from = end(active);
    a().passive_inits_ = inits;
    a().connected_.clear();
    from.active_.clear();
    from.connected_.clear();
    from.rejected = MgmtReject::kNone;
    std::vector<MgmtPair> pairs;
    for (const QpInit& init : inits) {
      from.active_.push_back(from.create_qp(init));
      pairs.push_back(
          from.adapter->describe(from.active_.back(), static_cast<std::uint8_t>(pairs.size()), 0));
    }
    from.adapter->connections().connect(from.link(), pairs, {}, now(),
                                        inits.front().common.partition);
    run_until([&] { return !from.connected_.empty() || from.rejected != MgmtReject::kNone; });
    for (int i = 0; i < 4; ++i) step(now());  // RTU arrives
    std::vector<QpPair> out;
    for (std::size_t i = 0; i < from.connected_.size(); ++i) {
      out.push_back({a().connected_[i], from.connected_[i]});
    }
    return out;
  }
  QpPair connect(const QpInit& init) {
    const auto pairs = connect_all({init});
    CHECK(pairs.size() == 1);
    return pairs[0];
  }

  // The same without CONNECT, by modify: `attr` has the start numbers and all other attributes of
  // both ends.
  QpPair connect_by_hand(const QpInit& init, QpAttr attr = {}, std::size_t active = 1) {
    End& from = end(active);
    Link& here = *a().links[active - 1];
    Link& there = from.link();
    const QpPair qp{a().create_qp(init), from.create_qp(init)};
    attr.ack_interval = init.ack_interval;
    attr.selective_repeat = init.selective_repeat;
    attr.retry_count = init.common.retry_count;
    attr.rnr_retry = init.rnr_retry;
    attr.mcp = init.common.mcp != 0 ? init.common.mcp : here.mcp();
    const auto step = [&](End& e, Qpn own, Qpn remote, Link& link) {
      attr.remote_qpn = remote;
      attr.remote_lid = link.remote_lid();
      for (const QpState to : {QpState::kRtr, QpState::kRts}) {
        const QpState at = e.qp(own).state();
        const AttrMask given =
            required_attributes(init.service, at, to) | optional_attributes(init.service, at, to);
        CHECK(e.adapter->modify_qp(own, to, given, attr).has_value());
      }
    };
    step(a(), qp.a, qp.b, here);
    step(from, qp.b, qp.a, there);
    return qp;
  }
  // A connectionless queue pair in RTS.
  Qpn make_ud(End& e, QpInit init = {}) {
    init.service = Service::kUd;
    const Qpn qpn = e.create_qp(init);
    QpAttr attr;
    attr.mcp = e.link().mcp();
    CHECK(e.adapter->modify_qp(qpn, QpState::kRtr, kAttrMcp, attr).has_value());
    CHECK(e.adapter->modify_qp(qpn, QpState::kRts, kAttrSendPsn, attr).has_value());
    return qpn;
  }

  // One iteration of every end, then time advances: a little, or to the next deadline if nothing is
  // in flight.
  void step(base::Time until = base::kNever) {
    bool made_progress = false;
    for (auto& e : ends_) made_progress |= e->poll();
    made_progress |= carrier_->has_traffic(ends_.size());
    const base::Time before = now();
    carrier_->after_step();
    if (made_progress) return;
    base::Time next = base::kNever;
    for (auto& e : ends_) next = std::min(next, e->adapter->deadline());
    if (next <= before) ++idle_steps_with_past_deadline;
    next = std::min(next, until);
    if (next != base::kNever) carrier_->wait(next);
  }

  // Steps without work although the deadline had passed. More than a few indicate a busy loop.
  int idle_steps_with_past_deadline = 0;

 private:
  std::unique_ptr<Carrier> carrier_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace splitnic::fabric::testing
