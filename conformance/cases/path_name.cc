// RESOLVE, and what else a switch replies to. docs/protocol/path.md#names
#include <algorithm>

#include "base/endian.h"
#include "conformance/case.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using fabric::Mgmt;
using fabric::MgmtKind;

std::optional<Mgmt> resolve(Node& n, std::string_view name) {
  auto reply = n.ask(MgmtKind::kResolve, name, "RESOLVED of the transaction");
  if (reply && !n.expect(reply->kind == MgmtKind::kResolved, "RESOLVED")) return std::nullopt;
  return reply;
}

void expect_lid(Node& n, std::string_view name, fabric::Lid lid) {
  const auto reply = resolve(n, name);
  if (!reply || !n.expect(reply->private_data.size() == 2, "a LID of 2 bytes")) return;
  n.expect(base::load_be<std::uint16_t>(reply->private_data.data()) == lid.value,
           "the LID of the topology");
}

void add_names(NodesGroup& group) {
  group
      .add("resolves", "P-PATH-7", "RESOLVE of a node gets its LID, also of the node that asks.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             for (std::size_t port = 1; port < kCablePort; ++port) {
               expect_lid(nodes.at(1), name_at(port), lid_at(port));
             }
           })
      .ends = 3;
  group
      .add("resolves_far", "P-PATH-7", "RESOLVE of a node behind another switch gets its LID.",
           [](Nodes& nodes) {
             if (nodes.link()) expect_lid(nodes.at(1), "far", kFarLid);
           })
      .ends = kCablePort;
  const std::vector<std::pair<std::string, std::string>> unknown{
      {"unknown", "nobody"},
      {"empty", ""},
      {"with_zero", {"node1\0", 6}},
      {"long", std::string(512, 'n')},
      {"prefix", "node"},
      {"garbage", "\x1B[2J\xFF\xFE"},
      {"switch", std::string(kSwitchName)}};
  for (const auto& [what, name] : unknown) {
    group.add("resolves_nothing_" + what, "P-PATH-7",
              "RESOLVE of what is no node gets RESOLVED without a LID: " + what + ".",
              [name = name](Nodes& nodes) {
                if (!nodes.link()) return;
                const auto reply = resolve(nodes.at(1), name);
                if (reply) nodes.at(1).expect(reply->private_data.empty(), "no private data");
              });
  }
  group
      .add("resolves_each", "P-PATH-7", "Each of three nodes gets its own replies.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             std::vector<Mgmt> questions;
             for (std::size_t port = 1; port <= 3; ++port) {
               questions.push_back(nodes.at(port).question(MgmtKind::kResolve, name_at(2)));
               nodes.at(port).send(questions.back());
             }
             for (std::size_t port = 1; port <= 3; ++port) {
               const auto event = nodes.at(port).await(EventKind::kMgmt, "RESOLVED");
               if (!event) return;
               nodes.at(port).expect(event->mgmt.transaction == questions[port - 1].transaction,
                                     "the transaction of the node's own question");
             }
           })
      .ends = 3;
}

void add_others(NodesGroup& group) {
  group.add("connect_to_a_switch", "P-PATH-7",
            "CONNECT_REQ to a switch gets CONNECT_REJ with code 4.", [](Nodes& nodes) {
              if (!nodes.link()) return;
              Node& n = nodes.at(1);
              const auto reply =
                  n.ask(MgmtKind::kConnectReq, capabilities_of(n.terms), "a reply to CONNECT_REQ");
              if (!reply) return;
              n.expect(reply->kind == MgmtKind::kConnectRej &&
                           reply->reject == fabric::MgmtReject::kRefused,
                       "CONNECT_REJ refused");
              n.expect(!reply->private_data.empty(), "a text");
            });
  // A switch may reply to DISC, as each end of a connection does (P-CM-11).
  for (const MgmtKind kind : {MgmtKind::kConnectRtu, MgmtKind::kResolved}) {
    group.add("no_reply_to_" + std::to_string(static_cast<unsigned>(kind)), "P-PATH-7",
              "A switch does not reply to " + std::string(name(kind)) + ".", [kind](Nodes& nodes) {
                if (!nodes.link()) return;
                Node& n = nodes.at(1);
                n.send(n.question(kind, {}));
                if (!resolve(n, name_at(1))) return;
                n.expect(n.inbox().waiting(EventKind::kMgmt) == 0, "no reply but RESOLVED");
              });
  }
  group.add("malformed_question", "P-MGMT-3", "MGMT that is cut off gets no reply.",
            [](Nodes& nodes) {
              if (!nodes.link()) return;
              Node& n = nodes.at(1);
              const Mgmt question = n.question(MgmtKind::kResolve, name_at(1));
              ByteVector payload(question.bytes());
              fabric::emit_mgmt(payload, question);
              payload.resize(payload.size() - 2);
              n.send_mgmt(payload);
              if (!resolve(n, name_at(1))) return;
              n.expect(n.inbox().waiting(EventKind::kMgmt) == 0, "no reply but the second");
            });
}

}  // namespace

std::vector<Case> path_name_cases() {
  NodesGroup group("path");
  add_names(group);
  add_others(group);
  return group.take();
}

}  // namespace splitnic::conformance
