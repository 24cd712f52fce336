#include "conformance/rules.h"

#include <algorithm>
#include <initializer_list>

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

struct Rule {
  bool is_kept;
  std::string_view text;
};

std::string_view first_broken(std::initializer_list<Rule> rules) {
  const auto broken = std::ranges::find_if(rules, [](const Rule& rule) { return !rule.is_kept; });
  return broken == rules.end() ? std::string_view() : broken->text;
}

bool is_zero(base::Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

// [P-LINK-7] [P-LINK-10] [P-GEN-4]
std::string_view broken_by_data_flit(const FlitHeader& header, fabric::LinkProfile profile,
                                     bool crc_head_only) {
  constexpr std::uint8_t kWhole = fabric::kFlitSof | fabric::kFlitEof;
  const bool is_head_only = (header.ctl & fabric::kFlitCellCrcHeadOnly) != 0;
  const bool is_speed = profile == fabric::LinkProfile::kSpeed;
  return first_broken(
      {{(header.ctl & kWhole) == kWhole, "DATA flits with SOF and EOF"},
       {(header.ctl & kReservedCtl) == 0, "DATA flits with reserved bits of 0"},
       {is_head_only == crc_head_only, "DATA flits of the CRC mode of the link"},
       {!is_speed || (header.ctl & fabric::kFlitHeaderCrcOnly) != 0, "DATA flits with Ctl 0x20"},
       {!is_speed || (header.lsn == fabric::Lsn() && header.ack == fabric::Lsn() &&
                      header.credit_vl == 0 && header.credit_limit == 0),
        "DATA flits with F1 and F2 of 0"}});
}

// [P-DG-3]
std::string_view broken_by_filler(base::Bytes filler) {
  return first_broken(
      {{filler.size() < fabric::kFlitHeaderBytes || is_zero(filler), "filler of zeros"}});
}

// [P-CELL-12] [P-CELL-15] [P-GEN-4] [P-CELL-18]
std::string_view broken_by_cell(base::Bytes bytes, const CellView& view,
                                const std::optional<LinkIdentities>& link,
                                std::optional<fabric::PartitionKey> partition) {
  const MacHeader& h = view.header;
  const auto end =
      static_cast<std::size_t>(view.payload.data() - bytes.data()) + view.payload.size();
  const std::size_t pad = h.flags & fabric::kFlagPadMask;
  return first_broken(
      {{!link || (h.dlid == link->lid && h.slid == link->target_lid),
        "cells with the link addresses of both ends"},
       {!partition || fabric::match(h.partition, *partition),
        "cells of the partition of both ends"},
       {bytes[kReservedAt] == std::byte{0} && bytes[kReservedToo] == std::byte{0},
        "reserved bits of 0 in cells"},
       {view.payload.empty() || is_zero(bytes.subspan(end, pad)), "pad bytes of 0"}});
}

// [P-MGMT-1] [P-MGMT-4]
std::string_view broken_by_mgmt(const MacHeader& header, const fabric::Mgmt& mgmt,
                                const std::optional<LinkIdentities>& link) {
  return first_broken(
      {{header.psn == fabric::Psn() && header.lcn == fabric::Lcn(), "PSN and LCN of 0 in MGMT"},
       {!link || (mgmt.eui64 == link->target_eui64 && mgmt.instance == link->target_instance &&
                  mgmt.peer_eui64 == link->eui64 && mgmt.peer_instance == link->instance),
        "MGMT with the identities of both ends"}});
}

// [P-CH-7] [P-CH-8] [P-CH-19] [P-CELL-5] [P-CELL-6] [P-RC-12] [P-UC-1]
std::string_view broken_by_request(const CellView& view, const Channel& c, unsigned channel,
                                   unsigned data) {
  const MacHeader& h = view.header;
  const bool is_write = h.op == Op::kRdmaWrite;
  const std::size_t bytes = view.payload.size();
  const bool is_full =
      fabric::is_last(h.pos) ? bytes <= c.mcp && (bytes > 0 || h.csn == 0) : bytes == c.mcp;
  return first_broken(
      {{h.service == c.service, "cells of the service of their queue pair"},
       {c.service == Service::kRc || h.lcn == fabric::Lcn(), "LCN 0 in cells of UC"},
       {channel == (is_write ? data : 0) || (!is_write && c.service == Service::kUc),
        "Sends on channel 0 and RDMA writes on the channel of data"},
       {h.csn == 0 || h.op == c.op, "one operation per packet"},
       {is_full, "cells of MCP bytes, but for the last one of a packet"},
       {view.va_mh.has_value() == (is_write && h.csn == 0), "VA/MH in the first cell"}});
}

// [P-CELL-8] [P-CM-8] [P-RC-20]
std::string_view broken_by_packet_crc(const CellView& view, const Channel& c) {
  const bool has_one = view.packet_crc.has_value();
  return first_broken({{has_one || !c.has_packet_crcs || !fabric::is_last(view.header.pos),
                        "a packet CRC in the last cell of each packet, as CONNECT states it"},
                       {!has_one || *view.packet_crc == c.packet_crc.value(),
                        "packet CRCs over the bytes of the packet"}});
}

}  // namespace splitnic::conformance
