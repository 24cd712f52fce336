// Cells of an end as bytes, and the numbers of its channels behind them. End::cell() has the
// numbers that come next, right for each cell; a case changes them where it wants a wrong one.
// docs/protocol/cell.md
#pragma once

#include <cstdint>

#include "conformance/end.h"

namespace splitnic::conformance {

// The bytes of a cell, with the CRC of the profile of the link.
ByteVector make_cell(const End& end, const fabric::CellHead& head, base::Bytes payload);
// Puts the right CRC into a cell whose bytes were changed.
void reseal(const End& end, ByteVector& cell);
// Counts a cell at this position of its packet as sent.
void advance(End& end, unsigned channel, fabric::Pos pos);
// Sends a cell and counts it.
void put_cell(End& end, unsigned channel, const fabric::CellHead& head, base::Bytes payload);

// The extension of an ACK of all cells of the channel that have come.
fabric::AckExt ack_of(End& end, unsigned channel);
// `op`: ACK or NAK; `psn` and `csn` are those of a cell of the target.
void send_ack(End& end, unsigned channel, fabric::Op op, const fabric::AckExt& ack, fabric::Psn psn,
              std::uint16_t csn = 0);

}  // namespace splitnic::conformance
