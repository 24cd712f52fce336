#!/usr/bin/python3
"""The session of this folder against a responder in memory, with its own clock: repeats, cookies, new keys, their end.

`session_check.py [NAME...]` runs some. Exit status 1 if one fails.
"""
import sys

import check_runner
import noise
from counters import Counters
from scripted_responder import Responder
from session import Session
from timers import Timers

HOST, UNIT = bytes(range(1, 33)), bytes(range(33, 65))
TESTS = []


def test(function):
    TESTS.append(function)
    return function


class Fixture:
    def __init__(self):
        self.now, self.sent, self.times, self.plain = 0.0, [], [], []
        self.timers, self.counters = Timers(lambda: self.now), Counters()
        self.session = Session(self.timers, self.counters, self._transmit, HOST, noise.public_of(UNIT), 0x1234)
        self.session.on_plain = self.plain.append

    def _transmit(self, raw):
        self.sent.append(raw)
        self.times.append(self.now)

    def run(self, seconds):
        until = self.now + seconds
        while self.timers.next_at() is not None and self.timers.next_at() <= until:
            self.now = max(self.now, self.timers.next_at())
            self.timers.run_due()
        self.now = until

    def of(self, kind):
        return [raw for raw in self.sent if raw[0] == kind]

    def responder(self, index=7, instance=0x99):
        return Responder(UNIT, self.of(noise.INITIATION)[-1], index, instance)

    def keyed(self):
        self.session.send(b"first")
        r = self.responder()
        self.session.on_datagram(r.response)
        return r


@test
def initiation_is_repeated_with_another_key_and_stamp(b):
    b.session.send(b"x")
    b.run(8)
    gaps = [later - earlier for earlier, later in zip(b.times, b.times[1:])]
    for gap, wait in zip(gaps, (0.1, 0.2, 0.4, 0.8, 1.6, 2.0)):
        assert wait <= gap <= wait * 4 / 3 + 0.001, gaps
    seen = b.of(noise.INITIATION)
    assert len({raw[8:40] for raw in seen}) == len({raw[4:8] for raw in seen}) == len(seen) > 4
    stamps = [Responder(UNIT, raw, 1, 1).stamp for raw in seen]
    assert stamps == sorted(set(stamps))


@test
def what_waited_is_the_first_record(b):
    r = b.keyed()
    assert [r.open(raw) for raw in b.of(noise.DATA)] == [b"first"]
    b.session.on_datagram(r.seal(b"hello"))
    assert b.plain == [b"hello"]


@test
def a_response_that_is_not_good_is_dropped(b):
    b.session.send(b"x")
    r = b.responder()
    for at in (0, 1, 2, 8, 20, 60, 80):
        wrong = bytearray(r.response)
        wrong[at] ^= 1
        b.session.on_datagram(bytes(wrong))
        assert b.session.current is None, at
    b.session.on_datagram(r.response)
    assert b.session.current


@test
def cookie_is_for_the_next_initiation_and_begins_none(b):
    b.session.send(b"x")
    b.session.on_datagram(b.responder().cookie(noise.public_of(UNIT), b"c" * 16))
    assert len(b.sent) == 1
    b.run(0.2)
    assert len(b.sent) == 2 and b.sent[1][144:] == noise.mac2_of(b"c" * 16, b.sent[1][:144])


@test
def records_are_taken_once_and_within_the_window(b):
    r = b.keyed()
    first, far = r.seal(b"0"), r.seal(b"far", counter=9000)
    for raw in (first, first, far, r.seal(b"old", counter=9000 - 8129), r.seal(b"edge", counter=9000 - 8128),
                   r.seal(b"edge", counter=9000 - 8128), first[:-1] + bytes([first[-1] ^ 1])):
        b.session.on_datagram(raw)
    assert b.plain == [b"0", b"far", b"edge"] and b.counters["session.rx.drop.replay"] == 3, b.plain
    assert b.counters["session.rx.drop.tag"] == 1


@test
def what_is_no_datagram_of_the_layer_is_dropped(b):
    r = b.keyed()
    b.session.on_datagram(bytes.fromhex("5f2000000000000000000000f5f88c31"))
    b.session.on_datagram(b.of(noise.INITIATION)[0])
    b.session.on_datagram(b"")
    good = bytearray(r.seal(b"x"))
    good[2] = 1
    b.session.on_datagram(bytes(good))
    assert b.plain == [] and b.counters["session.rx.drop.format"] == 3 and b.counters["session.rx.drop.unknown_key"] == 1


def served(b, r, seconds):
    """Passes time while both send, so that there is no silence."""
    for _ in range(int(seconds * 4)):
        b.session.send(b"x")
        b.session.on_datagram(r.seal(b"y"))
        b.run(0.25)


@test
def keys_are_replaced_after_120_s_and_the_earlier_ones_open_for_10_s(b):
    r = b.keyed()
    served(b, r, 119)
    assert len(b.of(noise.INITIATION)) == 1
    served(b, r, 2)
    assert len(b.of(noise.INITIATION)) >= 2
    new = b.responder(index=8)
    b.session.on_datagram(new.response)
    assert new.open(b.sent[-1]) is not None                      # P-KEY-11: a record at once
    b.plain.clear()
    b.session.on_datagram(r.seal(b"under the earlier ones"))
    b.session.on_datagram(new.seal(b"new"))
    assert b.plain == [b"under the earlier ones", b"new"]
    served(b, new, 11)
    b.plain.clear()
    b.session.on_datagram(r.seal(b"too late"))
    assert b.plain == []


@test
def keys_end_after_180_s(b):
    r = b.keyed()
    served(b, r, 181)
    count = len(b.of(noise.DATA))
    b.session.send(b"after the end")
    b.session.on_datagram(r.seal(b"z"))
    assert len(b.of(noise.DATA)) == count and b.counters["session.keys_ended"] == 1 and b"z" not in b.plain
    new = b.responder(index=8)
    b.session.on_datagram(new.response)
    assert new.open(b.sent[-1]) == b"after the end"


@test
def earlier_keys_end_with_another_instance(b):
    r = b.keyed()
    b.session.on_datagram(r.seal(b"", flags=noise.REKEY))
    new = b.responder(index=8, instance=0x77)
    b.session.on_datagram(new.response)
    b.session.on_datagram(new.seal(b"new"))
    b.plain.clear()
    b.session.on_datagram(r.seal(b"old"))
    assert b.plain == []


@test
def silence_begins_a_handshake_and_the_keys_stay(b):
    b.keyed()
    b.session.send(b"x")
    b.run(0.6)
    assert len(b.of(noise.INITIATION)) >= 2
    b.session.send(b"y")
    assert b.sent[-1][0] == noise.DATA


@test
def bye_ends_the_keys_and_initiation_comes_sooner(b):
    b.keyed()
    b.session.bye()
    del b.sent[:], b.times[:]
    b.session.send(b"hello")
    b.run(0.9)
    gaps = [later - earlier for earlier, later in zip(b.times, b.times[1:])]
    assert len(gaps) > 10 and all(0.05 <= gap <= 0.0668 for gap in gaps), gaps


if __name__ == "__main__":
    sys.exit(check_runner.run(TESTS, Fixture, sys.argv[1:]))
