// Wrong implementations of cells, of the transport and of connections.
#include <map>
#include <memory>
#include <set>

#include "base/endian.h"
#include "fabric_emul/wire/mgmt.h"
#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::AckExt;
using fabric::CellView;
using fabric::Mgmt;
using fabric::MgmtKind;
using fabric::Op;

void set16(RelayBytes& cell, std::size_t at, std::uint16_t value) {
  base::store_be(&cell.at(at), value);
}
void set32(RelayBytes& cell, std::size_t at, std::uint32_t value) {
  base::store_be(&cell.at(at), value);
}

// ACKs and NAKs of the unit.
using ChangeAck = std::function<bool(AckExt& ack, RelayBytes& cell)>;
Fault of_acks(const std::string& name, const std::string& what, const std::string& noticed_by,
              Op op, const ChangeAck& change) {
  return of_cells(name, what, noticed_by, To::kSuite, [=](const CellView& view, RelayBytes& cell) {
    AckExt ack;
    if (view.header.op != op || !fabric::parse_ack(view, ack)) return true;
    const AckExt before = ack;
    if (!change(ack, cell)) return false;
    if (!(ack == before) && ack.bytes() == before.bytes()) {
      ack.emit(cell.data() + fabric::kMacHeaderBytes);
    }
    return true;
  });
}

// MGMT of the unit, of one kind.
Fault of_mgmt(const std::string& name, const std::string& what, const std::string& noticed_by,
              MgmtKind kind, const std::function<ChangeMgmt()>& make) {
  return {name, what, noticed_by, false, [=] {
            return mgmt_rule(To::kSuite, [kind, change = make()](Mgmt& mgmt) {
              return mgmt.kind != kind || change(mgmt);
            });
          }};
}
Fault of_mgmt(const std::string& name, const std::string& what, const std::string& noticed_by,
              MgmtKind kind, const ChangeMgmt& change) {
  return of_mgmt(name, what, noticed_by, kind, [=] { return change; });
}

void add_cells(std::vector<Fault>& all) {
  all.push_back({"cell_crc_unchecked", "the cell CRC is not checked", "cell.crc", false, [] {
                   // A change that is none: the cell is sealed again.
                   return [](To to, RelayBytes& datagram) {
                     const Rule seal =
                         cell_rule(To::kTarget, [](const CellView&, RelayBytes& cell) {
                           cell.back() ^= std::byte{0x5A};  // whatever it is, it is computed again
                           return true;
                         });
                     return seal(to, datagram);
                   };
                 }});
  all.push_back(of_cells("version_unchecked", "the version of cells is not checked", "cell.version",
                         To::kTarget, [](const CellView&, RelayBytes& cell) {
                           cell[0] = (cell[0] & std::byte{0x0F}) | std::byte{0x10};
                           return true;
                         }));
  all.push_back({"dlid_unchecked", "the destination address of cells is not checked",
                 "cell.other_dlid", false, [] {
                   return cell_rule(To::kTarget, [](const CellView&, RelayBytes& cell) {
                     set16(cell, 4, 1);  // the unit has address 1
                     return true;
                   });
                 }});
  all.push_back({"sender_unchecked", "the source queue pair of cells is not checked",
                 "cell.other_source_qp", false, [] {
                   auto known = std::make_shared<std::uint32_t>(0);
                   return cell_rule(To::kTarget, [known](const CellView& view, RelayBytes& cell) {
                     if (view.header.service != fabric::Service::kRc) return true;
                     if (view.header.sqpn.value == 0x7FFFFF) set32(cell, 12, *known);
                     *known = view.header.sqpn.value == 0x7FFFFF ? *known : view.header.sqpn.value;
                     return true;
                   });
                 }});
  all.push_back(of_cells(
      "reserved_refused", "a cell with reserved bits is dropped", "cell.reserved_bits", To::kTarget,
      [](const CellView&, RelayBytes& cell) { return cell[12] == std::byte{0}; }));
  all.push_back(of_cells("global_refused", "a cell with a GNH is dropped", "cell.global_header",
                         To::kTarget, [](const CellView& view, RelayBytes&) {
                           return (view.header.flags & fabric::kFlagGlobal) == 0;
                         }));
  all.push_back(of_cells("solicited_refused", "a cell with flag S is dropped", "cell.solicited",
                         To::kTarget, [](const CellView& view, RelayBytes&) {
                           return (view.header.flags & fabric::kFlagSolicited) == 0;
                         }));
  all.push_back(of_cells("packet_crc_refused", "a cell with a packet CRC is dropped",
                         "cell.packet_crc", To::kTarget, [](const CellView& view, RelayBytes&) {
                           return (view.header.flags & fabric::kFlagPacketCrc) == 0;
                         }));
  all.push_back(
      of_cells("csn_unchecked", "the CSN of a packet of one cell is not checked",
               "cell.only_with_csn", To::kTarget, [](const CellView& view, RelayBytes& cell) {
                 if (view.header.pos == fabric::Pos::kOnly && view.header.op == Op::kSend) {
                   set16(cell, 20, 0);
                 }
                 return true;
               }));
  all.push_back(of_cells("psn_unchecked", "the PSN of cells is not checked", "rc.psn_jumps",
                         To::kTarget, [](const CellView&, RelayBytes&) { return true; }));
  all.back().make = [] {
    auto next = std::make_shared<std::pair<bool, std::uint32_t>>();
    return cell_rule(To::kTarget, [next](const CellView& view, RelayBytes& cell) {
      if (view.header.op != Op::kSend || view.header.pos != fabric::Pos::kOnly) return true;
      if (next->first) set32(cell, 16, next->second);
      const std::uint32_t psn = next->first ? next->second : view.header.psn.value;
      *next = {true, (psn + 1) & 0xFFFFFF};
      return true;
    });
  };
}

