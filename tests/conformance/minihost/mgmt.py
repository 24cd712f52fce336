"""The payload of a MGMT cell (mgmt.md): messages that set up and end connections."""
import struct
from dataclasses import dataclass, field

CONNECT_REQ, CONNECT_REP, CONNECT_RTU, CONNECT_REJ, DISC, DISC_REP, RESOLVE, RESOLVED = range(1, 9)
KINDS = ("", "CONNECT_REQ", "CONNECT_REP", "CONNECT_RTU", "CONNECT_REJ", "DISC", "DISC_REP", "RESOLVE", "RESOLVED")
FORM_B, PACKET_CRC, GO_BACK_N = 0x0001, 0x0002, 0x0004            # flags of a queue pair
REJECTS = ("", "unknown peer", "bad parameter", "no resources", "refused", "stale")
_FIXED = struct.Struct(">BBBBHHQQQQQ")
_PAIR = struct.Struct(">BBHIIIHHHHII")


class MgmtError(Exception):
    """A message to drop (P-MGMT-3); the text is the cause."""


@dataclass
class Pair:
    channel: int
    service: int
    flags: int
    qpn: int
    peer_qpn: int
    start_psn: int
    start_lcn: int
    mcp: int
    receive_credits: int
    max_dest_rd_atomic: int = 0
    msg_max: int = 0
    completed: int = 0


@dataclass
class Mgmt:
    kind: int
    transaction: int
    eui64: int
    instance: int
    peer_eui64: int
    peer_instance: int
    pairs: list = field(default_factory=list)
    private: bytes = b""
    reject: int = 0


def encode(message):
    raw = _FIXED.pack(1, message.kind, len(message.pairs), 0, message.reject, len(message.private), message.transaction,
                         message.eui64, message.instance, message.peer_eui64, message.peer_instance)
    for p in message.pairs:
        raw += _PAIR.pack(p.channel, p.service, p.flags, p.qpn, p.peer_qpn, p.start_psn, p.start_lcn, p.mcp,
                             p.receive_credits, p.max_dest_rd_atomic, p.msg_max, p.completed)
    return raw + message.private


def decode(raw):
    if len(raw) < 48:
        raise MgmtError("short")
    form, kind, count, _, reject, private, transaction, eui64, instance, peer_eui64, peer = _FIXED.unpack_from(raw)
    if form != 1 or not CONNECT_REQ <= kind <= RESOLVED:
        raise MgmtError("format")
    if (kind == CONNECT_REJ) != (reject != 0) or reject > 5:
        raise MgmtError("reject")
    connects = kind in (CONNECT_REQ, CONNECT_REP)
    if count > 4 or (connects and count == 0):
        raise MgmtError("pair")
    if len(raw) < 48 + 32 * count:
        raise MgmtError("short")
    if len(raw) != 48 + 32 * count + private or private > 512:
        raise MgmtError("length")
    low24 = 0xFFFFFF
    pairs = []
    for at in range(count):
        (channel, service, flags, qpn, peer_qpn, psn, lcn, mcp, credits, reads, longest,
         completed) = _PAIR.unpack_from(raw, 48 + 32 * at)
        pairs.append(Pair(channel, service, flags, qpn & low24, peer_qpn & low24, psn & low24, lcn, mcp, credits, reads,
                          longest, completed & low24))
        if service > 6 or mcp % 4 or (connects and (mcp == 0 or pairs[-1].qpn == 0)):
            raise MgmtError("pair")
    if connects and len({p.channel for p in pairs}) != count:
        raise MgmtError("pair")
    return Mgmt(kind, transaction, eui64, instance, peer_eui64, peer, pairs, raw[48 + 32 * count:], reject)
