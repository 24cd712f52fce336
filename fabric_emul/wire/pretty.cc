// Dumps of cells and flits. Allocates; never on the data path.
#include "fabric_emul/wire/pretty.h"

#include <fmt/format.h>

#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/flit.h"
#include "fabric_emul/wire/init.h"
#include "fabric_emul/wire/mgmt.h"
#include "fabric_emul/wire/smp.h"
#include "fabric_emul/wire/smp_load.h"

namespace splitnic::fabric {

namespace {

std::string flags_text(std::uint8_t flags) {
  std::string text;
  constexpr std::string_view kLetters = "AISGPR";
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    if ((flags & (0x80U >> i)) != 0) text += kLetters[i];
  }
  return text.empty() ? "-" : text;
}

std::string ack_text(const AckExt& ack) {
  std::string text = fmt::format(" {} msn {} credits {} detail {}", name(ack.code), ack.msn,
                                 ack.receive_credits, ack.detail);
  if (!ack.selective) return text;
  text += fmt::format(" cumulative {} hold {}us", ack.cumulative.value, ack.hold_10us * 10);
  for (unsigned i = 0; i < ack.bitmap_words; ++i) text += fmt::format(" {:08x}", ack.bitmap[i]);
  return text;
}

std::string init_text(base::Bytes payload) {
  Init init;
  const InitError error = parse_init(payload, init);
  if (error != InitError::kNone) return fmt::format(" bad init: {}", name(error));
  return fmt::format(
      " {} {} eui {:016x} port {} instance {:016x} peer {:016x} nonce {:016x} echo {:016x} lid {} "
      "offers {} mcp {} flit {} lanes {:04x} credit {} buffer {} reason {} payload_crc {} "
      "proof {:014x}",
      name(init.step), name(init.profile), init.eui64.value, init.port, init.instance,
      init.peer_instance, init.nonce, init.echo, init.lid.value, init.offered_lid.value,
      init.mcp_max, init.flit_payload_max, init.lanes_mask, init.initial_credit,
      init.receive_buffer_bytes, name(init.reason), name(init.payload_crc), init.proof);
}

std::string mgmt_text(base::Bytes payload) {
  Mgmt mgmt;
  const MgmtError error = parse_mgmt(payload, mgmt);
  if (error != MgmtError::kNone) return fmt::format(" bad mgmt: {}", name(error));
  std::string text = fmt::format(" {} transaction {:016x} private {}", name(mgmt.kind),
                                 mgmt.transaction, mgmt.private_data.size());
  if (mgmt.reject != MgmtReject::kNone) text += fmt::format(" reject {}", name(mgmt.reject));
  for (const MgmtPair& pair : mgmt.used_pairs()) {
    text += fmt::format(" [{} {} qp {:06x} peer {:06x} psn {} lcn {} mcp {}]", pair.channel,
                        name(pair.service), pair.qpn.value, pair.peer_qpn.value,
                        pair.start_psn.value, pair.start_lcn.value, pair.mcp);
  }
  return text;
}

std::string load_text(const SmpLoad& load) {
  std::string text = " [cells";
  for (const SmpLoad::Port& port : load.used_ports()) {
    text += fmt::format(" {}:{}", port.number, port.cells);
  }
  return text + "]";
}

std::string body_text(const Smp& smp) {
  SmpNode node;
  SmpTable table;
  if (smp.attribute == SmpAttribute::kNode && parse_smp_node(smp.body, node) == SmpError::kNone) {
    std::string text = fmt::format(" [{} lid {} changes {} check {:08x} ports", node.name,
                                   node.lid.value, node.changes, node.check);
    for (const SmpNode::PortInfo& port : node.used_ports()) {
      text += fmt::format(" {}:{}:{}", port.number, name(port.state), port.lid.value);
    }
    return text + "]";
  }
  SmpLoad load;
  if (smp.attribute == SmpAttribute::kLoad && !smp.body.empty() &&
      parse_smp_load(smp.body, load) == SmpError::kNone) {
    return load_text(load);
  }
  if (smp.attribute != SmpAttribute::kTable || parse_smp_table(smp.body, table) != SmpError::kNone)
    return {};
  return fmt::format(" [block {} stage {} parts {} changes {} check {:08x} ports {}]", table.block,
                     name(table.stage), table.parts, table.changes, table.check,
                     table.ports.size());
}

std::string smp_text(base::Bytes payload) {
  Smp smp;
  const SmpError error = parse_smp(payload, smp);
  if (error != SmpError::kNone) return fmt::format(" bad smp: {}", name(error));
  std::string text =
      fmt::format(" {} {} {} manager {} priority {} transaction {:016x} hop {} of {} route",
                  name(smp.method), name(smp.attribute), name(smp.status), smp.manager.lid.value,
                  smp.manager.priority, smp.transaction, smp.hop, smp.route.hops);
  for (const std::uint8_t port : smp.route.used()) text += fmt::format(" {}", port);
  if (smp.is_cut_off) text += " cut off";
  return text + body_text(smp);
}

// MGMT, an SMP, or what goes along a path.
std::string management_text(const CellView& cell) {
  if (cell.header.dqpn == kSubnetQpn) return smp_text(cell.payload);
  FlitView flit;
  const bool is_path =
      cell.header.dqpn == kPathQpn && parse_flit(cell.payload, flit) == FlitError::kNone;
  return is_path ? " path " + dump_flit(cell.payload) : mgmt_text(cell.payload);
}

}  // namespace

