// Connections, with a host as the target. docs/protocol/mgmt.md#connection
#include <algorithm>

#include "base/parse_message.h"
#include "conformance/case.h"
#include "conformance/cases/parts.h"
#include "conformance/cases/spacing.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"
#include "conformance/pools.h"
#include "messaging/connect.pb.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::MgmtReject;
using messaging::connect::Capabilities;

constexpr base::Duration kSettingsArrive = 5ms;  // for settings that are on the way
// 200 ms; the suite may have read the first late.
constexpr base::Duration kRequestRepeatMin = 100ms;
constexpr base::Duration kRequestRepeatMax = 400ms;
constexpr unsigned kRequests = 6;  // whose spacing is looked at

// The next CONNECT_REQ of the host, which no other case has seen.
std::optional<Event> next_request(Unit& u) {
  if (!u.await_link()) return {};
  return u.await_request();
}

ByteVector bytes_of(const Mgmt& mgmt) {
  ByteVector out(mgmt.bytes());
  fabric::emit_mgmt(out, mgmt);
  return out;
}

std::optional<Event> await_kind(Unit& u, MgmtKind kind, std::uint64_t transaction,
                                std::string_view expected) {
  return u.await_if(
      [=](const Event& e) {
        return e.kind == EventKind::kMgmt && e.mgmt.kind == kind &&
               e.mgmt.transaction == transaction;
      },
      expected);
}

void add_connect_requests(UnitGroup& group) {
  group.add("request_pairs", "P-CH-1",
            "CONNECT_REQ has an RC queue pair for each channel of its arrangement.", [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              unsigned channels = 0;
              for (const fabric::MgmtPair& pair : request->mgmt.used_pairs()) {
                if (pair.channel < 2) channels |= 1U << pair.channel;
                u.expect(pair.service == fabric::Service::kRc, "service RC in mode rdma");
                u.expect(pair.mcp >= 256, "an MCP of at least 256");
                u.expect(pair.receive_credits > 0, "receive credits");
              }
              const bool is_one = u.terms.channels == Terms::Channels::kOne;
              u.expect(request->mgmt.pair_count == (is_one ? 1 : 2) && channels == (is_one ? 1 : 3),
                       "channels 0 and 1, or channel 0 alone");
            });
  group.add("request_identity", "P-MGMT-4", "CONNECT_REQ has the identities of the link.",
            [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              const Mgmt ours = u.mgmt(MgmtKind::kConnectReq, 0);
              const Mgmt& theirs = request->mgmt;
              u.expect(theirs.eui64 == ours.peer_eui64 && theirs.instance == ours.peer_instance,
                       "EUI-64 and instance of the host's INIT");
              u.expect(theirs.peer_eui64 == ours.eui64 && theirs.peer_instance == ours.instance,
                       "our EUI-64 and instance");
            });
  group.add("request_cell", "P-MGMT-1", "MGMT is in an only cell with PSN and LCN 0.", [](Unit& u) {
    const auto request = next_request(u);
    if (!request) return;
    const fabric::MacHeader& h = request->header;
    u.expect(h.pos == fabric::Pos::kOnly && h.psn == fabric::Psn() && h.lcn == fabric::Lcn(),
             "pos only, PSN and LCN 0");
    u.expect(h.slid == u.target().lid && h.dlid == u.lid(), "the link addresses that READY had");
  });
  group.add("request_capabilities", "P-CH-4", "The capabilities in CONNECT_REQ are legal.",
            [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              Capabilities theirs;
              u.expect(base::parse_message(request->mgmt.private_data, theirs),
                       "capabilities that parse");
              u.expect(theirs.mode() == messaging::connect::MODE_RDMA, "mode rdma");
              u.expect(theirs.version_lowest() <= 1 && theirs.version_highest() >= 1, "version 1");
              u.expect(theirs.msg_max_size() >= 2, "MSG_MAX of both channels");
              for (const std::uint32_t max : theirs.msg_max()) {
                u.expect(max >= 256 && max <= 65536 && max % 4 == 0, "a legal MSG_MAX");
              }
            });
}

void add_attempts(UnitGroup& group) {
  group.add("request_repeated", "P-CM-2",
            "CONNECT_REQ is repeated with the same bytes, 200 ms apart.", [](Unit& u) {
              const auto first = next_request(u);
              if (!first) return;
              const base::Time at = u.now();
              const auto second = u.await_request("the same CONNECT_REQ once more");
              if (!second) return;
              u.expect(bytes_of(first->mgmt) == bytes_of(second->mgmt), "the same bytes");
              u.expect(u.now() - at >= kRequestRepeatMin, "200 ms between them");
              const auto spacing = median_spacing(u, kRequests, [&u] {
                return u.await_request("the same CONNECT_REQ once more").has_value();
              });
              if (!spacing) return;
              u.expect(*spacing <= kRequestRepeatMax, "200 ms between two, or twice that");
              if (u.connect()) expect_serving(u, "a connection that serves");
            });
  group.add(
      "fresh_numbers", "P-CM-7", "A new connection has other queue pair numbers.", [](Unit& u) {
        if (!u.attach()) return;
        const std::array before{u.channel(0).peer, u.channel(1).peer};
        u.leave();
        if (!u.connect()) return;
        for (const fabric::Qpn old : before) {
          u.expect(old == fabric::Qpn() || (u.channel(0).peer != old && u.channel(1).peer != old),
                   "no number of the connection before");
        }
      });
}

