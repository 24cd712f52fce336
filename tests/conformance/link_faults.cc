// Wrong implementations of INIT, flits and datagrams.
#include <memory>

#include "base/endian.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::FlitError;
using fabric::FlitHeader;
using fabric::FlitType;
using fabric::FlitView;
using fabric::Init;
using fabric::InitReason;
using fabric::InitStep;

Fault out(const std::string& name, const std::string& what, const std::string& noticed_by,
          InitStep step, ChangeInit change) {
  return {name, what, noticed_by, false, [=] {
            return init_rule(To::kSuite,
                             [=](Init& init) { return init.step != step || change(init); });
          }};
}
// A unit that does not refuse: the relay repairs the INIT on its way in.
Fault lenient(const std::string& name, const std::string& what, const std::string& noticed_by,
              const std::function<void(Init&)>& repair) {
  return {name, what, noticed_by, false, [=] {
            return init_rule(To::kTarget, [=](Init& init) {
              repair(init);
              return true;
            });
          }};
}

// A rule over the bytes of datagrams to the unit.
Fault in(const std::string& name, const std::string& what, const std::string& noticed_by,
         const std::function<bool(RelayBytes&)>& change) {
  return {name, what, noticed_by, false, [=] {
            return [=](To to, RelayBytes& datagram) {
              return to != To::kTarget || datagram.size() < fabric::kFlitHeaderBytes ||
                     change(datagram);
            };
          }};
}

bool is_type(const RelayBytes& datagram, FlitType type) {
  return static_cast<FlitType>(std::to_integer<unsigned>(datagram[0]) >> 4) == type;
}

// Computes the CRC of the first flit again.
void seal_first_flit(RelayBytes& datagram) {
  const auto size = base::load_be<std::uint16_t>(&datagram[2]);
  if (datagram.size() < fabric::kFlitHeaderBytes + size) return;
  FlitHeader header;
  header.type = static_cast<FlitType>(std::to_integer<unsigned>(datagram[0]) >> 4);
  header.vl = static_cast<std::uint8_t>(std::to_integer<unsigned>(datagram[0]) & 15U);
  header.ctl = std::to_integer<std::uint8_t>(datagram[1]);
  header.size = size;
  fabric::seal_flit(datagram, header);
}

void repair_payload(RelayBytes& datagram, std::size_t at, std::vector<std::uint8_t> bytes) {
  if (!is_type(datagram, FlitType::kInit) || datagram.size() < 16 + at + bytes.size()) return;
  for (std::size_t i = 0; i < bytes.size(); ++i) datagram.at(16 + at + i) = std::byte{bytes[i]};
  seal_first_flit(datagram);
}

Fault repaired(const std::string& name, const std::string& what, const std::string& noticed_by,
               std::size_t at, const std::vector<std::uint8_t>& bytes) {
  return in(name, what, noticed_by, [=](RelayBytes& datagram) {
    repair_payload(datagram, at, bytes);
    return true;
  });
}

