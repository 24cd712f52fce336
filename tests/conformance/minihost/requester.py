"""The requester of an RC queue pair (transport.md): cuts packets into cells, keeps a window, repeats what was lost.

What was sent and not acknowledged is in `flight`, in LCN order. `pump` sends what may be sent now; `on_ack` and the timer decide
what has to be repeated.
"""
from collections import deque

import ack
import cell as c
from congestion import Congestion, RoundTrip
from serial import before, distance

MOST_PACKETS = 256                                               # P-RC-22
MOST_CELLS = 1024                                                # fewer than a responder keeps early (P-RC-4)
MOST_REPEATS, LEAST_TIME = 7, 5.0                                # P-RC-9
HEADERS = 72                                                     # of a cell in its datagram


class Packet:
    """One work request: a Send, or an RDMA write where `va` is set. `done(ok)` is called when it completed (P-RC-7)."""
    __slots__ = ("payload", "va", "idata", "done", "at", "csn", "psn")

    def __init__(self, payload, va, idata, done):
        self.payload, self.va, self.idata, self.done = payload, va, idata, done
        self.at = self.csn = 0
        self.psn = None

    @property
    def consumes_receive(self):
        return self.va is None or self.idata is not None


class InFlight:
    """A cell that was sent and is not acknowledged."""
    __slots__ = ("cell", "packet", "cost", "number", "sent", "repeated", "arrived", "lost")


