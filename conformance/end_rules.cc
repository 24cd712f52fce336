// The rules of whatever a target sends: of each flit, cell and connection message. They hold in
// every case, so a target that breaks one fails whatever the case is about.
#include <algorithm>

#include "conformance/end.h"

namespace splitnic::conformance {
namespace {

using fabric::CellView;
using fabric::FlitHeader;
using fabric::MacHeader;
using fabric::Op;
using fabric::Service;

constexpr std::uint8_t kReservedCtl = 0x0F;
constexpr std::size_t kReservedAt = 12;  // the first bytes of the words 3 and 4 of a MAC header
constexpr std::size_t kReservedToo = 16;

bool is_zero(base::Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

bool End::rule(bool is_kept, std::string_view what) {
  if (!is_kept) outcome_.fail(std::string(what), "another one; before: " + inbox_.last());
  return is_good();
}

// [P-LINK-7] [P-LINK-10] [P-GEN-4]
bool End::check_data_flit(const FlitHeader& header) {
  constexpr std::uint8_t kWhole = fabric::kFlitSof | fabric::kFlitEof;
  const bool is_head_only = (header.ctl & fabric::kFlitCellCrcHeadOnly) != 0;
  if (!rule((header.ctl & kWhole) == kWhole, "DATA flits with SOF and EOF") ||
      !rule((header.ctl & kReservedCtl) == 0, "DATA flits with reserved bits of 0") ||
      !rule(is_head_only == config_.crc_head_only, "DATA flits of the CRC mode of the link")) {
    return false;
  }
  if (profile() != fabric::LinkProfile::kSpeed) return true;
  return rule((header.ctl & fabric::kFlitHeaderCrcOnly) != 0, "DATA flits with Ctl 0x20") &&
         rule(header.lsn == fabric::Lsn() && header.ack == fabric::Lsn() && header.credit_vl == 0 &&
                  header.credit_limit == 0,
              "DATA flits with F1 and F2 of 0");
}

// [P-DG-3]
bool End::check_filler(base::Bytes filler) {
  return rule(filler.size() < fabric::kFlitHeaderBytes || is_zero(filler), "filler of zeros");
}

// [P-CELL-12] [P-CELL-15] [P-GEN-4] [P-CELL-18]
bool End::check_cell(base::Bytes bytes, const CellView& view) {
  const MacHeader& h = view.header;
  const auto end =
      static_cast<std::size_t>(view.payload.data() - bytes.data()) + view.payload.size();
  const std::size_t pad = h.flags & fabric::kFlagPadMask;
  return rule(!is_linked_ || (h.dlid == lid_ && h.slid == target_.lid),
              "cells with the link addresses of both ends") &&
         rule(!config_.partition || fabric::match(h.partition, *config_.partition),
              "cells of the partition of both ends") &&
         rule(bytes[kReservedAt] == std::byte{0} && bytes[kReservedToo] == std::byte{0},
              "reserved bits of 0 in cells") &&
         rule(view.payload.empty() || is_zero(bytes.subspan(end, pad)), "pad bytes of 0");
}

// [P-MGMT-1] [P-MGMT-4]
bool End::check_mgmt(const MacHeader& header, const fabric::Mgmt& mgmt) {
  return rule(header.psn == fabric::Psn() && header.lcn == fabric::Lcn(),
              "PSN and LCN of 0 in MGMT") &&
         rule(!is_linked_ || (mgmt.eui64 == target_.eui64 && mgmt.instance == target_.instance &&
                              mgmt.peer_eui64 == config_.eui64 && mgmt.peer_instance == instance_),
              "MGMT with the identities of both ends");
}

// [P-CH-7] [P-CH-8] [P-CH-19] [P-CELL-5] [P-CELL-6] [P-RC-12] [P-UC-1]
bool End::check_request(unsigned channel, const CellView& view) {
  const Channel& c = channels_[channel];
  const MacHeader& h = view.header;
  const bool is_write = h.op == Op::kRdmaWrite;
  const std::size_t bytes = view.payload.size();
  const bool is_full =
      fabric::is_last(h.pos) ? bytes <= c.mcp && (bytes > 0 || h.csn == 0) : bytes == c.mcp;
  return rule(h.service == c.service, "cells of the service of their queue pair") &&
         rule(c.service == Service::kRc || h.lcn == fabric::Lcn(), "LCN 0 in cells of UC") &&
         rule(channel == (is_write ? data() : 0) || (!is_write && c.service == Service::kUc),
              "Sends on channel 0 and RDMA writes on the channel of data") &&
         rule(h.csn == 0 || h.op == c.op, "one operation per packet") &&
         rule(is_full, "cells of MCP bytes, but for the last one of a packet") &&
         rule(view.va_mh.has_value() == (is_write && h.csn == 0), "VA/MH in the first cell");
}

// [P-CELL-8] [P-CM-8] [P-RC-20]
bool End::check_packet_crc(unsigned channel, const CellView& view) {
  const Channel& c = channels_[channel];
  const bool has_one = view.packet_crc.has_value();
  return rule(has_one || !c.has_packet_crcs || !fabric::is_last(view.header.pos),
              "a packet CRC in the last cell of each packet, as CONNECT states it") &&
         rule(!has_one || *view.packet_crc == c.packet_crc.value(),
              "packet CRCs over the bytes of the packet");
}

}  // namespace splitnic::conformance