void add_outgoing(std::vector<Fault>& all) {
  all.push_back(out("challenge_echo", "CHALLENGE does not echo the nonce",
                    "link.hello_gets_challenge", InitStep::kChallenge, [](Init& i) {
                      ++i.echo;
                      return true;
                    }));
  all.push_back(out("init_port", "INIT of an end node has the port number of a switch",
                    "link.hello_gets_challenge", InitStep::kChallenge, [](Init& i) {
                      i.port = 1;
                      return true;
                    }));
  all.push_back(out("challenge_instance", "CHALLENGE names another instance than ours",
                    "link.hello_gets_challenge", InitStep::kChallenge, [](Init& i) {
                      i.peer_instance ^= 2;
                      return true;
                    }));
  all.push_back(out("ready_echo", "READY does not echo the nonce", "link.proof_gets_ready",
                    InitStep::kReady, [](Init& i) {
                      ++i.echo;
                      return true;
                    }));
  all.push_back(out("ready_no_lid", "READY offers no link address", "link.proof_gets_ready",
                    InitStep::kReady, [](Init& i) {
                      i.offered_lid = {};
                      return true;
                    }));
  all.push_back(out("ready_one_lid", "READY gives both ends one link address",
                    "link.proof_gets_ready", InitStep::kReady, [](Init& i) {
                      i.offered_lid = i.lid;
                      return true;
                    }));
  all.push_back(out("ready_mcp", "READY offers an MCP of 128", "link.terms_of_ready",
                    InitStep::kReady, [](Init& i) {
                      i.mcp_max = 128;
                      return true;
                    }));
  all.push_back(out("ready_crc", "READY leaves the payload CRC out although it was required",
                    "link.terms_of_ready", InitStep::kReady, [](Init& i) {
                      i.payload_crc = fabric::PayloadCrc::kOmitted;
                      return true;
                    }));
  all.push_back(out("no_refuse", "nobody is refused: what does not suit gets no reply",
                    "link.other_version", InitStep::kRefuse, [](Init&) { return false; }));
  all.push_back(out("refuse_reason", "every refusal has the reason busy", "link.other_profile",
                    InitStep::kRefuse, [](Init& i) {
                      i.reason = InitReason::kBusy;
                      return true;
                    }));
  all.push_back(out("refuse_echo", "REFUSE does not echo the nonce", "link.short_mcp",
                    InitStep::kRefuse, [](Init& i) {
                      ++i.echo;
                      return true;
                    }));
  all.push_back(out("no_probe_reply", "path probes get no reply", "link.probe_reply",
                    InitStep::kProbeReply, [](Init&) { return false; }));
  all.push_back(out("probe_reply_echo", "PROBE_REPLY does not echo the nonce", "link.probe_reply",
                    InitStep::kProbeReply, [](Init& i) {
                      ++i.echo;
                      return true;
                    }));
  const auto longer = [](const std::string& name, const std::string& what, const std::string& by,
                         InitStep step) {
    return Fault{name, what, by, false, [=] {
                   return [=](To to, RelayBytes& datagram) {
                     if (to == To::kSuite && is_type(datagram, FlitType::kInit) &&
                         std::to_integer<int>(datagram[17]) == static_cast<int>(step)) {
                       datagram.resize(datagram.size() + 64);
                     }
                     return true;
                   };
                 }};
  };
  all.push_back(longer("long_challenge", "CHALLENGE is longer than HELLO",
                       "link.reply_is_not_longer", InitStep::kChallenge));
  all.push_back(longer("long_probe_reply", "PROBE_REPLY is longer than an INIT",
                       "link.long_probe_short_reply", InitStep::kProbeReply));
  all.push_back({"no_idle", "IDLE is never sent", "link.idle", false, [] {
                   return [](To to, RelayBytes& datagram) {
                     return to != To::kSuite || !is_type(datagram, FlitType::kIdle);
                   };
                 }});
}

void add_lenient(std::vector<Fault>& all) {
  all.push_back(lenient("any_version", "a program of any version is accepted", "link.other_version",
                        [](Init& i) { i.program_version = 0x00010000; }));
  all.push_back(lenient("any_profile", "a peer of any profile is accepted", "link.other_profile",
                        [](Init& i) { i.profile = fabric::LinkProfile::kSpeed; }));
  all.push_back(lenient("any_crc_mode", "a peer with any mode of the cell CRC is accepted",
                        "link.other_cell_crc",
                        [](Init& i) { i.cell_crc = fabric::CellCrcMode::kWholeCell; }));
  all.push_back(lenient("any_mcp", "a peer with any MCP is accepted", "link.short_mcp",
                        [](Init& i) { i.mcp_max = std::max<std::uint16_t>(i.mcp_max, 256); }));
  all.push_back(
      lenient("any_identity", "the EUI-64 0 is accepted", "link.no_identity", [](Init& i) {
        if (i.eui64 == fabric::Eui64()) i.eui64 = fabric::Eui64(5);
      }));
  all.push_back(
      repaired("format_unchecked", "the format of INIT is not checked", "link.bad_format", 0, {1}));
  all.push_back(repaired("reason_unchecked", "a reason in HELLO is not checked",
                         "link.reason_in_hello", 15, {0}));
  all.push_back(
      repaired("lanes_unchecked", "lanes are not checked", "link.no_lanes", 8, {0x80, 0x0F}));
  all.push_back({"token_unchecked", "the token is not checked", "link.wrong_token", false, [] {
                   auto token = std::make_shared<std::uint64_t>(0);
                   const Rule see = init_rule(To::kSuite, [token](Init& i) {
                     if (i.step == InitStep::kChallenge) *token = i.nonce;
                     return true;
                   });
                   const Rule repair = init_rule(To::kTarget, [token](Init& i) {
                     if (i.step == InitStep::kAnswer) i.echo = *token;
                     return true;
                   });
                   return
                       [see, repair](To to, RelayBytes& d) { return see(to, d) && repair(to, d); };
                 }});
  all.push_back({"bye_ignored", "BYE is ignored", "link.bye_ends_the_link", false, [] {
                   return init_rule(To::kTarget, [](Init& i) { return i.step != InitStep::kBye; });
                 }});
  all.push_back({"bye_of_anyone", "BYE of any instance ends the link",
                 "link.bye_of_another_instance", false, [] {
                   auto seen = std::make_shared<Init>();
                   return init_rule(To::kTarget, [seen](Init& i) {
                     if (i.step == InitStep::kAnswer) *seen = i;
                     if (i.step == InitStep::kBye) {
                       i.instance = seen->instance;
                       i.peer_instance = seen->peer_instance;
                     }
                     return true;
                   });
                 }});
  all.push_back({"known_forgotten", "a known instance gets no reply to HELLO",
                 "link.known_hello_gets_ready", false, [] {
                   auto known = std::make_shared<std::uint64_t>(0);
                   return init_rule(To::kTarget, [known](Init& i) {
                     if (i.step == InitStep::kAnswer) *known = i.instance;
                     return i.step != InitStep::kHello || i.instance != *known;
                   });
                 }});
}

