// The ends of an AdapterPair in two subnets, with a router of RouterWorld between them: end 0 is
// node u, and end 1 node h, which names it. The memory of the router can damage cells.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/crc32c.h"
#include "base/endian.h"
#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/mac_header.h"
#include "tests/support/switched_carrier.h"
#include "tests/unit/fabric_emul/switching/router_world.h"

namespace splitnic::fabric::testing {

// Between the router and an end: the memory of the router changes a cell behind the check of its
// cell CRC, and before the computation of the next one.
class RouterMemory final : public UnderlayDecorator {
 public:
  explicit RouterMemory(Underlay& below) : UnderlayDecorator(below) {}

  // Changes a bit of the payload of the next cell of RC or UC that has one.
  void damage_next() { is_damage_due_ = true; }
  // Whether no such cell has come since.
  bool is_damage_due() const { return is_damage_due_; }

  SendStatus send(const PeerAddress& to, base::Bytes bytes, std::size_t stride) override {
    return below_.send(to, bytes, stride);
  }
  std::optional<Received> receive() override {
    const auto batch = below_.receive();
    if (!batch || !is_damage_due_) return batch;
    copy_.assign(batch->bytes.begin(), batch->bytes.end());
    for (std::size_t at = 0; at < copy_.size(); at += batch->stride) {
      const std::size_t bytes = std::min(batch->stride, copy_.size() - at);
      change_datagram(base::MutableBytes(copy_).subspan(at, bytes));
    }
    return Received{copy_, batch->stride, batch->from};
  }
  base::Time deadline() const override { return below_.deadline(); }

 private:
  void change_datagram(base::MutableBytes datagram) {
    FlitWalker walker(datagram);
    FlitView flit;
    while (is_damage_due_ && walker.next(flit) == FlitWalker::Step::kFlit) {
      if (flit.header.type != FlitType::kData) continue;
      const auto at = static_cast<std::size_t>(flit.payload.data() - datagram.data());
      is_damage_due_ = !change_cell(datagram.subspan(at, flit.payload.size()));
    }
  }
  // Returns false if the cell is no such one.
  static bool change_cell(base::MutableBytes cell) {
    const MacHeader header = MacHeader::parse(cell.data());
    const bool is_of_pair = header.service == Service::kRc || header.service == Service::kUc;
    if (!is_of_pair || header.payload_bytes == 0) return false;
    const std::size_t payload_at = kMacHeaderBytes + std::size_t{4} * header.ext_words;
    cell[payload_at + header.payload_bytes / 2U] ^= std::byte{4};
    const std::size_t crc_at = cell.size() - kCrcBytes;
    base::store_be(cell.data() + crc_at, base::crc32c(cell.first(crc_at)));
    return true;
  }

  bool is_damage_due_ = false;
  std::vector<std::byte> copy_;
};

class RouterCarrier final : public SwitchedCarrier {
 public:
  PeerAddress address(std::size_t /*end*/) override { return host_.attachment.peer("office"); }
  bool has_traffic(std::size_t /*ends*/) override {
    const auto waits = [](const InProcessUnderlay& one) { return one.queued_batches() > 0; };
    return waits(unit_.endpoint) || waits(host_.endpoint) ||
           std::any_of(world_.carriers.begin() + 1, world_.carriers.end(),
                       [&](const InProcessUnderlay* one) { return waits(*one); });
  }
  Attachment& attachment(std::size_t end) override { return node(end).attachment; }
  // On the way to this end.
  RouterMemory& memory_before(std::size_t end) { return node(end).memory; }

 private:
  struct Node {
    Node(router_world::RouterWorld& world, std::size_t port, std::uint64_t number)
        : endpoint(world.hub.add_endpoint()),
          memory(endpoint),
          attachment(memory, world.carriers.at(port)->address(),
                     link_world::config_of(number, number + 1), world.clock, world.random) {}
    InProcessUnderlay& endpoint;
    RouterMemory memory;
    Attachment attachment;
  };
  Node& node(std::size_t end) { return end == 0 ? unit_ : host_; }
  base::ManualClock& time() override { return world_.clock; }
  void step() override {
    world_.step();
    while (world_.at_r3.receive()) {  // nobody is at the cable to the other router
    }
  }
  base::Time deadline() const override {
    return std::min(world_.a.deadline(), world_.b.deadline());
  }

  router_world::RouterWorld world_;
  Node unit_{world_, 2, 0xE00};
  Node host_{world_, 1, 0xE10};
};

class RoutedPair : public SwitchedPair<RouterCarrier> {
 public:
  RoutedPair() : SwitchedPair(std::make_unique<RouterCarrier>()) {}
};

}  // namespace splitnic::fabric::testing