void add_acks(std::vector<Fault>& all) {
  all.push_back(of_acks("no_nak", "nothing is refused by NAK", "cell.op_unknown", Op::kNak,
                        [](AckExt&, RelayBytes&) { return false; }));
  all.push_back(of_acks("nak_code", "NAK 0x63 stands in place of 0x61", "rc.csn_jumps", Op::kNak,
                        [](AckExt& ack, RelayBytes&) {
                          if (ack.code == AckCode::kInvalidRequest) {
                            ack.code = AckCode::kRemoteOperational;
                          }
                          return true;
                        }));
  all.push_back(of_acks("nak_psn", "a NAK names another PSN", "data.handle_unknown", Op::kNak,
                        [](AckExt&, RelayBytes& cell) {
                          cell[19] ^= std::byte{1};
                          return true;
                        }));
  all.push_back(of_acks("nak_letter", "the letter of the check that failed is always g",
                        "data.over_the_end", Op::kNak, [](AckExt& ack, RelayBytes&) {
                          if (ack.code == AckCode::kRemoteAccess) ack.detail = 'g';
                          return true;
                        }));
  all.push_back(of_acks("no_ack", "nothing is acknowledged", "rc.ack", Op::kAck,
                        [](AckExt&, RelayBytes&) { return false; }));
  all.push_back(of_acks("ack_psn", "an ACK names another PSN", "rc.ack", Op::kAck,
                        [](AckExt&, RelayBytes& cell) {
                          cell[19] ^= std::byte{1};
                          return true;
                        }));
  all.push_back(of_acks("ack_lcn", "an ACK has the next LCN in place of the last", "rc.ack",
                        Op::kAck, [](AckExt& ack, RelayBytes&) {
                          ack.cumulative = ack.cumulative + 1U;
                          return true;
                        }));
  all.push_back(of_acks("msn_constant", "the MSN of ACKs does not count", "rc.msn", Op::kAck,
                        [](AckExt& ack, RelayBytes&) {
                          ack.msn = 1;
                          return true;
                        }));
  all.push_back(of_acks("no_credits", "ACKs have no receive credits", "rc.ack", Op::kAck,
                        [](AckExt& ack, RelayBytes&) {
                          ack.receive_credits = 0;
                          return true;
                        }));
  all.push_back(of_acks("bitmap_mirrored", "the bitmap begins at the lowest bit", "rc.early",
                        Op::kAck, [](AckExt& ack, RelayBytes&) {
                          for (unsigned i = 0; i < ack.bitmap_words; ++i) {
                            std::uint32_t mirrored = 0;
                            for (unsigned b = 0; b < 32; ++b) {
                              mirrored |= (ack.bitmap[i] >> b & 1U) << (31 - b);
                            }
                            ack.bitmap[i] = mirrored;
                          }
                          return true;
                        }));
}

