// An SMP as bytes, and in the cell that docs/protocol/subnet.md has it in.
#pragma once

#include <string>

#include "fabric_emul/wire/cell.h"
#include "fabric_emul/wire/smp.h"
#include "tests/unit/fabric_emul/wire/codec.h"

namespace splitnic::fabric::smp_cells {

inline golden::Bytes bytes_of(const Smp& smp) { return golden::emitted(smp, emit_smp); }

inline std::string cell_of(Lid from, Lid to, const Smp& smp) {
  CellHead head;
  head.header.op = Op::kMgmt;
  head.header.service = Service::kMgmt;
  head.header.slid = from;
  head.header.dlid = to;
  head.header.dqpn = head.header.sqpn = Qpn(2);
  const golden::Bytes payload = bytes_of(smp);
  golden::Bytes cell(cell_bytes(head, payload.size()));
  cell.resize(emit_cell(cell, head, payload));
  return golden::hex_of(cell);
}

}  // namespace splitnic::fabric::smp_cells