void add_replies(UnitGroup& group) {
  group.add("ready_to_use", "P-CM-5", "CONNECT_REP gets CONNECT_RTU, and the connection serves.",
            [](Unit& u) {
              if (!u.connect()) return;
              expect_serving(u, "a connection that serves");
              u.expect(u.rtus() > 0, "CONNECT_RTU");
            });
  group.add("reply_twice", "P-CM-5", "CONNECT_REP that comes twice changes nothing.", [](Unit& u) {
    const auto request = next_request(u);
    if (!request) return;
    const Mgmt reply = u.reply_of(request->mgmt);
    const ByteVector bytes = bytes_of(reply);
    if (!u.accept(request->mgmt, reply) || !advertise(u)) return;
    u.await_cfg(messaging::CfgCode::kStart, 0, {});
    u.listen(kSettingsArrive);
    u.send_mgmt(bytes);
    expect_ignored(u, "a connection that serves");
  });
  group.add("pairs_in_any_order", "P-CM-4", "The pairs of CONNECT_REP may come in any order.",
            [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              if (!has_two_channels(u)) return;
              Mgmt reply = u.reply_of(request->mgmt);
              std::swap(reply.pairs[0], reply.pairs[1]);
              if (!u.accept(request->mgmt, reply) || !advertise(u)) return;
              expect_serving(u, "a connection that serves");
            });
  group.add("usable_after_pools", "P-CH-12",
            "A host requests nothing before the unit has advertised a pool.", [](Unit& u) {
              const auto request = next_request(u);
              if (!request || !u.accept(request->mgmt, u.reply_of(request->mgmt))) return;
              u.listen(kRequestRepeatMin);
              u.expect(u.requests().empty(), "no CfgUtilRequest before a pool");
              if (advertise(u)) expect_serving(u, "a connection that serves");
            });
  group.add("short_cells_agreed", "P-CM-6", "The MCP of CONNECT_REP holds for the host's cells.",
            [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              Mgmt reply = u.reply_of(request->mgmt);
              reply.pairs[0].mcp = reply.pairs[1].mcp = 256;
              if (!u.accept(request->mgmt, reply)) return;
              u.channel(0).mcp = u.channel(1).mcp = 256;
              if (!advertise(u)) return;
              const auto context = u.next_context();
              send_message(u, echo_message(context, 1000));
              const auto event = u.await_if(
                  [context](const Event& e) {
                    return e.kind == EventKind::kMessage && e.message.context == context;
                  },
                  "a reply to ECHO");
              if (event) u.expect(event->cell_payload_max == 256, "cells of 256 bytes");
            });
  group.add("no_name_of_the_unit", "P-CH-2", "Fields that are missing or unknown are no error.",
            [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              Capabilities ours;
              ours.ParseFromString(capabilities_of(u.terms));
              ours.clear_node_name();
              const std::string text = ours.SerializeAsString() + "\xF8\x7F\x05";
              if (u.accept(request->mgmt, u.reply_of(request->mgmt, text)) && advertise(u))
                expect_serving(u, "a connection that serves");
            });
}

// A CONNECT_REP that does not suit: the host ends the attempt with DISC, and begins another.
using ChangeReply = std::function<void(Unit& u, Mgmt& reply, Capabilities& ours)>;
void add_bad_reply(UnitGroup& group, const std::string& name, const std::string& clause,
                   const std::string& what, ChangeReply change) {
  group.add_harmful(name, clause, "A CONNECT_REP with " + what + " does not suit: DISC.",
                    [change = std::move(change)](Unit& u) {
                      const auto request = next_request(u);
                      if (!request) return;
                      Capabilities ours;
                      ours.ParseFromString(capabilities_of(u.terms));
                      Mgmt reply = u.reply_of(request->mgmt);
                      change(u, reply, ours);
                      const std::string text = ours.SerializeAsString();
                      reply.private_data = base::as_bytes(text);
                      u.send(reply);
                      await_kind(u, MgmtKind::kDisc, request->mgmt.transaction,
                                 "DISC of the attempt");
                    });
}

