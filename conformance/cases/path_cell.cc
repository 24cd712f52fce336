// Cells that a switch forwards, byte for byte, and those that it drops. docs/protocol/path.md#hop
#include <algorithm>

#include "base/endian.h"
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cells.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using fabric::CellHead;
using fabric::Op;

constexpr std::size_t kPayload = 64;

// A cell that `make` builds goes from node 1 to node 2 as it is.
using MakeCell = std::function<ByteVector(Nodes& nodes)>;
Case& add_forwarded(NodesGroup& group, const std::string& name, const std::string& what,
                    MakeCell make) {
  Case& added = group.add(name, "P-PATH-1", what + " is forwarded with all of its bytes.",
                          [make = std::move(make)](Nodes& nodes) {
                            if (!nodes.link()) return;
                            const ByteVector cell = make(nodes);
                            nodes.at(1).send_cell(cell);
                            nodes.at(2).expect_cell(cell, "the cell as it was sent");
                          });
  added.ends = 2;
  return added;
}

// The cell that `make` builds is dropped: the good one behind it is the first that arrives.
Case& add_dropped(NodesGroup& group, const std::string& name, const std::string& clause,
                  const std::string& what, MakeCell make) {
  Case& added =
      group.add(name, clause, what + " is dropped.", [make = std::move(make)](Nodes& nodes) {
        if (!nodes.link()) return;
        nodes.at(1).send_cell(make(nodes));
        nodes.expect_forwarded(1, 2, "the good cell behind it, and nothing before");
        nodes.expect_forwarded(2, 1, "no cell but the other node's");
        if (nodes.count() < 3) return;
        nodes.expect_forwarded(1, 3, "the good cell behind it, and nothing before");
      });
  added.ends = 3;
  return added;
}

ByteVector head_changed(Nodes& nodes, const std::function<void(CellHead&)>& change,
                        std::size_t bytes = kPayload) {
  CellHead head = nodes.at(1).head_to(lid_at(2));
  change(head);
  return Node::cell_with(head, bytes, 7);
}

// A good cell of which a byte is another one; its CRC is right again if it is sealed.
ByteVector byte_changed(Nodes& nodes, std::size_t at, std::uint8_t mask, bool is_sealed) {
  ByteVector cell = nodes.at(1).cell_to(lid_at(2), kPayload, 7);
  cell.at(at) ^= std::byte{mask};
  if (is_sealed) reseal(nodes.at(1), cell);
  return cell;
}

// To node 9 of another subnet.
ByteVector global_cell(Nodes& nodes, fabric::Lid to) {
  fabric::Gnh gnh;
  gnh.length = kPayload;
  gnh.next_header = 59;
  gnh.hop_limit = 64;
  gnh.source.at(0) = gnh.destination.at(0) = std::byte{0xFD};
  gnh.destination.at(15) = std::byte{9};
  return head_changed(nodes, [&](CellHead& head) {
    head.header.dlid = to;
    head.gnh = &gnh;
  });
}

