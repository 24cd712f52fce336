#!/usr/bin/env python3
"""A host written from docs/protocol alone: UDP links, speed profile, rdma mode, one queue, no offloads.

    minihost.py --connect ADDRESS:PORT --tap NAME --mac 02:..:.. [--key-file FILE --peer KEY] [--mtu N] [--name NAME]

It attaches to an I/O unit, creates the TAP NAME and passes frames until SIGTERM: without keys to a unit that runs with
--insecure-lab, with them (a file of `splitnic keygen`, the public key of the unit) to a keyed one. One line on stdout when it is
configured ("minihost: up"); a table of what it did when it ends.
"""
import argparse
import base64
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

from host import Host

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def open_tap(name, mac, mtu):
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    subprocess.run(["ip", "link", "set", name, "address", mac, "mtu", str(mtu), "up"], check=True)
    return tap


def run(host, session, udp, tap, is_stopping):
    while not is_stopping:
        # 1 ms is enough for every timer here; frames and datagrams wake it at once.
        readable, _, _ = select.select([udp, tap], [], [], 0.001 if host.state == "UP" else 0.02)
        now = time.monotonic()
        for _ in range(64):
            if udp not in readable:
                break
            try:
                datagram = udp.recv(65536)
            except BlockingIOError:
                break
            except ConnectionError:
                continue  # nobody listens yet
            if session:
                datagram = session.open(now, datagram)
            if datagram:
                host.link.receive(now, datagram)
        for _ in range(64):
            if tap not in readable:
                break
            try:
                host.from_interface(os.read(tap, 65536))
            except BlockingIOError:
                break
        if session:
            session.on_time(now)
        host.step(now)
    host.stop(time.monotonic())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connect", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--tap", required=True, metavar="NAME")
    parser.add_argument("--mac", required=True)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--mcp", type=int, default=1364, help="for UDP over IPv4 with an MTU of 1500")
    parser.add_argument("--name", default="minihost")
    parser.add_argument("--key-file", metavar="FILE")
    parser.add_argument("--peer", metavar="KEY", help="public key of the unit")
    options = parser.parse_args()
    address, _, port = options.connect.rpartition(":")
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.setblocking(False)
    udp.connect((address, int(port)))
    tap = open_tap(options.tap, options.mac, options.mtu)

    def send(datagram):
        try:
            udp.send(datagram)
        except (BlockingIOError, ConnectionError):
            pass  # it is repeated

    session = None
    if options.key_file:
        from session import Session, eui64_of, public  # needs python3-cryptography

        with open(options.key_file, encoding="ascii") as key:
            private = base64.b64decode(key.read())
        session = Session(private, base64.b64decode(options.peer), send, time.monotonic())

    def write_frame(frame):
        try:
            os.write(tap, frame)
        except OSError:
            pass  # the interface is down

    is_stopping = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: is_stopping.append(True))
    pass_on = (lambda datagram: session.seal(time.monotonic(), datagram)) if session else send
    host = Host(pass_on, write_frame, options, time.monotonic())
    if session:
        host.link.eui64 = eui64_of(public(private))
    run(host, session, udp, tap, is_stopping)
    for name, value in sorted({**host.counts, **{f"drop link.{name}": count for name, count in host.link.drops.items()}}.items()):
        print(f"{name}: {value}")
    print("\n".join(host.nic.log))


main()
