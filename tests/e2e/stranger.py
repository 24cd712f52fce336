#!/usr/bin/env python3
"""A peer without good intentions, one without keys, a forger of reports, a reader of the log that does not read, and a start of a
program without huge pages.

  stranger.py flap ADDRESS PORT SECONDS   attaches a link by an honest INIT, then takes it down and up again as often as it
                                          can (bye, hello); prints how often. docs/protocol/flit.md, INIT
  stranger.py flood ADDRESS PORT COUNT [SECONDS]
                                          sends COUNT datagrams of every first byte and of 0 to 2048 bytes, every second one in the
                                          form of a message of docs/protocol/session.md, within at least SECONDS; prints how many
                                          replies came
  stranger.py initiations ADDRESS PORT KEY NETWORK COUNT SECONDS
                                          sends COUNT INITIATIONs with the right mac1, which whoever knows the public key of
                                          the unit can make, in at least SECONDS, each from another address of the local
                                          NETWORK (of 16 bits), and fewer if SIGTERM comes; prints how many cookies and
                                          other replies came, and bytes
  stranger.py report FROM PORT TO PORT SECONDS
                                          reports to FROM, 100 times per second, that the path of its datagrams to TO has
                                          an MTU of 68 (ICMP, fragmentation needed), over IPv6 of 1280 (packet too
                                          big); prints how often
  stranger.py unread PROGRAM [ARGUMENT]   becomes the program, with a full pipe as stderr that nobody reads
  stranger.py small-pages PROGRAM [ARGUMENT]   becomes the program, for which the kernel makes no huge pages: it has what it uses
"""
import base64
import ctypes
import fcntl
import hashlib
import hmac
import os
import random
import signal
import socket
import struct
import sys
import time

from tool import crc32c

HELLO, CHALLENGE, ANSWER, READY, BYE = 1, 2, 3, 4, 6
INSTANCE = 0x5354524E47455200


def init(step, peer_instance=0, nonce=0, echo=0, eui64=0x02000000BAD0BAD0, instance=INSTANCE, reason=0):
    payload = struct.pack(">BBBBIHHHBBIIQQQQQHHI", 1, step, 1, 0, 0x00010000, 0x800F, 1364, 1420, 0, reason, 0, 4 << 20,
                          eui64, instance, peer_instance, nonce, echo, 0, 0, 0)
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


# docs/protocol/session.md: type, version or flags, reserved; and how long it is, with room for content behind the fixed part.
FORMS = ((b"\x81\x01\0\0", 160, 0), (b"\x82\x01\0\0", 108, 0), (b"\x83\x01\0\0", 52, 0), (b"\x84\x00\0\0", 32, 1440),
         (b"\x84\x01\0\0", 32, 1440))


def flood(address, port, count, seconds=0):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, int(port)))
    count, began = int(count), time.monotonic()
    noise = random.Random(53).randbytes(1 << 20)
    view, room = memoryview(noise), len(noise) - 2048
    replies = 0
    for number in range(count):
        at = number * 7919 % room
        if number % 2:
            head, least, more = FORMS[number // 2 % len(FORMS)]
            length = least + (number * 13 % more if more else 0)
        else:
            # Each first byte with each length comes once in 256 * 2049 such datagrams.
            head, length = bytes([number // 2 % 256]), number // 2 // 256 * 83 % 2049
        head = head[:length]
        s.sendmsg((head, view[at:at + length - len(head)]))
        if number % 1000 == 0:
            try:
                while True:
                    s.recv(2048, socket.MSG_DONTWAIT)
                    replies += 1
            except BlockingIOError:
                pass
            time.sleep(max(0, float(seconds) * number / count - (time.monotonic() - began)))
    s.settimeout(0.5)
    try:
        while True:
            s.recv(2048)
            replies += 1
    except TimeoutError:
        print(f"{count} datagrams in {time.monotonic() - began:.1f} s, {replies} replies")


COOKIE = 0x83
IP_PKTINFO = 8  # linux/in.h


def initiations(address, port, key, network, count, seconds):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 0))
    count, seconds, began = int(count), float(seconds), time.monotonic()
    mac_key = hashlib.sha256(b"splitnic mac1" + base64.b64decode(key)).digest()
    noise = random.Random(60)
    first = socket.inet_aton(network)[:2]
    cookies, others, bytes_in, bytes_out = 0, 0, 0, 0
    stops = []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(True))
    for number in range(count):
        message = b"\x81\x01\0\0" + noise.randbytes(124)
        message += hmac.digest(mac_key, message, "sha256")[:16] + bytes(16)
        # struct in_pktinfo: the interface, the address that it comes from, the one that it is for
        source = struct.pack("=i4s4s", 0, first + struct.pack(">H", number % 65000 + 1), bytes(4))
        s.sendmsg([message], [(socket.IPPROTO_IP, IP_PKTINFO, source)], 0, (address, int(port)))
        bytes_out += len(message)
        last = number + 1 == count or bool(stops)
        while last or number % 100 == 0:
            s.settimeout(0.5 if last else 0)
            try:
                reply = s.recv(2048)
            except (BlockingIOError, TimeoutError):
                break
            cookies += reply[0] == COOKIE
            others += reply[0] != COOKIE
            bytes_in += len(reply)
        if last:
            break
        time.sleep(max(0, seconds * number / count - (time.monotonic() - began)) if number % 100 == 0 else 0)
    print(f"{number + 1} initiations in {time.monotonic() - began:.1f} s, {cookies} cookies, {others} other replies, "
          f"{bytes_out} bytes sent, {bytes_in} bytes received")


def checksum(packet):  # RFC 1071
    total = sum(struct.unpack(f">{len(packet) // 2}H", packet))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def report(source, source_port, target, target_port, seconds):
    family = socket.AF_INET6 if ":" in source else socket.AF_INET
    ends = socket.inet_pton(family, source) + socket.inet_pton(family, target)
    udp = struct.pack(">HHHH", int(source_port), int(target_port), 1480, 0)
    if family == socket.AF_INET:
        s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        quoted = struct.pack(">BBHHHBBH", 0x45, 0, 1500, 0, 0x4000, 64, socket.IPPROTO_UDP, 0) + ends + udp
        packet = struct.pack(">BBHHH", 3, 4, 0, 0, 68) + quoted
        packet = packet[:2] + struct.pack(">H", checksum(packet)) + packet[4:]
    else:
        s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)  # the kernel computes the checksum
        packet = struct.pack(">BBHI", 2, 0, 0, 1280) + struct.pack(">IHBB", 6 << 28, 1480, socket.IPPROTO_UDP, 64) + ends + udp
    count, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        s.sendto(packet, (source, 0))
        count += 1
        time.sleep(0.01)
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


PR_SET_THP_DISABLE = 41  # linux/prctl.h; it outlives execve(2)


def small_pages(*command):
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        sys.exit(f"stranger.py: huge pages cannot be switched off: {os.strerror(ctypes.get_errno())}")
    os.execv(command[0], command)


if __name__ == "__main__":
    {"flap": flap, "flood": flood, "initiations": initiations, "report": report, "unread": unread,
     "small-pages": small_pages}[sys.argv[1]](*sys.argv[2:])
