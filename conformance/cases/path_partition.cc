// Partitions at the ports of a switch: which keys of which nodes pass. docs/protocol/partition.md
#include "conformance/case.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using fabric::PartitionKey;

constexpr std::size_t kPartitionPayload = 64;
constexpr PartitionKey kRedLimited = fabric::as_limited_member(kRed);
constexpr PartitionKey kBlueLimited = fabric::as_limited_member(kBlue);

ByteVector cell_of(Node& from, fabric::Lid to, PartitionKey key, unsigned number) {
  fabric::CellHead head = from.head_to(to);
  head.header.partition = key;
  return Node::cell_with(head, kPartitionPayload, number);
}

void add_forwarded(NodesGroup& group, const std::string& name, const std::string& what,
                   std::size_t from, std::size_t to, PartitionKey key) {
  group
      .add(name, "P-PART-7", what + " is forwarded, with its key.",
           [=](Nodes& nodes) {
             if (!nodes.link()) return;
             const ByteVector cell = cell_of(nodes.at(from), lid_at(to), key, 3);
             nodes.at(from).send_cell(cell);
             nodes.at(to).expect_cell(cell, "the cell as it was sent");
           })
      .ends = 3;
}

// The next cell of the default partition is the first that arrives.
void add_dropped(NodesGroup& group, const std::string& name, const std::string& what,
                 std::size_t from, std::size_t to, PartitionKey key) {
  group
      .add(name, "P-PART-7", what + " is dropped.",
           [=](Nodes& nodes) {
             if (!nodes.link()) return;
             for (unsigned i = 0; i < 3; ++i) {
               nodes.at(from).send_cell(cell_of(nodes.at(from), lid_at(to), key, i));
             }
             nodes.expect_forwarded(from, to, "the cell of a common partition, and none before");
           })
      .ends = 3;
}

void add_nodes(NodesGroup& group) {
  add_forwarded(group, "full_to_limited", "A cell of a full member to a limited one", 1, 2, kRed);
  add_forwarded(group, "limited_to_full", "A cell of a limited member to a full one", 2, 1,
                kRedLimited);
  add_dropped(group, "foreign_sender", "A cell of a partition that its sender is not in", 1, 3,
              kBlue);
  add_dropped(group, "foreign_receiver", "A cell of a partition that its receiver is not in", 1, 3,
              kRed);
  add_dropped(group, "limited_as_full", "A cell of a limited member with the key of a full one", 2,
              1, kRed);
  add_dropped(group, "full_as_limited", "A cell of a full member with the key of a limited one", 1,
              2, kRedLimited);
  add_dropped(group, "limited_to_limited", "A cell of a limited member to another one", 2, 3,
              kBlueLimited);
  add_dropped(group, "partition_zero", "A cell of partition 0", 1, 2, PartitionKey(0));
  add_dropped(group, "partition_zero_full", "A cell of a full member of partition 0", 1, 2,
              PartitionKey(0x8000));
  add_dropped(group, "partition_unknown", "A cell of a partition that nobody is in", 1, 2,
              PartitionKey(0x8ABC));
}

void add_partition_cable(NodesGroup& group) {
  group
      .add("partition_from_a_cable", "P-PART-7",
           "From a cable a cell passes to the nodes of its partition, and to no other.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             Node& cable = nodes.at(kCablePort);
             const auto from_far = [&](std::size_t to, PartitionKey key, unsigned number) {
               fabric::CellHead head = cable.head_to(lid_at(to));
               head.header.slid = kFarLid;
               head.header.partition = key;
               ByteVector cell = Node::cell_with(head, kPartitionPayload, number);
               cable.send_cell(cell);
               return cell;
             };
             nodes.at(1).expect_cell(from_far(1, kRed, 1), "the cell at a full member");
             nodes.at(2).expect_cell(from_far(2, kRed, 2), "the cell at a limited member");
             nodes.at(1).expect_cell(from_far(1, kRedLimited, 3), "that of a limited member");
             from_far(3, kRed, 4);
             from_far(2, kRedLimited, 5);
             const ByteVector third = from_far(3, fabric::kDefaultPartition, 6);
             nodes.at(3).expect_cell(third, "no cell of a partition that the node is not in");
             const ByteVector second = from_far(2, fabric::kDefaultPartition, 7);
             nodes.at(2).expect_cell(second, "no cell between limited members");
           })
      .ends = kCablePort;
  group
      .add("partition_to_a_cable", "P-PART-7", "To a cable a cell passes with any key of its node.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             for (const PartitionKey key : {kRed, fabric::kDefaultPartition}) {
               const ByteVector cell = cell_of(nodes.at(1), kFarLid, key, key.value);
               nodes.at(1).send_cell(cell);
               nodes.at(kCablePort).expect_cell(cell, "the cell as it was sent");
             }
           })
      .ends = kCablePort;
}

// RESOLVE with this key.
fabric::Mgmt send_question(Node& n, PartitionKey key) {
  fabric::Mgmt question = n.question(fabric::MgmtKind::kResolve, name_at(1));
  n.send(question, key);
  return question;
}

std::optional<Event> ask(Node& n, PartitionKey key, std::string_view expected) {
  const std::uint64_t transaction = send_question(n, key).transaction;
  return n.await_if(
      [transaction](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.transaction == transaction;
      },
      expected);
}

void add_replies(NodesGroup& group) {
  group
      .add("reply_partition", "P-PART-8",
           "A reply of the switch has the partition of the request, as a full member.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             const auto limited = ask(nodes.at(2), kRedLimited, "a reply to a limited member");
             if (!limited) return;
             nodes.at(2).expect(limited->header.partition == kRed, "the key of a full member");
             const auto full = ask(nodes.at(1), kRed, "a reply to a full member");
             if (full)
               nodes.at(1).expect(full->header.partition == kRed, "the key of a full member");
           })
      .ends = 3;
  group
      .add("question_of_another_partition", "P-PART-7",
           "A question with a key that is not of the node gets no reply.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             Node& n = nodes.at(1);
             send_question(n, kBlue);
             const auto reply = ask(n, kRed, "a reply to the question behind it");
             if (reply)
               n.expect(n.inbox().waiting(EventKind::kMgmt) == 0, "no reply to the first one");
           })
      .ends = 3;
}

}  // namespace

std::vector<Case> path_partition_cases() {
  NodesGroup group("path");
  add_nodes(group);
  add_partition_cable(group);
  add_replies(group);
  return group.take();
}

}  // namespace splitnic::conformance