void add_sequence(std::vector<Fault>& all) {
  all.push_back({"early_dropped", "a cell behind a gap is dropped", "rc.early", false, [] {
                   auto next = std::make_shared<std::map<std::uint32_t, fabric::Lcn>>();
                   return cell_rule(To::kTarget, [next](const CellView& view, RelayBytes&) {
                     const auto& h = view.header;
                     if (h.service != fabric::Service::kRc || h.op != Op::kSend) return true;
                     const auto known = next->find(h.sqpn.value);
                     if (known != next->end() && h.lcn - known->second > 0) return false;
                     if (known == next->end() || h.lcn == known->second) {
                       (*next)[h.sqpn.value] = h.lcn + 1U;
                     }
                     return true;
                   });
                 }});
  all.push_back({"duplicate_silent", "a duplicate is not acknowledged", "rc.duplicate", false, [] {
                   auto seen =
                       std::make_shared<std::set<std::pair<std::uint32_t, std::uint32_t>>>();
                   return cell_rule(To::kTarget, [seen](const CellView& view, RelayBytes&) {
                     const auto& h = view.header;
                     if (h.op != Op::kSend) return true;
                     return seen->emplace(h.sqpn.value, h.lcn.value).second;
                   });
                 }});
  all.push_back(
      {"no_retransmission", "nothing is sent a second time", "loss.retransmits", false, [] {
         auto seen = std::make_shared<std::set<std::pair<std::uint32_t, std::uint32_t>>>();
         return cell_rule(To::kSuite, [seen](const CellView& view, RelayBytes&) {
           const auto& h = view.header;
           if (h.op != Op::kSend) return true;
           return seen->emplace(h.sqpn.value, h.lcn.value).second;
         });
       }});
  all.push_back({"csn_from_one", "the CSN of packets begins at 1", "cfg.echo", false, [] {
                   return cell_rule(To::kSuite, [](const CellView& view, RelayBytes& cell) {
                     if (view.header.op == Op::kSend) set16(cell, 20, 1);
                     return true;
                   });
                 }});
  all.push_back({"psn_of_packets", "packets of the unit leave a PSN out", "cfg.echo", false, [] {
                   return cell_rule(To::kSuite, [](const CellView& view, RelayBytes& cell) {
                     if (view.header.op == Op::kSend) {
                       set32(cell, 16, (view.header.psn.value + 1) & 0xFFFFFF);
                     }
                     return true;
                   });
                 }});
  all.push_back({"terminate_ignored", "TERMINATE is ignored", "loss.terminate", false, [] {
                   return cell_rule(To::kTarget, [](const CellView& view, RelayBytes&) {
                     return view.header.op != Op::kTerminate;
                   });
                 }});
  all.push_back({"nak_ignored", "NAK 0x61 is ignored", "loss.nak_ends", false, [] {
                   return cell_rule(To::kTarget, [](const CellView& view, RelayBytes&) {
                     return view.header.op != Op::kNak;
                   });
                 }});
  all.push_back(
      {"bitmap_ignored", "the bitmap of ACKs is ignored", "loss.bitmap_obeyed", false, [] {
         return cell_rule(To::kTarget, [](const CellView& view, RelayBytes&) {
           AckExt ack;
           return view.header.op != Op::kAck || !fabric::parse_ack(view, ack) ||
                  ack.bitmap_words == 0;
         });
       }});
}

void add_connections(std::vector<Fault>& all) {
  all.push_back(of_mgmt("rep_transaction", "CONNECT_REP has another transaction", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          ++m.transaction;
                          return true;
                        }));
  all.push_back(of_mgmt("rep_peer_qpn", "CONNECT_REP does not name our queue pairs", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          std::swap(m.pairs[0].peer_qpn, m.pairs[1].peer_qpn);
                          return true;
                        }));
  all.push_back(of_mgmt("rep_credits", "CONNECT_REP has no receive credits", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          m.pairs[0].receive_credits = 0;
                          return true;
                        }));
  all.push_back(of_mgmt("rep_service", "CONNECT_REP has UC in mode rdma", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          m.pairs[0].service = fabric::Service::kUc;
                          return true;
                        }));
  all.push_back(of_mgmt("rep_mcp", "CONNECT_REP has an MCP above ours", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          m.pairs[0].mcp = 65532;
                          return true;
                        }));
  all.push_back(of_mgmt("rep_identity", "CONNECT_REP has another instance than INIT", "cm.reply",
                        MgmtKind::kConnectRep, [](Mgmt& m) {
                          m.instance ^= 2;
                          return true;
                        }));
  all.push_back(of_mgmt("rep_changes", "a repeated CONNECT_REQ gets another CONNECT_REP",
                        "cm.repeated", MgmtKind::kConnectRep, [] {
                          auto count = std::make_shared<std::uint32_t>(0);
                          return ChangeMgmt([count](Mgmt& m) {
                            m.pairs[1].start_psn = m.pairs[1].start_psn + (*count)++;
                            return true;
                          });
                        }));
  all.push_back(of_mgmt("rej_code", "every CONNECT_REJ has the code stale", "cm.one_pair",
                        MgmtKind::kConnectRej, [](Mgmt& m) {
                          m.reject = fabric::MgmtReject::kStale;
                          return true;
                        }));
  all.push_back(of_mgmt("no_rej", "what is refused gets no reply", "cm.no_mode",
                        MgmtKind::kConnectRej, [](Mgmt&) { return false; }));
  all.push_back(of_mgmt("no_disc_rep", "DISC gets no reply", "cm.disc", MgmtKind::kDiscRep,
                        [](Mgmt&) { return false; }));
  all.push_back(
      {"instance_unchecked", "the instance in MGMT is not checked", "cm.other_instance", false, [] {
         auto known = std::make_shared<std::uint64_t>(0);
         const Rule see = init_rule(To::kTarget, [known](fabric::Init& i) {
           *known = i.instance;
           return true;
         });
         const Rule repair =
             cell_rule(To::kTarget, [known](const CellView& view, RelayBytes& cell) {
               if (view.header.op != Op::kMgmt || view.payload.size() < 48) return true;
               base::store_be(cell.data() + (view.payload.data() - cell.data()) + 24, *known);
               return true;
             });
         return [see, repair](To to, RelayBytes& d) { return see(to, d) && repair(to, d); };
       }});
}

}  // namespace

std::vector<Fault> cell_faults() {
  std::vector<Fault> all;
  add_cells(all);
  add_acks(all);
  add_sequence(all);
  add_connections(all);
  return all;
}

}  // namespace splitnic::conformance
