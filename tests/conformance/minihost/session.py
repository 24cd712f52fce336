"""The host's end of a keyed link (docs/protocol/session.md): Noise_IKpsk2 handshake and records. Sans-I/O.

Datagrams of flits come in by seal() and go out of open(); INITIATIONs leave by send(). Keys are 32 bytes.
"""
import hashlib
import hmac
import secrets
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from codec import get, put

NOISE = b"Noise_IKpsk2_25519_AESGCM_SHA256"
INITIATION, RESPONSE, COOKIE, DATA = 0x81, 0x82, 0x83, 0x84
REKEY_PLEASE = 0x01
REKEY_AFTER, REJECT_AFTER, PREVIOUS_FOR, SILENCE, COOKIE_FOR = 120.0, 180.0, 10.0, 0.4, 120.0
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


class Session:
    def __init__(self, private, unit, send, now):
        self.private, self.unit, self.send_raw = private, unit, send
        self.instance = secrets.randbits(64) | 1
        self.current = self.previous = self.noise = self.cookie = None
        self.stamp, self.attempt_at, self.wait, self.heard_at, self.sent_at = 0, now, 0.1, now, now

    def on_time(self, now):
        keys = self.current
        is_silent = keys and self.sent_at > self.heard_at and now - self.heard_at >= SILENCE
        if self.attempt_at is None and (not keys or now - keys.made >= REKEY_AFTER or is_silent):
            self.attempt_at, self.wait = now, 0.1
        if keys and now - keys.made >= REJECT_AFTER:
            self.current = None
        if self.attempt_at is not None and now >= self.attempt_at:
            self._initiate(now)

    def _initiate(self, now):
        self.stamp = max(self.stamp + 1, int(time.time() * 1000))
        self.index = secrets.randbits(32)
        self.noise = Noise(self.private, self.unit, secrets.token_bytes(32))
        message = bytes([INITIATION, 1, 0, 0]) + put(self.index, 4)
        message += self.noise.initiation(put(self.stamp, 8) + put(self.instance, 8) + bytes(8))
        cookie = self.cookie[0] if self.cookie and now - self.cookie[1] < COOKIE_FOR else None
        message = with_macs(message, self.unit, cookie)
        self.mac1 = message[128:144]
        self.send_raw(message)
        self.attempt_at = now + self.wait * (1 + secrets.randbelow(334) / 1000)
        self.wait = min(2 * self.wait, 2.0)

    def seal(self, now, datagram):
        """Sends a datagram of flits; it is lost without keys."""
        if self.current:
            self.sent_at = now
            self.send_raw(self.current.seal(datagram))

    def open(self, now, datagram):
        """The datagram of flits in it, or None."""
        kind = datagram[0] if datagram else 0
        if kind == DATA and len(datagram) >= 32 and datagram[1] <= 1 and datagram[2:4] == bytes(2):
            return self._on_record(now, datagram)
        if len(datagram) != {RESPONSE: 108, COOKIE: 52}.get(kind) or datagram[1:4] != b"\x01\0\0" or not self.noise:
            return None
        if kind == RESPONSE and get(datagram, 8, 4) == self.index:
            self._on_response(now, datagram)
        elif kind == COOKIE and get(datagram, 4, 4) == self.index:
            try:
                key = mac(sha(b"splitnic cookie", self.unit), self.mac1)
                self.cookie = AESGCM(key).decrypt(datagram[8:20], datagram[20:], self.mac1), now
            except InvalidTag:
                pass
        return None

    def _on_response(self, now, message):
        before = mac(sha(b"splitnic mac1", public(self.private)), message[:76])[:16]
        if not hmac.compare_digest(before, message[76:92]):
            return
        try:
            payload, pair = self.noise.response(message[12:76])
        except InvalidTag:
            return
        keys = Keys(pair, get(message, 4, 4), now, get(payload, 0, 8))
        keys.local = self.index
        is_same = self.current and self.current.instance == keys.instance
        self.previous, self.current = (self.current, now) if is_same else None, keys
        self.noise = self.attempt_at = None
        self.heard_at = self.sent_at = now
        self.send_raw(keys.seal(b""))  # it shows the unit that we have the keys

    def _on_record(self, now, record):
        candidates = [self.current] + ([self.previous[0]] if self.previous and now - self.previous[1] < PREVIOUS_FOR else [])
        for keys in candidates:
            if keys and keys.local == get(record, 4, 4):
                plain = keys.open(record)
                if plain is not None:
                    self.heard_at = now
                    if record[1] & REKEY_PLEASE and self.attempt_at is None:
                        self.attempt_at, self.wait = now, 0.1
                return plain
        return None
