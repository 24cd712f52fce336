"""A keyed link, the end of the host (session.md): it seals every datagram, and replaces its keys in time.

Between link.py and the socket: `send` takes datagrams of flits, `on_datagram` what the socket received. Where keys are missing,
the last datagram waits for them and is the first record under the new ones (P-KEY-11).
"""
import random
import secrets
import time

import noise

REPEAT_FIRST, REPEAT_MOST = 0.1, 2.0                             # P-KEY-15
BYE_REPEAT, BYE_PERIOD = 0.05, 1.0                               # P-KEY-22
SILENCE = 0.4
REKEY_AFTER, KEYS_END, PREVIOUS_FOR = 120.0, 180.0, 10.0         # P-KEY-13, P-KEY-14
REKEY_RECORDS, MOST_RECORDS, MOST_BAD = 1 << 27, 1 << 28, 1 << 52
LARGE_RECORD, COST_OF_LARGE = 2048, 32
WINDOW, MOST_BEHIND = 8192, 8128
COOKIE_FOR = 120.0


class Keys:
    """The keys of one handshake, both directions."""

    def __init__(self, seal_key, open_key, index, peer_index, instance, now):
        self.seal_key, self.open_key, self.index, self.peer_index = seal_key, open_key, index, peer_index
        self.instance, self.since = instance, now
        self.counter = self.records = self.bad = 0
        self.highest, self.window = -1, 0
        self.heard = False

    def usable(self, now):
        return now - self.since < KEYS_END and self.records < MOST_RECORDS and self.bad < MOST_BAD

    def count(self, size):
        self.records += COST_OF_LARGE if size > LARGE_RECORD else 1

    def seal(self, datagram):
        header = bytes([noise.DATA, 0, 0, 0]) + self.peer_index.to_bytes(4, "big") + self.counter.to_bytes(8, "big")
        sealed = noise.seal(self.seal_key, self.counter, header, datagram)
        self.counter += 1                                        # P-KEY-9: never twice
        self.count(len(sealed) + 16)
        return header + sealed

    def fresh(self, counter):
        """P-KEY-10: not taken yet, and not too far behind the highest."""
        behind = self.highest - counter
        return behind < 0 or (behind <= MOST_BEHIND and not self.window >> behind & 1)

    def mark(self, counter):
        if counter > self.highest:
            self.window = (self.window << min(counter - self.highest, WINDOW) | 1) & (1 << WINDOW) - 1
            self.highest = counter
        else:
            self.window |= 1 << self.highest - counter


