// Joins the Raw queue pairs of a node and an interface that carries IPv6 datagrams: the leg of a
// switch or router to a LAN, and the interface of an end node that reaches the LAN over the leg
// [S000-14] [S000-48]. The leg has one queue pair for all that comes. An end node has one each for
// TCP, UDP and ICMPv6, and others are dropped (fabric.raw.drop.filter). Memory is allocated by
// open(). Thread: the data thread. docs/protocol/raw.md#leg-to-a-lan
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/status.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/datagram_gate.h"
#include "fabric_emul/verbs/adapter.h"
#include "lan_bridge/datagram_port.h"

namespace splitnic::control {

class RawLeg final : private fabric::ConnectionHandler {
 public:
  // The limits of its adapter.
  static fabric::AdapterLimits limits();

  // All outlive this; `port` is that of the adapter over the attachment of the node.
  RawLeg(fabric::Adapter& adapter, fabric::Port& port, fabric::Attachment& attachment,
         lan::DatagramPort& interface, fabric::GateSide side);
  RawLeg(const RawLeg&) = delete;
  RawLeg& operator=(const RawLeg&) = delete;

  // Makes the queue pairs.
  base::Status open(base::Time now);
  // Moves datagrams both ways, with one iteration of the adapter. Returns true if any work was
  // done.
  bool step(base::Time now);
  // Whether the next step() reads from the interface.
  bool wants_input() const { return sending_ < kSends; }
  bool is_drained() const { return sending_ == 0; }
  // A clean stop: peers see their links down at once.
  void stop(base::Time now);
  // The network address of the node; empty before the switch has replied.
  std::string address() const;
  const fabric::Link* link() const { return link_; }  // that was up last; null: none was

  std::uint64_t bytes() const { return bytes_; }  // of datagrams, both ways
  const base::Counters<fabric::GateCounter>& counters() const { return gate_.counters(); }
  // These, and those of the adapter.
  void visit_counters(const base::CounterVisitor& visitor) const {
    gate_.counters().visit(visitor);
    adapter_.visit_counters(visitor);
  }

 private:
  static constexpr std::size_t kSends = 128, kReceivesOfOne = 128;
  static constexpr std::size_t kSlotBytes = fabric::DatagramGate::kDatagramBytesMax + 4;

  base::Result<fabric::Qpn> make(const fabric::RawFilter& filter, base::Time now);
  fabric::Sge slot(std::size_t number, std::size_t bytes) const;
  base::MutableBytes bytes_of(std::size_t number) {
    return base::MutableBytes(memory_).subspan(number * kSlotBytes, kSlotBytes);
  }
  base::Status post_receive(fabric::Qpn qpn, std::size_t number);
  bool take_completions();
  void on_received(const fabric::Wc& wc);
  bool read_interface();
  void send(base::MutableBytes room, std::size_t bytes);
  const fabric::Link* link_to(fabric::Lid lid);

  void on_link_up(fabric::Link& link) override;
  void on_link_down(fabric::Link& link, std::string_view why) override;
  bool on_connected(fabric::ConnectionId, fabric::Link&, const fabric::Mgmt&) override {
    return false;
  }
  void on_rejected(fabric::ConnectionId, fabric::MgmtReject, base::Bytes) override {}
  void on_disconnected(fabric::ConnectionId, std::string_view) override {}

  fabric::Adapter& adapter_;
  fabric::Port& port_;
  fabric::Attachment& attachment_;
  lan::DatagramPort& interface_;
  const fabric::GateSide side_;
  fabric::DatagramGate gate_;
  fabric::PdId pd_;
  fabric::CqId cq_;
  std::vector<std::byte> memory_;  // of sends, then of the receives of each queue pair
  fabric::MemoryHandle handle_;
  fabric::VirtualAddress start_;
  fabric::Qpn sender_;
  std::size_t sending_ = 0, next_send_ = 0;  // they complete in order
  const fabric::Link* link_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace splitnic::control
