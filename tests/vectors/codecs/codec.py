"""Bytes and numbers: what every format of docs/protocol needs. Big endian, CRC-32C, hexadecimal words."""


class Bad(Exception):
    """Something received that the protocol refuses; the text is the name of the cause in docs/protocol."""


class Malformed(Bad):
    """A cell whose CRC is right and whose header can be read: `head` has its numbers (P-RC-23)."""

    def __init__(self, reason, head):
        super().__init__(reason)
        self.head = head


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def put(value, width):
    return value.to_bytes(width, "big")


def get(data, at, width):
    return int.from_bytes(data[at:at + width], "big")


def pad4(count):
    return -count % 4


def wide(value):
    """A number of 64 bits as vectors write it: JSON readers lose precision beyond 53 bits."""
    return f"0x{value:016x}"


def unwide(text):
    return int(text, 16)


def words(data):
    text = data.hex()
    return " ".join(text[at:at + 8] for at in range(0, len(text), 8))


def unwords(text):
    return bytes.fromhex(text.replace(" ", ""))
