#!/usr/bin/python3
"""minihost: a host of the splitnic protocol, written from docs/protocol alone. See README.md.

    minihost.py --connect ADDRESS:PORT --tap NAME --mac 02:..:.. [--no-tap] [--key-file FILE --peer KEY] [--mtu N] [--name NAME]
"""
import argparse
import base64
import os
import select
import signal
import sys
import time

import noise
from carrier import Carrier
from counters import Counters
from host import Host
from init_message import FULL, SPEED
from session import Session
from tap import Tap
from timers import Timers

# the profile that is offered first; a listener that refuses it and states the other one gets that
PROFILE = FULL if os.environ.get("MINIHOST_PROFILE") == "full" else SPEED
BATCH = 64                                                       # datagrams, or frames, before the batch ends


def mac_address(text):
    raw = bytes.fromhex(text.replace(":", ""))
    if len(raw) != 6 or raw[0] & 1 or not any(raw):
        raise argparse.ArgumentTypeError("a unicast MAC address")
    return raw


def endpoint(text):
    address, _, port = text.removeprefix("udp://").rpartition(":")
    return address.strip("[]"), int(port)


def key(text):
    raw = base64.b64decode(text.strip(), validate=True)
    if len(raw) != 32:
        raise argparse.ArgumentTypeError("base64 of 32 bytes")
    return raw


def arguments():
    parser = argparse.ArgumentParser(description="A host of the splitnic protocol.")
    parser.add_argument("--connect", type=endpoint, required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--tap", metavar="NAME", help="the TAP interface to create")
    parser.add_argument("--mac", type=mac_address, required=True, metavar="02:..:..")
    parser.add_argument("--no-tap", action="store_true", help="no interface: frames are only counted")
    parser.add_argument("--key-file", metavar="FILE", help="the private key, base64 of 32 bytes")
    parser.add_argument("--peer", type=key, metavar="KEY", help="the public key of the I/O unit, base64")
    parser.add_argument("--mtu", type=int, default=0, metavar="N")
    parser.add_argument("--name", default="minihost", metavar="NAME")
    args = parser.parse_args()
    if not args.tap and not args.no_tap:
        parser.error("--tap or --no-tap")
    if bool(args.key_file) != bool(args.peer):
        parser.error("--key-file and --peer belong together")
    if args.mtu and not 576 <= args.mtu <= 65535:
        parser.error("--mtu is from 576 to 65535")
    return args


class Program:
    def __init__(self, args):
        self.timers, self.counters = Timers(), Counters()
        self.asked_to_stop = False
        self.carrier = Carrier(*args.connect)
        self.tap = None if args.no_tap else Tap(args.tap, args.mac)
        private = None
        if args.key_file:
            with open(args.key_file) as file:
                private = key(file.read())
        eui64 = noise.eui64_of(noise.public_of(private)) if private else int.from_bytes(
            args.mac[:3] + b"\xff\xfe" + args.mac[3:], "big")
        self.host = Host(self.timers, self.counters, self._send, eui64, args.mac, args.name, self.carrier.datagram_length,
                         self.carrier.receive_buffer, args.mtu, PROFILE)
        self.host.report = lambda line: print(line, flush=True)
        self.host.deliver = self._deliver
        if self.tap:
            self.host.addresses = self.tap.addresses
            self.host.configure = self._configure
        self.session = None
        if private:
            self.session = Session(self.timers, self.counters, self.carrier.send, private, args.peer, self.host.link.instance)
            self.session.on_plain = self.host.on_datagram
            self.host.link.on_bye = self.session.bye

    def _send(self, raw):
        (self.session or self.carrier).send(raw)

    def _deliver(self, raw):
        if self.tap and not self.tap.write(raw):
            self.counters.add("tap.tx.drop")

    def _configure(self, mtu, link_up):
        if mtu:
            self.tap.mtu(mtu)
        self.tap.carrier(link_up)

    def _read_socket(self):
        for _ in range(BATCH):
            raw = self.carrier.receive()
            if raw is None:
                break
            (self.session or self.host).on_datagram(raw)

    def _read_tap(self):
        for _ in range(BATCH):
            raw = self.tap.read() if self.host.takes_frames else None
            if raw is None:
                break
            self.host.on_frame(raw)

    def run(self):
        wake, signalled = os.pipe()
        os.set_blocking(signalled, False)
        signal.set_wakeup_fd(signalled)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(self.carrier.socket, select.POLLIN)
        self.host.start()
        while not self.host.stopped:
            if self.tap:
                poll.register(self.tap.fd, select.POLLIN if self.host.takes_frames else 0)
            ready = dict(poll.poll(self._wait()))
            if self.asked_to_stop:
                self.host.stop()
            if wake in ready:
                os.read(wake, 512)
            if self.carrier.socket.fileno() in ready:
                self._read_socket()
            if self.tap and ready.get(self.tap.fd, 0) & select.POLLIN:
                self._read_tap()
            self.timers.run_due()
            self.host.end_of_batch()

    def _on_signal(self, *_):
        self.asked_to_stop = True                                # the loop does the rest, between two batches

    def _wait(self):
        """Milliseconds until the next timer, rounded up."""
        at = self.timers.next_at()
        return None if at is None else max(0, int((at - time.monotonic()) * 1000) + 1)


def main():
    program = Program(arguments())
    program.run()
    print("minihost: counters\n" + program.counters.table(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
