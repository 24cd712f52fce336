// Connections and capabilities. docs/protocol/mgmt.md, docs/protocol/channels.md#capabilities
#include <algorithm>

#include "base/parse_message.h"
#include "conformance/case.h"
#include "conformance/cases/connect_parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "messaging/cfgutil/cfgutil.pb.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {
namespace {

using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::MgmtReject;
using messaging::connect::Capabilities;

// A CONNECT_REQ as bytes, of which some are changed: it gets no reply, and a good one does.
using ChangeBytes = std::function<void(ByteVector&)>;
void add_dropped_request(Group& group, const std::string& name, const std::string& clause,
                         const std::string& what, ChangeBytes change) {
  group.add(name, clause, "A CONNECT_REQ with " + what + " is dropped.",
            [change = std::move(change)](Host& h) {
              if (!h.link()) return;
              const Mgmt request = h.request(capabilities_of(h.terms));
              ByteVector payload(request.bytes());
              fabric::emit_mgmt(payload, request);
              change(payload);
              h.send_mgmt(payload);
              // DISC of a transaction that is not known gets a reply in any state.
              const std::uint64_t fence = h.random().next();
              h.send(h.mgmt(MgmtKind::kDisc, fence));
              await_mgmt(h, MgmtKind::kDiscRep, fence);
            });
}

ChangeBytes bytes_at(std::size_t at, const std::vector<std::uint8_t>& bytes) {
  return [=](ByteVector& payload) {
    for (std::size_t i = 0; i < bytes.size(); ++i) payload.at(at + i) = std::byte{bytes[i]};
  };
}

// Changes a byte whatever it holds: the EUI-64 of a key and the numbers of instances are random.
ChangeBytes other_byte_at(std::size_t at) {
  return [at](ByteVector& payload) { payload.at(at) ^= std::byte{0x55}; };
}

void add_replies(Group& group) {
  group.add(
      "reply", "P-CM-4,P-PART-5,P-CM-16", "A CONNECT_REQ gets a CONNECT_REP with both channels.",
      [](Host& h) {
        if (!h.link()) return;
        Mgmt request = h.request(capabilities_of(h.terms));
        const auto reply = ask(h, request, MgmtKind::kConnectRep);
        if (!reply || !h.adopt(*reply)) return;
        h.expect(reply->eui64 == h.target().eui64 && reply->instance == h.target().instance,
                 "the identity of INIT in CONNECT_REP");
        h.expect(reply->peer_eui64 == request.eui64 && reply->peer_instance == request.instance,
                 "our identity as the receiver's");
        for (const fabric::MgmtPair& pair : reply->used_pairs()) {
          h.expect(pair.service == fabric::Service::kRc, "service RC in mode rdma");
          h.expect(pair.mcp <= request.pairs[0].mcp, "an MCP that is not above ours");
          h.expect(pair.receive_credits > 0, "receive credits");
        }
        Capabilities theirs;
        h.expect(base::parse_message(reply->private_data, theirs), "capabilities that parse");
        h.expect(theirs.mode() == messaging::connect::MODE_RDMA, "the mode that we have named");
        h.expect(theirs.version_lowest() <= 1 && theirs.version_highest() >= 1, "version 1");
        h.expect(theirs.msg_max_size() >= 2, "MSG_MAX of both channels");
        h.expect(std::ranges::none_of(h.inbox().events(),
                                      [](const Event& e) {
                                        return e.kind == EventKind::kCell &&
                                               (e.header.op == fabric::Op::kAck ||
                                                e.header.op == fabric::Op::kNak);
                                      }),
                 "no acknowledgement of MGMT");
      });
  group.add("serves_before_rtu", "P-CM-5,P-RC-2",
            "The passive side serves from its CONNECT_REP on.", [](Host& h) {
              if (!h.link()) return;
              Mgmt request = h.request(capabilities_of(h.terms));
              const auto reply = ask(h, request, MgmtKind::kConnectRep);
              if (reply && h.adopt(*reply)) expect_serving(h, "a connection that serves");
            });
  group.add("repeated", "P-CM-3", "A repeated CONNECT_REQ gets the same CONNECT_REP.", [](Host& h) {
    if (!h.link()) return;
    Mgmt request = h.request(capabilities_of(h.terms));
    const auto first = ask(h, request, MgmtKind::kConnectRep);
    const auto second = ask(h, request, MgmtKind::kConnectRep);
    if (!first || !second) return;
    ByteVector bytes(first->bytes()), again(second->bytes());
    fabric::emit_mgmt(bytes, *first);
    fabric::emit_mgmt(again, *second);
    h.expect(bytes == again, "the bytes of the first CONNECT_REP");
    if (h.adopt(*second)) expect_serving(h, "a connection that serves");
  });
}

void add_ends(Group& group) {
  group.add("second_ends_the_first", "P-CM-13",
            "A host has one connection: another one ends the first.", [](Host& h) {
              if (!h.attach()) return;
              const Channel before = h.channel(0);
              if (!h.connect()) return;
              fabric::CellHead old = h.cell(0, fabric::Op::kSend, fabric::Pos::kOnly);
              old.header.dqpn = before.peer;
              old.header.sqpn = before.own;
              old.header.psn = before.psn;
              old.header.lcn = before.lcn;
              h.inbox().forget();
              h.send_cell(make_cell(h, old, echo_message(h.next_context(), 8)));
              expect_serving(h, "the second connection that serves");
              // Neither an ACK nor a reply; the queue pair is none of this connection.
              h.expect(std::ranges::none_of(h.inbox().events(),
                                            [&](const Event& e) {
                                              return e.kind == EventKind::kCell &&
                                                     e.header.dqpn == before.own;
                                            }),
                       "no cell on the first connection");
            });
  group.add("disc", "P-CM-11", "DISC gets DISC_REP, and the queue pairs end.", [](Host& h) {
    if (!h.attach()) return;
    h.send(h.mgmt(MgmtKind::kDisc, h.transaction()));
    await_mgmt(h, MgmtKind::kDiscRep, h.transaction());
    h.listen(std::chrono::milliseconds(5));  // an ACK of before may be on another lane
    h.inbox().forget();
    h.send_cell(next_echo(h, h.next_context()));
    const std::uint64_t fence = h.random().next();
    h.send(h.mgmt(MgmtKind::kDisc, fence));
    await_mgmt(h, MgmtKind::kDiscRep, fence);
    h.expect(h.inbox().waiting(EventKind::kAck) == 0, "no ACK on a queue pair that has ended");
  });
  group.add("disc_repeated", "P-CM-11", "A repeated DISC gets DISC_REP too.", [](Host& h) {
    if (!h.attach()) return;
    for (int i = 0; i < 2; ++i) {
      h.send(h.mgmt(MgmtKind::kDisc, h.transaction()));
      await_mgmt(h, MgmtKind::kDiscRep, h.transaction());
    }
  });
  for (const auto& [what, kind] : {std::pair{"rep", MgmtKind::kConnectRep},
                                   {"rtu", MgmtKind::kConnectRtu},
                                   {"rej", MgmtKind::kConnectRej},
                                   {"disc_rep", MgmtKind::kDiscRep}}) {
    Case& stray_case =
        group.add("stray_" + std::string(what), "P-CM-1",
                  "A " + std::string(fabric::name(kind)) + " of no transaction is dropped.",
                  [kind = kind](Host& h) {
                    if (!h.attach()) return;
                    Mgmt stray = h.mgmt(kind, h.random().next());
                    if (kind == MgmtKind::kConnectRej) stray.reject = MgmtReject::kRefused;
                    if (kind == MgmtKind::kConnectRep) {
                      stray.pair_count = 1;
                      stray.pairs[0].qpn = fabric::Qpn(7);
                      stray.pairs[0].mcp = 256;
                    }
                    h.send(stray);
                    expect_ignored(h, "a stray message that is dropped");
                  });
    stray_case.level = Level::kRobustness;
  }
}

void add_all_dropped(Group& group) {
  add_dropped_request(group, "format", "P-MGMT-3", "another format", bytes_at(0, {2}));
  add_dropped_request(group, "kind_zero", "P-MGMT-3", "kind 0", bytes_at(1, {0}));
  add_dropped_request(group, "kind_unknown", "P-MGMT-3", "a kind that is not known",
                      bytes_at(1, {0x42}));
  add_dropped_request(group, "no_pairs", "P-MGMT-3", "no queue pair", [](ByteVector& payload) {
    payload[2] = std::byte{0};
    payload.erase(payload.begin() + 48, payload.begin() + 112);
  });
  add_dropped_request(group, "five_pairs", "P-MGMT-3", "five queue pairs", [](ByteVector& payload) {
    const ByteVector pair(payload.begin() + 48, payload.begin() + 80);
    payload[2] = std::byte{5};
    for (int i = 0; i < 3; ++i) payload.insert(payload.begin() + 48, pair.begin(), pair.end());
  });
  add_dropped_request(group, "pair_cut_off", "P-MGMT-3", "a queue pair that is cut off",
                      [](ByteVector& payload) { payload.resize(100); });
  add_dropped_request(group, "too_short", "P-MGMT-3", "a fixed part that is cut off",
                      [](ByteVector& payload) { payload.resize(44); });
  add_dropped_request(group, "more_than_counted", "P-MGMT-3", "bytes behind what it counts",
                      [](ByteVector& payload) { payload.resize(payload.size() + 4); });
  add_dropped_request(group, "private_too_long", "P-MGMT-3", "513 bytes of private data",
                      [](ByteVector& payload) {
                        payload.resize(48 + 64 + 513);
                        base::store_be(&payload[6], std::uint16_t{513});
                      });
  add_dropped_request(group, "reject_code", "P-MGMT-3", "a reject code", bytes_at(4, {0, 4}));
  add_dropped_request(group, "same_channel_twice", "P-MGMT-3", "two queue pairs of one channel",
                      bytes_at(48 + 32, {0}));
  add_dropped_request(group, "service_unknown", "P-MGMT-3", "a service that is none",
                      bytes_at(49, {9}));
  add_dropped_request(group, "qpn_zero", "P-MGMT-3", "the queue pair number 0",
                      bytes_at(52, {0, 0, 0, 0}));
  add_dropped_request(group, "mcp_zero", "P-MGMT-3", "an MCP of 0", bytes_at(48 + 18, {0, 0}));
  add_dropped_request(group, "mcp_odd", "P-MGMT-3", "an MCP that is no multiple of 4",
                      bytes_at(48 + 18, {1, 2}));
  add_dropped_request(group, "other_eui64", "P-MGMT-4", "the EUI-64 of another host",
                      other_byte_at(16));
  add_dropped_request(group, "other_instance", "P-MGMT-4", "the instance of another process",
                      other_byte_at(24));
  add_dropped_request(group, "other_target", "P-MGMT-4", "the EUI-64 of another target",
                      other_byte_at(32));
  add_dropped_request(group, "other_target_instance", "P-MGMT-4", "the instance of a target before",
                      other_byte_at(40));
}

// A target that does not have an arrangement refuses it, or the number of queue pairs.
void expect_no_arrangement(Host& h, const Mgmt& reply) {
  h.expect(reply.reject == MgmtReject::kRefused || reply.reject == MgmtReject::kBadParameter,
           "the code refused or bad parameter");
}

// The reply to a CONNECT_REQ with one channel: it is taken as it is, or refused.
void connect_one_channel(Host& h) {
  if (!h.link()) return;
  Mgmt request = changed_request(h, [](Host&, Mgmt& m, Capabilities& c) {
    m.pair_count = 1;
    c.set_channels(messaging::connect::CHANNELS_ONE);
  });
  const auto event = h.ask(request);
  if (!event) return;
  const Mgmt& reply = event->mgmt;
  if (reply.kind == MgmtKind::kConnectRej) return expect_no_arrangement(h, reply);
  if (!h.expect(reply.kind == MgmtKind::kConnectRep, "CONNECT_REP or CONNECT_REJ")) return;
  Capabilities theirs;
  base::parse_message(reply.private_data, theirs);
  h.expect(reply.pair_count == 1 && reply.pairs[0].channel == 0, "channel 0 alone");
  h.expect(theirs.channels() == messaging::connect::CHANNELS_ONE, "the arrangement of the request");
}

void connect_second_channel(Host& h) {
  using namespace messaging::connect;
  if (!h.link()) return;
  Mgmt request = changed_request(h, [](Host&, Mgmt& m, Capabilities& c) {
    m.pairs[0].service = fabric::Service::kUc;
    m.pairs[0].channel = 1;
    m.pair_count = 1;
    c.set_mode(MODE_SEND);
    c.set_channels(CHANNELS_SEPARATE);
    c.set_channel(1);
  });
  const auto reply = ask(h, request, MgmtKind::kConnectRej);
  if (reply) expect_no_arrangement(h, *reply);
}

void add_arrangements(Group& group) {
  using namespace messaging::connect;
  const auto refused = MgmtReject::kRefused;
  group.add("one_channel", "P-CH-18", "One channel is taken and repeated, or refused.",
            connect_one_channel);
  add_refused_request(
      group, "channels_unknown", "P-CH-18", "an arrangement that does not exist", refused,
      [](Host&, Mgmt&, Capabilities& c) { c.set_channels(static_cast<Channels>(7)); });
  add_refused_request(group, "separate_in_rdma", "P-CH-18", "separate connections in mode rdma",
                      refused,
                      [](Host&, Mgmt&, Capabilities& c) { c.set_channels(CHANNELS_SEPARATE); });
  group.add("second_channel_alone", "P-CH-20",
            "A CONNECT_REQ with channel 1 of separate connections without the first is refused.",
            connect_second_channel);
}

void add_capabilities(Group& group) {
  const auto refused = MgmtReject::kRefused;
  add_refused_request(group, "one_pair", "P-CH-1", "one queue pair only", MgmtReject::kBadParameter,
                      [](Host&, Mgmt& m, Capabilities&) { m.pair_count = 1; });
  add_refused_request(group, "uc_in_rdma", "P-CH-1", "UC in mode rdma", MgmtReject::kBadParameter,
                      [](Host&, Mgmt& m, Capabilities&) {
                        m.pairs[0].service = m.pairs[1].service = fabric::Service::kUc;
                      });
  add_refused_request(group, "short_cells", "P-CM-6", "an MCP below 256", MgmtReject::kBadParameter,
                      [](Host&, Mgmt& m, Capabilities&) { m.pairs[0].mcp = 64; })
      .level = Level::kShould;
  add_refused_request(group, "no_mode", "P-CH-3", "no mode", refused,
                      [](Host&, Mgmt&, Capabilities& c) { c.clear_mode(); });
  add_refused_request(group, "later_version", "P-CH-4", "a later version of the messages only",
                      refused, [](Host&, Mgmt&, Capabilities& c) {
                        c.set_version_lowest(2);
                        c.set_version_highest(3);
                      });
  add_refused_request(group, "no_msg_max", "P-CH-4", "no MSG_MAX", refused,
                      [](Host&, Mgmt&, Capabilities& c) { c.clear_msg_max(); });
  for (const std::uint32_t bytes : {0U, 252U, 258U, 65540U}) {
    add_refused_request(group, "msg_max_" + std::to_string(bytes), "P-CH-4",
                        "a MSG_MAX of " + std::to_string(bytes), refused,
                        [bytes](Host&, Mgmt&, Capabilities& c) { c.set_msg_max(0, bytes); });
  }
  add_refused_request(group, "nic_unknown", "P-CH-15", "the number of a NIC that does not exist",
                      refused, [](Host&, Mgmt&, Capabilities& c) { c.set_nic(99); });
  add_refused_request(group, "queue_without_first", "P-CH-14",
                      "an additional queue of no connection", refused,
                      [](Host&, Mgmt&, Capabilities& c) {
                        c.set_queues(2);
                        c.set_queue(1);
                      });
  add_arrangements(group);
}

void add_agreements(Group& group) {
  group.add("garbage_capabilities", "P-CH-4",
            "A CONNECT_REQ with capabilities that do not parse is refused.", [](Host& h) {
              if (!h.link()) return;
              Mgmt request = h.request("\xFF\xFF\xFF\xFF\xFF");
              const auto reply = ask(h, request, MgmtKind::kConnectRej);
              if (reply) h.expect(reply->reject == MgmtReject::kRefused, "the code refused");
            });
  add_accepted_request(group, "channels_in_any_order", "P-CM-4",
                       "The queue pairs of the channels may come in any order.",
                       [](Host&, Mgmt& m, Capabilities&) { std::swap(m.pairs[0], m.pairs[1]); });
  add_accepted_request(group, "wide_versions", "P-CH-4",
                       "A range of versions that holds version 1 is accepted.",
                       [](Host&, Mgmt&, Capabilities& c) { c.set_version_highest(9); });
  add_accepted_request(group, "no_name", "P-CH-2", "A node name is not needed.",
                       [](Host&, Mgmt&, Capabilities& c) { c.clear_node_name(); });
  add_accepted_request(
      group, "completed_msn", "P-MGMT-6", "A completed MSN in CONNECT_REQ is ignored.",
      [](Host&, Mgmt& m, Capabilities&) { m.pairs[0].completed = fabric::Msn(5); });
  group.add("unknown_capability", "P-CH-2",
            "A field of the capabilities that is not known is skipped.", [](Host& h) {
              if (!h.link()) return;
              Mgmt request = h.request(capabilities_of(h.terms) + "\xF8\x7F\x05");
              const auto reply = ask(h, request, MgmtKind::kConnectRep);
              if (reply && h.adopt(*reply)) expect_serving(h, "a connection that serves");
            });
  group.add("smaller_mcp", "P-CM-6", "The smaller MCP of both sides holds for both.", [](Host& h) {
    if (!h.link()) return;
    Mgmt request = h.request(capabilities_of(h.terms));
    request.pairs[0].mcp = request.pairs[1].mcp = 256;
    const auto reply = ask(h, request, MgmtKind::kConnectRep);
    if (!reply || !h.adopt(*reply)) return;
    h.channel(0).mcp = h.channel(1).mcp = 256;
    const auto context = h.next_context();
    const ByteVector message = echo_message(context, 1000);
    if (!can_send(h, message.size())) return;
    send_message(h, message);
    const auto event = h.await_if(
        [context](const Event& e) {
          return e.kind == EventKind::kMessage && e.message.context == context;
        },
        "a reply to ECHO");
    if (event) h.expect(event->cell_payload_max == 256, "cells of 256 bytes from the target");
  });
  group.add("smaller_msg_max", "P-CH-5", "The smaller MSG_MAX of both sides holds for both.",
            [](Host& h) {
              if (!h.link()) return;
              Mgmt request = changed_request(
                  h, [](Host&, Mgmt&, Capabilities& mine) { mine.set_msg_max(0, 256); });
              const auto reply = ask(h, request, MgmtKind::kConnectRep);
              if (!reply || !h.adopt(*reply)) return;
              const auto stats = request_cfg(h, messaging::CfgCode::kGetStats, {});
              if (stats) h.expect(stats->data.size() + 24 <= 256, "a reply of at most 256 bytes");
            });
  group.add("short_stats", "P-CFG-28", "GET_STATS has the counters that fit MSG_MAX.", [](Host& h) {
    if (!h.link()) return;
    Mgmt request =
        changed_request(h, [](Host&, Mgmt&, Capabilities& mine) { mine.set_msg_max(0, 256); });
    const auto reply = ask(h, request, MgmtKind::kConnectRep);
    if (!reply || !h.adopt(*reply)) return;
    messaging::cfg::GetStatsReply stats;
    const auto got = expect_status(h, messaging::CfgCode::kGetStats, {}, messaging::CfgStatus::kOk);
    if (read(h, got, stats)) h.expect(stats.counters_size() > 0, "counters");
  });
}

}  // namespace

std::vector<Case> connection_cases() {
  Group group("cm");
  add_replies(group);
  add_ends(group);
  add_all_dropped(group);
  add_capabilities(group);
  add_agreements(group);
  return group.take();
}

}  // namespace splitnic::conformance
