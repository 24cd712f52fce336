// An end node behind a switch, whose Raw queue pairs send and take IPv6 datagrams.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <vector>

#include "fabric_emul/verbs/adapter.h"
#include "tests/support/test_memory.h"
#include "tests/unit/fabric_emul/switching/attached_node.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric::testing::routed_node {

using namespace router_world;

inline constexpr std::uint8_t kTcp = 6, kUdp = 17;

// An adapter behind a switch.
class RoutedNode final : public ConnectionHandler {
 public:
  RoutedNode(Underlay& carrier, const PeerAddress& switch_at, std::uint64_t eui64,
             base::Clock& time)
      : random(eui64),
        attachment(carrier, switch_at, link_world::config_of(eui64, eui64 + 1), time, random),
        adapter({}, random),
        clock_(time) {
    adapter.connections().set_handler(*this);
    PortConfig config = link_world::config_of(eui64, eui64 + 1, true);
    config.lids = [this](const PeerAddress& peer) { return attachment.lids_of(peer); };
    port = adapter.add_port(attachment, config).value();
    pd_ = adapter.alloc_pd();
    cq_ = adapter.create_cq(64).value();
  }
  // Some memory of the node.
  Memory& memory(std::size_t bytes) {
    Memory& m = memories_.emplace_back();
    m.bytes.resize(bytes);
    m.handle = adapter.memory().regions().register_region(pd_, m.bytes, kAccessRights).value();
    m.start = adapter.memory().start_of(m.handle);
    return m;
  }
  // A queue pair with a receive that takes what has this next header.
  Qpn make(std::uint8_t next_header) {
    QpInit init;
    init.service = Service::kRaw;
    init.common.pd = pd_;
    init.common.send_cq = init.common.recv_cq = cq_;
    const Qpn qpn = adapter.create_qp(init, clock_.now()).value();
    QpAttr attr;
    attr.mcp = link->mcp();
    for (const QpState to : {QpState::kInit, QpState::kRtr, QpState::kRts}) {
      const QpState from = adapter.find_qp(qpn)->state();
      const AttrMask given = required_attributes(init.service, from, to);
      EXPECT_TRUE(adapter.modify_qp(qpn, to, given, attr));
    }
    EXPECT_TRUE(adapter.add_raw_filter(qpn, {.next_header = next_header}));
    Memory& room = memory(2000);
    rooms[qpn] = &room;
    EXPECT_TRUE(adapter.post_recv(qpn, RecvWr{0, std::array{room.sge()}}));
    return qpn;
  }
  bool poll() {
    bool made_progress = adapter.poll(clock_.now());
    WcBatch wcs;
    while (const std::size_t count = adapter.poll_cq(cq_, wcs)) {
      made_progress = true;
      for (const Wc& wc : std::span(wcs).first(count)) {
        EXPECT_EQ(wc.status, WcStatus::kSuccess);
        if (wc.op == WcOp::kReceive) received.push_back(wc);
      }
    }
    return made_progress;
  }
  base::Status send(Qpn from, const NetworkAddress& source, const NetworkAddress& destination,
                    std::uint8_t next_header) {
    sent = &memory(kGnhBytes + 100);
    sent->fill(7);
    const Gnh header{.traffic_class = 0xB8,
                     .flow_label = 0x12345,
                     .length = 100,
                     .next_header = next_header,
                     .hop_limit = 33,
                     .source = source.bytes,
                     .destination = destination.bytes};
    header.emit(sent->bytes.data());
    SendWr wr;
    const std::array pieces{sent->sge()};
    wr.gather = pieces;
    wr.destination_lid = link->remote_lid();
    return adapter.post_send(from, wr);
  }

  base::SeededRandom random;
  Attachment attachment;
  Adapter adapter;
  Port* port = nullptr;
  Link* link = nullptr;
  std::map<Qpn, Memory*> rooms;
  std::vector<Wc> received;
  Memory* sent = nullptr;

 private:
  void on_link_up(Link& up) override { link = &up; }
  void on_link_down(Link&, std::string_view) override {}
  bool on_connected(ConnectionId, Link&, const Mgmt&) override { return false; }
  void on_rejected(ConnectionId, MgmtReject, base::Bytes) override {}
  void on_disconnected(ConnectionId, std::string_view) override {}

  base::Clock& clock_;
  PdId pd_;
  CqId cq_;
  std::deque<Memory> memories_;
};

}  // namespace splitnic::fabric::testing::routed_node
