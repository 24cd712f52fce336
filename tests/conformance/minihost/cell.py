"""Cells (cell.md): MAC header, extensions, payload, pad, packet CRC, cell CRC.

`decode` makes the checks of "Rejected" in their order. Its error has the header as far as the CRC made it usable, because a
malformed cell of a queue pair may have to be refused with a NAK (P-RC-23).
"""
import struct

import ack
from crc32c import crc32c

SEND, SEND_DEREG, RDMA_WRITE, READ_REQ, READ_RESP, FETCHOP_REQ, FETCHOP_RESP = range(7)
RAW, ISCSI_PDU, ACK, NAK, TERMINATE, MGMT = 0x08, 0x09, 0x10, 0x11, 0x12, 0x18
RC, UC, RD, UD, RAW_SERVICE, STREAM, ISCSI, MGMT_SERVICE = 0, 1, 2, 3, 4, 5, 6, 15
MIDDLE, LAST, FIRST, ONLY = range(4)
A, I, S, G, P, R = 0x80, 0x40, 0x20, 0x10, 0x08, 0x04            # flags

# op -> service -> "many" cells, or "one"
_LEGAL = {
    SEND: {RC: "many", UC: "many", RD: "many", UD: "one", STREAM: "many"},
    SEND_DEREG: {RC: "many", RD: "many", STREAM: "many"},
    RDMA_WRITE: {RC: "many", UC: "many", RD: "one", UD: "one", STREAM: "many"},
    READ_REQ: {RC: "one", RD: "one", STREAM: "one"},
    READ_RESP: {RC: "many", RD: "one", STREAM: "many"},
    FETCHOP_REQ: {RC: "one", RD: "one"},
    FETCHOP_RESP: {RC: "one", RD: "one"},
    RAW: {RAW_SERVICE: "one"},
    ISCSI_PDU: {ISCSI: "many"},
    ACK: {RC: "one", RD: "one", STREAM: "one"},
    NAK: {RC: "one", RD: "one", STREAM: "one"},
    TERMINATE: {RC: "one", STREAM: "one"},
    MGMT: {MGMT_SERVICE: "one"},
}
_WITH_IDATA = (SEND, SEND_DEREG, RDMA_WRITE)
_PAYLOAD = {READ_REQ: 0, FETCHOP_REQ: 0, ACK: 0, NAK: 0, FETCHOP_RESP: 8, TERMINATE: 48}
_HEADER = struct.Struct(">BBBBHHIIIHHHH")
MOST_MGMT_PAYLOAD = 1024


class CellError(Exception):
    """A cell to drop. `header` is a Cell without extensions and payload where the CRC was right, else None."""

    def __init__(self, cause, header=None):
        super().__init__(cause)
        self.header = header


class Cell:
    __slots__ = ("sl", "pos", "op", "flags", "dlid", "slid", "service", "stripe", "dqpn", "sqpn", "psn", "csn", "partition",
                 "lcn", "payload", "gnh", "ee", "stream", "va", "read", "atomic", "idata", "dereg", "ackx", "packet_crc")

    def __init__(self, op, service, pos=ONLY, **fields):
        for name in self.__slots__:
            setattr(self, name, None)
        self.sl = self.flags = self.dlid = self.slid = self.stripe = self.dqpn = self.sqpn = 0
        self.psn = self.csn = self.lcn = 0
        self.partition = 0xFFFF                                  # P-PART-2, P-CELL-15
        self.payload = b""
        self.op, self.service, self.pos = op, service, pos
        for name, value in fields.items():
            setattr(self, name, value)

    @property
    def starts(self):
        return self.pos in (FIRST, ONLY)

    @property
    def ends(self):
        return self.pos in (LAST, ONLY)


def extensions_of(cell):
    """All extensions, in the order of the table (P-CELL-1)."""
    parts = []
    if cell.gnh is not None:
        parts.append(cell.gnh)
    if cell.ee is not None:
        parts.append(struct.pack(">I", cell.ee))
    if cell.stream is not None:
        parts.append(struct.pack(">I", cell.stream))
    if cell.va is not None:
        parts.append(struct.pack(">QII", *cell.va))
    if cell.read is not None:
        parts.append(struct.pack(">IIQ", *cell.read))
    if cell.atomic is not None:
        parts.append(struct.pack(">IQQ", cell.atomic[0] << 24, *cell.atomic[1:]))
    if cell.idata is not None:
        parts.append(struct.pack(">I", cell.idata))
    if cell.dereg is not None:
        parts.append(struct.pack(">I", cell.dereg))
    if cell.ackx is not None:
        parts.append(ack.encode(cell.ackx))
    return b"".join(parts)


