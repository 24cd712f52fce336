"""A TAP interface: Ethernet frames of the kernel (Linux)."""
import fcntl
import os
import socket
import struct

_TUNSETIFF, _TUNSETCARRIER = 0x400454CA, 0x400454E2
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_SIOCSIFHWADDR, _SIOCSIFMTU, _SIOCGIFFLAGS, _SIOCSIFFLAGS, _SIOCGIFADDR = 0x8924, 0x8922, 0x8913, 0x8914, 0x8915
_IFF_UP, _ARPHRD_ETHER = 1, 1


class Tap:
    def __init__(self, name, mac):
        self.name = name.encode()
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, _TUNSETIFF, struct.pack("16sH22x", self.name, _IFF_TAP | _IFF_NO_PI))
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._set(_SIOCSIFHWADDR, struct.pack("16sH6s16x", self.name, _ARPHRD_ETHER, mac))
        self.carrier(False)
        flags = struct.unpack_from("H", self._set(_SIOCGIFFLAGS, struct.pack("16s24x", self.name)), 16)[0]
        self._set(_SIOCSIFFLAGS, struct.pack("16sH22x", self.name, flags | _IFF_UP))

    def _set(self, request, raw):
        return fcntl.ioctl(self._socket, request, raw)

    def mtu(self, mtu):
        try:
            self._set(_SIOCSIFMTU, struct.pack("16si20x", self.name, mtu))
        except OSError:
            pass                                                 # the interface keeps what it has

    def carrier(self, up):
        try:
            fcntl.ioctl(self.fd, _TUNSETCARRIER, struct.pack("i", up))
        except OSError:
            pass                                                 # an older kernel has a carrier always

    def addresses(self):
        """The IPv4 address, if it has one."""
        try:
            return [self._set(_SIOCGIFADDR, struct.pack("16s24x", self.name))[20:24]]
        except OSError:
            return []

    def read(self):
        """A frame, or None if there is none."""
        try:
            return os.read(self.fd, 65536 + 18)
        except OSError:
            return None

    def write(self, frame):
        try:
            os.write(self.fd, frame)
            return True
        except OSError:
            return False
