// Two nodes with several ports each, in memory: port n of node 1 is linked with port n of node 0,
// which listens. Each port has its own LIDs, faults and rate. Queue pairs are connected by CONNECT
// over the link of port 0, and span links unless a test has it otherwise. Time is a ManualClock, as
// with AdapterPair.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/verbs/adapter.h"
#include "tests/support/fault_underlay.h"
#include "tests/support/run_loop.h"
#include "tests/support/spines_carrier.h"
#include "tests/support/test_memory.h"

namespace splitnic::fabric::testing {

struct PortPairOptions {
  unsigned ports = 2;
  std::uint64_t seed = 1;
  std::array<bool, 2> spans_links{true, true};  // of the queue pairs, by node
  bool has_one_instance = true;                 // false: each port of node 1 has another
  bool links_later = false;                     // of all ports but the first: when it is connected
};

class PortNode final : public ConnectionHandler {
 public:
  // One of its ports, with what passes there.
  struct Place {
    Place(InProcessUnderlay& at, base::Random& random, base::Clock& clock)
        : endpoint(at), faults(at, random, clock), paced(faults, clock) {}
    InProcessUnderlay& endpoint;
    FaultUnderlay faults;
    PacedUnderlay paced;
    Port* port = nullptr;
  };

  PortNode(unsigned number, std::span<InProcessUnderlay* const> endpoints, base::Clock& clock,
           const PortPairOptions& options)
      : number_(number),
        options_(options),
        clock_(clock),
        random(options.seed * 100 + number),
        adapter(AdapterLimits{}, random) {
    adapter.connections().set_handler(*this);
    const std::uint64_t instance = random.next() | 1;
    for (InProcessUnderlay* endpoint : endpoints) {
      Place& place = *places.emplace_back(std::make_unique<Place>(*endpoint, random, clock));
      PortConfig config;
      config.eui64 = Eui64(0x0200000000000600ULL + 16 * number + places.size());
      const bool is_other = number == 1 && !options.has_one_instance;
      config.instance = is_other ? random.next() | 1 : instance;
      config.listens = number == 0;
      place.port = adapter.add_port(place.paced, config).value();
    }
    pd = adapter.alloc_pd();
    send_cq = adapter.create_cq(4096).value();
    recv_cq = adapter.create_cq(4096).value();
  }

  bool poll() {
    bool made_progress = adapter.poll(clock_.now());
    if (adapter.wants_write()) adapter.on_writable(clock_.now());
    std::array<Wc, 64> wcs;
    while (const std::size_t n = adapter.poll_cq(send_cq, wcs)) {
      sent.insert(sent.end(), wcs.begin(), wcs.begin() + static_cast<std::ptrdiff_t>(n));
      made_progress = true;
    }
    while (const std::size_t n = adapter.poll_cq(recv_cq, wcs)) {
      received.insert(received.end(), wcs.begin(), wcs.begin() + static_cast<std::ptrdiff_t>(n));
      made_progress = true;
    }
    return made_progress;
  }

  Memory& memory(std::size_t bytes, std::size_t seed = 0) {
    Memory& m = memories_.emplace_back();
    m.bytes.resize(bytes);
    if (seed != 0) m.fill(seed);
    m.handle = adapter.memory().regions().register_region(pd, m.bytes, kAccessRights).value();
    m.start = adapter.memory().start_of(m.handle);
    return m;
  }
  Qpn create_qp() {
    QpInit init;
    init.common.pd = pd;
    init.common.send_cq = send_cq;
    init.common.recv_cq = recv_cq;
    init.common.max_dest_rd_atomic = 4;
    init.spans_links = options_.spans_links[number_];
    const Qpn qpn = adapter.create_qp(init, clock_.now()).value();
    CHECK(adapter.prepare_qp(qpn).has_value());
    return qpn;
  }
  void post(WrOp op, Qpn qpn, const Memory& local, const Memory& remote) {
    const std::array pieces{local.sge()};
    SendWr wr;
    wr.op = op;
    wr.gather = pieces;
    wr.remote_address = remote.start;
    wr.remote_handle = remote.handle;
    CHECK(adapter.post_send(qpn, wr).has_value());
  }
  Qp& qp(Qpn qpn) { return *adapter.find_qp(qpn); }
  std::uint64_t count(TransportCounter which) const { return adapter.counters()[which]; }
  // Cells that came by this port.
  std::uint64_t cells_of(unsigned port) const {
    return places[port]->port->counters()[LinkCounter::kRxCell];
  }

 private:
  void on_link_up(Link& link) override {
    if (std::ranges::find(up, &link) == up.end()) up.push_back(&link);
  }
  void on_link_down(Link&, std::string_view) override { ++downs; }
  MgmtReject on_connect_request(ConnectionId id, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    own = create_qp();
    reply.pair_count = 1;
    reply.pairs[0] = adapter.describe(own, 0, 0);
    reply.pairs[0].peer_qpn = request.pairs[0].qpn;
    if (!adapter.connect_qp(reply.pairs[0], request.pairs[0], link)) {
      return MgmtReject::kBadParameter;
    }
    connection = id;
    return MgmtReject::kNone;
  }
  bool on_connected(ConnectionId id, Link& link, const Mgmt& reply) override {
    connection = id;
    return adapter.connect_qp(adapter.describe(own, 0, 0), reply.pairs[0], link).has_value();
  }
  void on_rejected(ConnectionId, MgmtReject, base::Bytes) override {}
  void on_disconnected(ConnectionId, std::string_view) override { ++disconnects; }

  const unsigned number_;
  const PortPairOptions options_;
  base::Clock& clock_;
  std::deque<Memory> memories_;