std::string dump_cell(base::Bytes cell, bool crc_head_only) {
  CellView view;
  const CellError error = parse_cell(cell, view, crc_head_only);
  if (error != CellError::kNone) {
    return fmt::format("bad cell: {}, {} bytes", name(error), cell.size());
  }
  const MacHeader& h = view.header;
  std::string text = fmt::format(
      "{} {} {} {}:{:06x} > {}:{:06x} psn {} csn {} lcn {} sl {} flags {} payload {}",
      name(h.service), name(h.op), name(h.pos), h.slid.value, h.sqpn.value, h.dlid.value,
      h.dqpn.value, h.psn.value, h.csn, h.lcn.value, h.sl, flags_text(h.flags), h.payload_bytes);
  if (view.va_mh) {
    text += fmt::format(" va {:x} mh {:08x} length {}", view.va_mh->address.value,
                        view.va_mh->handle.value, view.va_mh->length);
  }
  if (view.ee) text += fmt::format(" ee {}", *view.ee);
  if (view.stream_number) text += fmt::format(" stream {}", *view.stream_number);
  if (view.idata) text += fmt::format(" idata {:08x}", *view.idata);
  if (view.dereg) text += fmt::format(" dereg {:08x}", *view.dereg);
  if (view.packet_crc) text += fmt::format(" packet_crc {:08x}", *view.packet_crc);
  if (AckExt ack; parse_ack(view, ack)) text += ack_text(ack);
  if (h.op == Op::kMgmt) text += management_text(view);
  return text;
}

std::string dump_flit(base::Bytes at) {
  FlitView flit;
  const FlitError error = parse_flit(at, flit);
  if (error != FlitError::kNone) {
    return fmt::format("bad flit: {}, {} bytes", name(error), at.size());
  }
  const FlitHeader& h = flit.header;
  std::string text =
      fmt::format("{} vl {} ctl {:02x} size {} lsn {} ack {} credit {}:{}", name(h.type), h.vl,
                  h.ctl, h.size, h.lsn.value, h.ack.value, h.credit_vl, h.credit_limit);
  if (h.type == FlitType::kInit) return text + init_text(flit.payload);
  const bool whole = (h.ctl & (kFlitSof | kFlitEof)) == (kFlitSof | kFlitEof);
  if (h.type == FlitType::kData && whole) {
    text += " | " + dump_cell(flit.payload, (h.ctl & kFlitCellCrcHeadOnly) != 0);
  }
  return text;
}

}  // namespace splitnic::fabric
