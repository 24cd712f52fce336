// Wrong hosts: the suite plays the I/O unit.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fabric_emul/session/messages.h"
#include "messaging/wire/cfg_util.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::AckExt;
using fabric::CellView;
using fabric::Init;
using fabric::InitStep;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::Op;
using messaging::Function;

// INITs that the host sends.
Rule sent(InitStep step, const std::function<bool(Init&)>& change) {
  return init_rule(To::kSuite, [=](Init& init) { return init.step != step || change(init); });
}
// INITs that the host takes because the relay repairs them. `nonce`: of its last HELLO or ANSWER.
using Repair = std::function<void(Init& init, std::uint64_t nonce)>;
Rule repaired_for_host(InitStep step, const Repair& repair) {
  auto nonce = std::make_shared<std::uint64_t>(0);
  return both(init_rule(To::kSuite,
                        [=](Init& init) {
                          *nonce = init.nonce;
                          return true;
                        }),
              init_rule(To::kTarget, [=](Init& init) {
                if (init.step == step) repair(init, *nonce);
                return true;
              }));
}

Rule sent_mgmt(MgmtKind kind, const ChangeMgmt& change) {
  return mgmt_rule(To::kSuite, [=](Mgmt& mgmt) { return mgmt.kind != kind || change(mgmt); });
}

// CfgUtil replies of the host with one status get another.
Rule status_of_replies(std::uint32_t from, std::uint32_t to) {
  return message_rule(To::kSuite, Function::kCfgUtilReply, [=](base::MutableBytes message) {
    if (word_of(message, kStatusWord) == from) set_word(message, kStatusWord, to);
    return true;
  });
}

Rule hello_with_other_nonces() {
  auto nonces = std::make_shared<std::map<std::uint64_t, std::uint64_t>>();
  return both(sent(InitStep::kHello,
                   [=](Init& init) {
                     const std::uint64_t mine = init.nonce + nonces->size();
                     (*nonces)[mine] = init.nonce;
                     init.nonce = mine;
                     return true;
                   }),
              init_rule(To::kTarget, [=](Init& init) {
                const auto at = nonces->find(init.echo);
                if (at != nonces->end()) init.echo = at->second;
                return true;
              }));
}

// One of three HELLO, each with another nonce.
Rule late_hello_with_other_nonces() {
  return both(sent(InitStep::kHello,
                   [count = std::make_shared<unsigned>(0)](Init&) { return ++*count % 3 == 0; }),
              hello_with_other_nonces());
}

Rule one_transaction_for_all() {
  auto last = std::make_shared<std::uint64_t>(0);
  constexpr std::uint64_t kAlways = 7;
  return both(mgmt_rule(To::kSuite,
                        [=](Mgmt& mgmt) {
                          *last = mgmt.transaction;
                          mgmt.transaction = kAlways;
                          return true;
                        }),
              mgmt_rule(To::kTarget, [=](Mgmt& mgmt) {
                if (mgmt.transaction == kAlways) mgmt.transaction = *last;
                return true;
              }));
}

Rule contexts_with_bit_63() {
  constexpr std::uint32_t kBit = 0x80000000;
  return both(message_rule(To::kSuite, Function::kCfgUtilRequest,
                           [](base::MutableBytes message) {
                             set_word(message, 1, word_of(message, 1) | kBit);
                             return true;
                           }),
              message_rule(To::kTarget, Function::kCfgUtilReply, [](base::MutableBytes message) {
                set_word(message, 1, word_of(message, 1) & ~kBit);
                return true;
              }));
}

Rule requests_once() {
  auto seen = std::make_shared<std::set<std::uint32_t>>();
  return message_rule(To::kSuite, Function::kCfgUtilRequest, [=](base::MutableBytes message) {
    if (!seen->insert(word_of(message, 2)).second) become_frame(message);
    return true;
  });
}

// Cells of the host with this operation.
Rule sent_cells(Op op, const ChangeCell& change) {
  return cell_rule(To::kSuite, [=](const CellView& view, RelayBytes& cell) {
    return view.header.op != op || change(view, cell);
  });
}

Rule acks(const std::function<bool(AckExt&)>& change) {
  return sent_cells(Op::kAck, [=](const CellView& view, RelayBytes& cell) {
    AckExt ack;
    if (!fabric::parse_ack(view, ack)) return true;
    if (!change(ack)) return false;
    ack.emit(cell.data() + fabric::kMacHeaderBytes);
    return true;
  });
}