void add_bad_connect_replies(UnitGroup& group) {
  add_bad_reply(group, "reply_of_one_pair", "P-CH-1", "one queue pair",
                [](Unit& u, Mgmt& m, Capabilities&) {
                  if (has_two_channels(u)) m.pair_count = 1;
                });
  add_bad_reply(group, "reply_of_uc", "P-CH-1", "UC in mode rdma",
                [](Unit&, Mgmt& m, Capabilities&) {
                  m.pairs[0].service = m.pairs[1].service = fabric::Service::kUc;
                });
  add_bad_reply(group, "reply_other_mode", "P-CH-3", "another mode",
                [](Unit&, Mgmt&, Capabilities& c) { c.set_mode(messaging::connect::MODE_SEND); });
  add_bad_reply(group, "reply_no_mode", "P-CH-3", "no mode",
                [](Unit&, Mgmt&, Capabilities& c) { c.clear_mode(); });
  add_bad_reply(group, "reply_later_version", "P-CH-4", "later versions only",
                [](Unit&, Mgmt&, Capabilities& c) {
                  c.set_version_lowest(2);
                  c.set_version_highest(3);
                });
  add_bad_reply(group, "reply_no_msg_max", "P-CH-4", "no MSG_MAX",
                [](Unit&, Mgmt&, Capabilities& c) { c.clear_msg_max(); });
  for (const std::uint32_t bytes : {0U, 252U, 258U, 65540U}) {
    add_bad_reply(group, "reply_msg_max_" + std::to_string(bytes), "P-CH-4",
                  "a MSG_MAX of " + std::to_string(bytes),
                  [bytes](Unit&, Mgmt&, Capabilities& c) { c.set_msg_max(0, bytes); });
  }
  group.add_harmful(
      "reply_garbage", "P-CH-4",
      "A CONNECT_REP with capabilities that do not parse does not suit: DISC.", [](Unit& u) {
        const auto request = next_request(u);
        if (!request) return;
        u.send(u.reply_of(request->mgmt, "\xFF\xFF\xFF\xFF\xFF"));
        await_kind(u, MgmtKind::kDisc, request->mgmt.transaction, "DISC of the attempt");
      });
}

// Bytes from `at` on of a CONNECT_REP are others: it is dropped, and CONNECT_REQ comes again.
using ChangeBytes = std::function<void(ByteVector& payload)>;
void add_dropped_reply(UnitGroup& group, const std::string& name, const std::string& clause,
                       const std::string& what, ChangeBytes change) {
  group.add(name, clause, "A CONNECT_REP with " + what + " is dropped.",
            [change = std::move(change)](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              const Mgmt good = u.reply_of(request->mgmt);
              ByteVector payload = bytes_of(good);
              change(payload);
              u.send_mgmt(payload);
              const auto again = u.await_request("CONNECT_REQ once more");
              if (!again) return;
              u.expect(again->mgmt.transaction == request->mgmt.transaction,
                       "the transaction of before");
              u.expect(u.rtus() == 0, "no CONNECT_RTU");
              if (u.accept(request->mgmt, good) && advertise(u)) {
                expect_serving(u, "a connection that serves");
              }
            });
}

ChangeBytes reply_bytes_at(std::size_t at, std::vector<std::uint8_t> bytes) {
  return [at, bytes = std::move(bytes)](ByteVector& payload) {
    for (std::size_t i = 0; i < bytes.size(); ++i) payload.at(at + i) ^= std::byte{bytes[i]};
  };
}

void add_dropped_replies(UnitGroup& group) {
  add_dropped_reply(group, "reply_other_transaction", "P-CM-1", "another transaction",
                    reply_bytes_at(8, {1}));
  add_dropped_reply(group, "reply_other_unit", "P-MGMT-4", "the EUI-64 of another unit",
                    reply_bytes_at(16, {1}));
  add_dropped_reply(group, "reply_other_instance", "P-MGMT-4", "the instance of another process",
                    reply_bytes_at(24, {1}));
  add_dropped_reply(group, "reply_for_another", "P-MGMT-4", "the EUI-64 of another host",
                    reply_bytes_at(32, {1}));
  add_dropped_reply(group, "reply_for_another_instance", "P-MGMT-4",
                    "the instance of a host before", reply_bytes_at(40, {1}));
  add_dropped_reply(group, "reply_other_format", "P-MGMT-3", "another format",
                    reply_bytes_at(0, {3}));
  add_dropped_reply(group, "reply_unknown_kind", "P-MGMT-3", "a kind that is not known",
                    reply_bytes_at(1, {0x40}));
  add_dropped_reply(group, "reply_resolve", "P-CM-17", "the kind RESOLVE", reply_bytes_at(1, {5}));
  add_dropped_reply(group, "reply_resolved", "P-CM-17", "the kind RESOLVED",
                    reply_bytes_at(1, {10}));
  add_dropped_reply(group, "reply_odd_mcp", "P-MGMT-3", "an MCP that is no multiple of 4",
                    reply_bytes_at(48 + 19, {2}));
  add_dropped_reply(group, "reply_with_more", "P-MGMT-3", "bytes behind what it counts",
                    [](ByteVector& payload) { payload.resize(payload.size() + 4); });
  add_dropped_reply(group, "reply_cut_off", "P-MGMT-3", "a queue pair that is cut off",
                    [](ByteVector& payload) { payload.resize(100); });
}