void add_flits(std::vector<Fault>& all) {
  all.push_back(in("init_crc_unchecked", "the flit CRC of INIT is not checked",
                   "link.init_wrong_crc", [](RelayBytes& datagram) {
                     if (is_type(datagram, FlitType::kInit)) seal_first_flit(datagram);
                     return true;
                   }));
  all.push_back(in("init_anywhere", "an INIT behind another flit is taken",
                   "link.init_behind_a_flit", [](RelayBytes& datagram) {
                     if (is_type(datagram, FlitType::kIdle) && datagram.size() > 80) {
                       datagram.erase(datagram.begin(), datagram.begin() + 16);
                     }
                     return true;
                   }));
  all.push_back(in("filler_refused", "a datagram with filler is dropped", "link.zero_filler",
                   [](RelayBytes& datagram) {
                     FlitView flit;
                     return fabric::parse_flit(datagram, flit) != FlitError::kNone ||
                            flit.bytes() == datagram.size();
                   }));
  all.push_back(in("flit_crc_unchecked", "the flit CRC of DATA is not checked", "flit.wrong_crc",
                   [](RelayBytes& datagram) {
                     if (is_type(datagram, FlitType::kData)) seal_first_flit(datagram);
                     return true;
                   }));
  all.push_back(in("walk_continues", "the walk continues behind a flit with a wrong CRC",
                   "flit.behind_wrong_crc", [](RelayBytes& datagram) {
                     FlitView flit;
                     if (fabric::parse_flit(datagram, flit) == FlitError::kCrc &&
                         datagram.size() > 32 && is_type(datagram, FlitType::kIdle)) {
                       datagram.erase(datagram.begin(), datagram.begin() + 16);
                     }
                     return true;
                   }));
  all.push_back(in("walk_ends", "the walk ends at a flit of an unknown type",
                   "flit.behind_unknown_type", [](RelayBytes& datagram) {
                     FlitView flit;
                     return fabric::parse_flit(datagram, flit) != FlitError::kType;
                   }));
  all.push_back(in(
      "ctl_refused", "a flit with reserved bits of Ctl is dropped", "flit.reserved_ctl",
      [](RelayBytes& datagram) { return (std::to_integer<unsigned>(datagram[1]) & 0x0FU) == 0; }));
  all.push_back(in("parts_taken", "a flit that is no whole cell is taken", "flit.not_whole",
                   [](RelayBytes& datagram) {
                     if (is_type(datagram, FlitType::kData)) {
                       const bool is_part = (datagram[1] & std::byte{0xC0}) != std::byte{0xC0};
                       datagram[1] |= std::byte{0xC0};
                       if (is_part) seal_first_flit(datagram);
                     }
                     return true;
                   }));
  all.push_back(in("one_cell", "of the cells of a datagram only the first is taken",
                   "flit.two_cells", [](RelayBytes& datagram) {
                     FlitView flit;
                     if (fabric::parse_flit(datagram, flit) == FlitError::kNone &&
                         flit.header.type == FlitType::kData) {
                       datagram.resize(flit.bytes());
                     }
                     return true;
                   }));
}

}  // namespace

std::vector<Fault> link_faults() {
  std::vector<Fault> all;
  add_outgoing(all);
  add_lenient(all);
  add_flits(all);
  return all;
}

}  // namespace splitnic::conformance
