"""The formats of a keyed link (docs/protocol/session.md): the messages of the Noise_IKpsk2 handshake and records."""
import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from codec import get, put

NOISE = b"Noise_IKpsk2_25519_AESGCM_SHA256"
INITIATION, RESPONSE, COOKIE, DATA = 0x81, 0x82, 0x83, 0x84
WINDOW = 8128


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def public(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def agree(private, peer):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(peer))


def nonce(counter):
    return bytes(4) + put(counter, 8)


def eui64_of(public_key):
    return int.from_bytes(sha(b"splitnic eui64", public_key)[:8], "big") | 1


class Noise:
    """The SymmetricState of the Noise framework, as the initiator of IKpsk2 uses it."""

    def __init__(self, private, responder, ephemeral, psk=bytes(32)):
        self.private, self.responder, self.ephemeral, self.psk = private, responder, ephemeral, psk
        self.chain = self.hash = NOISE  # it has 32 bytes
        self._mix_hash(b"splitnic session 1" + b"\x01" + responder)
        self._mix_hash(responder)

    def _mix_hash(self, data):
        self.hash = sha(self.hash, data)

    def _hkdf(self, data, count):
        key, outputs, last = mac(self.chain, data), [], b""
        for number in range(1, count + 1):
            last = mac(key, last, bytes([number]))
            outputs.append(last)
        return outputs

    def _mix_key(self, data):
        self.chain, self.key = self._hkdf(data, 2)
        self.counter = 0

    def _encrypt(self, data):
        sealed = AESGCM(self.key).encrypt(nonce(self.counter), data, self.hash)
        self.counter += 1
        self._mix_hash(sealed)
        return sealed

    def _decrypt(self, sealed):
        data = AESGCM(self.key).decrypt(nonce(self.counter), sealed, self.hash)
        self.counter += 1
        self._mix_hash(sealed)
        return data

    def initiation(self, payload):
        e = public(self.ephemeral)
        self._mix_hash(e)
        self._mix_key(e)  # the psk modifier mixes each ephemeral key into the chain
        self._mix_key(agree(self.ephemeral, self.responder))
        s = self._encrypt(public(self.private))
        self._mix_key(agree(self.private, self.responder))
        return e + s + self._encrypt(payload)

    def response(self, message):
        """The payload, and the keys to seal and to open with. Raises InvalidTag."""
        saved = self.chain, self.hash
        try:
            e = message[:32]
            self._mix_hash(e)
            self._mix_key(e)
            self._mix_key(agree(self.ephemeral, e))
            self._mix_key(agree(self.private, e))
            self.chain, mixed, self.key = self._hkdf(self.psk, 3)
            self._mix_hash(mixed)
            self.counter = 0
            payload = self._decrypt(message[32:])
        except InvalidTag:
            self.chain, self.hash = saved
            raise
        return payload, self._hkdf(b"", 2)


class Keys:
    def __init__(self, pair, remote, now, instance):
        self.sealing, self.opening, self.remote, self.made, self.instance = AESGCM(pair[0]), AESGCM(pair[1]), remote, now, instance
        self.counter, self.highest, self.seen = 0, -1, set()

    def seal(self, plain, flags=0):
        head = bytes([DATA, flags, 0, 0]) + put(self.remote, 4) + put(self.counter, 8)
        self.counter += 1
        return head + self.sealing.encrypt(nonce(get(head, 8, 8)), plain, head)

    def open(self, record):
        """What is in the record, or None."""
        counter = get(record, 8, 8)
        if counter in self.seen or counter < self.highest - WINDOW:
            return None
        try:
            plain = self.opening.decrypt(nonce(counter), record[16:], record[:16])
        except InvalidTag:
            return None
        self.highest = max(self.highest, counter)
        self.seen.add(counter)
        if len(self.seen) > 2 * WINDOW:
            self.seen = {one for one in self.seen if one >= self.highest - WINDOW}
        return plain


def with_macs(message, receiver, cookie):
    message += mac(sha(b"splitnic mac1", receiver), message)[:16]
    return message + (mac(cookie, message)[:16] if cookie else bytes(16))
