"""Frames that make the addresses of an interface known on the LAN (ANNOUNCE of cfgutil.md)."""
import struct

BROADCAST = b"\xff" * 6


def gratuitous_arp(mac, address):
    """An ARP request of the own IPv4 address (RFC 5227, announcement)."""
    return BROADCAST + mac + struct.pack(">HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1) + mac + address + bytes(6) + address


def rarp(mac):
    """A reverse ARP request: it needs no address, and switches learn the port of the MAC address by it."""
    return BROADCAST + mac + struct.pack(">HHHBBH", 0x8035, 1, 0x0800, 6, 4, 3) + mac + bytes(4) + mac + bytes(4)


def frames(mac, addresses):
    return [gratuitous_arp(mac, address) for address in addresses] or [rarp(mac)]
