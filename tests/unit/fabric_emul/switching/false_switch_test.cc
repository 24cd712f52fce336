// A switch that sends an attached port any cell, and what the port drops of that.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "fabric_emul/switching/attachment.h"
#include "fabric_emul/switching/path_cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/smp.h"
#include "tests/support/counter_sum.h"
#include "tests/unit/fabric_emul/switching/router_world.h"
#include "tests/unit/fabric_emul/switching/switch_world.h"

namespace splitnic::fabric {
namespace false_switch_test {

using namespace switch_world;

// An attachment at a plain port, which sends it any cell as the switch with LID 1. Its own is 11.
class FalseSwitchTest : public ::testing::Test {
 protected:
  void attach(std::uint8_t port_number) {
    PortConfig config = link_world::config_of(0xA, 7, true);
    config.number = port_number;
    config.lids = [](const PeerAddress&) { return LinkLids{Lid(1), Lid(11)}; };
    sw = std::make_unique<link_world::End>(at_switch, config);
    attachment = std::make_unique<Attachment>(at_node, at_switch.address(),
                                              link_world::config_of(0xB, 8), clock, random);
    for (int i = 0; i < 10; ++i) settle();
    ASSERT_TRUE(attachment->link().up());
  }
  void settle() {
    while (sw->receive(clock.now())) {
    }
    while (attachment->receive()) {
    }
  }
  void send(const Cell& bytes) {
    ASSERT_TRUE(link_world::write(sw->link(), bytes));
    sw->port.flush(clock.now());
    settle();
  }
  // The port learns that it is in the subnet fd00:a::/64, whose routers have the LIDs 1 and 3.
  void give_place() {
    const auto place = place_of(router_world::plan_in(router_world::topology_a(), 0), Lid(11));
    Mgmt m;
    m.kind = MgmtKind::kResolved;
    m.transaction = UINT64_MAX;
    m.instance = 1;
    m.private_data = place;
    ASSERT_TRUE(send_mgmt(sw->link(), Lid(1), Lid(11), m));
    sw->port.flush(clock.now());
    settle();
    ASSERT_TRUE(attachment->network().is_known());
  }
  // The cells that a port above takes out of what the attachment hands over.
  std::vector<Cell> arrived() {
    std::vector<Cell> cells;
    while (const auto batch = attachment->receive()) {
      for (base::Bytes rest = batch->bytes; !rest.empty();) {
        const base::Bytes datagram = rest.first(std::min(batch->stride, rest.size()));
        rest = rest.subspan(datagram.size());
        FlitWalker walker(datagram);
        FlitView flit;
        while (walker.next(flit) == FlitWalker::Step::kFlit) {
          cells.emplace_back(flit.payload.begin(), flit.payload.end());
        }
      }
    }
    return cells;
  }
  std::uint64_t count(std::string_view counter) const {
    return support::counter_of(*attachment, counter);
  }

