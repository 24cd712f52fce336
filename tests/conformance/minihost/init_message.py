"""The payload of an INIT flit (init.md): 72 bytes by which the two ends of a link identify each other."""
import struct
from dataclasses import dataclass

HELLO, CHALLENGE, ANSWER, READY, REFUSE, BYE, PROBE, PROBE_REPLY = range(1, 9)
FULL, SPEED, SHM = range(3)
STEPS = ("", "hello", "challenge", "answer", "ready", "refuse", "bye", "probe", "probe_reply")
PROFILES = ("full", "speed", "shm")
OTHER_PROFILE, DUPLICATE = 2, 6                                  # reasons of refuse
_FORMAT = struct.Struct(">BBBBIHHHBBIIQQQQQHHI")


class InitError(Exception):
    """An INIT that has to be dropped (P-INIT-2); the text is the cause."""


@dataclass
class Init:
    step: int
    eui64: int
    instance: int
    peer_instance: int = 0
    nonce: int = 0
    echo: int = 0
    profile: int = SPEED
    cell_crc: int = 0
    program_version: int = 0x00010000                            # major 0, minor 1: that of this document (P-INIT-12)
    lanes: int = 0x800F
    mcp: int = 0
    flit_payload: int = 120
    port: int = 0
    reason: int = 0
    payload_crc: int = 0
    initial_credit: int = 0                                      # full profile
    proof: int = 0                                               # speed profile, 56 bits
    receive_buffer: int = 0
    lid: int = 0
    offered_lid: int = 0


def encode(init):
    high = init.initial_credit if init.profile == FULL else init.proof >> 32
    return _FORMAT.pack(1, init.step, init.profile, init.cell_crc, init.program_version, init.lanes, init.mcp,
                        init.flit_payload, init.port, init.reason, init.payload_crc << 24 | high, init.receive_buffer,
                        init.eui64, init.instance, init.peer_instance, init.nonce, init.echo, init.lid,
                        init.offered_lid, init.proof & 0xFFFFFFFF)


def decode(raw):
    if len(raw) != 72:
        raise InitError("length")
    (form, step, profile, cell_crc, version, lanes, mcp, flit_payload, port, reason, crc_word, buffer, eui64, instance,
     peer, nonce, echo, lid, offered, low) = _FORMAT.unpack(raw)
    if form != 1:
        raise InitError("format")
    speed = profile == SPEED
    if not 1 <= step <= PROBE_REPLY or profile > SHM or cell_crc > 1 or reason > DUPLICATE \
            or (step == REFUSE) != (reason != 0) or (speed and crc_word >> 24 > 2):      # P-INIT-22
        raise InitError("step")
    if lanes == 0 or mcp < 4 or mcp % 4 or flit_payload < 120 or instance == 0:
        raise InitError("value")
    high = crc_word & 0xFFFFFF
    return Init(step, eui64, instance, peer, nonce, echo, profile, cell_crc, version, lanes, mcp, flit_payload, port, reason,
                crc_word >> 24 if speed else 0, high if profile == FULL else 0, high << 32 | low if speed else 0, buffer,
                lid, offered)
