// A rule for a target that dies of a TERMINATE: it takes and sends nothing any more.
#pragma once

#include "fabric_emul/wire/cell.h"
#include "tests/conformance/relay.h"

namespace splitnic::conformance {

inline bool is_terminate(const RelayBytes& datagram) {
  fabric::FlitView flit;
  fabric::CellView cell;
  return fabric::parse_flit(datagram, flit) == fabric::FlitError::kNone &&
         flit.header.type == fabric::FlitType::kData &&
         fabric::parse_cell(flit.payload, cell) == fabric::CellError::kNone &&
         cell.header.op == fabric::Op::kTerminate;
}

inline Rule dies_of_terminate() {
  return [is_dead = false](To to, const RelayBytes& datagram) mutable {
    is_dead = is_dead || (to == To::kTarget && is_terminate(datagram));
    return !is_dead;
  };
}

}  // namespace splitnic::conformance
