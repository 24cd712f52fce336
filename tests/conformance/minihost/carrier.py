"""The UDP socket of a link: one port here, one address there (P-DG-1), and the length that the path carries (P-INIT-30)."""
import fcntl
import socket
import struct

_SIOCGIFADDR, _SIOCGIFMTU = 0x8915, 0x8921
_IP_MTU_DISCOVER, _IP_PMTUDISC_PROBE = 10, 3
_SO_RCVBUFFORCE = 33
HEADERS_V4, HEADERS_V6 = 28, 48
MOST_PAYLOAD = 65507
BUFFER = 4 << 20


class Carrier:
    def __init__(self, address, port):
        family, kind, proto, _, where = socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0]
        self.socket = socket.socket(family, kind, proto)
        if family == socket.AF_INET:
            # P-DG-9: Don't Fragment; what ICMP reports does not count (P-INIT-34)
            self.socket.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_PROBE)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, BUFFER)
        except OSError:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self.receive_buffer = min(BUFFER, self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)
        self.socket.connect(where)                               # so the kernel drops what others send
        self.socket.setblocking(False)
        headers = HEADERS_V4 if family == socket.AF_INET else HEADERS_V6
        self.datagram_length = min(self._interface_mtu() - headers, MOST_PAYLOAD)

    def _interface_mtu(self):
        """The MTU of the interface that has the local address of the socket; 1500 where that is not found."""
        local = self.socket.getsockname()[0]
        for _, name in socket.if_nameindex():
            request = struct.pack("16s24x", name.encode())
            try:
                if socket.inet_ntoa(fcntl.ioctl(self.socket, _SIOCGIFADDR, request)[20:24]) == local:
                    return struct.unpack_from("i", fcntl.ioctl(self.socket, _SIOCGIFMTU, request), 16)[0]
            except OSError:
                continue                                         # an interface without an IPv4 address
        return 65536 if local.startswith("127.") else 1500

    def send(self, raw):
        """What cannot be sent now is lost, as on any path."""
        try:
            self.socket.send(raw)
        except OSError:
            pass

    def receive(self):
        """A datagram, or None if there is none now."""
        while True:
            try:
                return self.socket.recv(65536)
            except BlockingIOError:
                return None
            except OSError:
                continue                                         # what ICMP reported of an earlier datagram
