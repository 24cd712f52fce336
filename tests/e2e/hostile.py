#!/usr/bin/env python3
"""A host with a good key and bad intentions: attaches to an I/O unit and does there what no host does.

  hostile.py ADDRESS PORT KEY_FILE UNIT_PUBLIC_KEY VICTIM_PUBLIC_KEY SECONDS SEED

It has a session, a link and queue pairs as docs/protocol describes them, and no code of the programs. In between it sends: random
bytes and random cells in good records; INITs of every step, also in the name of the victim; records that are stale, repeated,
changed, of other keys or from elsewhere, and its peer's own; handshakes all the time, good, repeated and broken; connection
requests, writes to memory that it was not given, and messages that are none. Prints "attached" once it is, and at the end
how often it did each.
"""
import base64
import os
import random
import select
import struct
import sys
import time

from keyed_peer import KeyedPeer, eui64_of
from stranger import ANSWER, BYE, CHALLENGE, HELLO, READY, init
from tool import crc32c

DATA, INIT = 0, 4
SEND, WRITE, ACK, MGMT = 0x00, 0x02, 0x10, 0x18
REQUEST, REPLY, READY_TO_USE = 1, 2, 3
KEPT = 200
# Mode rdma, message protocol 1, messages of 4096 bytes, idata form B, a name (messaging/connect.proto).
CAPABILITIES = bytes.fromhex("0801 1001 1801 2a0480208020 3801 4207") + b"hostile"


def flit(kind, payload, ctl=0xE0):
    head = struct.pack(">BBHHHI", kind << 4, ctl, len(payload), 0, 0, 0)
    return head + struct.pack(">I", crc32c(head)) + payload


def cell(op, position, flags, service, ends, psn, extensions, payload, lcn=0):
    """ends: DLID, SLID, DQPN, SQPN"""
    pad = -len(payload) % 4
    head = struct.pack(">BBBBHHIIIHHHH", 0x10, position << 6 | op, flags | pad, len(extensions) // 4, ends[0], ends[1],
                       service << 28 | ends[2], ends[3], psn, 0, len(payload), 0xFFFF, lcn)
    body = head + extensions + payload + bytes(pad)
    return flit(DATA, body + struct.pack(">I", crc32c(body)))