class Session:
    def __init__(self, timers, counters, transmit, private, peer_public, instance):
        self.timers, self.counters, self._transmit = timers, counters, transmit
        self._private, self._peer, self._instance = private, peer_public, instance
        self.on_plain = lambda raw: None
        self.current = self.previous = None
        self._previous_until = 0.0
        self._handshake = self._repeat = None
        self._wait, self._bye_until = REPEAT_FIRST, 0.0
        self._cookie, self._cookie_until = None, 0.0
        self._stamp, self._waiting = 0, None
        self._waiting_since = None                                  # since when something was sent and nothing heard
        self._closed = False
        self._watch()

    # --- sending ---

    def send(self, datagram):
        now = self.timers.now()
        if self.current and not self.current.usable(now):
            self.current = None                                  # P-KEY-14
            self.counters.add("session.keys_ended")
        if self.current is None:
            self._waiting = datagram
            self._begin()
            return
        self._transmit(self.current.seal(datagram))
        self._waiting_since = self._waiting_since or now
        if self.current.records >= REKEY_RECORDS:
            self._begin()

    def close(self):
        self._closed = True

    def bye(self):
        """P-KEY-22: with bye of the link the keys end, and INITIATION is repeated sooner for a second."""
        self.current = self.previous = self._handshake = self._waiting = None
        self._bye_until = self.timers.now() + BYE_PERIOD
        self._waiting_since = None
        if self._repeat:
            self._repeat.cancel()

    def _watch(self):
        """Age and silence."""
        now = self.timers.now()
        if self._closed:
            return
        if self.current:
            if now - self.current.since >= REKEY_AFTER:
                self._begin()
            elif self._waiting_since is not None and now - self._waiting_since >= SILENCE:
                self._begin()
        if self.previous and now >= self._previous_until:
            self.previous = None
        self.timers.after(0.05, self._watch)

    # --- handshakes ---

    def _begin(self):
        if self._handshake is None:
            self._wait = REPEAT_FIRST
            self._initiate()

    def _initiate(self):
        if self._closed:
            return
        now = self.timers.now()
        self._stamp = max(self._stamp + 1, int(time.time() * 1000))              # P-KEY-7
        cookie = self._cookie if now < self._cookie_until else None
        self._handshake = noise.Initiator(self._private, self._peer, self._stamp, self._instance, secrets.randbits(32), cookie)
        self.counters.add("session.tx.initiation")
        self._transmit(self._handshake.initiation)
        if now < self._bye_until:
            wait = BYE_REPEAT
        else:
            wait, self._wait = self._wait, min(2 * self._wait, REPEAT_MOST)
        self._repeat = self.timers.after(wait * random.uniform(1, 4 / 3), self._initiate)

    def _on_response(self, raw):
        handshake = self._handshake
        if handshake is None:
            raise noise.HandshakeError("index")
        handshake.check_mac(raw)
        if int.from_bytes(raw[8:12], "big") != handshake.index:
            raise noise.HandshakeError("index")
        now = self.timers.now()
        seal_key, open_key, peer_index, instance = handshake.take_response(raw)
        keys = Keys(seal_key, open_key, handshake.index, peer_index, instance, now)
        self._handshake = None
        self._repeat.cancel()
        self._bye_until, self._waiting_since = 0.0, None
        self.previous, self._previous_until = self.current, now + PREVIOUS_FOR
        self.current = keys
        self.counters.add("session.keyed")
        first, self._waiting = self._waiting or b"", None
        self.send(first)                                         # P-KEY-11

    def _on_cookie(self, raw):
        handshake = self._handshake
        if handshake is None or int.from_bytes(raw[4:8], "big") != handshake.index:
            raise noise.HandshakeError("index")
        self._cookie = noise.open_cookie(raw, self._peer, handshake.mac1)
        self._cookie_until = self.timers.now() + COOKIE_FOR      # P-KEY-18: for the next INITIATION, when it is due
        self.counters.add("session.rx.cookie")

    # --- receiving ---

    def on_datagram(self, raw):
        try:
            kind = noise.check_format(raw)
            if kind == noise.INITIATION:
                raise noise.HandshakeError("unknown_key")        # a host accepts none
            if kind == noise.RESPONSE:
                self._on_response(raw)
            elif kind == noise.COOKIE:
                self._on_cookie(raw)
            else:
                self._on_record(raw)
        except noise.HandshakeError as error:
            self.counters.add(f"session.rx.drop.{error}")

    def _on_record(self, raw):
        now = self.timers.now()
        index, counter = int.from_bytes(raw[4:8], "big"), int.from_bytes(raw[8:16], "big")
        keys = next((k for k in (self.current, self.previous) if k and k.index == index), None)
        if keys is None:
            raise noise.HandshakeError("index")
        if not keys.usable(now) or (keys is self.previous and now >= self._previous_until):
            raise noise.HandshakeError("expired")
        plain = noise.open_sealed(keys.open_key, counter, raw[:16], raw[16:])
        if plain is None:
            keys.bad += 1
            raise noise.HandshakeError("tag")
        if not keys.fresh(counter):
            raise noise.HandshakeError("replay")
        keys.mark(counter)
        keys.count(len(raw))
        self._waiting_since = None
        if keys is self.current:
            if self.previous and self.previous.instance != keys.instance:
                self.previous = None                             # P-KEY-12
            if raw[1] & noise.REKEY:
                self._begin()                                    # P-KEY-16
        self.on_plain(plain)
