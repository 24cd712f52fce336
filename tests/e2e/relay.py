#!/usr/bin/env python3
"""A path that treats datagrams badly: what comes to a UDP port is passed on to an address, and the replies back, both ways alike.

  relay.py PORT ADDRESS ADDRESS_PORT SEED [silence=SECONDS] [loss=PERCENT] [corrupt=PERCENT] [repeat=PERCENT] [reflect=PERCENT]
           [stranger=PERCENT]

  loss      is not passed on
  corrupt   is passed on with one bit changed
  repeat    an earlier datagram of this direction is sent once more after it
  reflect   is sent back to who sent it, too
  stranger  an INIT without keys (docs/protocol/flit.md, hello) is sent after it
  silence   that long after each INITIATION (docs/protocol/session.md) no reply but those to handshakes is passed on, until the next
            one: who hears nothing asks for new keys

Each sender has a socket towards the address for itself. Prints "ready", and at SIGTERM what was done how often.
"""
import math
import random
import selectors
import signal
import socket
import sys
import time

from stranger import HELLO, init

KEPT = 64
INITIATION, RECORD = b"\x81", b"\x84"


class Relay:
    def __init__(self, port, address, seed, percent, silence):
        self.address, self.percent, self.random = address, percent, random.Random(seed)
        self.silence, self.silent_at = silence, time.monotonic() + silence
        self.done = dict.fromkeys(("passed", *percent), 0)
        self.kept = {True: [], False: []}  # by direction
        self.hello = init(HELLO, nonce=9)
        self.upward = {}  # sender -> socket towards the address
        self.selector = selectors.DefaultSelector()
        self.near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.near.bind(("127.0.0.1", port))
        self.selector.register(self.near, selectors.EVENT_READ, None)

    def happens(self, what):
        if self.random.random() * 100 >= self.percent[what]:
            return False
        self.done[what] += 1
        return True

    def is_held(self, data, is_up):
        if is_up and data[:1] == INITIATION:
            self.silent_at = time.monotonic() + self.silence
        return not is_up and data[:1] == RECORD and time.monotonic() >= self.silent_at

    def run(self):
        while True:
            for key, _ in self.selector.select():
                try:
                    if key.data is None:
                        self.take_up(*self.near.recvfrom(65536))
                    else:
                        self.pass_on(key.fileobj.recv(65536), False, self.sender_to(key.data), key.fileobj.send)
                except ConnectionRefusedError:
                    pass  # nobody listens there yet

    def sender_to(self, sender):
        return lambda data: self.near.sendto(data, sender)

    def take_up(self, data, sender):
        if sender not in self.upward:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect(self.address)
            self.upward[sender] = s
            self.selector.register(s, selectors.EVENT_READ, sender)
        self.pass_on(data, True, self.upward[sender].send, self.sender_to(sender))

    def pass_on(self, data, is_up, onward, back):
        if self.is_held(data, is_up):
            return
        kept = self.kept[is_up]
        kept.append(data)
        if len(kept) > KEPT:
            kept.pop(0)
        if self.happens("reflect"):
            back(data)
        if not self.happens("loss"):
            if data and self.happens("corrupt"):
                changed = bytearray(data)
                changed[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
                data = bytes(changed)
            onward(data)
            self.done["passed"] += 1
        if self.happens("repeat"):
            onward(self.random.choice(kept))
        if self.happens("stranger"):
            onward(self.hello)


def main():
    port, address, address_port, seed, *rest = sys.argv[1:]
    values = {**dict.fromkeys(("loss", "corrupt", "repeat", "reflect", "stranger"), 0.0), "silence": math.inf}
    for part in rest:
        name, value = part.split("=")
        if name not in values:
            sys.exit(f"relay.py: {name} is not known")
        values[name] = float(value)
    silence = values.pop("silence")
    relay = Relay(int(port), (address, int(address_port)), int(seed), values, silence)

    def stop(*_):
        print(", ".join(f"{name} {count}" for name, count in relay.done.items()), flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    print("ready", flush=True)
    relay.run()


if __name__ == "__main__":
    main()