class Hostile:
    def __init__(self, peer, victim, seed):
        self.peer, self.victim, self.random = peer, victim, random.Random(seed)
        self.unit_eui64 = self.unit_instance = 0
        self.lids = (1, 2)  # of the unit, ours
        self.qpns = {}      # ours -> that of the unit
        self.sent, self.heard, self.initiations = [], [], []
        self.elsewhere = [peer.new_socket() for _ in range(3)]
        self.nonce = 0
        self.asked = {}  # nonce of a hello -> EUI-64 and instance in it

    def bytes(self, low, high):
        return self.random.randbytes(self.random.randrange(low, high))

    def send(self, plain, flags=0):
        record = self.peer.seal(plain, flags)
        self.keep(self.sent, record)
        self.peer.socket.send(record)

    def keep(self, kept, what):
        kept.append(what)
        if len(kept) > KEPT:
            kept.pop(self.random.randrange(KEPT))

    # The honest part.

    def attach(self):
        end = time.monotonic() + 10
        while not self.has_attached():
            if time.monotonic() > end:
                sys.exit(f"{os.path.basename(sys.argv[0])}: not attached")
            if self.peer.keys is None and not self.peer.agree():
                continue
            self.hello()
            self.listen(0.1)
            self.connect()

    def has_attached(self):
        return bool(self.qpns)

    def connect(self):
        if self.unit_instance:
            self.request()
            self.listen(0.2)

    def hello(self, eui64=None, instance=None):
        self.nonce += 1
        who = eui64 or self.peer.eui64, instance or self.peer.instance
        self.asked[self.nonce] = who
        self.asked.pop(self.nonce - KEPT, None)
        self.send(init(HELLO, self.unit_instance, self.nonce, eui64=who[0], instance=who[1]))

    def request(self):
        pairs = [(0, 0x100 + self.random.randrange(1 << 20)), (1, 0x200000 + self.random.randrange(1 << 20))]
        self.mgmt(REQUEST, self.random.getrandbits(64), pairs, CAPABILITIES)

    def mgmt(self, kind, transaction, pairs, private):
        payload = struct.pack(">BBBBHHQQQQQ", 1, kind, len(pairs), 0, 0, len(private), transaction, self.peer.eui64,
                              self.peer.instance, self.unit_eui64, self.unit_instance)
        for channel, qpn in pairs:
            payload += struct.pack(">BBHIIIHHHHII", channel, 0, 0, qpn, self.qpns.get(qpn, 0), 1, 1, 1364, 64, 0, 65536, 0)
        self.send(cell(MGMT, 3, 0, 15, (*self.lids, 0, 0), 0, b"", payload + private))

    def listen(self, seconds=0.0):
        end = time.monotonic() + seconds
        while select.select([self.peer.socket], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                record = self.peer.socket.recv(65536)
            except ConnectionRefusedError:
                continue
            self.keep(self.heard, record)
            plain = self.peer.open(record)
            if plain and len(plain) >= 16:
                self.on_flit(plain)

    def on_flit(self, plain):
        payload = plain[16:16 + struct.unpack_from(">H", plain, 2)[0]]
        if plain[0] >> 4 == INIT and len(payload) == 72:
            self.on_init(payload)
        elif plain[0] >> 4 == DATA and len(payload) >= 80 and payload[1] & 0x3F == MGMT and payload[29] == REPLY:
            self.on_reply(payload[28:])

    def on_init(self, payload):
        nonce, echo = struct.unpack_from(">QQ", payload, 48)
        if payload[1] == CHALLENGE and echo in self.asked:
            eui64, instance = self.asked[echo]
            self.send(init(ANSWER, 0, echo, nonce, eui64=eui64, instance=instance))
        elif payload[1] == READY:
            self.unit_eui64, self.unit_instance = struct.unpack_from(">QQ", payload, 24)
            self.lids = struct.unpack_from(">HH", payload, 64)

    def on_reply(self, payload):
        transaction, = struct.unpack_from(">Q", payload, 8)
        self.qpns = {}
        for number in range(payload[2]):
            qpn, ours = struct.unpack_from(">II", payload, 48 + 32 * number + 4)
            self.qpns[ours & 0xFFFFFF] = qpn & 0xFFFFFF
        self.mgmt(READY_TO_USE, transaction, [(number, qpn) for number, qpn in enumerate(self.qpns)], b"")

    # And the rest.

    def noise(self):
        self.send(self.bytes(0, 1440), self.random.getrandbits(1))

    def flits(self):
        self.send(b"".join(flit(self.random.randrange(16), self.bytes(0, 60), self.random.getrandbits(8))
                           for _ in range(self.random.randrange(1, 18))))

    def cells(self):
        plain = b""
        while len(plain) < 1100:
            extensions = self.random.randbytes(4 * self.random.randrange(6))
            plain += cell(self.random.choice((SEND, WRITE, ACK, MGMT, self.random.randrange(64))), self.random.randrange(4),
                          self.random.getrandbits(6) << 2, self.random.choice((0, 1, 15, self.random.randrange(16))), self.ends(),
                          self.random.getrandbits(24), extensions, self.bytes(0, 200), self.random.getrandbits(16))
        self.send(plain)

    def ends(self):
        if self.qpns and self.random.random() < 0.8:
            ours, theirs = self.random.choice(list(self.qpns.items()))
            return (*self.lids, theirs, ours)
        return (self.random.getrandbits(16), self.random.getrandbits(16), self.random.getrandbits(24), self.random.getrandbits(24))

    def write(self):
        where = struct.pack(">QII", self.random.getrandbits(47), self.random.getrandbits(32), 64)
        self.send(cell(WRITE, 3, 0x80, 0, self.ends(), self.random.randrange(4), where, self.random.randbytes(64)))

    def message(self):
        head = struct.pack(">HHQ", self.random.randrange(16), self.random.randrange(3), self.random.getrandbits(64))
        self.send(cell(SEND, 3, 0x80, 0, self.ends(), self.random.randrange(1, 6), b"", head + self.bytes(0, 500)))

    def inits(self):
        who = self.random.choice((self.peer.eui64, self.victim, self.unit_eui64, self.random.getrandbits(64)))
        self.send(init(self.random.randrange(1, 9), self.random.choice((0, self.unit_instance, self.random.getrandbits(64))),
                       self.random.getrandbits(64), self.random.getrandbits(64), eui64=who,
                       instance=self.random.choice((self.peer.instance, self.random.getrandbits(64) | 1)),
                       reason=self.random.randrange(6)))

    def as_victim(self):
        self.hello(self.victim, self.random.getrandbits(64) | 1)
        self.listen(0.01)

    def down_and_up(self):
        self.send(init(BYE, self.unit_instance, eui64=self.peer.eui64, instance=self.peer.instance))
        self.hello()

    def repeated(self):
        self.any_socket().send(self.random.choice(self.sent))

    def any_socket(self):
        return self.random.choice([self.peer.socket, *self.elsewhere])

    def changed(self):
        record = bytearray(self.random.choice(self.sent))
        record[self.random.randrange(len(record))] ^= 1 << self.random.randrange(8)
        self.any_socket().send(record)

    def other_keys(self):
        record = self.peer.seal(b"", counter=self.peer.counter)
        self.any_socket().send(record[:4] + os.urandom(4) + record[8:])

    def reflected(self):
        if self.heard:
            self.any_socket().send(self.random.choice(self.heard))

    def moved(self):
        self.random.choice(self.elsewhere).send(self.peer.seal(flit(5, b"")))

    def handshakes(self):
        message, _ = self.peer.initiation(os.urandom(4))
        self.keep(self.initiations, message)
        broken = bytearray(message)
        broken[self.random.randrange(8, 128)] ^= 1
        for one in (message, self.random.choice(self.initiations), broken):
            self.any_socket().send(one)

    def new_keys(self):
        self.peer.agree(3)

    def last_counter(self):
        self.peer.socket.send(self.peer.seal(b"", counter=2**64 - 8194))
        self.peer.agree(3)

    def connects(self):
        self.request()
        self.listen(0.01)


def main():
    address, port, key_file, unit, victim, seconds, seed = sys.argv[1:]
    hostile = Hostile(KeyedPeer(address, port, key_file, unit), eui64_of(base64.b64decode(victim)), int(seed))
    hostile.attach()
    print("attached", flush=True)
    often = (hostile.noise, hostile.flits, hostile.cells, hostile.write, hostile.message, hostile.inits, hostile.repeated,
             hostile.changed, hostile.other_keys, hostile.reflected)
    rarely = (hostile.moved, hostile.handshakes, hostile.new_keys, hostile.last_counter, hostile.connects, hostile.down_and_up,
              hostile.hello, hostile.as_victim)
    first = list(rarely)  # each of them once, however slow the machine is
    done, end = {}, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        act = first.pop() if first else hostile.random.choice(rarely if hostile.random.random() < 0.005 else often)
        try:
            act()
            hostile.listen()
        except ConnectionRefusedError:
            pass  # a report about a datagram that found nobody
        done[act.__name__] = done.get(act.__name__, 0) + 1
    print(", ".join(f"{name} {count}" for name, count in sorted(done.items())), flush=True)


if __name__ == "__main__":
    main()
