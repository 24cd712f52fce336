"""The host's end of a keyed session, after docs/protocol/session.md alone: handshake, records, and nothing above them."""
import base64
import os
import pathlib
import socket
import sys
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "unit/fabric_emul/session"))
import session_twin as twin  # noqa: E402


class KeyedPeer:
    def __init__(self, address, port, key_file, unit):
        self.private = base64.b64decode(pathlib.Path(key_file).read_text(encoding="ascii"))
        self.public = twin.public(self.private)
        self.unit = base64.b64decode(unit)
        self.instance = int.from_bytes(os.urandom(8), "big") | 1
        self.eui64 = eui64_of(self.public)
        self.stamp = 0
        self.counter = 0
        self.keys = None  # sending, receiving
        self.remote = self.local = bytes(4)
        self.to = (address, int(port))
        self.socket = self.new_socket()

    def new_socket(self):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(self.to)
        s.settimeout(0.1)
        return s

    def initiation(self, local):
        """A message, and what reads the reply to it."""
        self.stamp = max(time.time_ns() // 1_000_000, self.stamp + 1)
        ephemeral, state = os.urandom(32), twin.begin(self.unit)
        payload = self.stamp.to_bytes(8, "big") + self.instance.to_bytes(8, "big") + bytes(8)
        noise = twin.write_initiation(state, ephemeral, self.private, self.unit, payload)
        return twin.with_macs(b"\x81\x01\0\0" + local + noise, self.unit), (state, ephemeral)

    def agree(self, attempts=50):
        """New keys, confirmed by an empty record."""
        for _ in range(attempts):
            local = os.urandom(4)
            message, (state, ephemeral) = self.initiation(local)
            self.socket.send(message)
            end = time.monotonic() + 0.2
            while time.monotonic() < end:
                try:
                    reply = self.socket.recv(65536)
                except (TimeoutError, ConnectionRefusedError):
                    break
                if reply[0] != 0x82 or reply[8:12] != local:
                    continue
                twin.read_response(state, ephemeral, self.private, bytes(32), reply[12:76])
                sending, receiving = twin.hkdf(state.chain, b"", 2)
                self.keys = AESGCM(sending), AESGCM(receiving)
                self.local, self.remote, self.counter = local, reply[4:8], 0
                self.socket.send(self.seal(b""))
                return True
        return False

    def seal(self, plain, flags=0, counter=None):
        if counter is None:
            counter = self.counter
            self.counter += 1
        header = bytes((0x84, flags, 0, 0)) + self.remote + counter.to_bytes(8, "big")
        return header + self.keys[0].encrypt(twin.nonce(counter), plain, header)

    def open(self, record):
        """The content of a record under the keys of now; None for anything else."""
        if len(record) < 32 or record[0] != 0x84 or record[4:8] != self.local:
            return None
        try:
            return self.keys[1].decrypt(bytes(4) + record[8:16], record[16:], record[:16])
        except InvalidTag:
            return None


def eui64_of(public):
    return int.from_bytes(twin.sha(b"splitnic eui64", public)[:8], "big") | 1
