// INIT and the link. docs/protocol/init.md#init
#include <array>

#include "conformance/case.h"
#include "conformance/cases/link_parts.h"
#include "conformance/cells.h"
#include "conformance/expectations.h"
#include "conformance/messages.h"

namespace splitnic::conformance {
namespace {

using namespace std::chrono_literals;
using fabric::Init;
using fabric::InitReason;
using fabric::InitStep;

ByteVector init_flit(const Init& init, std::uint8_t ctl = 0) {
  std::array<std::byte, fabric::kInitBytes> payload{};
  fabric::emit_init(payload.data(), init);
  ByteVector datagram(fabric::kFlitHeaderBytes + payload.size());
  fabric::emit_flit(
      datagram, {.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane, .ctl = ctl}, payload);
  return datagram;
}

std::optional<Init> hello(Host& h) { return reply_to_hello(h, h.init(InitStep::kHello)); }

void expect_refused(Host& h, const Init& wrong, InitReason reason) {
  h.send(wrong);
  const auto reply = h.await_init("REFUSE");
  if (!reply) return;
  h.expect(reply->step == InitStep::kRefuse && reply->reason == reason,
           "REFUSE with reason " + std::string(name(reason)));
  h.expect(reply->echo == wrong.nonce, "REFUSE that echoes the nonce");
}

// A HELLO of which `at` has other bytes: it gets no reply.
void add_bad_hello(Group& group, const std::string& name, const std::string& what, std::size_t at,
                   const std::vector<std::uint8_t>& bytes,
                   std::optional<fabric::LinkProfile> profile = {}) {
  group.add(name, "P-INIT-2", "A HELLO with " + what + " is dropped.", [=](Host& h) {
    if (profile && h.config().profile != *profile) return h.outcome().skip("of another profile");
    std::array<std::byte, fabric::kInitBytes> payload{};
    fabric::emit_init(payload.data(), h.init(InitStep::kHello));
    for (std::size_t i = 0; i < bytes.size(); ++i) payload.at(at + i) = std::byte{bytes[i]};
    h.send_flit({.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane}, payload);
    h.expect_no_init("no reply to a HELLO that is not valid");
  });
}

void add_handshake(Group& group) {
  group.add("hello_gets_challenge", "P-INIT-5,P-INIT-35,P-GEN-2",
            "A HELLO of an instance that is not known gets a CHALLENGE that echoes its nonce.",
            [](Host& h) {
              const auto reply = hello(h);
              if (!reply) return;
              h.expect(reply->step == InitStep::kChallenge, "CHALLENGE");
              h.expect(reply->peer_instance == h.config().instance, "our instance in CHALLENGE");
              h.expect(reply->eui64 != fabric::Eui64() && reply->eui64 != h.config().eui64,
                       "an EUI-64 that is the target's own");
            });
  group.add("reply_is_not_longer", "P-INIT-6,P-SEC-3",
            "The reply to a HELLO is not longer than the HELLO.", [](Host& h) {
              h.send(h.init(InitStep::kHello));
              const auto reply = h.await(EventKind::kInit, "a reply to HELLO");
              if (reply) {
                h.expect(reply->datagram_bytes <= fabric::kFlitHeaderBytes + fabric::kInitBytes,
                         "a reply of at most 88 bytes");
              }
            });
  group.add("proof_gets_ready", "P-INIT-8",
            "The step that echoes the token gets READY, with the link addresses of both ends.",
            [](Host& h) { h.link(); });
  group.add("terms_of_ready", "P-INIT-9", "READY has the profile of the link and a usable MCP.",
            [](Host& h) {
              if (!h.link()) return;
              const auto ready = hello(h);
              if (!ready) return;
              h.expect(ready->profile == h.config().profile, "the profile of our HELLO");
              h.expect(ready->mcp_max >= 256, "an MCP of at least 256");
              h.expect(ready->payload_crc == fabric::PayloadCrc::kRequired || h.line().is_keyed() ||
                           h.config().crc_head_only,
                       "a CRC over the whole cell, as we have required");
            });
  group.add("known_hello_gets_ready", "P-INIT-10",
            "A HELLO of an instance that is known at this address gets READY at once.",
            [](Host& h) {
              if (!h.link()) return;
              const auto reply = hello(h);
              if (reply) h.expect(reply->step == InitStep::kReady, "READY");
            });
}

void add_mode(Group& group) {
  group.add("hello_keeps_the_mode", "P-INIT-18,P-INIT-22",
            "A HELLO on a link that is up does not change the mode of its CRC.", [](Host& h) {
              if (!h.attach()) return;
              const auto before = hello(h);
              if (!before) return;
              Init again = h.init(InitStep::kHello);
              again.payload_crc = fabric::PayloadCrc::kOmitted;
              const auto after = reply_to_hello(h, again);
              if (!after) return;
              h.expect(after->step == InitStep::kReady && after->payload_crc == before->payload_crc,
                       "READY with the mode of before");
              expect_ignored(h, "a link that stays up");
            });
}

void add_tokens(Group& group) {
  group.add("wrong_token", "P-INIT-8", "A proof with a token that was not given is dropped.",
            [](Host& h) {
              const auto challenge = hello(h);
              if (!challenge) return;
              Init proof = h.init(InitStep::kAnswer);
              proof.peer_instance = challenge->instance;
              proof.echo = challenge->nonce ^ 1;
              h.send(proof);
              h.expect_no_init("no reply to a wrong token");
            });
  group.add("token_of_another_instance", "P-INIT-8",
            "A token serves the instance that it was given to, and no other.", [](Host& h) {
              const auto challenge = hello(h);
              if (!challenge) return;
              Init proof = h.init(InitStep::kAnswer);
              proof.peer_instance = challenge->instance;
              proof.instance = h.config().instance ^ 2;
              proof.echo = challenge->nonce;
              h.send(proof);
              h.expect_no_init("no reply to the token of another instance");
            });
  group.add(
      "steps_of_a_listener", "P-INIT-16",
      "CHALLENGE, READY and REFUSE have no effect at the end that listens.", [](Host& h) {
        for (const InitStep step : {InitStep::kChallenge, InitStep::kReady, InitStep::kRefuse}) {
          Init wrong = h.init(step);
          if (step == InitStep::kRefuse) wrong.reason = InitReason::kBusy;
          h.send(wrong);
        }
        h.expect_no_init("no reply to the steps of a listener");
      });
}

void add_refusals(Group& group) {
  group.add("other_version", "P-INIT-12", "A program of another major version is refused.",
            [](Host& h) {
              Init wrong = h.init(InitStep::kHello);
              wrong.program_version = 0x63000000;
              expect_refused(h, wrong, InitReason::kVersion);
            });
  group.add("other_profile", "P-INIT-12", "A peer of another profile is refused.", [](Host& h) {
    Init wrong = h.init(InitStep::kHello);
    wrong.profile = h.is_full() ? fabric::LinkProfile::kSpeed : fabric::LinkProfile::kFull;
    expect_refused(h, wrong, InitReason::kProfile);
  });
  group.add("other_cell_crc", "P-INIT-12", "A peer with another mode of the cell CRC is refused.",
            [](Host& h) {
              Init wrong = h.init(InitStep::kHello);
              wrong.cell_crc = h.config().crc_head_only ? fabric::CellCrcMode::kWholeCell
                                                        : fabric::CellCrcMode::kHeadOnly;
              expect_refused(h, wrong, InitReason::kProfile);
            });
  group.add("short_mcp", "P-INIT-12", "A peer that takes only cells below 256 bytes is refused.",
            [](Host& h) {
              Init wrong = h.init(InitStep::kHello);
              wrong.mcp_max = 252;
              expect_refused(h, wrong, InitReason::kMcp);
            });
  group
      .add("own_identity", "P-INIT-12", "A peer with the EUI-64 of the target itself is refused.",
           [](Host& h) {
             const auto challenge = hello(h);
             if (!challenge) return;
             Init wrong = h.init(InitStep::kHello);
             wrong.eui64 = challenge->eui64;
             expect_refused(h, wrong, InitReason::kIdentity);
           })
      .links = Links::kPlain;
  group
      .add("no_identity", "P-INIT-12", "A peer with the EUI-64 0 is refused.",
           [](Host& h) {
             Init wrong = h.init(InitStep::kHello);
             wrong.eui64 = {};
             expect_refused(h, wrong, InitReason::kIdentity);
           })
      .links = Links::kPlain;
  group
      .add("identity_of_the_key", "P-INIT-17,P-SEC-10",
           "On a keyed link an INIT with an EUI-64 that is not that of the key is dropped.",
           [](Host& h) {
             Init wrong = h.init(InitStep::kHello);
             wrong.eui64 = fabric::Eui64(wrong.eui64.value ^ 2);
             h.send(wrong);
             h.expect_no_init("no reply to the EUI-64 of another host");
           })
      .links = Links::kKeyed;
}

void add_bad_hellos(Group& group) {
  add_bad_hello(group, "bad_format", "another format", 0, {2});
  add_bad_hello(group, "step_zero", "step 0", 1, {0});
  add_bad_hello(group, "step_unknown", "a step that is not known", 1, {9});
  add_bad_hello(group, "profile_unknown", "a profile that is not known", 2, {3});
  add_bad_hello(group, "crc_mode_unknown", "a mode of the cell CRC that is not known", 3, {2});
  add_bad_hello(group, "no_lanes", "no lane", 8, {0, 0});
  add_bad_hello(group, "mcp_zero", "an MCP of 0", 10, {0, 0});
  add_bad_hello(group, "mcp_odd", "an MCP that is no multiple of 4", 10, {5, 2});
  add_bad_hello(group, "flit_payload_short", "a flit payload below 120", 12, {0, 119});
  add_bad_hello(group, "reason_in_hello", "a reason", 15, {1});
  // Of the speed profile; elsewhere it has no meaning.
  add_bad_hello(group, "payload_crc_unknown", "a mode of the payload CRC that is not known", 16,
                {3}, fabric::LinkProfile::kSpeed);
  add_bad_hello(group, "instance_zero", "the instance 0", 32, {0, 0, 0, 0, 0, 0, 0, 0});
  for (const std::size_t bytes : {68U, 71U, 73U, 76U}) {
    group.add("length_" + std::to_string(bytes), "P-INIT-1",
              "An INIT of " + std::to_string(bytes) + " bytes is dropped.", [bytes](Host& h) {
                std::array<std::byte, 80> payload{};
                fabric::emit_init(payload.data(), h.init(InitStep::kHello));
                h.send_flit({.type = fabric::FlitType::kInit, .vl = fabric::kMgmtLane},
                            base::Bytes(payload).first(bytes));
                h.expect_no_init("no reply to an INIT of another length");
              });
  }
}

void add_datagrams(Group& group) {
  group.add("init_crc_covers_payload", "P-INIT-1",
            "An INIT whose flit CRC covers only its header is dropped.", [](Host& h) {
              h.line().send(init_flit(h.init(InitStep::kHello), fabric::kFlitHeaderCrcOnly));
              h.expect_no_init("no reply to an INIT with a CRC over the header");
            });
  group.add("init_wrong_crc", "P-LINK-3", "An INIT with a wrong flit CRC is dropped.", [](Host& h) {
    ByteVector wrong = init_flit(h.init(InitStep::kHello));
    wrong[40] ^= std::byte{1};
    h.line().send(wrong);
    h.expect_no_init("no reply to an INIT with a wrong CRC");
  });
  group.add("init_behind_a_flit", "P-DG-4", "An INIT behind another flit is dropped.", [](Host& h) {
    ByteVector both(fabric::kFlitHeaderBytes);
    fabric::emit_flit(both, {.type = fabric::FlitType::kIdle,
                             .vl = fabric::kMgmtLane,
                             .ctl = fabric::kFlitHeaderCrcOnly});
    const ByteVector behind = init_flit(h.init(InitStep::kHello));
    both.insert(both.end(), behind.begin(), behind.end());
    h.line().send(both);
    h.expect_no_init("no reply to an INIT behind a flit");
  });
  group.add("two_inits", "P-DG-4", "Of two INITs in one datagram the second is dropped.",
            [](Host& h) {
              const Init first = h.init(InitStep::kHello);
              ByteVector both = init_flit(first);
              const ByteVector second = init_flit(h.init(InitStep::kHello));
              both.insert(both.end(), second.begin(), second.end());
              h.line().send(both);
              const auto reply = h.await_init("a reply to the first INIT");
              if (!reply) return;
              h.expect(reply->echo == first.nonce, "a reply to the first INIT");
              h.expect_no_init("no reply to the second INIT");
            });
  for (const auto& [name, filler] :
       {std::pair<std::string, std::vector<std::uint8_t>>{"zero_filler", {0, 0, 0, 0, 0, 0, 0, 0}},
        {"any_filler", {0, 0, 0, 0, 0xFF, 0xFF, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},
        {"short_filler", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}}}) {
    group.add(name, "P-DG-3", "Filler behind a flit is ignored, whatever it holds.",
              [filler = filler](Host& h) {
                const Init sent = h.init(InitStep::kHello);
                ByteVector datagram = init_flit(sent);
                for (const std::uint8_t byte : filler) datagram.push_back(std::byte{byte});
                h.line().send(datagram);
                const auto reply = h.await_init("a reply to a HELLO with filler");
                if (reply) h.expect(reply->echo == sent.nonce, "a reply that echoes the nonce");
              });
  }
  group
      .add("session_byte", "P-DG-5",
           "A datagram whose first byte is 0x80 or more is no flit, and dropped.",
           [](Host& h) {
             ByteVector wrong = init_flit(h.init(InitStep::kHello));
             wrong[0] |= std::byte{0x80};
             h.line().send(wrong);
             h.expect_no_init("no reply to a datagram of the session layer");
           })
      .links = Links::kPlain;
}

void add_life(Group& group) {
  group.add("probe_reply", "P-INIT-31", "A path probe gets a reply that echoes its nonce.",
            [](Host& h) {
              if (h.link()) expect_probe_reply(h);
            });
  group.add("long_probe_short_reply", "P-INIT-31", "The reply to a long probe is short.",
            [](Host& h) {
              if (!h.link()) return;
              const Init probe = h.init(InitStep::kProbe);
              ByteVector datagram = init_flit(probe);
              datagram.resize(1200);
              h.line().send(datagram);
              const auto reply = h.await(EventKind::kProbe, "PROBE_REPLY");
              if (!reply) return;
              h.expect(reply->init.echo == probe.nonce, "the nonce of the probe");
              h.expect(reply->datagram_bytes == fabric::kFlitHeaderBytes + fabric::kInitBytes,
                       "a reply of 88 bytes");
            });
  group.add("probe_of_another_instance", "P-INIT-31", "A probe of another instance is dropped.",
            [](Host& h) {
              if (!h.link()) return;
              Init probe = h.init(InitStep::kProbe);
              probe.instance ^= 2;
              h.send(probe);
              const Init good = h.init(InitStep::kProbe);
              h.send(good);
              const auto reply = h.await(EventKind::kProbe, "PROBE_REPLY");
              if (reply) h.expect(reply->init.echo == good.nonce, "a reply to our instance only");
            });
  group.add("idle", "P-LINK-13", "A link on which nothing is sent gets IDLE.", [](Host& h) {
    if (h.link()) expect_idle(h);
  });
}

void add_ends_of_links(Group& group) {
  group.add("bye_ends_the_link", "P-INIT-15", "After BYE cells are dropped until the next INIT.",
            [](Host& h) {
              if (!h.attach()) return;
              expect_probe_reply(h);  // nothing is on its way any more
              h.listen(5ms);
              h.send(h.init(InitStep::kBye));
              h.inbox().forget();
              send_request(h, h.next_context(), messaging::CfgCode::kEcho, {});
              const auto reply = hello(h);
              if (!reply) return;
              h.expect(reply->step == InitStep::kReady, "READY: the instance is known");
              h.send(h.init(InitStep::kProbe));
              h.await(EventKind::kProbe, "PROBE_REPLY");
              h.expect(h.inbox().waiting(EventKind::kAck) == 0, "no ACK of a cell behind BYE");
            });
  group.add("bye_of_another_instance", "P-INIT-15",
            "A BYE that does not have the instances of both ends is dropped.", [](Host& h) {
              if (!h.attach()) return;
              Init wrong = h.init(InitStep::kBye);
              wrong.peer_instance ^= 1;
              h.send(wrong);
              wrong = h.init(InitStep::kBye);
              wrong.instance ^= 2;
              h.send(wrong);
              expect_ignored(h, "a link that stays up");
            });
  group.add("new_instance_ends_the_old", "P-INIT-8,P-ERR-9",
            "A new instance of a host ends the connections of the one before.", [](Host& h) {
              if (!h.attach()) return;
              h.begin_instance(h.config().instance ^ 0x100);
              if (!h.link()) return;
              h.inbox().forget();
              expect_unserved(h, "no reply on a connection of the instance before");
            });
  group.add("cell_without_a_link", "P-LINK-5", "A cell from an address without a link is dropped.",
            [](Host& h) {
              // A DISC with the identity and link address of the target: only the link is
              // missing.
              const auto challenge = hello(h);
              if (!challenge) return;
              fabric::Mgmt disc = h.mgmt(fabric::MgmtKind::kDisc, h.random().next());
              disc.peer_eui64 = challenge->eui64;
              disc.peer_instance = challenge->instance;
              ByteVector payload(disc.bytes());
              fabric::emit_mgmt(payload, disc);
              fabric::CellHead head;
              head.header.op = fabric::Op::kMgmt;
              head.header.service = fabric::Service::kMgmt;
              head.header.dlid = fabric::Lid(1);  // a listener's
              head.header.slid = fabric::Lid(2);
              head.header.dqpn = head.header.sqpn = fabric::Qpn(1);  // P-MGMT-1
              h.send_cell(make_cell(h, head, payload));
              h.expect_no_init("no reply to a cell without a link");
              h.expect(h.inbox().waiting(EventKind::kMgmt) == 0,
                       "no DISC_REP to a cell without a link");
            });
}

}  // namespace

std::vector<Case> link_cases() {
  Group group("link");
  add_handshake(group);
  add_mode(group);
  add_tokens(group);
  add_refusals(group);
  add_bad_hellos(group);
  add_datagrams(group);
  add_life(group);
  add_ends_of_links(group);
  return group.take();
}

}  // namespace splitnic::conformance
