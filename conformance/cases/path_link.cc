// The links of a switch: what INIT states there, and who is refused. docs/protocol/path.md#hop
#include <array>
#include <chrono>
#include <utility>

#include "conformance/case.h"
#include "conformance/cases/link_parts.h"
#include "conformance/switch_suite.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::FlitError;
using fabric::Init;
using fabric::InitReason;
using fabric::InitStep;

constexpr base::Duration kPlainReply = 450ms;  // two records of a quiet link, and still no silence

// The reply to the step behind CHALLENGE. `change` has changed HELLO the same way.
using ChangeInit = std::function<void(Init&)>;
std::optional<Init> handshake(Node& n, const ChangeInit& change) {
  Init hello = n.init(InitStep::kHello);
  change(hello);
  auto reply = reply_to_hello(n, hello);
  if (!reply || reply->step != InitStep::kChallenge) return reply;
  Init proof = n.init(InitStep::kAnswer);
  change(proof);
  proof.peer_instance = reply->instance;
  proof.echo = reply->nonce;
  n.send(proof);
  return n.await_init("a reply to the step behind CHALLENGE");
}

void add_refused(NodesGroup& group, const std::string& name, const std::string& what,
                 std::size_t port, ChangeInit change) {
  group
      .add(name, "P-PATH-8", what + " is refused with reason 4.",
           [port, change = std::move(change)](Nodes& nodes) {
             Node& n = nodes.at(port);
             const auto reply = handshake(n, change);
             if (!reply) return;
             n.expect(reply->step == InitStep::kRefuse && reply->reason == InitReason::kIdentity,
                      "REFUSE with reason identity");
           })
      .ends = port;
}

void add_terms(NodesGroup& group) {
  group
      .add("addresses", "P-PATH-5", "READY has the LIDs of the topology, at each port.",
           [](Nodes& nodes) {
             for (std::size_t port = 1; port <= nodes.count(); ++port) {
               Node& n = nodes.at(port);
               if (!n.link()) return;
               n.expect(n.target().lid == kSwitchLid, "the LID of the switch");
               n.expect(n.lid() == lid_at(port), "the LID of what is at the port");
             }
           })
      .ends = 3;
  group.add("port_number", "P-PATH-4", "CHALLENGE and READY have the number of the port.",
            [](Nodes& nodes) {
              Node& n = nodes.at(1);
              const auto challenge = reply_to_hello(n, n.init(InitStep::kHello));
              if (challenge) n.expect(challenge->port == 1, "port 1 in CHALLENGE");
              const auto ready = handshake(n, [](Init&) {});
              if (ready) n.expect(ready->port == 1, "port 1 in READY");
            });
  group.add("whole_crc", "P-INIT-20", "A switch keeps the payload CRC on: cells pass as they are.",
            [](Nodes& nodes) {
              Node& n = nodes.at(1);
              const auto ready = handshake(n, [](Init& init) {
                if (init.step == InitStep::kAnswer) init.payload_crc = fabric::PayloadCrc::kOmitted;
              });
              if (!ready || !n.expect(ready->step == InitStep::kReady, "READY")) return;
              n.expect(ready->payload_crc == fabric::PayloadCrc::kRequired, "byte 16 of READY 0");
            });
  group.add("node_port", "P-PATH-8", "A node is accepted at the port of a node.",
            [](Nodes& nodes) { nodes.at(1).link(); });
  group
      .add("cable", "P-PATH-8", "The neighbouring switch is accepted at its cable.",
           [](Nodes& nodes) {
             Node& n = nodes.at(kCablePort);
             if (!n.link()) return;
             n.expect(n.lid() == kNeighbourLid, "the LID of the neighbour");
             n.expect(n.target().lid == kSwitchLid, "the LID of the switch");
           })
      .ends = kCablePort;
}

void add_refusals(NodesGroup& group) {
  add_refused(group, "switch_at_a_node", "A switch at the port of a node", 1,
              [](Init& init) { init.port = 1; });
  add_refused(group, "node_at_a_cable", "A node at the port of a cable", kCablePort,
              [](Init& init) {
                init.port = 0;
                init.lid = {};
              });
  add_refused(group, "other_port_at_a_cable", "Another port than that of the cable", kCablePort,
              [](Init& init) { init.port = 2; });
  add_refused(group, "other_switch_at_a_cable", "Another switch at the port of a cable", kCablePort,
              [](Init& init) { init.lid = fabric::Lid(77); });
  group.add("link_after_a_refusal", "P-PATH-8", "Who was refused may link with the right number.",
            [](Nodes& nodes) {
              Node& n = nodes.at(1);
              const auto reply = handshake(n, [](Init& init) { init.port = 3; });
              if (reply) n.expect(reply->step == InitStep::kRefuse, "REFUSE");
              n.link();
            });
  group.add("challenge_is_not_longer", "P-INIT-6",
            "The reply to a HELLO is not longer than the HELLO.", [](Nodes& nodes) {
              Node& n = nodes.at(1);
              n.send(n.init(InitStep::kHello));
              const auto event = n.await(EventKind::kInit, "a reply to HELLO");
              if (event) {
                n.expect(event->datagram_bytes <= fabric::kFlitHeaderBytes + fabric::kInitBytes,
                         "a reply that is not longer");
              }
            });
}

void add_life(NodesGroup& group) {
  group.add("idle", "P-LINK-13", "A switch sends IDLE on a link on which nothing is sent.",
            [](Nodes& nodes) {
              Node& n = nodes.at(1);
              if (n.link()) expect_idle(n);
            });
  group.add("probe", "P-INIT-31", "A path probe gets a reply that echoes its nonce.",
            [](Nodes& nodes) {
              Node& n = nodes.at(1);
              if (n.link()) expect_probe_reply(n);
            });
  group
      .add("restarted_node", "P-INIT-8", "A node that was started again gets its cells.",
           [](Nodes& nodes) {
             if (!nodes.link()) return;
             Node& n = nodes.at(2);
             n.begin_instance(n.config().instance ^ 0x100);
             if (n.link()) nodes.expect_forwarded(1, 2, "a cell at the new process");
           })
      .ends = 2;
  group
      .add("plain_at_a_keyed_port", "P-KEY-3", "A keyed port is silent to a datagram of flits.",
           [](Nodes& nodes) {
             Node& n = nodes.at(1);
             if (!n.link()) return;
             std::array<std::byte, fabric::kInitBytes> payload{};
             fabric::emit_init(payload.data(), n.init(InitStep::kHello));
             ByteVector hello(fabric::kFlitHeaderBytes + payload.size());
             fabric::emit_flit(hello, {.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane},
                               payload);
             n.line().send_raw(hello);
             for (const base::Time until = n.now() + kPlainReply; n.is_good() && n.now() < until;) {
               const auto datagram = n.line().receive_raw(until);
               fabric::FlitView flit;
               n.expect(!datagram || fabric::parse_flit(*datagram, flit) != FlitError::kNone,
                        "no reply outside of a record");
             }
             n.ask(fabric::MgmtKind::kResolve, name_at(1), "RESOLVED in a record");
           })
      .links = Links::kKeyed;
}

}  // namespace

std::vector<Case> path_link_cases() {
  NodesGroup group("path");
  add_terms(group);
  add_refusals(group);
  add_life(group);
  return group.take();
}

}  // namespace splitnic::conformance
