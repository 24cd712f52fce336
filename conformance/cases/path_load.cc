// A switch under load: limits of its replies, a node that reads nothing, a hostile neighbour. Over
// UDP a carrier may lose what nobody reads, so these cases count what must arrive when it is over.
// docs/protocol/path.md#waiting
#include <algorithm>

#include "conformance/case.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::MgmtKind;

constexpr unsigned kQuestions = 600;  // at once: a switch serves 128 of them, and 1 per millisecond
constexpr std::size_t kServedAtOnce = 128;
constexpr base::Duration kSettle = 50ms;
constexpr unsigned kHostile = 500;

// Nodes that have done nothing reach each other, whatever the third one has done.
bool expect_served(Nodes& nodes, std::size_t from, std::size_t to) {
  return nodes.expect_forwarded(from, to, "a cell of nodes that have done nothing");
}

void add_limits(NodesGroup& group) {
  group
      .add_harmful(
          "question_rate", "P-PATH-9",
          "A switch serves 128 questions of a port at once, and then 1000 per second.",
          [](Nodes& nodes) {
            if (!nodes.link()) return;
            Node& n = nodes.at(1);
            const base::Time begin = n.now();
            for (unsigned i = 0; i < kQuestions; ++i) {
              n.send(n.question(MgmtKind::kResolve, name_at(2)));
            }
            const base::Time until = n.now() + n.config().timeout;
            while (n.is_good() && n.inbox().waiting(EventKind::kMgmt) == 0 && n.now() < until) {
              n.listen(kSettle);
            }
            n.listen(kSettle);
            const auto passed =
                std::chrono::duration_cast<std::chrono::milliseconds>(n.now() - begin);
            const std::size_t most = kServedAtOnce + 1 + static_cast<std::size_t>(passed.count());
            const std::size_t replies = n.inbox().waiting(EventKind::kMgmt);
            n.expect(replies > 0, "replies");
            n.expect(replies <= most, "no more replies than the limit");
            n.inbox().forget();
            expect_served(nodes, 2, 3);
          })
      .level = Level::kShould;
  group.add_harmful("questions_of_another", "P-PATH-9",
                    "A node that asks too much takes no replies from another one.",
                    [](Nodes& nodes) {
                      if (!nodes.link()) return;
                      for (unsigned i = 0; i < kQuestions; ++i) {
                        nodes.at(1).send(nodes.at(1).question(MgmtKind::kResolve, name_at(2)));
                      }
                      nodes.at(2).ask(MgmtKind::kResolve, name_at(3), "RESOLVED for another node");
                    });
}

void add_hostile(NodesGroup& group) {
  using Send = std::function<void(Nodes & nodes, unsigned number)>;
  struct Hostility {
    std::string name, what;
    Send send;
  };
  const std::vector<Hostility> all{
      {"garbage", "garbage",
       [](Nodes& nodes, unsigned number) {
         nodes.at(1).line().send(ByteVector(1 + number % 1200, std::byte(number)));
       }},
      {"wrong_cells", "cells with a wrong CRC",
       [](Nodes& nodes, unsigned number) {
         ByteVector cell = nodes.at(1).cell_to(lid_at(2), number, number);
         cell.back() ^= std::byte{1};
         nodes.at(1).send_cell(cell);
       }},
      {"forged_cells", "cells of another node",
       [](Nodes& nodes, unsigned number) {
         fabric::CellHead head = nodes.at(1).head_to(lid_at(2));
         head.header.slid = lid_at(3);
         nodes.at(1).send_cell(Node::cell_with(head, number, number));
       }},
      {"cells_to_nobody", "cells to LIDs that nobody has",
       [](Nodes& nodes, unsigned number) {
         const fabric::Lid lid(static_cast<std::uint16_t>(30000 + number));
         nodes.at(1).send_cell(nodes.at(1).cell_to(lid, number, number));
       }},
      {"hellos", "HELLO of other processes", [](Nodes& nodes, unsigned) {
         fabric::Init hello = nodes.at(1).init(fabric::InitStep::kHello);
         hello.instance = nodes.at(1).random().next() | 1;
         hello.peer_instance = 0;
         nodes.at(1).send(hello);
       }}};
  for (const Hostility& one : all) {
    group
        .add_harmful("hostile_" + one.name, "P-PATH-10",
                     "A node that sends " + one.what + " disturbs no other one.",
                     [send = one.send](Nodes& nodes) {
                       if (!nodes.link()) return;
                       for (unsigned i = 0; i < kHostile; ++i) {
                         send(nodes, i);
                         if (i % 50 == 0 && !expect_served(nodes, 3, 2)) return;
                       }
                       expect_served(nodes, 2, 3);
                       nodes.at(1).listen(kSettle);  // late replies are for this case
                     })
        .ends = 3;
  }
}

// Cells for a node that reads none: a switch may make the sender wait, for a time that is bounded,
// and others reach each other all the time.
void add_waiting(NodesGroup& group) {
  group
      .add_harmful("slow_receiver", "P-PATH-10",
                   "A node that reads nothing does not keep the others from each other.",
                   [](Nodes& nodes) {
                     if (!nodes.link()) return;
                     for (unsigned i = 0; i < kHostile; ++i) {
                       nodes.at(1).send_cell(nodes.at(1).cell_to(lid_at(2), 1000, i));
                       if (i % 50 == 0 && !expect_served(nodes, 3, 1)) return;
                     }
                     if (!nodes.at(2).await_cell("cells when the node reads again")) return;
                     nodes.at(2).listen(kSettle);
                     nodes.at(2).forget_cells();
                     nodes.at(3).forget_cells();
                     expect_served(nodes, 1, 3);
                   })
      .ends = 3;
  group
      .add_harmful(
          "burst_arrives", "P-PATH-1",
          "A burst that its receiver reads arrives whole and in order.",
          [](Nodes& nodes) {
            if (!nodes.link()) return;
            constexpr unsigned kBursts = 10, kCells = 16;
            for (unsigned burst = 0; burst < kBursts; ++burst) {
              std::vector<ByteVector> sent;
              for (unsigned i = 0; i < kCells; ++i) {
                sent.push_back(nodes.at(1).cell_to(lid_at(2), 800 + i, burst * kCells + i));
                nodes.at(1).send_cell(sent.back());
              }
              for (const ByteVector& cell : sent) {
                if (!nodes.at(2).expect_cell(cell, "the next cell of the burst")) return;
              }
            }
          })
      .ends = 2;
}

}  // namespace

std::vector<Case> path_load_cases() {
  NodesGroup group("path");
  add_limits(group);
  add_hostile(group);
  add_waiting(group);
  std::vector<Case> all = group.take();
  for (Case& one : all) one.ends = std::max<std::size_t>(one.ends, 3);
  return all;
}

}  // namespace splitnic::conformance
