"""Sends what no mDNS responder sends: mdns_nonsense.py OWN_ADDRESS KEY_HASH PACKETS"""
import random
import socket
import struct
import sys

GROUP = ("224.0.0.251", 5353)
SERVICE = ("_splitnic", "_udp", "local")


def name(*labels):
    return b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0"


def record(owner, kind, data, length=None):
    return owner + struct.pack("!HHIH", kind, 0x8001, 120, len(data) if length is None else length) + data


def response(*records, count=None):
    return struct.pack("!6H", 0, 0x8400, 0, len(records) if count is None else count, 0, 0) + b"".join(records)


def forged(key_hash):
    """A unit of that key where nobody is, and another address of the real one, where nobody is either."""
    unit = ("forged", *SERVICE)
    return response(record(name(*SERVICE), 12, name(*unit)),
                    record(name(*unit), 33, struct.pack("!3H", 0, 0, 9) + name("forged", "local")),
                    record(name(*unit), 16, b"\x24key=" + key_hash.encode()),
                    record(name("forged", "local"), 1, socket.inet_aton("10.99.0.77")),
                    record(name("splitnic-" + key_hash, "local"), 28, socket.inet_pton(socket.AF_INET6, "fe80::77")))


def packets(key_hash, seed):
    chosen = random.Random(seed)
    good = forged(key_hash)
    while True:
        yield good
        yield good[:chosen.randrange(len(good))]
        broken = bytearray(good)
        for _ in range(4):
            broken[chosen.randrange(len(broken))] = chosen.randrange(256)
        yield bytes(broken)
        yield chosen.randbytes(chosen.randrange(1400))
        yield response(b"\xc0\x0c" * 20, count=65535)                        # a name that points to itself
        yield response(record(name(*SERVICE), 12, b"\xc0\x0c", 65535))        # longer than the packet
        yield response(record(name(*SERVICE), 33, b"\0"))
        yield response(record(name("x" * 63, *SERVICE), 16, b"\xff" * 40))
        yield response(record(name(*SERVICE), 12, name(f"s{chosen.randrange(10**6)}", *SERVICE)))


own, key_hash, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
out.bind(("", 5353))
source = packets(key_hash, 1)
for _ in range(count):
    out.sendto(next(source), GROUP)