Rule without_datagrams(To direction, std::function<bool(base::Bytes)> is_dropped) {
  return [direction, is_dropped = std::move(is_dropped)](To to, RelayBytes& datagram) {
    return to != direction || !is_dropped(datagram);
  };
}

bool is_idle(base::Bytes datagram) {
  fabric::FlitView flit;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == fabric::FlitType::kIdle;
}

// The last DISC comes once more when another instance has a connection.
Rule disc_in_place_of_rtu() {
  auto disc = std::make_shared<std::optional<Mgmt>>();
  return mgmt_rule(To::kSuite, [=](Mgmt& mgmt) {
    if (mgmt.kind == MgmtKind::kDisc) *disc = mgmt;
    if (mgmt.kind != MgmtKind::kConnectRtu || !*disc) return true;
    if ((*disc)->peer_instance == mgmt.peer_instance) return true;
    (*disc)->private_data = {};
    mgmt = *std::exchange(*disc, std::nullopt);
    return true;
  });
}

struct Wrong {
  std::string name, what, noticed_by;
  std::function<Rule()> make;
  bool is_keyed = false;
};

std::vector<Wrong> wrong_links() {
  return {
      {"host_hello_nonce", "each HELLO has another nonce", "link.hello_repeated",
       hello_with_other_nonces},
      {"host_hello_late", "HELLO comes late, each with another nonce", "link.hello_repeated",
       late_hello_with_other_nonces},
      {"host_hello_echo", "HELLO has an echo", "link.hello",
       [] {
         return sent(InitStep::kHello, [](Init& init) {
           init.echo = 5;
           return true;
         });
       }},
      {"host_proof_instance", "the step after CHALLENGE names no instance", "link.proof",
       [] {
         return sent(InitStep::kAnswer, [](Init& init) {
           init.peer_instance = 0;
           return true;
         });
       }},
      {"host_any_challenge", "the echo of CHALLENGE is not checked", "link.challenge_other_echo",
       [] {
         return repaired_for_host(InitStep::kChallenge,
                                  [](Init& init, std::uint64_t nonce) { init.echo = nonce; });
       }},
      {"host_any_ready", "the echo of READY is not checked", "link.ready_other_echo",
       [] {
         return repaired_for_host(InitStep::kReady,
                                  [](Init& init, std::uint64_t nonce) { init.echo = nonce; });
       }},
      {"host_any_version", "the version in READY is not checked", "link.ready_other_version",
       [] {
         return repaired_for_host(InitStep::kReady, [](Init& init, std::uint64_t) {
           init.program_version = 0x00010000;
         });
       }},
      {"host_any_mcp", "the MCP in READY is not checked", "link.ready_short_cells",
       [] {
         return repaired_for_host(InitStep::kReady, [](Init& init, std::uint64_t) {
           init.mcp_max = std::max<std::uint16_t>(init.mcp_max, 256);
         });
       }},
      {"host_probe_reply", "PROBE gets no reply", "link.probed",
       [] { return sent(InitStep::kProbeReply, [](Init&) { return false; }); }},
      {"host_no_idle", "IDLE is never sent", "link.host_idles",
       [] { return without_datagrams(To::kSuite, is_idle); }},
  };
}

std::vector<Wrong> wrong_connections() {
  return {
      {"host_rtu", "CONNECT_RTU is never sent", "cm.ready_to_use",
       [] { return sent_mgmt(MgmtKind::kConnectRtu, [](Mgmt&) { return false; }); }},
      {"host_transaction", "every attempt has the same transaction", "cm.rejected_1",
       one_transaction_for_all},
      {"host_disc_rep", "DISC gets no DISC_REP", "cm.disconnected",
       [] { return sent_mgmt(MgmtKind::kDiscRep, [](Mgmt&) { return false; }); }},
      {"host_disc", "an attempt that does not suit is left without DISC", "cm.reply_other_mode",
       [] { return sent_mgmt(MgmtKind::kDisc, [](Mgmt&) { return false; }); }},
      {"host_credits", "CONNECT_REQ has no receive credits", "cm.request_pairs",
       [] {
         return sent_mgmt(MgmtKind::kConnectReq, [](Mgmt& mgmt) {
           mgmt.pairs[0].receive_credits = 0;
           return true;
         });
       }},
      {"host_disc_continues", "DISC continues when its peer is another instance",
       "state.host_restart_when_closing", disc_in_place_of_rtu},
      {"host_identity", "CONNECT_REQ names another unit", "cm.request_identity",
       [] {
         return sent_mgmt(MgmtKind::kConnectReq, [](Mgmt& mgmt) {
           mgmt.peer_eui64.value ^= 1;
           return true;
         });
       }},
  };
}

