#!/usr/bin/env python3
"""A peer without good intentions, and a reader of the log that does not read.

  stranger.py flap ADDRESS PORT SECONDS   attaches a link by an honest INIT, then takes it down and up again as often as it
                                          can (bye, hello); prints how often. docs/wire/flit.md, INIT
  stranger.py unread PROGRAM [ARGUMENT]   becomes the program, with a full pipe as stderr that nobody reads
"""
import fcntl
import os
import socket
import struct
import sys
import time

from tool import crc32c

HELLO, CHALLENGE, ANSWER, READY, BYE = 1, 2, 3, 4, 6
INSTANCE = 0x5354524E47455200


def init(step, peer_instance=0, nonce=0, echo=0):
    payload = struct.pack(">BBBBIHHHBBIIQQQQQHHI", 1, step, 1, 0, 0x00010000, 0x800F, 1364, 1420, 0, 0, 0, 4 << 20,
                          0x02000000BAD0BAD0, INSTANCE, peer_instance, nonce, echo, 0, 0, 0)
    head = struct.pack(">BBHHHI", 0x4F, 0, len(payload), 0, 0, 0)
    return head + struct.pack(">I", crc32c(head + payload)) + payload


def step_of(reply):
    return reply[17] if len(reply) >= 88 and reply[0] == 0x4F else 0


def number_at(reply, at):
    return struct.unpack_from(">Q", reply, 16 + at)[0]


def exchange(s, request, step):
    for _ in range(50):
        s.send(request)
        try:
            reply = s.recv(2000)
        except TimeoutError:
            continue
        if step_of(reply) == step:
            return reply
    sys.exit(f"stranger.py: no step {step} came")


def flap(address, port, seconds):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    s.settimeout(0.2)
    token = number_at(exchange(s, init(HELLO, nonce=5), CHALLENGE), 48)
    unit = number_at(exchange(s, init(ANSWER, nonce=6, echo=token), READY), 32)
    bye, hello = init(BYE, peer_instance=unit), init(HELLO, peer_instance=unit, nonce=7)
    count, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for _ in range(100):
            s.send(bye)
            s.send(hello)
        count += 100
    print(count)


def unread(*command):
    reading, writing = os.pipe()
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    fcntl.fcntl(writing, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(writing, fcntl.F_SETFL, flags)
    os.set_inheritable(reading, True)  # the pipe has a reader as long as the program runs
    os.dup2(writing, 2)
    os.execv(command[0], command)


if __name__ == "__main__":
    {"flap": flap, "unread": unread}[sys.argv[1]](*sys.argv[2:])
