"""Flits and the datagrams that carry them (flit.md, datagram.md).

A flit has 16 bytes of header and a payload. The speed profile, which is the one of this host, has one cell per flit.
"""
import struct
from collections import namedtuple

from crc32c import crc32c

DATA, LACK, LNAK, CREDIT, INIT, IDLE = range(6)
SOF, EOF, CRC_OF_HEADER, CELL_CRC_OF_HEAD = 0x80, 0x40, 0x20, 0x10
MANAGEMENT_LANE = 15

Flit = namedtuple("Flit", "type lane ctl lsn ack credit_lane credit_limit payload",
                  defaults=(0, 0, 0, 0, b""))


class FlitError(Exception):
    """A flit that has to be dropped; the text is the cause (flit.md, Rejected)."""


def encode(flit):
    head = struct.pack(">BBHHHI", flit.type << 4 | flit.lane, flit.ctl, len(flit.payload), flit.lsn, flit.ack,
                       flit.credit_lane << 28 | flit.credit_limit)
    crc = crc32c(head) if flit.ctl & CRC_OF_HEADER else crc32c(head, flit.payload)
    return head + struct.pack(">I", crc) + flit.payload


def data_flit(cell, lane):
    """P-LINK-7: SOF and EOF, the CRC over the header only, F1 = F2 = 0."""
    return encode(Flit(DATA, lane, SOF | EOF | CRC_OF_HEADER, payload=cell))


def init_flit(payload):
    """P-INIT-1: the CRC covers the payload."""
    return encode(Flit(INIT, MANAGEMENT_LANE, 0, payload=payload))


IDLE_FLIT = encode(Flit(IDLE, MANAGEMENT_LANE, CRC_OF_HEADER))       # P-LINK-9


def decode(data, at=0):
    """The flit at this place and the place behind it. Raises FlitError, in the order of P-LINK-3; the error has
    `behind` where the next flit is still known (P-DG-6)."""
    if len(data) - at < 16:
        raise FlitError("short")
    first, ctl, size, lsn, ack, f2, crc = struct.unpack_from(">BBHHHII", data, at)
    behind = at + 16 + size
    if behind > len(data):
        raise FlitError("size")
    payload = data[at + 16:behind]
    head = data[at:at + 12]
    if crc != (crc32c(head) if ctl & CRC_OF_HEADER else crc32c(head, payload)):
        raise FlitError("crc")
    kind = first >> 4
    cause = "type" if kind > IDLE else "payload" if bool(size) != (kind in (DATA, INIT)) else None
    if cause:
        error = FlitError(cause)
        error.behind = behind
        raise error
    return Flit(kind, first & 15, ctl & 0xF0, lsn, ack, f2 >> 28, f2 & 0xFFFFFF, payload), behind


class Walk:
    """All flits of one datagram: `flits`, `filler` (bytes), `error` (what ended the walk) and `skipped` (causes)."""

    def __init__(self, datagram):
        self.flits, self.filler, self.error, self.skipped = [], 0, None, []
        if datagram and datagram[0] >= 0x80:                      # P-DG-5
            self.error = "session"
            return
        at = 0
        while len(datagram) - at >= 16 and datagram[at:at + 4] != b"\0\0\0\0":      # P-DG-3
            try:
                flit, at = decode(datagram, at)
                self.flits.append(flit)
            except FlitError as error:
                if not hasattr(error, "behind"):
                    self.error = str(error)                       # P-DG-6: the flits before it stay valid
                    return
                self.skipped.append(str(error))
                at = error.behind
        self.filler = len(datagram) - at
