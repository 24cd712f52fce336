#!/usr/bin/env python3
"""A node with the key of its port of a fabric switch, which sends in the name of others.

  hostile_node.py ADDRESS PORT KEY_FILE SWITCH_PUBLIC_KEY SECONDS SEED LID...

It attaches to the switch as any node does, and then sends cells whose source is one of the LIDs, which are those of others, or any but
its own, to one of these LIDs: INITs of a path, among them goodbyes; connection requests; writes and random cells. Prints
"attached" once it is, and at the end how many it sent.
"""
import struct
import sys
import time

from hostile import MGMT, REQUEST, SEND, WRITE, Hostile, cell
from keyed_peer import KeyedPeer
from stranger import BYE, HELLO, READY, init


class HostileNode(Hostile):
    def __init__(self, peer, seed, others):
        super().__init__(peer, 0, seed)
        self.others = others
        self.is_attached = False

    def has_attached(self):
        return self.is_attached

    def connect(self):
        """A node has no connection."""

    def on_init(self, payload):
        super().on_init(payload)
        self.is_attached = self.is_attached or payload[1] == READY

    def ends(self):
        source = self.lids[1]
        while source == self.lids[1]:
            source = self.random.choice([*self.others, self.random.getrandbits(16)])
        return self.random.choice(self.others), source, self.random.getrandbits(8), self.random.getrandbits(8)

    def act(self):
        lids = self.ends()[:2]
        kind = self.random.randrange(4)
        if kind == 0:
            step = self.random.choice((BYE, HELLO, READY))
            self.send(cell(MGMT, 3, 0, 15, (*lids, 0, 0), 0, b"", init(step, self.random.getrandbits(64))))
        elif kind == 1:
            request = struct.pack(">BBBBHHQQQQQ", 1, REQUEST, 0, 0, 0, 0, *(self.random.getrandbits(64) for _ in range(5)))
            self.send(cell(MGMT, 3, 0, 15, (*lids, 0, 0), 0, b"", request))
        elif kind == 2:
            where = struct.pack(">QII", self.random.getrandbits(47), self.random.getrandbits(32), 64)
            self.send(cell(WRITE, 3, 0x80, 0, self.ends(), self.random.randrange(4), where, self.random.randbytes(64)))
        else:
            self.send(cell(SEND, self.random.randrange(4), 0, self.random.randrange(16), self.ends(), self.random.getrandbits(24),
                           b"", self.bytes(0, 200)))


def main():
    address, port, key_file, switch, seconds, seed, *others = sys.argv[1:]
    node = HostileNode(KeyedPeer(address, port, key_file, switch), int(seed), [int(lid) for lid in others])
    node.attach()
    print("attached", flush=True)
    sent, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        try:
            node.act()
            node.listen(0.0002)  # about what a machine has room for besides
        except ConnectionRefusedError:
            sys.exit("hostile_node.py: the switch is gone")
        sent += 1
    print(f"{sent} cells in the name of others", flush=True)


if __name__ == "__main__":
    main()