def encode(cell):
    extensions = extensions_of(cell)
    pad = -len(cell.payload) % 4
    raw = _HEADER.pack(0x10 | cell.sl, cell.pos << 6 | cell.op, (cell.flags & 0xFC) | pad, len(extensions) // 4,
                          cell.dlid, cell.slid, cell.service << 28 | cell.stripe << 24 | cell.dqpn, cell.sqpn, cell.psn,
                          cell.csn, len(cell.payload), cell.partition, cell.lcn)
    raw += extensions + cell.payload + bytes(pad)
    if cell.flags & P:
        raw += struct.pack(">I", cell.packet_crc)
    return raw + struct.pack(">I", crc32c(raw))


def _header(raw):
    (first, second, flags, _, dlid, slid, word2, sqpn, psn, csn, _, partition, lcn) = _HEADER.unpack_from(raw)
    return Cell(second & 63, word2 >> 28, second >> 6, sl=first & 15, flags=flags & 0xFC, dlid=dlid, slid=slid,
                stripe=word2 >> 24 & 15, dqpn=word2 & 0xFFFFFF, sqpn=sqpn & 0xFFFFFF, psn=psn & 0xFFFFFF, csn=csn,
                partition=partition, lcn=lcn)


def _has_va(cell):
    if cell.op == RDMA_WRITE:
        return cell.starts or cell.service == STREAM
    return cell.op in (READ_REQ, FETCHOP_REQ) or (cell.op == READ_RESP and cell.service == STREAM)


def _take_extensions(cell, raw):
    """Sets the extensions that op, service, pos and flags call for; False if the bytes are not these (P-CELL-10)."""
    at = 0

    def take(size):
        nonlocal at
        at += size
        return raw[at - size:at] if at <= len(raw) else None

    def words(form):
        piece = take(struct.calcsize(form))
        return None if piece is None else struct.unpack(form, piece)

    if cell.flags & G:
        cell.gnh = take(40)
        if cell.gnh is None or cell.gnh[0] >> 4 != 6:
            return False
    if cell.service == RD:
        cell.ee = words(">I")
    if cell.service in (STREAM, ISCSI):
        cell.stream = words(">I")
    if _has_va(cell):
        cell.va = words(">QII")
    if cell.op == READ_REQ and cell.service == STREAM:
        cell.read = words(">IIQ")
    if cell.op == FETCHOP_REQ:
        atomic = words(">IQQ")
        cell.atomic = atomic and (atomic[0] >> 24,) + atomic[1:]
    if cell.flags & I:
        cell.idata = words(">I")
    if cell.op == SEND_DEREG and cell.ends:
        cell.dereg = words(">I")
    if cell.op in (ACK, NAK):
        cell.ackx = ack.decode(raw[at:], cell.op == NAK, cell.service == RC)
        if cell.ackx is None:
            return False
        at = len(raw)
    if at != len(raw) or (cell.atomic and not 1 <= cell.atomic[0] <= 3):
        return False
    for name, mask in (("ee", 0xFFFFFF), ("stream", 0xFFFFFFFF), ("idata", 0xFFFFFFFF), ("dereg", 0xFFFFFFFF)):
        value = getattr(cell, name)
        if value is not None:
            setattr(cell, name, value[0] & mask)
    return True


def decode(raw):
    if len(raw) < 32 or 28 + 4 * raw[3] + 4 > len(raw):
        raise CellError("short")
    if crc32c(raw[:-4]) != int.from_bytes(raw[-4:], "big"):          # P-CELL-3
        raise CellError("crc")
    cell = _header(raw)
    if raw[0] >> 4 != 1:
        raise CellError("version")
    count = _LEGAL.get(cell.op, {}).get(cell.service)
    if count is None:
        raise CellError("op", cell)
    if (count == "one" and cell.pos != ONLY) \
            or (cell.op not in (ACK, NAK) and cell.starts != (cell.csn == 0)):
        raise CellError("position", cell)
    if (cell.flags & I and cell.op not in _WITH_IDATA) \
            or (cell.flags & P and (not cell.ends or cell.op in (ACK, NAK))):
        raise CellError("flags", cell)
    begin = 28 + 4 * raw[3]
    if not _take_extensions(cell, raw[28:begin]):
        raise CellError("extensions", cell)
    size = int.from_bytes(raw[22:24], "big")
    pad = -size % 4
    crcs = 8 if cell.flags & P else 4
    if len(raw) != begin + size + pad + crcs or raw[2] & 3 != pad or size > 65532 \
            or size != _PAYLOAD.get(cell.op, size) \
            or (cell.op == MGMT and size > MOST_MGMT_PAYLOAD and cell.dqpn):
        raise CellError("length", cell)
    cell.payload = raw[begin:begin + size]
    if cell.flags & P:
        cell.packet_crc = int.from_bytes(raw[-8:-4], "big")
    return cell


def packet_crc_part(cell):
    """What the packet CRC covers of this cell (cell.md, CRCs)."""
    kept = Cell(cell.op, cell.service, va=cell.va, read=cell.read, atomic=cell.atomic, idata=cell.idata, dereg=cell.dereg)
    return extensions_of(kept) + cell.payload
