// Nodes whose RD queue pairs reach each other: a mesh with one end-to-end context per pair of
// nodes.
#pragma once

#include <map>
#include <utility>

#include "tests/support/mesh.h"

namespace splitnic::fabric::testing {

// A queue pair of a datagram service in RTS.
inline Qpn start_datagram_qp(MeshNode& node, QpInit init, base::Time now) {
  const Qpn qpn = node.adapter.create_qp(init, now).value();
  QpAttr attr;
  attr.mcp = node.up.front()->mcp();
  attr.rnr_retry = init.rnr_retry;
  attr.max_rd_atomic = 4;
  attr.max_dest_rd_atomic = init.common.max_dest_rd_atomic;
  for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
    const QpState from = node.adapter.find_qp(qpn)->state();
    const AttrMask given = required_attributes(init.service, from, to);
    CHECK(node.adapter.modify_qp(qpn, to, given, attr).has_value());
  }
  return qpn;
}

class RdMesh : public Mesh {
 public:
  explicit RdMesh(std::size_t nodes, const EeInit& init = {}) : Mesh(nodes) {
    for (std::size_t i = 0; i < nodes; ++i) {
      for (std::size_t j = i + 1; j < nodes; ++j) connect(i, j, init);
    }
  }
  void connect(std::size_t i, std::size_t j, const EeInit& init) { connect(i, j, init, init); }
  // The context of node i is made with the first of the two.
  void connect(std::size_t i, std::size_t j, const EeInit& mine, const EeInit& theirs) {
    MeshNode& a = node(i);
    MeshNode& b = node(j);
    const EeId one = a.adapter.contexts().create(mine).value();
    const EeId other = b.adapter.contexts().create(theirs).value();
    const MgmtPair here = a.adapter.contexts().describe(one, 0);
    const MgmtPair there = b.adapter.contexts().describe(other, 0);
    CHECK(a.adapter.contexts().connect(here, there, *a.links[j]).has_value());
    CHECK(b.adapter.contexts().connect(there, here, *b.links[i]).has_value());
    ee_[{i, j}] = one;
    ee_[{j, i}] = other;
  }

  // The context of node `from` that leads to node `to`.
  EeId ee(std::size_t from, std::size_t to) const { return ee_.at({from, to}); }
  EeContext& context(std::size_t from, std::size_t to) {
    return *node(from).adapter.contexts().find(ee(from, to));
  }
  Qpn make(std::size_t at, QpInit init) { return start_datagram_qp(node(at), init, now()); }
  Qpn make(std::size_t at) {
    QpInit init = node(at).init(Service::kRd);
    init.common.max_dest_rd_atomic = 4;
    return make(at, init);
  }
  QpState state(std::size_t at, Qpn qpn) { return node(at).adapter.find_qp(qpn)->state(); }

  // A Send; other operations set what they need first.
  base::Status send(std::size_t from, Qpn qpn, std::size_t to, Qpn destination,
                    const std::vector<Sge>& gather, SendWr wr = {}) {
    wr.gather = gather;
    wr.destination_ee = ee(from, to);
    wr.destination_qpn = destination;
    return node(from).adapter.post_send(qpn, wr);
  }
  void set_faults(const FaultConfig& faults) {
    for (std::size_t i = 0; i < size(); ++i) node(i).faults.set_config(faults);
  }
  std::uint64_t count(std::size_t at, TransportCounter which) {
    return node(at).adapter.counters()[which];
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, EeId> ee_;
};

}  // namespace splitnic::fabric::testing