class Requester:
    def __init__(self, qp, timers, counters):
        self.qp, self.timers, self.counters = qp, timers, counters
        self.queue, self.flight = deque(), deque()
        self.begun = []                                          # acknowledged cells of the oldest packet that is not acknowledged as a whole
        self.timer = self.current = None
        self.credits = 0

    def begin(self, psn, lcn, mcp, credits, most_bytes):
        """The own start values, and what the peer stated."""
        self.psn, self.lcn, self.mcp, self.credits = psn, lcn, mcp, credits
        self.acknowledged = (lcn - 1) & 0xFFFF                   # cumulative LCN
        self.packets = self.receives = 0                         # outstanding: all, and those that consume a receive
        self.number = 0                                          # counts transmissions
        self.round_trip = RoundTrip()
        self.congestion = Congestion(max(1024, mcp + HEADERS), most_bytes)
        self.timeouts, self.stalled_since = 0, None
        self.not_before = 0.0                                    # RNR

    def post(self, payload, va=None, idata=None, done=None):
        self.queue.append(Packet(payload, va, idata, done or (lambda ok: None)))

    @property
    def idle(self):
        return not self.flight and not self.queue and self.current is None

    def flush(self):
        """The queue pair is in ERR: everything completes as flushed."""
        self._stop_timer()
        packets = list(dict.fromkeys([f.packet for f in self.flight] + ([self.current] if self.current else [])))
        packets += list(self.queue)
        self.flight.clear()
        self.begun.clear()
        self.queue.clear()
        self.current = None
        for packet in packets:
            packet.done(False)

    # --- sending ---

    def _in_flight(self):
        return sum(f.cost for f in self.flight if not f.arrived and not f.lost)

    def pump(self):
        """Sends what may be sent now: first what was lost, then what is new."""
        now = self.timers.now()
        if not self.qp.may_send or now < self.not_before:
            return
        raw, out = self._in_flight(), []
        for f in self.flight:
            if f.lost:
                if raw and raw + f.cost > self.congestion.window:
                    break
                raw += f.cost
                f.lost, f.repeated = False, True
                f.cell.flags |= c.R
                self.counters.add("rc.tx.repeated")
                out.append(f)
        else:
            while len(self.flight) < MOST_CELLS and self._next_packet():
                cost = max(1024, min(len(self.current.payload) - self.current.at, self.mcp) + HEADERS)      # P-LINK-16
                if raw and raw + cost > self.congestion.window:
                    break
                raw += cost
                out.append(self._next_cell(cost))
        since_flag = 0
        for f in out:
            since_flag += f.cost
            if f is out[-1] or since_flag >= self.congestion.window / 4:         # P-RC-6
                f.cell.flags |= c.A
                since_flag = 0
            self.number += 1
            f.number, f.sent = self.number, now
            self.qp.transmit(f.cell)
        if self.flight and self.timer is None:
            self._start_timer()

    def _next_packet(self):
        """Whether there is a packet of which a cell may be sent (P-RC-17, P-RC-22)."""
        if self.current:
            return True
        if not self.queue or self.packets >= MOST_PACKETS:
            return False
        packet = self.queue[0]
        if packet.consumes_receive and self.receives and self.receives >= self.credits:
            return False
        self.current = self.queue.popleft()
        self.current.psn = self.psn
        self.psn = (self.psn + 1) & 0xFFFFFF
        self.packets += 1
        self.receives += packet.consumes_receive
        return True

    def _next_cell(self, cost):
        packet = self.current
        piece = packet.payload[packet.at:packet.at + self.mcp]
        starts, ends = packet.at == 0, packet.at + len(piece) == len(packet.payload)
        pos = c.ONLY if starts and ends else c.FIRST if starts else c.LAST if ends else c.MIDDLE
        cell = c.Cell(c.SEND if packet.va is None else c.RDMA_WRITE, c.RC, pos, psn=packet.psn, csn=packet.csn, lcn=self.lcn,
                      payload=piece)
        if starts:
            cell.va = packet.va
        if ends and packet.idata is not None:
            cell.idata = packet.idata                            # P-CELL-7
            cell.flags |= c.I
        packet.at += len(piece)
        packet.csn += 1
        self.lcn = (self.lcn + 1) & 0xFFFF
        if ends:
            self.current = None
        f = InFlight()
        f.cell, f.packet, f.cost, f.repeated, f.arrived, f.lost = cell, packet, cost, False, False, False
        self.flight.append(f)
        return f

    # --- acknowledgements ---

    def _legal(self, cell, x, is_nak):
        """P-ACK-6: nothing that was not sent, and not less than before. Returns how many cells it acknowledges, or None."""
        count = distance(self.acknowledged, x.cumulative, 16)
        if count > len(self.flight):
            return None
        arrived = x.arrived()
        if arrived and count + arrived[-1] > len(self.flight):
            return None
        newest = (self.psn - 1) & 0xFFFFFF
        if before(newest, cell.psn, 24):
            return None
        if is_nak:                                               # the refused packet is the oldest that is left
            if count >= len(self.flight) or self.flight[count].cell.psn != cell.psn:
                return None                                      # P-RC-14
            if x.code not in ack.FATAL and not any(f.cell.psn == cell.psn and f.cell.csn == cell.csn for f in self.flight):
                return None
        return count

    def _take_back(self, cell):
        """P-ACK-6: a NAK of the packet CRC names the oldest packet, and its cells are sent once more, also those that were acknowledged."""
        first = self.begun[0].cell if self.begun else None
        before_it = first and (first.lcn - 1) & 0xFFFF
        if not first or (cell.ackx.code, cell.csn, cell.psn, cell.ackx.cumulative) != (ack.SEQUENCE, 0, first.psn, before_it):
            return
        for f in self.begun:
            f.arrived = False
        self.flight.extendleft(reversed(self.begun))
        self.begun.clear()
        self.acknowledged = before_it

    def on_ack(self, cell):
        x = cell.ackx
        is_nak = cell.op == c.NAK
        if is_nak:
            self._take_back(cell)
        count = self._legal(cell, x, is_nak)
        if count is None:
            return self.counters.add("fabric.ack.stale")
        now, done = self.timers.now(), []
        self.credits = x.credits
        arrived = {count + d - 1 for d in x.arrived()}           # places in `flight`
        for at, f in enumerate(self.flight):
            if (at < count or at in arrived) and not f.arrived:
                f.arrived, f.lost = True, False
                if not f.repeated:
                    self.round_trip.measure(now - f.sent)        # P-RC-10
                self.congestion.grow(f.cost)
        for _ in range(count):
            f = self.flight.popleft()
            self.begun.append(f)
            if f.cell.ends:
                self.begun.clear()
                self.packets -= 1
                self.receives -= f.packet.consumes_receive
                done.append(f.packet)
        self.acknowledged = x.cumulative
        if count:
            self.timeouts, self.stalled_since = 0, None
            self._stop_timer()
            self.congestion.acknowledged(x.cumulative)
        for packet in done:
            packet.done(True)
        if is_nak:
            self._on_nak(cell, now, {self.flight[at - count].cell.lcn for at in arrived})
        else:
            self._find_lost()
        if self.flight and self.timer is None:
            self._start_timer()
        elif not self.flight:
            self._stop_timer()

    def _find_lost(self):
        """P-RC-11: a cell is lost when three that were sent behind it have arrived."""
        later = []
        for f in reversed(self.flight):
            if f.arrived:
                later.append(f.number)
            elif len(later) >= 3 and not f.lost and sum(number > f.number for number in later) >= 3:
                f.lost = True
                self.counters.add("rc.lost")
                self.congestion.lost((self.acknowledged + len(self.flight)) & 0xFFFF)

    def _on_nak(self, cell, now, kept):
        """`kept`: the LCNs that the bitmap of this NAK names. What an earlier one named may have to be sent once more."""
        code = cell.ackx.code
        self.counters.add("rc.rx.nak.%02x" % code)
        if code in ack.FATAL:
            return self.qp.fail(f"peer sent NAK {code:#x} detail {cell.ackx.detail:#x}")
        if code == ack.RNR:
            self.not_before = now + cell.ackx.detail * 10e-6     # P-RC-16
            self.timeouts, self.stalled_since = 0, None
            self.timers.after(cell.ackx.detail * 10e-6, self.qp.pump_later)
        for f in self.flight:                                    # P-RC-16, P-RC-21: from the named cell on
            if f.cell.psn == cell.psn and f.cell.csn >= cell.csn and f.cell.lcn not in kept:
                f.arrived = False
            f.lost = not f.arrived
        self._stop_timer()

    def _mark_lost(self):
        for f in self.flight:
            f.lost = not f.arrived

    # --- time ---

    def _start_timer(self):
        wait = self.round_trip.time_out(self.timeouts)
        self.timer = self.timers.after(max(wait, self.not_before - self.timers.now() + 0.001), self._time_out)

    def _stop_timer(self):
        if self.timer:
            self.timer.cancel()
            self.timer = None

    def _time_out(self):
        self.timer = None
        if not self.flight or not self.qp.may_send:
            return                                               # P-RC-9: while the link is not UP there is none
        now = self.timers.now()
        self.counters.add("rc.timeouts")
        if self.stalled_since is None:
            self.stalled_since = self.flight[0].sent
        self.timeouts += 1
        if self.timeouts > MOST_REPEATS and now - self.stalled_since >= LEAST_TIME:
            return self.qp.fail("no acknowledgement")
        self.congestion.time_out()
        self._mark_lost()
        self.pump()
        if self.flight and self.timer is None:
            self._start_timer()

    def link_up(self):
        """P-RC-27: what was in flight is repeated, by the same queue pair."""
        self.timeouts, self.stalled_since = 0, None
        self._stop_timer()
        self._mark_lost()

    def link_down(self):
        self._stop_timer()