void add_whole(NodesGroup& group) {
  for (const std::size_t bytes : {0U, 1U, 63U, 1000U}) {
    add_forwarded(group, "payload_of_" + std::to_string(bytes),
                  "A cell with " + std::to_string(bytes) + " bytes of payload",
                  [=](Nodes& nodes) { return nodes.at(1).cell_to(lid_at(2), bytes, 3); });
  }
  add_forwarded(group, "write", "An RDMA write with VA/MH, idata and packet CRC", [](Nodes& nodes) {
    return head_changed(nodes, [](CellHead& head) {
      head.header.op = Op::kRdmaWrite;
      head.header.flags = fabric::kFlagPacketCrc;
      head.va_mh = fabric::VaMh{fabric::VirtualAddress(0x7F0012345678),
                                fabric::MemoryHandle(0x2A01), kPayload};
      head.idata = 0x07050040;
    });
  });
  add_forwarded(group, "service_level", "A cell of another service level and path number",
                [](Nodes& nodes) {
                  return head_changed(nodes, [](CellHead& head) {
                    head.header.sl = 9;
                    head.header.stripe = 5;
                  });
                });
  add_forwarded(group, "network_header", "A cell with a GNH, whoever that is for",
                [](Nodes& nodes) { return global_cell(nodes, lid_at(2)); });
  add_forwarded(group, "unknown_operation", "A cell with an operation that nobody knows",
                [](Nodes& nodes) { return byte_changed(nodes, 1, 0x27, true); });
  add_forwarded(group, "reserved_bits", "A cell with reserved bits that are set",
                [](Nodes& nodes) { return byte_changed(nodes, 12, 0x5A, true); });
  add_forwarded(group, "to_itself", "A cell with the numbers of a path to the same queue pair",
                [](Nodes& nodes) {
                  return head_changed(nodes,
                                      [](CellHead& head) { head.header.dqpn = head.header.sqpn; });
                });
  add_forwarded(group, "control_cell", "A control cell that is longer than MGMT otherwise is",
                [](Nodes& nodes) {
                  const auto change = [](CellHead& head) {
                    head.header.op = Op::kMgmt;
                    head.header.service = fabric::Service::kMgmt;
                    head.header.dqpn = head.header.sqpn = {};
                  };
                  return head_changed(nodes, change, 1200);
                })
      .clause = "P-PATH-6";
}

void add_many(NodesGroup& group) {
  group
      .add("in_order", "P-PATH-1", "Cells of one node to another arrive in their order.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             constexpr unsigned kCells = 20;
             for (unsigned i = 0; i < kCells; ++i) {
               nodes.at(1).send_cell(nodes.at(1).cell_to(lid_at(2), kPayload + i, i));
             }
             for (unsigned i = 0; i < kCells; ++i) {
               const ByteVector cell = nodes.at(1).cell_to(lid_at(2), kPayload + i, i);
               if (!nodes.at(2).expect_cell(cell, "the next cell")) return;
             }
           })
      .ends = 2;
  group
      .add("one_port", "P-PATH-1", "A cell leaves by one port, once.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             nodes.expect_forwarded(1, 2, "the cell at its port");
             nodes.expect_forwarded(2, 3, "no cell but its own at the third port");
             nodes.expect_forwarded(3, 1, "no cell but its own at the first port");
             nodes.expect_forwarded(1, 2, "no second copy of the first cell");
           })
      .ends = 3;
  group
      .add("both_ways", "P-PATH-1", "Each node reaches each other one.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             for (std::size_t from = 1; from <= 3; ++from) {
               for (std::size_t to = 1; to <= 3; ++to) {
                 if (from != to) nodes.expect_forwarded(from, to, "the cell");
               }
             }
           })
      .ends = 3;
}

