#!/usr/bin/python3
"""Two queue pairs over a path in memory that loses, repeats and reorders cells: everything has to arrive, once and in order.

Seeded, with its own clock, so that each run is the same. Exit status 1 if something is missing.
"""
import random
import sys

import cell as c
import mgmt
from counters import Counters
from memory import Memory
from queue_pair import RTS, QueuePair
from timers import Timers


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class FakeLink:
    up, full = True, None


class Side:
    """One node with one queue pair; what it sends goes into the path."""

    def __init__(self, path, timers, lid):
        self.path, self.timers, self.lid = path, timers, lid
        self.counters, self.memory, self.link = Counters(), Memory(), FakeLink()
        self.qp = QueuePair(self, 100 + lid, 0, True)
        self.qp.deliver_send = self._on_send
        self.qp.deliver_write = self._on_write
        self.qp.on_error = lambda reason: self.errors.append(reason)
        self.handle, self.entry = self.memory.bind(1 << 20, lambda offset, length: True)
        self.entry.qp = self.qp
        self.received, self.errors = [], []

    def send_cell(self, cell):
        cell.dlid, cell.slid = 3 - self.lid, self.lid
        self.path.carry(self, c.encode(cell))

    def _on_send(self, raw):
        self.received.append(raw)
        self.post_later()

    def _on_write(self, idata, address, length):
        at = address - self.entry.address
        self.received.append((idata, bytes(self.entry.raw[at:at + length])))
        self.post_later()

    def post_later(self):
        """Sometimes a receive is missing for a while, so that RNR NAKs occur."""
        self.timers.after(self.path.random.choice((0, 0, 0, 0.0005)), lambda: self.qp.responder.post_receive())


class Path:
    def __init__(self, seed, timers, loss, delay):
        self.random, self.timers, self.loss, self.delay = random.Random(seed), timers, loss, delay
        self.sides = []

    def carry(self, source, raw):
        for _ in range(1 + (self.random.random() < self.loss / 4)):
            if self.random.random() >= self.loss:
                self.timers.after(self.random.uniform(*self.delay), lambda: self._arrive(source, raw))

    def _arrive(self, source, raw):
        side = self.sides[source is self.sides[0]]
        if self.random.random() < 0.01:                          # one wrong bit: the CRC has to find it
            at = self.random.randrange(len(raw))
            raw = raw[:at] + bytes([raw[at] ^ 1 << self.random.randrange(8)]) + raw[at + 1:]
        try:
            side.qp.on_cell(c.decode(raw))
        except c.CellError:
            side.counters.add("bad")


def run(seed, loss, delay, go_back_n=False, packets=150):
    clock = Clock()
    timers = Timers(clock)
    path = Path(seed, timers, loss, delay)
    a, b = path.sides = [Side(path, timers, 1), Side(path, timers, 2)]
    pairs = []
    for side in (a, b):
        side.qp.responder.receive_size = 20000
        side.qp.responder.post_receive(8)
        # numbers that wrap soon
        pairs.append(mgmt.Pair(0, c.RC, mgmt.GO_BACK_N if go_back_n else 0, side.qp.number, 0, 0xFFFFF0, 0xFFE0, 256, 8))
    a.qp.begin(pairs[0], pairs[1], 256, 200000)
    b.qp.begin(pairs[1], pairs[0], 256, 200000)
    expected, completed = {a: [], b: []}, []
    for source, sink in ((a, b), (b, a)):
        for number in range(packets):
            raw = path.random.randbytes(path.random.choice((0, 1, 100, 256, 257, 3000)))
            done = (lambda ok, number=number, source=source: completed.append((source.lid, number, ok)))
            if number % 3:
                at = number * 4096
                source.qp.post_write(sink.handle, sink.entry.address + at, raw, number, done)
                expected[sink].append((number, raw))
            else:
                source.qp.post_send(raw, done)
                expected[sink].append(raw)
    while (not a.qp.requester.idle or not b.qp.requester.idle) and a.qp.state == b.qp.state == RTS and clock.now < 300:
        a.qp.end_of_batch()
        b.qp.end_of_batch()
        clock.now = max(clock.now, timers.next_at() or clock.now + 0.001)
        timers.run_due()
    problems = a.errors + b.errors
    for side, name in ((a, "first"), (b, "second")):
        if side.received != expected[side]:
            problems.append(f"the {name} received {len(side.received)} of {len(expected[side])}, or in another order")
    for lid in (1, 2):
        if [entry for entry in completed if entry[0] == lid] != [(lid, number, True) for number in range(packets)]:
            problems.append(f"completions of {lid} are not in the order of posting")
    repeated = a.counters["rc.tx.repeated"] + b.counters["rc.tx.repeated"]
    print(f"seed {seed}, loss {loss:.0%}, delay {delay[1] * 1000:g} ms{', go-back-N' if go_back_n else ''}: "
          f"{repeated} repeated, {clock.now:.1f} s of its clock {problems or 'ok'}")
    return not problems


def silent():
    """P-RC-9: a path that carries nothing ends the queue pair after 7 retransmissions, and not before 5 s."""
    clock = Clock()
    timers = Timers(clock)
    path = Path(1, timers, 1.0, (0, 0))
    a, b = path.sides = [Side(path, timers, 1), Side(path, timers, 2)]
    a.qp.begin(mgmt.Pair(0, 0, 0, 1, 2, 0, 0, 256, 8), mgmt.Pair(0, 0, 0, 2, 1, 0, 0, 256, 8), 256, 100000)
    result = []
    a.qp.post_send(b"x", result.append)
    while a.qp.state == RTS and clock.now < 60:
        a.qp.end_of_batch()
        clock.now = timers.next_at() or clock.now + 1
        timers.run_due()
    good = result == [False] and 5 <= clock.now < 7 and len(a.errors) == 1
    print(f"a silent path: ended after {clock.now:.1f} s {'ok' if good else 'WRONG'}")
    return good


def main():
    good = [run(seed, loss, delay, go_back_n)
            for seed, loss, delay, go_back_n in ((1, 0.0, (0.001, 0.001), False), (2, 0.02, (0.0005, 0.004), False),
                                                 (3, 0.2, (0.0005, 0.003), False), (4, 0.05, (0.001, 0.001), True),
                                                 (5, 0.3, (0.0002, 0.02), False))]
    good.append(silent())
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
