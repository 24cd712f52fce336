// Nodes that are all connected with each other in memory: each has one adapter with one port, which
// listens for the nodes after it and connects to those before it. Time is a ManualClock, as with
// AdapterPair.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "fabric_emul/underlay/in_process_underlay.h"
#include "fabric_emul/verbs/adapter.h"
#include "tests/support/fault_underlay.h"
#include "tests/support/run_loop.h"
#include "tests/support/test_memory.h"

namespace splitnic::fabric::testing {

class MeshNode final : public ConnectionHandler {
 public:
  // Fills the reply's pairs, or refuses.
  using Accept = std::function<MgmtReject(MeshNode&, Link&, const Mgmt& request, Mgmt& reply)>;
  using Connected = std::function<bool(MeshNode&, Link&, const Mgmt& reply)>;

  MeshNode(std::size_t index, InProcessUnderlay& endpoint, base::Clock& clock,
           const AdapterLimits& limits)
      : number(index),
        random(1000 + index),
        faults(endpoint, random, clock),
        adapter(limits, random),
        clock_(clock) {
    adapter.connections().set_handler(*this);
    PortConfig config;
    config.eui64 = Eui64(0x0200000000000100ULL + index);
    config.instance = random.next() | 1;
    config.listens = true;
    port = adapter.add_port(faults, config).value();
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
    m.handle = adapter.memory()
                   .regions()
                   .register_region(pd, m.bytes, kAccessRights | kWindowBind)
                   .value();
    m.start = adapter.memory().start_of(m.handle);
    return m;
  }
  // The parameters of a queue pair of this node.
  QpInit init(Service service) const {
    QpInit out;
    out.service = service;
    out.common.pd = pd;
    out.common.send_cq = send_cq;
    out.common.recv_cq = recv_cq;
    return out;
  }

  const std::size_t number;
  base::SeededRandom random;
  FaultUnderlay faults;
  Adapter adapter;
  Port* port = nullptr;
  PdId pd;
  CqId send_cq, recv_cq;
  std::map<std::size_t, Link*> links;  // by the number of the node at the other end
  std::vector<Link*> up;               // all that were ever up
  std::vector<Wc> sent, received;
  Accept accept;
  Connected connected;
  std::vector<ConnectionId> ended;

 private:
  void on_link_up(Link& link) override {
    up.push_back(&link);
    const std::uint64_t peer = link.peer_eui64().value - 0x0200000000000100ULL;
    if (peer < 256) links[peer] = &link;
  }
  void on_link_down(Link&, std::string_view) override {}
  MgmtReject on_connect_request(ConnectionId, Link& link, const Mgmt& request,
                                Mgmt& reply) override {
    return accept ? accept(*this, link, request, reply) : MgmtReject::kRefused;
  }
  bool on_connected(ConnectionId, Link& link, const Mgmt& reply) override {
    return connected && connected(*this, link, reply);
  }
  void on_rejected(ConnectionId, MgmtReject, base::Bytes) override {}
  void on_disconnected(ConnectionId id, std::string_view) override { ended.push_back(id); }

  base::Clock& clock_;
  std::deque<Memory> memories_;
};

class Mesh : public support::RunLoop<Mesh> {
 public:
  explicit Mesh(std::size_t nodes, const AdapterLimits& limits = {}) {
    for (std::size_t i = 0; i < nodes; ++i) {
      endpoints_.push_back(&hub_.add_endpoint());
      nodes_.push_back(std::make_unique<MeshNode>(i, *endpoints_[i], clock_, limits));
      for (std::size_t j = 0; j < i; ++j) {
        nodes_[i]->port->connect(endpoints_[j]->address(), clock_.now());
      }
    }
    const bool up = run_until([&] {
      return std::ranges::all_of(nodes_, [&](auto& n) { return n->links.size() + 1 == nodes; });
    });
    CHECK(up);
  }

  MeshNode& node(std::size_t i) { return *nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }
  base::Time now() { return clock_.now(); }
  InProcessUnderlay& endpoint(std::size_t i) { return *endpoints_[i]; }

  void step(base::Time until) {
    bool made_progress = false;
    for (auto& n : nodes_) made_progress |= n->poll();
    for (auto* e : endpoints_) made_progress |= e->queued_batches() > 0;
    clock_.advance(std::chrono::microseconds(2));
    if (made_progress) return;
    base::Time next = until;
    for (auto& n : nodes_) next = std::min(next, n->adapter.deadline());
    clock_.set(std::max(next, clock_.now()));
  }

 private:
  InProcessHub hub_;
  base::ManualClock clock_;
  std::vector<InProcessUnderlay*> endpoints_;
  std::vector<std::unique_ptr<MeshNode>> nodes_;
};

}  // namespace splitnic::fabric::testing
