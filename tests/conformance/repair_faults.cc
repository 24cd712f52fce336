// Wrong implementations of RC: of packets that are refused as a whole, and of what an ACK or NAK
// may acknowledge: I/O units.
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "tests/conformance/faults.h"

namespace splitnic::conformance {
namespace {

using fabric::AckCode;
using fabric::AckExt;
using fabric::CellView;
using fabric::Lcn;
using fabric::Op;

// ACKs and NAKs in one direction. `acked` is the newest cumulative LCN of ACKs to the same queue
// pair; `change` returns false to drop the cell.
using ChangeReply = std::function<bool(const CellView& view, AckExt& ack, Lcn acked)>;
Rule reply_rule(To direction, const ChangeReply& change) {
  const auto newest = std::make_shared<std::map<std::uint32_t, Lcn>>();
  return cell_rule(direction, [newest, change](const CellView& view, RelayBytes& cell) {
    AckExt ack;
    const bool is_reply = view.header.op == Op::kAck || view.header.op == Op::kNak;
    if (!is_reply || !fabric::parse_ack(view, ack)) return true;
    Lcn& acked = newest->try_emplace(view.header.dqpn.value, ack.cumulative).first->second;
    if (!change(view, ack, acked)) return false;
    ack.emit(cell.data() + fabric::kMacHeaderBytes);
    const bool is_next = ack.cumulative - acked > 0 && ack.cumulative - acked < 400;
    if (view.header.op == Op::kAck && is_next) acked = ack.cumulative;
    return true;
  });
}
Fault of_replies(const std::string& name, const std::string& what, const std::string& noticed_by,
                 To direction, const ChangeReply& change) {
  return of_unit(name, what, noticed_by, [=] { return reply_rule(direction, change); });
}

bool is_of_packet(const CellView& view, const AckExt& ack) {
  return view.header.op == Op::kNak && ack.code == AckCode::kSequence && view.header.csn == 0;
}

// Cells of requests of the unit that it has sent before, by what they were then.
using ChangeAgain = std::function<bool(const CellView& view, RelayBytes& cell, int times)>;
Fault of_again(const std::string& name, const std::string& what, const std::string& noticed_by,
               const ChangeAgain& change) {
  return of_unit(name, what, noticed_by, [change] {
    const auto times = std::make_shared<std::map<std::pair<std::uint32_t, std::uint32_t>, int>>();
    return cell_rule(To::kSuite, [times, change](const CellView& view, RelayBytes& cell) {
      if (view.header.op != Op::kSend && view.header.op != Op::kRdmaWrite) return true;
      const std::pair number{view.header.dqpn.value, view.header.lcn.value};
      const int before = (*times)[number]++;
      return before == 0 || change(view, cell, before);
    });
  });
}

void add_retransmissions(std::vector<Fault>& all) {
  const auto flip = [](std::size_t at) {
    return [at](const CellView&, RelayBytes& cell, int) {
      cell.at(at) ^= std::byte{1};
      return true;
    };
  };
  const std::string noticed_by = "loss.retransmits";
  all.push_back(
      of_again("again_other_psn", "a cell comes once more with another PSN", noticed_by, flip(19)));
  all.push_back(of_again("again_other_bytes", "a cell comes once more with other bytes", noticed_by,
                         [](const CellView& view, RelayBytes& cell, int) {
                           cell.at(static_cast<std::size_t>(view.payload.data() - cell.data()) +
                                   view.payload.size() - 1) ^= std::byte{1};
                           return true;
                         }));
  all.push_back(of_again("time_out_late", "a cell comes once more at the sixth time-out only",
                         noticed_by,
                         [](const CellView&, RelayBytes&, int times) { return times >= 6; }));
  all.push_back(of_unit("time_out_none", "each cell is sent twice, whatever round trips take",
                        "loss.time_out_follows", [] {
                          return flit_rule(To::kSuite, [](fabric::FlitHeader& header,
                                                          RelayBytes& cell, RelayBytes& behind) {
                            behind = flit_of(header, cell);
                            return true;
                          });
                        }));
}

void add_packets(std::vector<Fault>& all) {
  all.push_back(of_unit("packet_crc_unchecked", "packet CRCs are not checked", "cm.packet_crc", [] {
    return mgmt_rule(To::kTarget, [](fabric::Mgmt& mgmt) {
      for (auto& pair : mgmt.pairs) {
        pair.flags &= static_cast<std::uint16_t>(~fabric::kPairPacketCrc);
      }
      return true;
    });
  }));
  all.push_back(of_replies("nak_keeps_cells", "NAK 0x60 of a packet acknowledges cells of it",
                           "cm.packet_crc_of_cells", To::kSuite,
                           [](const CellView& view, AckExt& ack, Lcn acked) {
                             if (is_of_packet(view, ack)) ack.cumulative = acked;
                             return true;
                           }));
  all.push_back(
      of_unit("one_nak_of_packet", "NAK 0x60 of a packet comes once", "cm.packet_crc_of_cells", [] {
        const auto seen = std::make_shared<std::set<std::pair<std::uint32_t, std::uint32_t>>>();
        return reply_rule(To::kSuite, [seen](const CellView& view, const AckExt& ack, Lcn) {
          const std::pair packet{view.header.dqpn.value, view.header.psn.value};
          return !is_of_packet(view, ack) || seen->insert(packet).second;
        });
      }));
  all.push_back(of_replies(
      "nak_of_packet_stale", "NAK 0x60 is dropped where cells of its packet were acknowledged",
      "loss.nak_of_packet", To::kTarget, [](const CellView& view, const AckExt& ack, Lcn acked) {
        return !is_of_packet(view, ack) || ack.cumulative - acked >= 0;
      }));
}

// A number that the target must drop becomes one that it takes.
void add_numbers(std::vector<Fault>& all) {
  const auto of_numbers = [&all](const std::string& name, const std::string& what,
                                 const std::string& noticed_by, Op op, bool is_unsent) {
    all.push_back(of_replies(
        name, what, noticed_by, To::kTarget, [=](const CellView& view, AckExt& ack, Lcn acked) {
          const std::int32_t ahead = ack.cumulative - acked;
          const bool is_wrong = is_unsent ? ahead > 400 : ahead < 0;
          const bool is_it = view.header.op == op && is_wrong && !is_of_packet(view, ack);
          if (is_it) ack.cumulative = acked;
          return true;
        }));
  };
  of_numbers("nak_of_unsent", "a NAK of cells that were never sent has an effect",
             "loss.nak_of_unsent", Op::kNak, true);
  of_numbers("nak_of_less", "a NAK that acknowledges less than an ACK before has an effect",
             "loss.nak_of_less", Op::kNak, false);
  of_numbers("ack_of_less", "the receive credits of an ACK of less than before are taken",
             "loss.ack_of_less", Op::kAck, false);
}

// A NAK that the target must drop becomes an ACK of all that it has sent.
Rule unsent_is_acknowledged() {
  const auto newest = std::make_shared<std::map<std::uint32_t, Lcn>>();
  return both(cell_rule(To::kSuite,
                        [newest](const CellView& view, RelayBytes&) {
                          const fabric::MacHeader& h = view.header;
                          if (h.op == Op::kSend) (*newest)[h.dqpn.value] = h.lcn;
                          return true;
                        }),
              cell_rule(To::kTarget, [newest](const CellView& view, RelayBytes& cell) {
                AckExt ack;
                if (view.header.op != Op::kNak || !fabric::parse_ack(view, ack)) return true;
                const auto sent = newest->find(view.header.sqpn.value);
                if (sent == newest->end() || ack.cumulative - sent->second <= 0) return true;
                fabric::MacHeader header = view.header;
                header.op = Op::kAck;
                header.emit(cell.data());
                ack.code = AckCode::kAck;
                ack.cumulative = sent->second;
                ack.emit(cell.data() + fabric::kMacHeaderBytes);
                return true;
              }));
}

// Cells that come once more, after these that do.
Rule retransmissions_at_most(unsigned count) {
  const auto seen = std::make_shared<std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned>>();
  return cell_rule(To::kSuite, [seen, count](const CellView& view, RelayBytes&) {
    const fabric::MacHeader& h = view.header;
    return h.op != Op::kSend || ++(*seen)[{h.sqpn.value, h.lcn.value}] <= 1 + count;
  });
}

void add_naks(std::vector<Fault>& all) {
  const auto of_naks = [&all](const std::string& name, const std::string& what,
                              const std::string& noticed_by, AckCode code,
                              const std::function<bool(AckExt&)>& change) {
    all.push_back(of_replies(name, what, noticed_by, To::kTarget,
                             [=](const CellView& view, AckExt& ack, Lcn) {
                               const bool is_it = view.header.op == Op::kNak && ack.code == code;
                               return !is_it || change(ack);
                             }));
  };
  const auto drop = [](AckExt&) { return false; };
  of_naks("sequence_nak_ignored", "NAK 0x60 is ignored: cells come once more at their time-out",
          "loss.sequence_nak_obeyed", AckCode::kSequence, drop);
  of_naks("rnr_ignored", "RNR NAKs are ignored: packets come once more at their time-out",
          "loss.rnr_obeyed", AckCode::kRnr, drop);
  of_naks("rnr_at_once", "the wait that an RNR NAK states is not kept", "loss.rnr_obeyed",
          AckCode::kRnr, [](AckExt& ack) {
            ack.detail = 0;
            return true;
          });
  all.push_back(of_unit("nak_of_unsent_counts",
                        "a NAK of cells that were never sent acknowledges all that were",
                        "loss.nak_of_unsent", unsent_is_acknowledged));
  all.push_back(of_unit("few_tries", "a cell is retransmitted three times, and no more",
                        "state.tries", [] { return retransmissions_at_most(3); }));
}

// Of a link of the full profile, where our programs state flag 0x0002.
void add_packet_crcs(std::vector<Fault>& all) {
  all.push_back({.name = "packet_crc_wrong",
                 .what = "the packet CRCs of the unit are wrong",
                 .noticed_by = "cm.packet_crc_of_target",
                 .make =
                     [] {
                       return cell_rule(To::kSuite, [](const CellView& view, RelayBytes& cell) {
                         if (view.packet_crc) {
                           cell.at(cell.size() - 2 * fabric::kCrcBytes) ^= std::byte{1};
                         }
                         return true;
                       });
                     },
                 .is_full = true});
  all.push_back(of_unit("packet_crc_missing", "flag 0x0002 is stated, and no packet CRC is sent",
                        "cm.packet_crc_of_target", [] {
                          return mgmt_rule(To::kSuite, [](fabric::Mgmt& mgmt) {
                            for (auto& pair : mgmt.pairs) pair.flags |= fabric::kPairPacketCrc;
                            return true;
                          });
                        }));
}

}  // namespace

std::vector<Fault> repair_faults() {
  std::vector<Fault> all;
  add_naks(all);
  add_packet_crcs(all);
  add_retransmissions(all);
  add_packets(all);
  add_numbers(all);
  return all;
}

}  // namespace splitnic::conformance