 public:
  base::SeededRandom random;
  std::vector<std::unique_ptr<Place>> places;
  Adapter adapter;
  PdId pd;
  CqId send_cq, recv_cq;
  std::vector<Wc> sent, received;
  std::vector<Link*> up;  // links that were ever up, in that order
  unsigned downs = 0;     // of its links
  unsigned disconnects = 0;
  Qpn own;  // its queue pair
  ConnectionId connection;
};

class PortPair : public support::RunLoop<PortPair> {
 public:
  explicit PortPair(const PortPairOptions& options = {}) : options_(options) {
    for (unsigned i = 0; i < 2; ++i) {
      for (unsigned port = 0; port < options.ports; ++port) {
        endpoints_[i].push_back(&hub_.add_endpoint());
      }
      nodes_[i] = std::make_unique<PortNode>(i, endpoints_[i], clock_, options);
    }
    const unsigned first = options.links_later ? 1 : options.ports;
    connect_ports(0, first);
    await_links(first);
    PortNode& active = node(1);
    active.own = active.create_qp();
    const std::array pairs{active.adapter.describe(active.own, 0, 0)};
    active.adapter.connections().connect(link(1, 0), pairs, {}, now());
    CHECK(run_until([&] { return active.qp(active.own).state() == QpState::kRts; }));
    for (int i = 0; i < 4; ++i) step(now());  // RTU arrives
    connect_ports(first, options.ports);
    await_links(options.ports);
  }

  PortNode& node(unsigned i) { return *nodes_[i]; }
  PortNode& a() { return node(0); }
  PortNode& b() { return node(1); }
  base::Time now() { return clock_.now(); }
  // The link of this port. REQUIRES that it was up.
  Link& link(unsigned of, unsigned port) {
    for (Link* one : node(of).up) {
      bool is_there = false;
      node(of).places[port]->port->for_each_link([&](Link& other) { is_there |= &other == one; });
      if (is_there) return *one;
    }
    CHECK(false);
    return *node(of).up.front();
  }
  // Nothing passes between the ports of this number, either way.
  void set_cut(unsigned port, bool cut) {
    for (const auto& one : nodes_) one->places[port]->faults.set_cut(cut);
  }
  void set_faults(unsigned port, const FaultConfig& faults) {
    for (const auto& one : nodes_) one->places[port]->faults.set_config(faults);
  }
  void set_rate(unsigned port, std::uint64_t bytes_per_second) {
    for (const auto& one : nodes_) one->places[port]->paced.set_rate(bytes_per_second);
  }
  // Another process takes the place of node 1, and connects no queue pair.
  void restart_b() {
    nodes_[1].reset();
    for (InProcessUnderlay* endpoint : endpoints_[1]) endpoint->clear();
    PortPairOptions other = options_;
    other.seed += 1000;
    nodes_[1] = std::make_unique<PortNode>(1, endpoints_[1], clock_, other);
    connect_ports(0, options_.ports);
  }

  // Posts a transfer of `bytes` by `from` and runs until it is complete. Returns how long it took,
  // or nothing if it has failed or moved other bytes.
  std::optional<base::Duration> transfer(PortNode& from, std::size_t bytes,
                                         WrOp op = WrOp::kRdmaWrite, std::size_t seed = 3) {
    begin(from, bytes, op, seed);
    return finish();
  }
  void begin(PortNode& from, std::size_t bytes, WrOp op = WrOp::kRdmaWrite, std::size_t seed = 3) {
    PortNode& to = &from == &a() ? b() : a();
    const bool reads = op == WrOp::kRdmaRead;
    sender_ = &from;
    local_ = &from.memory(bytes, reads ? 0 : seed);
    remote_ = &to.memory(bytes, reads ? seed : 0);
    began_ = now();
    before_ = from.sent.size();
    from.post(op, from.own, *local_, *remote_);
  }
  std::optional<base::Duration> finish() {
    const bool is_over = run_until([&] { return sender_->sent.size() > before_; });
    if (!is_over || sender_->sent.back().status != WcStatus::kSuccess) return std::nullopt;
    if (local_->bytes != remote_->bytes) return std::nullopt;
    return now() - began_;
  }

  void step(base::Time until) {
    bool made_progress = false;
    for (const auto& one : nodes_) made_progress |= one->poll();
    for (const auto& of_node : endpoints_) {
      for (InProcessUnderlay* endpoint : of_node) made_progress |= endpoint->queued_batches() > 0;
    }
    clock_.advance(std::chrono::microseconds(2));
    if (made_progress) return;
    base::Time next = until;
    for (const auto& one : nodes_) next = std::min(next, one->adapter.deadline());
    clock_.set(std::max(next, clock_.now()));
  }

 private:
  void await_links(std::size_t links) {
    CHECK(run_until([&] { return node(0).up.size() == links && node(1).up.size() == links; }));
  }
  void connect_ports(unsigned first, unsigned end) {
    for (unsigned port = first; port < end; ++port) {
      node(1).places[port]->port->connect(endpoints_[0][port]->address(), clock_.now());
    }
  }

  const PortPairOptions options_;
  InProcessHub hub_;
  base::ManualClock clock_;
  std::array<std::vector<InProcessUnderlay*>, 2> endpoints_;
  std::array<std::unique_ptr<PortNode>, 2> nodes_;
  // Of begin().
  PortNode* sender_ = nullptr;
  Memory* local_ = nullptr;
  Memory* remote_ = nullptr;
  base::Time began_{};
  std::size_t before_ = 0;
};

}  // namespace splitnic::fabric::testing
