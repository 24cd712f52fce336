// The LIDs of a port. docs/protocol/path.md#lids-of-a-port
#include "base/endian.h"
#include "conformance/case.h"
#include "conformance/cells.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using fabric::Lid;
using fabric::MgmtKind;

constexpr std::size_t kLidsPayload = 64;

Lid lid_behind(Lid lid, unsigned by) { return Lid(static_cast<std::uint16_t>(lid.value + by)); }

// RESOLVE gets these numbers of 2 bytes each.
void expect_lids(Node& n, std::string_view name, std::initializer_list<std::uint16_t> expected,
                 std::string_view what) {
  const auto reply = n.ask(MgmtKind::kResolve, name, "RESOLVED");
  if (!reply) return;
  ByteVector bytes;
  for (const std::uint16_t number : expected) {
    bytes.resize(bytes.size() + sizeof(number));
    base::store_be(&bytes[bytes.size() - sizeof(number)], number);
  }
  n.expect(ByteVector(reply->private_data.begin(), reply->private_data.end()) == bytes, what);
}

void add_cells_of_lids(NodesGroup& group) {
  group
      .add("each_lid_of_a_port", "P-PATH-12", "A cell for each LID of a port arrives there.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             for (unsigned path = 0; path < kLidsOfSecond; ++path) {
               const ByteVector cell =
                   nodes.at(1).cell_to(lid_behind(lid_at(2), path), kLidsPayload, path);
               nodes.at(1).send_cell(cell);
               nodes.at(2).expect_cell(cell, "the cell for LID base + " + std::to_string(path));
             }
           })
      .ends = 2;
  group
      .add("behind_the_lids_of_a_port", "P-PATH-12",
           "A cell for the LID behind those of a port is dropped.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             nodes.at(1).send_cell(
                 nodes.at(1).cell_to(lid_behind(lid_at(2), kLidsOfSecond), kLidsPayload, 7));
             nodes.expect_forwarded(1, 2, "the good cell behind it, and nothing before");
           })
      .ends = 2;
  group
      .add("from_each_lid_of_a_port", "P-PATH-3", "A node may send from each LID of its port.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             for (unsigned path = 0; path < kLidsOfSecond; ++path) {
               fabric::CellHead head = nodes.at(2).head_to(lid_at(1));
               head.header.slid = lid_behind(lid_at(2), path);
               const ByteVector cell = Node::cell_with(head, kLidsPayload, path);
               nodes.at(2).send_cell(cell);
               nodes.at(1).expect_cell(cell, "the cell from LID base + " + std::to_string(path));
             }
           })
      .ends = 2;
}

void add_names_of_lids(NodesGroup& group) {
  group
      .add("lids_of_a_port", "P-PATH-14",
           "RESOLVE of + gets the base LID and the LMC of the port that asks, and of +N those of "
           "the node with base LID N.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             expect_lids(nodes.at(1), "+", {lid_at(1).value, 0}, "its LID, and LMC 0");
             expect_lids(nodes.at(2), "+", {lid_at(2).value, kLmcOfSecond},
                         "its base LID, and its LMC");
             const std::string second = "+" + std::to_string(lid_at(2).value);
             expect_lids(nodes.at(1), second, {lid_at(2).value, kLmcOfSecond},
                         "the base LID and the LMC of the other node");
             const Lid behind = lid_behind(lid_at(2), 1);
             expect_lids(nodes.at(1), "+" + std::to_string(behind.value), {}, "no private data");
           })
      .ends = 2;
  group
      .add("resolves_each_lid_of_a_port", "P-PATH-7",
           "RESOLVE of NAME+K gets the LID base + K of the node, if it has one.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             const std::string name = name_at(2) + "+";
             expect_lids(nodes.at(1), name + "1", {lid_behind(lid_at(2), 1).value},
                         "the LID behind the base");
             expect_lids(nodes.at(1), name + std::to_string(kLidsOfSecond), {}, "no private data");
             expect_lids(nodes.at(1), name_at(1) + "+1", {}, "no private data");
           })
      .ends = 2;
}

}  // namespace

std::vector<Case> path_lids_cases() {
  NodesGroup group("path");
  add_cells_of_lids(group);
  add_names_of_lids(group);
  return group.take();
}

}  // namespace splitnic::conformance
