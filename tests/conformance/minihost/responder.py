"""The responder of an RC queue pair (transport.md): takes cells in LCN order, keeps early ones, acknowledges and refuses.

The queue pair gives `permits_rdma`, `check` and `place` (memory), `deliver_send(bytes)` and
`deliver_write(idata, address, length)`; `transmit(cell)` sends an ACK or NAK.
"""
import ack
import cell as c
from crc32c import crc32c
from serial import before, distance

MOST_EARLY = 4096                                                # P-RC-4
MOST_EARLY_BYTES = 4 << 20
RNR_WAIT = 10                                                    # in units of 10 us (P-RC-16)


class Refusal(Exception):
    def __init__(self, code, detail=0):
        super().__init__(code)
        self.code, self.detail = code, detail


class Responder:
    def __init__(self, qp, counters):
        self.qp, self.counters = qp, counters
        self.posted, self.receive_size = 0, 0                    # receives, and how long a Send may be
        self.msn = 0

    def begin(self, psn, lcn, mcp, go_back_n, packet_crc):
        """What the peer stated in CONNECT (P-RC-2)."""
        self.psn, self.lcn, self.csn = psn, lcn, 0               # of the next cell in order
        self.last = ((psn - 1) & 0xFFFFFF, 0)                    # PSN and CSN of the last cell in order
        self.mcp, self.go_back_n, self.packet_crc = mcp, go_back_n, packet_crc
        self.bitmap_words = min(self.qp.bitmap_words, (mcp + 56 - 44) // 4)      # P-ACK-8
        self.early, self.early_bytes = {}, 0                    # LCN -> cell
        self.ack_due = self.gap_refused = self.packet_refused = False
        self._forget_packet()

    def _forget_packet(self):
        self.parts, self.size = [], 0                            # of the packet in progress
        self.op = self.va = self.idata = None
        self.first_lcn = self.lcn
        self.crc_parts = []

    @property
    def in_packet(self):
        return self.op is not None

    def post_receive(self, count=1):
        self.posted += count

    # --- a request cell ---

    def on_cell(self, cell):
        if cell.lcn == self.lcn:
            self._take(cell)
            while not self.qp.in_error and self.lcn in self.early:
                kept = self.early[self.lcn]
                if not self._take(kept):
                    break
        elif before(cell.lcn, self.lcn, 16):
            self.counters.add("rc.rx.duplicate")                 # P-RC-3: acknowledged once more, and nothing else
            self.ack_due = True
        else:
            self._keep(cell)

    def on_malformed(self, header):
        """P-RC-23: refused if it is the next one, dropped otherwise."""
        if header.lcn == self.lcn:
            self._refuse(header, Refusal(ack.INVALID))

    def _keep(self, cell):
        if self.packet_refused:                                  # P-RC-20
            if cell.flags & c.A:
                self._nak(ack.SEQUENCE, self.psn, 0)
            return
        if self.go_back_n:
            if not self.gap_refused:
                self.gap_refused = True
                self._nak(ack.SEQUENCE, self.psn, self.csn)
            return
        if distance(self.lcn, cell.lcn, 16) > MOST_EARLY or self.early_bytes + len(cell.payload) > MOST_EARLY_BYTES:
            self.counters.add("rc.rx.drop.window")
            return
        if cell.lcn not in self.early:
            self.early[cell.lcn] = cell
            self.early_bytes += len(cell.payload)
        self.ack_due = True

    def _take(self, cell):
        """The next cell in order; False if it was refused."""
        kept = self.early.pop(self.lcn, None)
        if kept is not None:
            self.early_bytes -= len(kept.payload)
        try:
            self._check(cell)
        except Refusal as refusal:
            self._refuse(cell, refusal)
            return False
        self._place(cell)
        return True

    def _check(self, cell):
        """P-RC-12: the first check that fails decides."""
        if cell.psn != self.psn or cell.csn != self.csn or cell.starts == self.in_packet:
            raise Refusal(ack.INVALID)
        op = cell.op
        if op not in (c.SEND, c.RDMA_WRITE) or self.op not in (None, op):
            raise Refusal(ack.INVALID)                           # P-RC-25; reads and FetchOps: P-RC-42 with 0
        if op == c.RDMA_WRITE and not self.qp.permits_rdma:
            raise Refusal(ack.INVALID)                           # P-RC-26
        if None not in (cell.idata, self.idata) and cell.idata != self.idata:
            raise Refusal(ack.INVALID)                           # P-CELL-7
        size, total = len(cell.payload), self.size + len(cell.payload)
        if size > self.mcp or (not cell.ends and size != self.mcp) or (cell.pos == c.LAST and size == 0):
            raise Refusal(ack.INVALID)                           # P-CELL-5
        if op == c.SEND:
            if total > self.receive_size:
                raise Refusal(ack.INVALID)                       # P-RC-19
            if cell.starts and not self.posted:
                raise Refusal(ack.RNR, RNR_WAIT)
            return
        address, handle, length = cell.va or self.va
        if total > length or cell.ends != (total == length):
            raise Refusal(ack.INVALID)
        letter = self.qp.check(handle, address, length) if cell.starts else None
        letter = letter or self.qp.check(handle, address + self.size, size)      # P-MEM-3
        if letter:
            raise Refusal(ack.ACCESS, ord(letter))
        with_idata = cell.idata is not None or self.idata is not None
        if cell.ends and with_idata and not self.posted:
            raise Refusal(ack.RNR, RNR_WAIT)

    def _place(self, cell):
        if cell.starts:
            self.first_lcn, self.op, self.va = cell.lcn, cell.op, cell.va
        if cell.idata is not None:
            self.idata = cell.idata
        if self.op == c.RDMA_WRITE:
            self.qp.place(self.va[1], self.va[0] + self.size, cell.payload)
        else:
            self.parts.append(cell.payload)
        if self.packet_crc:
            self.crc_parts.append(c.packet_crc_part(cell))
        self.size += len(cell.payload)
        self.last = (cell.psn, cell.csn)
        self.lcn = (self.lcn + 1) & 0xFFFF
        self.csn = cell.csn + 1
        self.ack_due, self.gap_refused, self.packet_refused = True, False, False
        if cell.ends:
            self._complete(cell)

    def _complete(self, cell):
        if self.packet_crc and cell.flags & c.P and cell.packet_crc != crc32c(*self.crc_parts):
            self.counters.add("rc.rx.drop.packet_crc")           # P-RC-20: the whole packet once more
            self.lcn, self.csn = self.first_lcn, 0
            self.last = ((self.psn - 1) & 0xFFFFFF, 0)
            self._forget_packet()
            self.early, self.early_bytes, self.packet_refused = {}, 0, True
            return self._nak(ack.SEQUENCE, self.psn, 0)
        op, va, idata, size, raw = self.op, self.va, self.idata, self.size, b"".join(self.parts)
        self.psn, self.csn = (self.psn + 1) & 0xFFFFFF, 0
        self.msn = (self.msn + 1) & 0xFFFFFF
        self._forget_packet()
        if op == c.SEND:
            self.posted -= 1
            self.qp.deliver_send(raw)
        elif idata is not None:                                  # P-RC-18: without idata it is invisible
            self.posted -= 1
            self.qp.deliver_write(idata, va[0], size)

    # --- acknowledgements ---

    def _refuse(self, cell, refusal):
        self.counters.add("rc.tx.nak.%02x" % refusal.code)
        self._nak(refusal.code, cell.psn, cell.csn, refusal.detail)
        if refusal.code in ack.FATAL:
            self.qp.fail(f"refused with {refusal.code:#x}")      # P-RC-24

    def _ackx(self, code, detail=0):
        cumulative = (self.lcn - 1) & 0xFFFF
        bitmap = ack.bitmap_of([distance(cumulative, lcn, 16) for lcn in self.early], self.bitmap_words)
        return ack.Ackx(code, self.msn, min(self.posted, 65535), detail, cumulative, 0, bitmap)

    def _nak(self, code, psn, csn, detail=0):
        self.ack_due = False                                     # P-ACK-10: it acknowledges the same
        self.qp.transmit(c.Cell(c.NAK, c.RC, psn=psn, csn=csn, ackx=self._ackx(code, detail)))

    def end_of_batch(self):
        """P-RC-5: this host acknowledges at the end of each batch that had a request cell."""
        if self.ack_due:
            self.ack_due = False
            psn, csn = self.last
            self.qp.transmit(c.Cell(c.ACK, c.RC, psn=psn, csn=csn, ackx=self._ackx(ack.ACK)))
