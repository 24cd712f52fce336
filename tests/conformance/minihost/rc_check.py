#!/usr/bin/env python3
"""Two queue pairs of rc.py over a path that loses, repeats and reorders cells: every packet arrives once, whole and in order. The
clock is simulated and the faults follow from a seed (the first numbers of the queue pairs do not). Exits with 1 if a seed fails."""
import random
import sys

import cells
from rc import QueuePair

PACKETS, MCP, STEP = 120, 64, 0.0005


class Consumer:
    takes_writes = False
    send_max = 500

    def __init__(self):
        self.got = []

    @staticmethod
    def receives():
        return 8

    def on_send(self, payload):
        self.got.append(payload)


class Path:
    """The link of one end: cells go through the codec and arrive at the other end, or not."""

    def __init__(self, faults, loss):
        self.faults, self.loss, self.peer, self.flying, self.sent = faults, loss, None, [], 0

    def send_cell(self, now, cell):
        self.sent += 1
        data = cells.encode_cell(dict(cell, dlid=1, slid=2))
        for _ in range(2 if self.faults.random() < 0.02 else 1):
            if self.faults.random() >= self.loss:
                delay = STEP * (1 + self.faults.randrange(6 if self.faults.random() < 0.1 else 2))
                self.flying.append((now + delay, self.faults.random(), data))

    def deliver(self, now):
        due = sorted(entry for entry in self.flying if entry[0] <= now)
        self.flying = [entry for entry in self.flying if entry[0] > now]
        for _, _, data in due:
            self.peer.on_cell(now, cells.decode_cell(data))
        self.peer.end_batch(now)


def runs(seed, loss):
    faults = random.Random(seed)
    paths = Path(faults, loss), Path(faults, loss)
    consumers = Consumer(), Consumer()
    ends = QueuePair(paths[0], consumers[0]), QueuePair(paths[1], consumers[1])
    for one, other, path in ((ends[0], ends[1], paths[0]), (ends[1], ends[0], paths[1])):
        path.peer = other
        one.connect({"qpn": other.qpn, "receive_credits": 8, "start_psn": other.start_psn, "start_lcn": other.start_lcn}, MCP)
    sent = [[faults.randbytes(faults.choice((0, 1, 63, 64, 65, 500))) for _ in range(PACKETS)] for _ in ends]
    done = []
    for end, packets in zip(ends, sent):
        for index, packet in enumerate(packets):
            end.send(packet, lambda index=index, end=end: done.append((end.qpn, index)))
    now = 0.0
    while now < 60 and len(done) < 2 * PACKETS and not any(end.has_failed for end in ends):
        now += STEP
        for path in paths:
            path.deliver(now)
        for end in ends:
            end.on_time(now)
            end.transmit(now)
    in_order = all([index for qpn, index in done if qpn == end.qpn] == list(range(PACKETS)) for end in ends)
    is_good = in_order and consumers[0].got == sent[1] and consumers[1].got == sent[0]
    if not is_good:
        print(f"seed {seed}, loss {loss}: {len(done)} of {2 * PACKETS} done, failed: {[end.has_failed for end in ends]}")
    return is_good


def main():
    good = [runs(seed, loss) for seed in range(5) for loss in (0.0, 0.01, 0.1, 0.3)]
    print(f"{sum(good)} of {len(good)} runs are right")
    return 0 if all(good) else 1


sys.exit(main())