void add_drops(NodesGroup& group) {
  add_dropped(group, "crc", "P-PATH-2", "A cell with a wrong CRC", [](Nodes& nodes) {
    ByteVector cell = nodes.at(1).cell_to(lid_at(2), kPayload, 7);
    cell.back() ^= std::byte{1};
    return cell;
  });
  add_dropped(group, "payload_bit", "P-PATH-2", "A cell of which a bit of the payload has changed",
              [](Nodes& nodes) { return byte_changed(nodes, 40, 1, false); });
  add_dropped(group, "head_bit", "P-PATH-2", "A cell of which a bit of the header has changed",
              [](Nodes& nodes) { return byte_changed(nodes, 17, 1, false); });
  add_dropped(group, "version", "P-PATH-2", "A cell of another version",
              [](Nodes& nodes) { return byte_changed(nodes, 0, 0x30, true); });
  add_dropped(group, "unknown_lid", "P-PATH-2", "A cell to a LID that the topology does not have",
              [](Nodes& nodes) { return nodes.at(1).cell_to(fabric::Lid(4711), kPayload, 7); });
  add_dropped(group, "lid_zero", "P-PATH-2", "A cell to LID 0",
              [](Nodes& nodes) { return nodes.at(1).cell_to(fabric::Lid(), kPayload, 7); });
  add_dropped(group, "same_port", "P-PATH-2", "A cell that would leave where it came by",
              [](Nodes& nodes) { return nodes.at(1).cell_to(lid_at(1), kPayload, 7); });
  add_dropped(group, "to_the_switch", "P-PATH-2", "A cell to the switch that is no MGMT",
              [](Nodes& nodes) { return nodes.at(1).cell_to(kSwitchLid, kPayload, 7); });
  add_dropped(group, "network_header_to_the_switch", "P-PATH-2",
              "A cell with a GNH to the switch, which is no router",
              [](Nodes& nodes) { return global_cell(nodes, kSwitchLid); });
  const std::vector<std::pair<std::string, fabric::Lid>> sources{
      {"source_of_another", lid_at(3)},
      {"source_zero", fabric::Lid()},
      {"source_of_the_switch", kSwitchLid},
      {"source_unknown", fabric::Lid(4711)}};
  for (const auto& [name, lid] : sources) {
    add_dropped(group, name, "P-PATH-3",
                "A cell of a node with the source LID " + std::to_string(lid.value),
                [lid = lid](Nodes& nodes) {
                  return head_changed(nodes, [lid](CellHead& head) { head.header.slid = lid; });
                });
  }
  group
      .add("link_down", "P-PATH-2", "A cell to a node whose link is down is dropped, and not kept.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             nodes.at(2).send(nodes.at(2).init(fabric::InitStep::kBye));
             if (!nodes.expect_forwarded(1, 3, "a switch that forwards to others")) return;
             nodes.at(1).send_cell(nodes.at(1).cell_to(lid_at(2), kPayload, 7));
             if (!nodes.expect_forwarded(1, 3, "a switch that forwards to others")) return;
             nodes.at(2).forget_cells();
             if (nodes.at(2).link())
               nodes.expect_forwarded(1, 2, "a cell of now, and none of before");
           })
      .ends = 3;
}

void add_cable_cells(NodesGroup& group) {
  group
      .add("to_the_far_node", "P-PATH-1", "A cell to a node behind the cable leaves by the cable.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             const ByteVector cell = nodes.at(1).cell_to(kFarLid, kPayload, 7);
             nodes.at(1).send_cell(cell);
             nodes.at(kCablePort).expect_cell(cell, "the cell at the cable");
           })
      .ends = kCablePort;
  group
      .add("from_the_far_node", "P-PATH-3", "From a cable cells of any source are taken.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             CellHead head = nodes.at(kCablePort).head_to(lid_at(1));
             for (const fabric::Lid source : {kFarLid, kNeighbourLid, fabric::Lid(4711)}) {
               head.header.slid = source;
               const ByteVector cell = Node::cell_with(head, kPayload, source.value);
               nodes.at(kCablePort).send_cell(cell);
               if (!nodes.at(1).expect_cell(cell, "the cell as it was sent")) return;
             }
           })
      .ends = kCablePort;
  group
      .add("back_into_the_cable", "P-PATH-2", "A cell does not go back into the cable it came by.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             Node& cable = nodes.at(kCablePort);
             CellHead head = cable.head_to(kFarLid);
             head.header.slid = lid_at(1);
             cable.send_cell(Node::cell_with(head, kPayload, 7));
             const ByteVector good = nodes.at(1).cell_to(kFarLid, kPayload, 8);
             head = cable.head_to(lid_at(1));
             head.header.slid = kFarLid;
             const ByteVector fence = Node::cell_with(head, kPayload, 9);
             cable.send_cell(fence);
             if (!nodes.at(1).expect_cell(fence, "the cell behind it")) return;
             nodes.at(1).send_cell(good);
             cable.expect_cell(good, "the cell of the node, and nothing before");
           })
      .ends = kCablePort;
}

}  // namespace

std::vector<Case> path_cell_cases() {
  NodesGroup group("path");
  add_whole(group);
  add_many(group);
  add_drops(group);
  add_cable_cells(group);
  return group.take();
}

}  // namespace splitnic::conformance