  base::ManualClock clock;
  base::SeededRandom random{1};
  InProcessHub hub{{.batch_queue_max = 1}};
  InProcessUnderlay& at_switch = hub.add_endpoint();
  InProcessUnderlay& at_node = hub.add_endpoint();
  std::unique_ptr<link_world::End> sw;
  std::unique_ptr<Attachment> attachment;
};

TEST_F(FalseSwitchTest, S000_34_a_cell_for_another_lid_or_from_none_is_dropped) {
  attach(3);
  send(cell(Lid(20), Lid(11)));
  EXPECT_EQ(count("path.rx.cell"), 1U);
  send(cell(Lid(20), Lid(12)));
  EXPECT_EQ(count("path.rx.drop.lid"), 1U);
  send(cell(Lid(0), Lid(11)));
  EXPECT_EQ(count("path.rx.drop.lid"), 2U);
  EXPECT_EQ(count("path.rx.cell"), 1U);
}

// LIDs beyond those of ports stand for peers in other subnets, of which there are none here.
TEST_F(FalseSwitchTest, P_NET_5_M_21_a_cell_from_a_lid_that_no_port_has_is_dropped) {
  attach(3);
  give_place();
  send(cell(Lid(kPortLidMax), Lid(11)));
  ASSERT_EQ(count("path.rx.cell"), 1U);
  for (const std::uint16_t lid : std::array<std::uint16_t, 3>{kPortLidMax + 1, 0xC005, 0xFFFF}) {
    send(cell(Lid(lid), Lid(11)));
  }
  ASSERT_EQ(count("path.rx.drop.lid"), 3U);
  ASSERT_EQ(count("path.rx.cell"), 1U);
  // A port that listens replies to HELLO.
  PortConfig config = link_world::config_of(0xC, 9, true);
  config.lids = [this](const PeerAddress& peer) { return attachment->lids_of(peer); };
  link_world::End above(*attachment, config);
  std::vector<std::byte> hello;
  link_world::append_init(hello, link_world::hello_of(0xD, 10));
  ASSERT_TRUE(send_path_cell(sw->link(), Lid(0xC005), Lid(11), kPathQpn, hello));
  sw->port.flush(clock.now());
  above.step(clock.now());
  EXPECT_EQ(count("path.rx.drop.lid"), 4U);
  EXPECT_EQ(above.count(LinkCounter::kRxInit), 0U);
}

// Three cells in one datagram, of which the one in the middle is not for the layers above.
TEST_F(FalseSwitchTest, P_NET_5_a_cell_that_is_dropped_is_not_handed_over_between_two_others) {
  attach(3);
  give_place();
  const auto write = [this](const Cell& one) { ASSERT_TRUE(link_world::write(sw->link(), one)); };
  const Cell before = cell(Lid(20), Lid(11), 64, 1), behind = cell(Lid(20), Lid(11), 64, 2);
  const auto expect_both = [&](const std::function<void()>& write_between,
                               std::string_view counter) {
    const std::uint64_t dropped = count(counter);
    write(before);
    write_between();
    write(behind);
    sw->port.flush(clock.now());
    EXPECT_EQ(arrived(), (std::vector<Cell>{before, behind})) << counter;
    EXPECT_EQ(count(counter), dropped + 1);
  };
  expect_both([&] { write(cell(Lid(20), Lid(12), 64, 3)); }, "path.rx.drop.lid");
  const Gnh gnh = gnh_between(router_world::kU, router_world::kH, 0, 64);
  const Cell by_no_router =
      cell_with(Lid(21), Lid(11), 64, 3, [&](CellHead& head) { head.gnh = &gnh; });
  expect_both([&] { write(by_no_router); }, "path.rx.drop.origin");
  const Cell smp(64);
  expect_both([&] { ASSERT_TRUE(send_path_cell(sw->link(), Lid(1), Lid(), kSubnetQpn, smp)); },
              "path.rx.drop.smp");
}

TEST_F(FalseSwitchTest, a_cell_of_another_version_or_of_the_switch_that_is_no_reply_is_dropped) {
  attach(3);
  send(cell_with(Lid(20), Lid(11), 8, 0, [](CellHead& head) { head.header.version = 2; }));
  EXPECT_EQ(count("path.rx.drop.cell"), 1U);
  send(cell(Lid(1), Lid(11)));
  EXPECT_EQ(count("path.rx.drop.cell"), 2U);
  Mgmt reply;  // to no request
  reply.kind = MgmtKind::kResolved;
  reply.instance = 1;
  ASSERT_TRUE(send_mgmt(sw->link(), Lid(1), Lid(11), reply));
  sw->port.flush(clock.now());
  settle();
  EXPECT_EQ(count("path.rx.drop.cell"), 3U);
  EXPECT_EQ(count("path.rx.cell"), 0U);
}

// The base LID and the LMC; nothing is LMC 0.
TEST_F(FalseSwitchTest, P_PATH_14_a_reply_that_is_not_the_lids_of_the_port_is_dropped) {
  attach(3);
  const auto reply = [&](std::initializer_list<int> bytes) {
    std::vector<std::byte> place;
    for (const int byte : bytes) place.push_back(static_cast<std::byte>(byte));
    Mgmt m;
    m.kind = MgmtKind::kResolved;
    m.transaction = UINT64_MAX - 1;
    m.instance = 1;
    m.private_data = place;
    const std::uint64_t before = count("path.rx.drop.cell");
    EXPECT_TRUE(send_mgmt(sw->link(), Lid(1), Lid(11), m));
    sw->port.flush(clock.now());
    settle();
    return count("path.rx.drop.cell") == before;
  };
  EXPECT_FALSE(reply({0, 11, 0}));
  EXPECT_FALSE(reply({0, 12, 0, 0}));
  EXPECT_FALSE(reply({0, 11, 0, 1})) << "11 is no multiple of 2";
  EXPECT_FALSE(reply({0, 11, 0, 8}));
  EXPECT_FALSE(reply({0, 11, 1, 0}));
  EXPECT_TRUE(reply({0, 11, 0, 0}));
  EXPECT_TRUE(reply({}));
  EXPECT_EQ(attachment->own_lids().count(), 1U);
}

TEST_F(FalseSwitchTest, cells_of_a_peer_that_is_no_switch_are_dropped) {
  attach(0);
  EXPECT_FALSE(attachment->is_attached());
  send(cell(Lid(20), Lid(11)));
  EXPECT_EQ(count("path.rx.drop.peer"), 1U);
  EXPECT_EQ(count("path.rx.cell"), 0U);
}

// A path may be narrower than the hop, whose batch then has room for fewer of its datagrams.
TEST_F(FalseSwitchTest, what_does_not_fit_the_batch_to_a_blocked_switch_is_dropped) {
  attach(3);
  PeerAddress unit;  // the port with LID 20
  unit.bytes[0] = std::byte{1};
  unit.bytes[2] = std::byte{20};
  constexpr std::size_t kStride = 1000;
  const Cell bytes = cell(Lid(11), Lid(20), kStride - kFlitHeaderBytes - cell_bytes(CellHead{}, 8));
  std::vector<std::byte> datagrams;
  for (int i = 0; i < 64; ++i) {
    std::vector<std::byte> flit(kFlitHeaderBytes + bytes.size());
    FlitHeader header;
    header.ctl = kFlitSof | kFlitEof;
    emit_flit(flit, header, bytes);
    ASSERT_LE(flit.size(), kStride);
    flit.resize(kStride);
    datagrams.insert(datagrams.end(), flit.begin(), flit.end());
  }
  ASSERT_EQ(attachment->send(unit, base::Bytes(datagrams).first(kStride), kStride),
            Underlay::SendStatus::kSent);
  EXPECT_EQ(count("path.tx.drop.blocked"), 0U);
  ASSERT_EQ(attachment->send(unit, datagrams, kStride), Underlay::SendStatus::kSent);
  EXPECT_EQ(count("path.tx.cell") + count("path.tx.drop.blocked"), 65U);
  EXPECT_GT(count("path.tx.drop.blocked"), 0U);
  EXPECT_EQ(attachment->send(unit, datagrams, kStride), Underlay::SendStatus::kBlocked);
}

// Those of the agent, to a subnet manager that asks while the switch takes nothing.
TEST_F(FalseSwitchTest, replies_that_do_not_fit_the_batch_to_a_blocked_switch_are_counted) {
  attach(3);
  Smp get;
  get.manager = {Lid(1), 5};
  get.route.hops = get.hop = 1;
  get.route.ports[0] = 3;
  std::array<std::byte, kSmpBytesMax> bytes;
  const base::Bytes smp = base::Bytes(bytes).first(emit_smp(bytes, get));
  std::uint64_t asked = 0;
  for (; asked < 10'000 && count("path.tx.drop.blocked") == 0; ++asked) {
    ASSERT_TRUE(send_path_cell(sw->link(), Lid(1), Lid(), kSubnetQpn, smp));
    sw->port.flush(clock.now());
    while (attachment->receive()) {
    }
  }
  EXPECT_EQ(count("path.tx.drop.blocked"), 1U);
  EXPECT_EQ(count("path.smp"), asked);
}

}  // namespace false_switch_test
}  // namespace splitnic::fabric
