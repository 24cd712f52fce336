"""The full profile of a link (flit.md): lanes, credits, and flits that the link itself repeats.

`FullProfile` is one life of a link, from `ready` to its end; link.py has INIT and gives it the flits. The owner gives
`transmit(datagram)`, `on_cell(bytes)`, `on_down(reason)`.
"""
from collections import deque

import flit
from congestion import RoundTrip
from serial import before, distance

LANES = 0x800F                                                   # 0 to 3 and 15
FLIT_PAYLOAD, MCP, CREDIT = 128, 256, 4096                       # what this host offers
IDLE_AFTER, SILENT_AFTER = 0.010, 0.905                          # P-LINK-33, between programs
FIRST_TIME_OUT, LEAST_TIME_OUT, MOST_REPEATS = 0.010, 0.001, 900                # P-LINK-27
DATA_LANES = (0, 1, 2, 3)
SHARES = {15: 65536, 3: 65536, 2: 32768, 1: 16384, 0: 8192}      # bytes of a round
COUNT24 = 1 << 24
MOST_FLIGHT = 1 << 14                                            # flits; less than half of the LSNs


def blocks(size):
    return -(-size // 64)


class InFlight:
    __slots__ = ("lsn", "lane", "ctl", "payload", "sent", "repeated")


class FullProfile:
    def __init__(self, timers, counters, ready, datagram_length, transmit, on_cell, on_down):
        self.timers, self.counters = timers, counters
        self.transmit, self.on_cell, self.on_down = transmit, on_cell, on_down
        self.payload = min(FLIT_PAYLOAD, ready.flit_payload)     # P-LINK-20
        self.lanes = LANES & ready.lanes
        self.datagram_length, self.most_bytes = datagram_length, ready.receive_buffer // 2
        self.largest_cell = MCP + 56 + 1024
        # sending
        self.next_lsn = ready.echo & 0xFFFF                      # P-LINK-22: that of the client
        self.acknowledged = (self.next_lsn - 1) & 0xFFFF
        self.limits = {lane: ready.initial_credit for lane in DATA_LANES}
        self.sent_blocks = dict.fromkeys(DATA_LANES, 0)
        self.queues = {lane: deque() for lane in DATA_LANES + (15,)}
        self.shares_left = dict(SHARES)                          # of this round, in bytes
        self.flight, self.repeat_from, self.nak_handled = deque(), None, None
        self.round_trip, self.failures, self.timer = RoundTrip(), 0, None
        # receiving
        self.taken = (ready.echo >> 16) - 1 & 0xFFFF             # the last DATA flit that was taken
        self.granted = dict.fromkeys(DATA_LANES, CREDIT)
        self.received = dict.fromkeys(DATA_LANES, 0)
        self.changed, self.ack_due, self.nak_due, self.nak_sent = set(), False, False, False
        self.parts = {}                                          # lane -> pieces of the cell in progress
        self.sent_at = self.heard = timers.now()
        self.alive, self._out = True, []
        self._watch()

    def close(self):
        self.alive = False
        if self.timer:
            self.timer.cancel()

    # --- sending ---

    def send_cell(self, cell, lane):
        if not self.lanes >> lane & 1:
            lane = 0
        for at in range(0, len(cell), self.payload):             # P-LINK-21
            piece = cell[at:at + self.payload]
            ctl = (flit.SOF if at == 0 else 0) | (flit.EOF if at + len(piece) == len(cell) else 0)
            self.queues[lane].append((ctl, piece))

    def _may_leave(self, lane):
        queue = self.queues[lane]
        if not queue:
            return False
        if lane == 15:
            return True
        need = blocks(len(queue[0][1]))                          # P-LINK-28
        return need <= (self.limits[lane] - self.sent_blocks[lane]) % COUNT24 < COUNT24 // 2

    def _next_lane(self):
        """P-LINK-30: from lane 15 down, each up to its share of a round; one that may not send delays no other."""
        may_leave = [lane for lane in SHARES if self._may_leave(lane)]
        while may_leave:
            for lane in may_leave:
                if self.shares_left[lane] > 0:
                    return lane
            for lane, share in SHARES.items():
                self.shares_left[lane] = min(self.shares_left[lane], 0) + share
        return None

    def _emit(self, kind, lane=15, ctl=0, lsn=0, payload=b""):
        """Each flit has the acknowledge number, and the limit of one lane."""
        of = min(self.changed) if self.changed else 0
        self.changed.discard(of)
        self.ack_due = False
        self.sent_at = self.timers.now()
        self._out.append(flit.encode(flit.Flit(kind, lane, ctl, lsn, self.taken, of, self.granted[of] % COUNT24, payload)))

    def _emit_data(self, f, now):
        self._emit(flit.DATA, f.lane, f.ctl, f.lsn, f.payload)
        f.sent = now

    def end_of_batch(self):
        """Sends what may leave, and acknowledges and grants what no DATA flit has carried."""
        if not self.alive:
            return
        now = self.timers.now()
        if self.nak_due:
            self.nak_due = False
            self._emit(flit.LNAK)
        if self.repeat_from is not None:
            for f in self.flight:
                if not before(f.lsn, self.repeat_from, 16):
                    f.repeated = True
                    self.counters.add("link.full.tx.repeated")
                    self._emit_data(f, now)
            self.repeat_from = None
        while len(self.flight) < MOST_FLIGHT and (not self.flight or (len(self.flight) + 1) * 1024 <= self.most_bytes):
            lane = self._next_lane()
            if lane is None:
                break
            f = InFlight()
            f.ctl, f.payload = self.queues[lane].popleft()
            f.lsn, f.lane, f.repeated = self.next_lsn, lane, False
            self.shares_left[lane] -= 16 + len(f.payload)
            self.next_lsn = (self.next_lsn + 1) & 0xFFFF
            if lane != 15:
                self.sent_blocks[lane] += blocks(len(f.payload))
            self.flight.append(f)
            self._emit_data(f, now)
        if self.ack_due and not self.changed:
            self._emit(flit.LACK)
        while self.changed:
            self._emit(flit.CREDIT)
        if self.flight and self.timer is None:
            self._start_timer()
        self._flush()

    def _flush(self):
        """Flits go together in datagrams, whole (P-DG-2)."""
        datagram = b""
        for raw in self._out:
            if datagram and len(datagram) + len(raw) > self.datagram_length:
                self.transmit(datagram)
                datagram = b""
            datagram += raw
        if datagram:
            self.transmit(datagram)
        self._out = []

    # --- time ---

    def _watch(self):
        if not self.alive:
            return
        now = self.timers.now()
        if now - self.heard >= SILENT_AFTER:
            return self.on_down("silence")
        if now - self.sent_at >= IDLE_AFTER - 0.0005:
            self._emit(flit.IDLE)
            self._flush()
        self.timers.after(max(self.sent_at + IDLE_AFTER - now, 0.002), self._watch)

    def _start_timer(self):
        r = self.round_trip
        wait = FIRST_TIME_OUT if r.smoothed is None else max(r.smoothed + 4 * r.variation, LEAST_TIME_OUT)
        self.timer = self.timers.after(wait, self._time_out)

    def _time_out(self):
        self.timer = None
        if not self.flight or not self.alive:
            return
        self.counters.add("link.full.timeouts")
        if self._may_repeat():
            self.repeat_from = self.flight[0].lsn
            self.end_of_batch()

    def _may_repeat(self):
        """Each time-out and each LNAK without an acknowledgement is a failure (P-LINK-27)."""
        self.failures += 1
        if self.failures > MOST_REPEATS:
            self.on_down("no acknowledgement")
        return self.failures <= MOST_REPEATS

    # --- receiving ---

    def on_bad(self):
        """A flit that cannot be read: what is missing is requested, once."""
        self._gap()

    def _gap(self):
        if not self.nak_sent:
            self.nak_sent = self.nak_due = True                  # P-LINK-24

    def on_flit(self, one):
        if one.ctl & flit.CRC_OF_HEADER:
            return self._drop("type")                            # P-LINK-23
        newest = (self.next_lsn - 1) & 0xFFFF
        if before(newest, one.ack, 16):
            return self._drop("ack")                             # P-LINK-25: whole, and no sign of life
        self.heard = self.timers.now()
        overtaken = before(one.ack, self.acknowledged, 16)
        if not overtaken:
            self._acknowledged(one.ack)
            self._limit(one.credit_lane, one.credit_limit)
        if one.type == flit.LNAK and not overtaken:
            self._on_nak(one.ack)
        elif one.type == flit.DATA:
            self._on_data(one)

    def _acknowledged(self, number):
        count, now = distance(self.acknowledged, number, 16), self.timers.now()
        for _ in range(count):
            f = self.flight.popleft()
            if not f.repeated:
                self.round_trip.measure(now - f.sent)
        self.acknowledged = number
        if count:
            self.failures, self.nak_handled = 0, None
            if self.timer:
                self.timer.cancel()
                self.timer = None

    def _limit(self, lane, limit):
        if lane in self.limits:
            if before(self.limits[lane], limit, 24):
                self.limits[lane] = limit
            elif limit != self.limits[lane]:
                self._drop("credit")                             # P-LINK-29

    def _on_nak(self, number):
        if self.nak_handled != number and self.flight and self._may_repeat():
            self.nak_handled = number                            # P-LINK-26
            self.repeat_from = (number + 1) & 0xFFFF

    def _on_data(self, one):
        expected = (self.taken + 1) & 0xFFFF
        if one.lsn != expected:
            if before(one.lsn, expected, 16):
                self.ack_due = True                              # repeated: acknowledged and not taken
                return self._drop("repeated")
            self._gap()
            return self._drop("gap")
        self.taken, self.ack_due, self.nak_sent = expected, True, False
        lane = one.lane
        if not self.lanes >> lane & 1:
            return self._drop("lane")                            # P-LINK-35
        if lane != 15:
            need = blocks(len(one.payload))
            if need > (self.granted[lane] - self.received[lane]) % COUNT24:
                return self._drop("buffer")                      # P-LINK-32
            self.received[lane] += need
            self.granted[lane] += need                           # it is taken at once, so its blocks are free again
            self.changed.add(lane)
        self._collect(one, lane)

    def _collect(self, one, lane):
        """The flits of a lane become cells (P-LINK-31)."""
        if one.ctl & flit.SOF:
            if self.parts.pop(lane, None):
                self._drop("cell")
            self.parts[lane] = []
        pieces = self.parts.get(lane)
        if pieces is None:
            return self._drop("cell")
        pieces.append(one.payload)
        if sum(map(len, pieces)) > self.largest_cell:
            self.parts.pop(lane)
            return self._drop("cell")
        if one.ctl & flit.EOF:
            self.on_cell(b"".join(self.parts.pop(lane)))

    def _drop(self, cause):
        self.counters.add("link.full.rx.drop." + cause)
