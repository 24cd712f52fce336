"""CRC-32C (P-LINK-2): polynomial 0x1EDC6F41 reflected, initial value and final XOR 0xFFFFFFFF.

Two bytes per step, with a table of 65536 entries: in Python the number of steps is what costs.
"""
import struct


def _tables():
    one = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        one.append(byte)
    two = [one[(one[low & 0xFF] ^ (low >> 8)) & 0xFF] ^ (one[low & 0xFF] >> 8) for low in range(65536)]
    return one, two


_ONE, _TWO = _tables()


def crc32c(*pieces):
    """The CRC of the pieces, one behind the other."""
    data = b"".join(pieces)
    crc, two, pairs = 0xFFFFFFFF, _TWO, len(data) // 2
    for pair in struct.unpack_from("<%dH" % pairs, data):
        crc = two[(crc ^ pair) & 0xFFFF] ^ (crc >> 16)
    if len(data) & 1:
        crc = _ONE[(crc ^ data[-1]) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