std::vector<Wrong> wrong_transports() {
  return {
      {"host_retransmission", "a lost cell is never sent once more", "loss.retransmits",
       [] {
         return cell_rule(To::kSuite, [](const CellView& view, RelayBytes&) {
           return (view.header.flags & fabric::kFlagRetransmission) == 0;
         });
       }},
      {"host_nak", "NAK is never sent", "cell.op_unknown",
       [] { return sent_cells(Op::kNak, [](const CellView&, RelayBytes&) { return false; }); }},
      {"host_reserved", "a reserved bit of cells is sent", "rc.msn",
       [] {
         return cell_rule(To::kSuite, [](const CellView&, RelayBytes& cell) {
           cell[12] ^= std::byte{1};
           return true;
         });
       }},
      {"host_slid", "cells come from another link address", "rc.msn",
       [] {
         return cell_rule(To::kSuite, [](const CellView&, RelayBytes& cell) {
           cell[7] ^= std::byte{0x40};
           return true;
         });
       }},
      {"host_bitmap", "ACKs of early cells are not sent", "rc.early",
       [] { return acks([](AckExt& ack) { return ack.bitmap_words == 0; }); }},
      {"host_msn", "the MSN of ACKs stays 0", "rc.msn",
       [] {
         return acks([](AckExt& ack) {
           ack.msn = 0;
           return true;
         });
       }},
      {"host_virtio", "frames use a checksum offload that was not granted",
       "frame.host_virtio_header",
       [] {
         return sent_cells(Op::kRdmaWrite, [](const CellView& view, RelayBytes& cell) {
           const auto at = static_cast<std::size_t>(view.payload.data() - cell.data());
           if (view.header.csn == 0) cell.at(at) |= std::byte{1};
           return true;
         });
       }},
  };
}

std::vector<Wrong> wrong_messages() {
  return {
      {"host_reply_context", "replies have another Transaction Context", "cfg.announce",
       [] {
         return message_rule(To::kSuite, Function::kCfgUtilReply, [](base::MutableBytes message) {
           set_word(message, 2, word_of(message, 2) + 1);
           return true;
         });
       }},
      {"host_serves_all", "requests that a host does not serve get status 0", "cfg.host_code_65537",
       [] { return status_of_replies(1, 0); }},
      {"host_any_request", "requests of another version get status 0",
       "cfg.host_request_other_version", [] { return status_of_replies(7, 0); }},
      {"host_any_event", "EVENT with garbage gets status 0", "cfg.event_garbage",
       [] { return status_of_replies(3, 0); }},
      {"host_request_context", "contexts of requests have bit 63", "cfg.contexts",
       contexts_with_bit_63},
      {"host_requests_once", "a request without a reply is not repeated", "cfg.request_is_repeated",
       requests_once},
      {"host_update", "elements are never returned", "data.returned",
       [] {
         return message_rule(To::kSuite, Function::kBufferRecvPoolUpdate,
                             [](base::MutableBytes message) {
                               become_frame(message);
                               return true;
                             });
       }},
      {"host_flush_reply", "BufferPoolFlushReply has another context", "pool.flush_own",
       [] {
         return message_rule(To::kSuite, Function::kBufferPoolFlushReply,
                             [](base::MutableBytes message) {
                               set_word(message, 2, word_of(message, 2) + 1);
                               return true;
                             });
       }},
  };
}

std::vector<Wrong> wrong_keys() {
  return {
      {"host_cookie", "COOKIE has no effect", "key.cookie_obeyed",
       [] {
         return without_datagrams(To::kTarget, [](base::Bytes datagram) {
           return session::type_of(datagram) == session::MessageType::kCookie;
         });
       },
       true},
      {"host_confirm", "RESPONSE is not followed by a record", "key.confirms",
       [] {
         return without_datagrams(To::kSuite, [](base::Bytes datagram) {
           return session::type_of(datagram) == session::MessageType::kData &&
                  datagram.size() == session::kDataOverheadBytes;
         });
       },
       true},
  };
}

}  // namespace

std::vector<Fault> host_faults() {
  std::vector<Fault> all;
  for (auto* part :
       {&wrong_links, &wrong_connections, &wrong_transports, &wrong_messages, &wrong_keys}) {
    for (const Wrong& wrong : (*part)()) {
      all.push_back(
          {wrong.name, wrong.what, wrong.noticed_by, wrong.is_keyed, wrong.make, Role::kUnit});
    }
  }
  return all;
}

}  // namespace splitnic::conformance
