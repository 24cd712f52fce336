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

}  // namespace

std::vector<Fault> repair_faults() {
  std::vector<Fault> all;
  add_packets(all);
  add_numbers(all);
  return all;
}

}  // namespace splitnic::conformance