void add_rejections(UnitGroup& group) {
  for (const auto code : {MgmtReject::kUnknownPeer, MgmtReject::kBadParameter,
                          MgmtReject::kNoResources, MgmtReject::kRefused, MgmtReject::kStale}) {
    group.add("rejected_" + std::to_string(static_cast<unsigned>(code)), "P-CM-1,P-CM-15",
              "After CONNECT_REJ " + std::string(name(code)) +
                  " the host tries again with a new transaction.",
              [code](Unit& u) {
                const auto request = next_request(u);
                if (!request) return;
                u.reject(request->mgmt, code, "no");
                u.inbox().forget();
                const auto next = u.await_request("another CONNECT_REQ");
                if (!next) return;
                u.expect(next->mgmt.transaction != request->mgmt.transaction, "a new transaction");
                // A connection, so that the next wait is short again.
                if (u.accept(next->mgmt, u.reply_of(next->mgmt)) && advertise(u)) {
                  expect_serving(u, "a connection that serves");
                }
              });
  }
  group.add("rejected_with_garbage", "P-CM-10",
            "The text of CONNECT_REJ may be anything: the host tries again.", [](Unit& u) {
              const auto request = next_request(u);
              if (!request) return;
              u.reject(request->mgmt, MgmtReject::kRefused, std::string(512, '\x1B'));
              u.inbox().forget();
              if (u.connect()) expect_serving(u, "a connection that serves");
            });
  group.add(
      "rejected_another", "P-CM-1", "CONNECT_REJ of another transaction is dropped.", [](Unit& u) {
        const auto request = next_request(u);
        if (!request) return;
        Mgmt other = request->mgmt;
        other.transaction ^= 1;
        u.reject(other, MgmtReject::kRefused);
        const auto again = u.await_request("the same CONNECT_REQ once more");
        if (!again) return;
        u.expect(again->mgmt.transaction == request->mgmt.transaction, "the transaction of before");
      });
  group.add("rejected_when_up", "P-CM-1", "CONNECT_REJ of a connection that is up is dropped.",
            [](Unit& u) {
              if (!u.attach()) return;
              Mgmt reject = u.mgmt(MgmtKind::kConnectRej, u.transaction());
              reject.reject = MgmtReject::kStale;
              u.send(reject);
              expect_ignored(u, "a connection that stays");
            });
}

void add_host_ends(UnitGroup& group) {
  group.add("disconnected", "P-CM-11,P-CM-1",
            "DISC gets DISC_REP, and the next connection has a new transaction.", [](Unit& u) {
              if (!u.attach()) return;
              u.send(u.mgmt(MgmtKind::kDisc, u.transaction()));
              if (!await_kind(u, MgmtKind::kDiscRep, u.transaction(), "DISC_REP")) return;
              const auto next = u.await_request("another CONNECT_REQ");
              if (!next) return;
              u.expect(next->mgmt.transaction != u.transaction(), "a new transaction");
            });
  group.add("disc_of_another", "P-CM-11", "DISC of an unknown transaction gets DISC_REP too.",
            [](Unit& u) {
              if (!u.attach()) return;
              const std::uint64_t other = u.random().next();
              u.send(u.mgmt(MgmtKind::kDisc, other));
              if (!await_kind(u, MgmtKind::kDiscRep, other, "DISC_REP")) return;
              expect_ignored(u, "a connection that stays");
            });
  group.add("stray_to_a_host", "P-CM-1", "DISC_REP and CONNECT_RTU of nothing are dropped.",
            [](Unit& u) {
              if (!u.attach()) return;
              u.send(u.mgmt(MgmtKind::kDiscRep, u.transaction()));
              u.send(u.mgmt(MgmtKind::kConnectRtu, u.transaction()));
              u.send(u.mgmt(MgmtKind::kConnectRtu, u.random().next()));
              expect_ignored(u, "a connection that stays");
            });
}

}  // namespace

std::vector<Case> host_connection_cases() {
  UnitGroup group("cm");
  add_connect_requests(group);
  add_attempts(group);
  add_replies(group);
  add_bad_connect_replies(group);
  add_dropped_replies(group);
  add_rejections(group);
  add_host_ends(group);
  return group.take();
}

}  // namespace splitnic::conformance
