"""The payload of a TERMINATE cell (terminate.md): the cause that ends a stream, or a queue pair of RC."""
import struct
from dataclasses import dataclass

_CAUSES = {(0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 2, 6), (0, 2, 7),
           (1, 2, 2), (1, 2, 3), (1, 2, 5)}


@dataclass
class Terminate:
    layer: int
    type: int
    code: int
    check: str = ""
    tag: int = 0
    address: int = 0
    length: int = 0
    header: bytes = bytes(28)


def encode(t):
    return struct.pack(">BBBBIQI", t.layer << 4 | t.type, t.code, ord(t.check) if t.check else 0, 0, t.tag, t.address,
                       t.length) + t.header


def decode(raw):
    """None if it is not legal (P-TERM-1)."""
    if len(raw) != 48:
        return None
    first, code, check, _, tag, address, length = struct.unpack_from(">BBBBIQI", raw)
    if (first >> 4, first & 15, code) not in _CAUSES or (check and chr(check) not in "abcdefg"):
        return None
    return Terminate(first >> 4, first & 15, code, chr(check) if check else "", tag, address, length, raw[20:])
