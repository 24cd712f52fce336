#!/usr/bin/env python3
"""A second implementation of the bytes in docs/protocol/session.md, over python3-cryptography: prints the worked example, or
compares the page with it.
  session_twin.py             prints the example
  session_twin.py --check F   exits with 1 if page F does not hold it"""
import hashlib
import hmac
import sys

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NAME = b"Noise_IKpsk2_25519_AESGCM_SHA256"


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def public(private):
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def agree(private, peer):
    return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(peer))


def hkdf(chaining_key, data, count):
    extracted, outputs = mac(chaining_key, data), [b""]
    for number in range(1, count + 1):
        outputs.append(mac(extracted, outputs[-1] + bytes([number])))
    return outputs[1:]


def nonce(counter):
    return bytes(4) + counter.to_bytes(8, "big")


class Symmetric:
    """SymmetricState of the Noise specification."""

    def __init__(self, prologue, responder):
        self.hash = self.chain = NAME
        self.key, self.counter = b"", 0
        self.mix_hash(prologue)
        self.mix_hash(responder)

    def mix_hash(self, data):
        self.hash = sha(self.hash, data)

    def mix_key(self, data):
        self.chain, self.key = hkdf(self.chain, data, 2)
        self.counter = 0

    def mix_psk(self, psk):
        self.chain, hashed, self.key = hkdf(self.chain, psk, 3)
        self.mix_hash(hashed)
        self.counter = 0

    def ephemeral(self, key):
        self.mix_hash(key)
        self.mix_key(key)

    def encrypt(self, data):
        sealed = AESGCM(self.key).encrypt(nonce(self.counter), data, self.hash)
        self.counter += 1
        self.mix_hash(sealed)
        return sealed

    def decrypt(self, sealed):
        data = AESGCM(self.key).decrypt(nonce(self.counter), sealed, self.hash)
        self.counter += 1
        self.mix_hash(sealed)
        return data


def begin(responder):
    return Symmetric(b"splitnic session 1" + b"\x01" + responder, responder)


def write_initiation(state, ephemeral, static, responder, payload):
    e = public(ephemeral)
    state.ephemeral(e)
    state.mix_key(agree(ephemeral, responder))
    s = state.encrypt(public(static))
    state.mix_key(agree(static, responder))
    return e + s + state.encrypt(payload)


def read_response(state, ephemeral, static, psk, noise):
    """The payload; raises if the message is not the responder's."""
    state.ephemeral(noise[:32])
    state.mix_key(agree(ephemeral, noise[:32]))
    state.mix_key(agree(static, noise[:32]))
    state.mix_psk(psk)
    return state.decrypt(noise[32:])


def with_macs(message, receiver):
    return message + mac(sha(b"splitnic mac1", receiver), message)[:16] + bytes(16)


def example():
    first, second = bytes(range(1, 33)), bytes(range(33, 65))
    first_ephemeral, second_ephemeral = bytes(range(65, 97)), bytes(range(97, 129))
    psk = bytes(32)
    host, unit = public(first), public(second)
    state = begin(unit)
    payload = (0x19A00000000).to_bytes(8, "big") + (0x1122334455667788).to_bytes(8, "big") + bytes(8)
    noise = write_initiation(state, first_ephemeral, first, unit, payload)
    initiation = with_macs(bytes.fromhex("81010000" + "0a0b0c0d") + noise, unit)

    e = public(second_ephemeral)
    state.ephemeral(e)
    state.mix_key(agree(second_ephemeral, public(first_ephemeral)))
    state.mix_key(agree(second_ephemeral, host))
    state.mix_psk(psk)
    payload = state.encrypt((0x99AABBCCDDEEFF00).to_bytes(8, "big") + bytes(8))
    response = with_macs(bytes.fromhex("82010000" + "01020304" + "0a0b0c0d") + e + payload, host)
    sending, _ = hkdf(state.chain, b"", 2)

    mac1 = initiation[128:144]
    key = mac(sha(b"splitnic cookie", unit), mac1)
    fresh = bytes(range(12))
    cookie = bytes.fromhex("83010000" + "0a0b0c0d") + fresh + AESGCM(key).encrypt(fresh, bytes(range(0xC0, 0xD0)), mac1)

    header = bytes.fromhex("84000000" + "01020304") + (0).to_bytes(8, "big")
    idle = bytes.fromhex("5f2000000000000000000000f5f88c31")
    data = header + AESGCM(sending).encrypt(nonce(0), idle, header)
    return {"INITIATION": initiation, "RESPONSE": response, "COOKIE": cookie, "DATA": data}


def lines_of(message):
    words = [message[at:at + 4].hex() for at in range(0, len(message), 4)]
    return [" ".join(words[at:at + 8]) for at in range(0, len(words), 8)]


def main():
    wanted = example()
    if sys.argv[1:2] != ["--check"]:
        for name, message in wanted.items():
            print(name, *lines_of(message), sep="\n")
        return 0
    with open(sys.argv[2], encoding="utf-8") as page:
        text = page.read()
    missing = [name for name, message in wanted.items() if "\n".join(lines_of(message)) not in text]
    for name in missing:
        print(f"{sys.argv[2]}: the example of {name} is not", *lines_of(wanted[name]), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
