"""What is around an Ethernet frame (data.md): immediate data that names the filled element, and the virtio-net header."""
import struct
from collections import namedtuple

FORM_A, FORM_B, NO_IDATA = range(3)
MOST_FRAME = 65569                                               # with its header, P-DATA-18
VNET_HEADER = 12
NO_OFFLOAD = bytes(VNET_HEADER)
NEEDS_CSUM = 0x01

Vnet = namedtuple("Vnet", "flags gso_type hdr_len gso_size csum_start csum_offset")
_VNET = struct.Struct("<BBHHHHH")                                # little endian (P-DATA-15)


def encode_a(pool, element, size):
    """P-DATA-14: 8, 8 and 16 bits; size 0 means 65536."""
    return pool << 24 | element << 16 | size & 0xFFFF


def decode_a(idata):
    return idata >> 24, idata >> 16 & 0xFF, idata & 0xFFFF or 65536


def encode_b(offset, size):
    return offset // 64 << 16 | size & 0xFFFF


def decode_b(idata):
    return (idata >> 16) * 64, idata & 0xFFFF or 65536


def form_of(form_in, form_out):
    """The form of a direction: the owner's `idata_form_in` if the writer's `idata_form_out` has it (P-CH-6)."""
    if form_in == FORM_A and form_out in (0, 1):
        return FORM_A
    return FORM_B if form_in == FORM_B and form_out == 1 else NO_IDATA


def encode_vnet(vnet):
    return _VNET.pack(*vnet, 0)


def decode_vnet(raw):
    return Vnet(*_VNET.unpack_from(raw)[:6])


def acceptable(raw):
    """P-DATA-16 for a host that was granted no offload: a frame with its header, and nothing left to compute."""
    if not VNET_HEADER + 14 <= len(raw) <= MOST_FRAME:
        return False
    return not raw[0] & NEEDS_CSUM and raw[1] == 0
