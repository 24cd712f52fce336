// A context and a queue pair of RD at end a of a pair, and cells that are made by hand in the name
// of end b.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/cell_maker.h"

namespace splitnic::fabric::testing {

// Context and queue pair of end a take what the test sends in the name of end b.
class RdWireFixture : public ::testing::Test {
 protected:
  // Of both contexts: the longest message that each end takes.
  explicit RdWireFixture(const EeInit& init = {}) {
    mine_ = connect(pair_.a(), pair_.a().link(), kPeerContext, init);
    target_ = make(pair_.a());
    pair_.a().tap.is_recording = true;
  }
  Qpn make(End& end) {
    QpInit init;
    init.service = Service::kRd;
    init.common.max_dest_rd_atomic = 4;
    const Qpn qpn = end.create_qp(init);
    QpAttr attr;
    attr.mcp = end.link().mcp();
    for (const QpState to : {QpState::kRtr, QpState::kRts}) {
      const AttrMask given = required_attributes(Service::kRd, end.qp(qpn).state(), to);
      CHECK(end.adapter->modify_qp(qpn, to, given, attr).has_value());
    }
    return qpn;
  }
  // A context whose peer begins with PSN 0x100.
  static EeId connect(End& end, Link& link, std::uint32_t peer, const EeInit& init = {}) {
    const EeId id = end.adapter->contexts().create(init).value();
    MgmtPair theirs;
    theirs.msg_max = init.message_max;
    theirs.service = Service::kRd;
    theirs.qpn = Qpn(peer);
    theirs.start_psn = Psn(0x100);
    CHECK(end.adapter->contexts()
              .connect(end.adapter->contexts().describe(id, 0), theirs, link)
              .has_value());
    return id;
  }
  CellHead head(Op op, std::uint32_t psn) {
    CellHead out;
    MacHeader& h = out.header;
    h.op = op;
    h.service = Service::kRd;
    h.slid = pair_.b().link().local_lid();
    h.dlid = pair_.b().link().remote_lid();
    h.sqpn = Qpn(0x77);
    h.dqpn = target_;
    h.psn = Psn(psn);
    out.ee = mine_.value;
    return out;
  }
  CellHead write(std::uint32_t psn) {
    CellHead out = head(Op::kRdmaWrite, psn);
    out.va_mh = VaMh{to_.start, to_.handle, 8};
    return out;
  }
  void inject(const CellHead& cell, std::byte fill = std::byte{1}) {
    inject(cell, std::vector<std::byte>(cell.va_mh ? 8 : 0, fill));
  }
  void inject(const CellHead& cell, base::Bytes payload) {
    pair_.a().tap.inject(pair_.address(1), make_cell(cell, payload));
    pair_.run_for(std::chrono::milliseconds(1));
  }
  // The RD cells that end a has sent since the last call.
  std::vector<MacHeader> replies(std::vector<AckExt>* acks = nullptr) {
    std::vector<MacHeader> out;
    for (const TappedCell& cell : pair_.a().tap.cells) {
      if (!cell.sent || cell.header().service != Service::kRd) continue;
      out.push_back(cell.header());
      AckExt ack;
      if (acks != nullptr && parse_ack(cell.view(), ack)) acks->push_back(ack);
    }
    pair_.a().tap.cells.clear();
    return out;
  }
  std::uint64_t count(TransportCounter which) { return pair_.a().count(which); }
  bool has_written(std::byte value) const { return to_.bytes[0] == value && to_.bytes[7] == value; }

  static constexpr std::uint32_t kPeerContext = 0x4321;
  AdapterPair pair_;
  Memory& to_ = pair_.a().memory(8);
  EeId mine_;
  Qpn target_;
};

}  // namespace splitnic::fabric::testing
