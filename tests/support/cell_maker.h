// Cells made by hand, as a queue pair would send them or as it never would. The queue pair whose
// cells these are sends nothing itself meanwhile.
#pragma once

#include "base/crc32c.h"
#include "base/endian.h"
#include "tests/support/adapter_pair.h"

namespace splitnic::fabric::testing {

struct CellParts {
  std::optional<VaMh> va_mh{};
  std::optional<std::uint32_t> idata{};
  std::uint8_t flags = 0;
  std::optional<std::uint32_t> packet_crc{};
};

inline std::vector<std::byte> make_cell(const CellHead& head, base::Bytes payload,
                                        std::optional<std::uint32_t> packet_crc = {}) {
  CellHead h = head;
  h.header.payload_bytes = static_cast<std::uint16_t>(payload.size());
  if (packet_crc) h.header.flags |= kFlagPacketCrc;
  std::vector<std::byte> out(cell_bytes(h, payload.size()));
  const std::size_t head_bytes = emit_cell_head(out, h);
  std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(head_bytes));
  out.resize(seal_cell(out, head_bytes, payload.size(), packet_crc));
  return out;
}

// An MGMT cell that arrives over the link; an empty payload has no format.
inline std::vector<std::byte> make_mgmt_cell_from_peer(const Link& link, base::Bytes payload) {
  CellHead head;
  head.header.op = Op::kMgmt;
  head.header.service = Service::kMgmt;
  head.header.dlid = link.local_lid();
  head.header.slid = link.remote_lid();
  head.header.dqpn = head.header.sqpn = kManagementQpn;
  return make_cell(head, payload);
}

// Recomputes the cell CRC, after a test has changed something before it.
inline void reseal(std::vector<std::byte>& cell) {
  const std::size_t covered = cell.size() - kCrcBytes;
  base::store_be(cell.data() + covered, base::crc32c(base::Bytes(cell).first(covered)));
}

class CellMaker {
 public:
  // The numbers start where those of the queue pair would.
  CellMaker(AdapterPair& pair, std::size_t from, Qpn source, std::size_t to, Qpn target)
      : pair_(pair), from_(from), to_(to), source_(source), target_(target) {
    const Qp& qp = pair.end(from).qp(source);
    service = qp.service();
    psn = qp.attr().send_psn;
    lcn = qp.attr().send_lcn;
  }

  MacHeader header(Op op, Pos pos) const {
    Link& link = pair_.end(from_).link(to_ == 0 ? 0 : to_ - 1);
    MacHeader h;
    h.op = op;
    h.pos = pos;
    h.service = service;
    h.slid = link.local_lid();
    h.dlid = link.remote_lid();
    h.sqpn = source_;
    h.dqpn = target_;
    h.psn = psn;
    h.csn = csn;
    if (service == Service::kRc) h.lcn = lcn;
    return h;
  }
  // The next cell; the numbers move on as they should.
  std::vector<std::byte> next(Op op, Pos pos, base::Bytes payload, const CellParts& parts = {}) {
    CellHead head;
    head.header = header(op, pos);
    head.header.flags = parts.flags;
    head.va_mh = parts.va_mh;
    head.idata = parts.idata;
    ++lcn;
    ++csn;
    if (is_last(pos)) {
      csn = 0;
      ++psn;
    }
    return make_cell(head, payload, parts.packet_crc);
  }
  // An ACK or NAK of this queue pair, which speaks of the cells of the other one.
  std::vector<std::byte> reply(Op op, const AckExt& ack, Psn of, std::uint16_t of_csn = 0) const {
    CellHead head;
    head.header = header(op, Pos::kOnly);
    head.header.psn = of;
    head.header.csn = of_csn;
    head.header.lcn = Lcn();
    head.ack = &ack;
    return make_cell(head, {});
  }
  // The other end receives it in its next iteration.
  void inject(base::Bytes cell) { pair_.end(to_).tap.inject(pair_.address(from_), cell); }
  void send(Op op, Pos pos, base::Bytes payload, const CellParts& parts = {}) {
    inject(next(op, pos, payload, parts));
  }

  Service service = Service::kRc;
  Psn psn;
  Lcn lcn;
  std::uint16_t csn = 0;

 private:
  AdapterPair& pair_;
  std::size_t from_, to_;
  Qpn source_, target_;
};

}  // namespace splitnic::fabric::testing
