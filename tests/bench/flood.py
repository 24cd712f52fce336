#!/usr/bin/env python3
"""Strangers at the port of a keyed I/O unit: as many bad datagrams per second as asked for, until it is ended.

  flood.py ADDRESS PORT INTERFACE RATE [OTHER_PORT]
                                          in turn: initiations with a wrong mac1, random bytes, records of the real host that
                                          were seen on INTERFACE, and HELLOs without keys (docs/protocol/session.md, flit.md)

With OTHER_PORT they go there, where nobody listens: what the flood takes of the machine, and the unit none of it.

They leave in batches by UDP_SEGMENT, so that the flood itself takes little of the processors. Prints "ready" when it has
seen records to replay, and at the end the rate that it had.
"""
import itertools
import os
import signal
import socket
import struct
import sys
import time

UDP_SEGMENT = 103
BATCH = 40
SOURCES = 8
RECORDS = 64
HELLO = bytes.fromhex("4f000048 00000000 00000000 9e0630c3 01010100 00010000 800f0554 058c0000 00000000 00400000 02000000"
                      "00000001 11112222 33334444 00000000 00000000 a1a2a3a4 a5a6a7a8 00000000 00000000 00010000 00000000")


def records_of(interface, port, seconds=5):
    """Payloads of short datagrams to the port, as the host sends them."""
    found, end = [], time.monotonic() + seconds
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as tap:
        tap.bind((interface, 0))
        tap.settimeout(0.2)
        while len(found) < RECORDS and (not found or time.monotonic() < end):
            try:
                frame = tap.recv(2000)
            except TimeoutError:
                continue
            # Ethernet, IPv4 without options, UDP
            if frame[12:14] == b"\x08\x00" and frame[14] == 0x45 and frame[23] == 17 and len(frame) < 1500 and \
                    struct.unpack_from(">H", frame, 36)[0] == port:
                found.append(frame[42:])
    return found


def main():
    address, port, interface, rate = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    records = records_of(interface, port)
    print("ready", flush=True)
    ended = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.append(True))
    sources = []
    for _ in range(SOURCES):
        sources.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        sources[-1].connect((address, int(sys.argv[5]) if len(sys.argv) > 5 else port))
    kinds = itertools.cycle([
        lambda: b"\x81\x01" + bytes(2) + os.urandom(156),
        lambda: os.urandom(100),
        lambda: records[os.urandom(1)[0] % len(records)],
        lambda: HELLO,
    ])
    sent, began = 0, time.monotonic()
    for source in itertools.cycle(sources):
        if ended:
            break
        one = next(kinds)()
        try:
            source.sendmsg([one * BATCH], [(socket.SOL_UDP, UDP_SEGMENT, struct.pack("=H", len(one)))])
        except (ConnectionRefusedError, BlockingIOError):
            continue
        sent += BATCH
        wait = began + sent / rate - time.monotonic()
        if wait > 0.001:
            time.sleep(wait)
    print(f"{sent / (time.monotonic() - began):.0f} datagrams per second")


main()
