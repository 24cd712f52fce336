"""ACKX, the extension of ACK and NAK (ack.md): what has arrived, and what was refused and why."""
import struct
from dataclasses import dataclass, field

ACK, RNR, SEQUENCE, INVALID, ACCESS, OPERATIONAL, INVALID_RD = 0, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64
NAK_CODES = (RNR, SEQUENCE, INVALID, ACCESS, OPERATIONAL, INVALID_RD)
FATAL = (INVALID, ACCESS, OPERATIONAL, INVALID_RD)
MOST_BITMAP_WORDS = 64                                           # P-ACK-8


@dataclass
class Ackx:
    code: int = 0
    msn: int = 0
    credits: int = 0
    detail: int = 0
    cumulative: int = None                                       # RC only, and so the two below
    hold: int = 0
    bitmap: list = field(default_factory=list)                   # words

    def arrived(self):
        """The distances from `cumulative` of the cells that the bitmap names."""
        return [2 + 32 * at + bit for at, word in enumerate(self.bitmap) if word
                for bit in range(32) if word & 0x80000000 >> bit]


def encode(ackx):
    raw = struct.pack(">IHH", ackx.code << 24 | ackx.msn, ackx.credits, ackx.detail)
    if ackx.cumulative is not None:
        raw += struct.pack(">HBB", ackx.cumulative, len(ackx.bitmap), ackx.hold)
        raw += struct.pack(">%dI" % len(ackx.bitmap), *ackx.bitmap)
    return raw


def decode(raw, is_nak, is_rc):
    """None if it is not legal (ack.md, Rejected)."""
    if len(raw) < (12 if is_rc else 8):
        return None
    first, posted, detail = struct.unpack_from(">IHH", raw)
    ackx = Ackx(first >> 24, first & 0xFFFFFF, posted, detail)
    if (ackx.code not in NAK_CODES) if is_nak else ackx.code != ACK:            # P-ACK-7
        return None
    if not is_rc:
        return ackx if len(raw) == 8 else None
    ackx.cumulative, words, ackx.hold = struct.unpack_from(">HBB", raw, 8)
    if words > MOST_BITMAP_WORDS or len(raw) != 12 + 4 * words:
        return None
    ackx.bitmap = list(struct.unpack_from(">%dI" % words, raw, 12))
    return ackx


def bitmap_of(distances, most_words):
    """Bitmap words for cells at these distances (2 and more) behind the cumulative LCN."""
    bits = [d - 2 for d in distances if 0 <= d - 2 < 32 * most_words]
    words = [0] * (max(bits) // 32 + 1 if bits else 0)
    for bit in bits:
        words[bit // 32] |= 0x80000000 >> bit % 32
    return words
