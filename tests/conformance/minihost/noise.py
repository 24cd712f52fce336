"""The handshake of a keyed link: Noise_IKpsk2_25519_AESGCM_SHA256, of which this is the initiator (session.md, P-KEY-1).

Also here: mac1, mac2 and the cookie. Nothing in this module knows sockets or time.
"""
import hashlib
import hmac
import os
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

INITIATION, RESPONSE, COOKIE, DATA = 0x81, 0x82, 0x83, 0x84
_LENGTH = {INITIATION: 160, RESPONSE: 108, COOKIE: 52}
VERSION = 1
REKEY = 0x01                                                     # a flag of DATA
_NAME = b"Noise_IKpsk2_25519_AESGCM_SHA256"                      # 32 bytes, so it is the first hash as it is
_PROLOGUE = b"splitnic session 1\x01"


class HandshakeError(Exception):
    """A datagram to drop; the text is the suffix of the counter."""


def sha256(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


def _hmac(key, *pieces):
    return hmac.new(key, b"".join(pieces), hashlib.sha256).digest()


def public_of(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def agree(private, public):
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:                                  # all zeros: P-KEY-21
        raise HandshakeError("handshake") from error


def seal(key, counter, header, plain):
    """P-KEY-9: the nonce is 32 zero bits and the counter."""
    return AESGCM(key).encrypt(struct.pack(">IQ", 0, counter), plain, header)


def open_sealed(key, counter, header, sealed):
    try:
        return AESGCM(key).decrypt(struct.pack(">IQ", 0, counter), sealed, header)
    except InvalidTag:
        return None


def eui64_of(public):
    """P-KEY-19."""
    raw = bytearray(sha256(b"splitnic eui64", public)[:8])
    raw[7] |= 1
    return int.from_bytes(raw, "big")


def mac1_of(receiver_public, raw):
    return _hmac(sha256(b"splitnic mac1", receiver_public), raw)[:16]


def mac2_of(cookie, raw):
    return _hmac(cookie, raw)[:16]


def check_format(raw):
    """The type of a datagram of the session layer; raises "format" for everything else (P-KEY-3, P-KEY-5)."""
    kind = raw[0] if raw else 0
    if kind in _LENGTH:
        good = len(raw) == _LENGTH[kind] and raw[1] == VERSION and raw[2:4] == b"\0\0"
    else:
        good = kind == DATA and len(raw) >= 32 and not raw[1] & ~REKEY and raw[2:4] == b"\0\0"
    if not good:
        raise HandshakeError("format")
    return kind


def open_cookie(raw, responder_public, mac1):
    """The cookie in a COOKIE for the INITIATION with this mac1."""
    key = _hmac(sha256(b"splitnic cookie", responder_public), mac1)
    try:
        return AESGCM(key).decrypt(raw[8:20], raw[20:], mac1)
    except InvalidTag as error:
        raise HandshakeError("handshake") from error


class _Symmetric:
    """The symmetric state of the framework: a hash of all messages, and a key that grows with each agreement."""

    def __init__(self, prologue):
        self.hash = self.chain = _NAME
        self.key, self.counter = None, 0
        self.mix_hash(prologue)

    def mix_hash(self, *pieces):
        self.hash = sha256(self.hash, *pieces)

    def _expand(self, material, count):
        secret, raw, block = _hmac(self.chain, material), [], b""
        for number in range(1, count + 1):
            block = _hmac(secret, block, bytes([number]))
            raw.append(block)
        return raw

    def mix_key(self, material):
        self.chain, self.key = self._expand(material, 2)
        self.counter = 0

    def mix_key_and_hash(self, material):
        self.chain, mixed, self.key = self._expand(material, 3)
        self.mix_hash(mixed)
        self.counter = 0

    def encrypt(self, plain):
        sealed = seal(self.key, self.counter, self.hash, plain)
        self.counter += 1
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed):
        plain = open_sealed(self.key, self.counter, self.hash, sealed)
        if plain is None:
            raise HandshakeError("handshake")
        self.counter += 1
        self.mix_hash(sealed)
        return plain

    def split(self):
        return self._expand(b"", 2)


class Initiator:
    """One handshake. `initiation` is the first message; `take_response` gives the keys."""

    def __init__(self, private, peer_public, stamp, instance, index, cookie=None, psk=bytes(32), ephemeral=None):
        self._private, self._peer, self._psk = private, peer_public, psk
        self._public = public_of(private)
        self._ephemeral = ephemeral or os.urandom(32)            # P-KEY-21: fresh for each handshake
        self.index = index
        state = self._state = _Symmetric(_PROLOGUE + peer_public)
        state.mix_hash(peer_public)
        public = public_of(self._ephemeral)
        state.mix_hash(public)
        state.mix_key(public)                                    # psk patterns mix each ephemeral key into the key too
        state.mix_key(agree(self._ephemeral, peer_public))       # es
        static = state.encrypt(self._public)
        state.mix_key(agree(private, peer_public))               # ss
        payload = state.encrypt(struct.pack(">QQQ", stamp, instance, 0))
        raw = struct.pack(">BBHI", INITIATION, VERSION, 0, index) + public + static + payload
        self.mac1 = mac1_of(peer_public, raw)
        raw += self.mac1
        self.initiation = raw + (mac2_of(cookie, raw) if cookie else bytes(16))

    def check_mac(self, response):
        if not hmac.compare_digest(response[76:92], mac1_of(self._public, response[:76])):
            raise HandshakeError("mac")                          # P-KEY-6

    def take_response(self, response):
        """(seal key, open key, index of the peer, instance of the peer). Its mac1 and index were checked."""
        state = self._fork()
        public = response[12:44]
        state.mix_hash(public)
        state.mix_key(public)
        state.mix_key(agree(self._ephemeral, public))            # ee
        state.mix_key(agree(self._private, public))              # se
        state.mix_key_and_hash(self._psk)
        instance, reserved = struct.unpack(">QQ", state.decrypt(response[44:76]))
        if reserved:
            raise HandshakeError("handshake")
        seal_key, open_key = state.split()
        return seal_key, open_key, int.from_bytes(response[4:8], "big"), instance

    def _fork(self):
        """A copy of the state, so that a response that is not good changes nothing."""
        copy = object.__new__(_Symmetric)
        copy.__dict__.update(self._state.__dict__)
        return copy
