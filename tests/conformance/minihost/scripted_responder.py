"""The other end of a handshake, for session_check.py: as much of a responder as the tests of this folder need."""
import struct

import noise


class Responder:
    """Takes an INITIATION; `response` is what to reply, `seal` and `open` are for records."""

    def __init__(self, private, initiation, index, instance):
        self.index, self.peer_index = index, int.from_bytes(initiation[4:8], "big")
        public = noise.public_of(private)
        assert initiation[128:144] == noise.mac1_of(public, initiation[:128]), "mac1"
        self.mac1, self.mac2 = initiation[128:144], initiation[144:]
        state = noise._Symmetric(noise._PROLOGUE + public)
        state.mix_hash(public)
        ephemeral = initiation[8:40]
        state.mix_hash(ephemeral)
        state.mix_key(ephemeral)
        state.mix_key(noise.agree(private, ephemeral))
        self.peer = state.decrypt(initiation[40:88])
        state.mix_key(noise.agree(private, self.peer))
        self.stamp, self.peer_instance, _ = struct.unpack(">QQQ", state.decrypt(initiation[88:128]))
        own = bytes(range(32))
        state.mix_hash(noise.public_of(own))
        state.mix_key(noise.public_of(own))
        state.mix_key(noise.agree(own, ephemeral))
        state.mix_key(noise.agree(own, self.peer))
        state.mix_key_and_hash(bytes(32))
        raw = struct.pack(">BBHII", noise.RESPONSE, 1, 0, index, self.peer_index) + noise.public_of(own)
        raw += state.encrypt(struct.pack(">QQ", instance, 0))
        self.response = raw + noise.mac1_of(self.peer, raw) + bytes(16)
        self._open, self._seal = state.split()
        self._counter = 0

    def seal(self, plain, flags=0, counter=None):
        counter = self._counter if counter is None else counter
        self._counter = counter + 1
        header = struct.pack(">BBHIQ", noise.DATA, flags, 0, self.peer_index, counter)
        return header + noise.seal(self._seal, counter, header, plain)

    def open(self, record):
        return noise.open_sealed(self._open, int.from_bytes(record[8:16], "big"), record[:16], record[16:])

    def cookie(self, public, cookie):
        """COOKIE for the INITIATION."""
        key = noise._hmac(noise.sha256(b"splitnic cookie", public), self.mac1)
        nonce = bytes(12)
        sealed = noise.AESGCM(key).encrypt(nonce, cookie, self.mac1)
        return struct.pack(">BBHI", noise.COOKIE, 1, 0, self.peer_index) + nonce + sealed
