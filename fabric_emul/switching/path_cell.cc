#include "fabric_emul/switching/path_cell.h"

#include <array>

#include "base/endian.h"
#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"

namespace splitnic::fabric {
namespace {

CellHead head_of(Lid from, Lid to, Qpn qpn, PartitionKey partition) {
  CellHead head;
  head.header.pos = Pos::kOnly;
  head.header.op = Op::kMgmt;
  head.header.service = Service::kMgmt;
  head.header.dlid = to;
  head.header.slid = from;
  head.header.dqpn = head.header.sqpn = qpn;
  head.header.partition = partition;
  return head;
}

}  // namespace

std::optional<MacHeader> header_of(base::Bytes cell) {
  if (cell.size() < kCellBytesMin) return std::nullopt;
  MacHeader header;
  MacHeader::parse(cell.data(), header);
  if (header.version != kCellVersion) return std::nullopt;
  return header;
}

std::size_t path_cell_bytes(std::size_t payload_bytes) {
  return cell_bytes(CellHead{}, payload_bytes);
}

bool send_path_cell(Link& link, Lid from, Lid to, Qpn qpn, base::Bytes payload,
                    PartitionKey partition, const Gnh* gnh) {
  CellHead head = head_of(from, to, qpn, partition);
  head.gnh = gnh;
  const base::MutableBytes room = link.reserve(cell_bytes(head, payload.size()), kMgmtLane);
  if (room.empty()) return false;
  link.commit(emit_cell(room, head, payload, link.crc_head_only()));
  return true;
}

// A path probe is longer than what parse_cell() takes as MGMT.
std::optional<base::Bytes> payload_of_path_cell(base::Bytes cell, Qpn qpn, bool crc_head_only) {
  const auto header = header_of(cell);
  if (!header || header->service != Service::kMgmt || header->op != Op::kMgmt ||
      header->dqpn != qpn || header->ext_words != 0 || header->pos != Pos::kOnly) {
    return std::nullopt;
  }
  if (cell.size() != path_cell_bytes(header->payload_bytes) ||
      check_cell_crc(cell, crc_head_only) != CellError::kNone) {
    return std::nullopt;
  }
  return cell.subspan(kMacHeaderBytes, header->payload_bytes);
}

bool begins_a_link(base::Bytes datagram) {
  FlitWalker walker(datagram);
  FlitView flit;
  Init init;
  return walker.next(flit) == FlitWalker::Step::kFlit && flit.header.type == FlitType::kInit &&
         parse_init(flit.payload, init) == InitError::kNone &&
         (init.step == InitStep::kHello || init.step == InitStep::kAnswer);
}

bool send_mgmt(Link& link, Lid from, Lid to, const Mgmt& m, PartitionKey partition) {
  std::array<std::byte, kMgmtPayloadMax> bytes;
  return send_path_cell(link, from, to, kSwitchQpn, base::Bytes(bytes).first(emit_mgmt(bytes, m)),
                        partition);
}

}  // namespace splitnic::fabric
