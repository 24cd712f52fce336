"""The client end of a link (init.md, flit.md): INIT, and for the speed profile keep-alive and cells in flits.

It begins with the profile that its owner wants, and takes the other one if the listener refuses that (reason 2) and states
another. What the full profile has in addition is in full_profile.py.

The owner gives `send` (a datagram goes out) and gets `on_up(new_instance)`, `on_down()` and `on_cell(bytes)`.
"""
import random
import secrets

import flit
import full_profile
import init_message as im

CONNECTING, UP, SILENT = "CONNECTING", "UP", "SILENT"
IDLE_AFTER, DOUBT_AFTER, SILENT_AFTER = 0.2, 0.4, 0.9            # P-LINK-13 to P-LINK-15
HELLO_FIRST, HELLO_MOST = 0.1, 1.0                               # P-INIT-3
AFTER_BYE, BYE_REPEAT, BYE_PERIOD = 0.1, 0.05, 1.0               # P-INIT-19
AFTER_REFUSE, AFTER_DUPLICATE = 1.0, 0.2                         # P-INIT-13
SMALLEST_MCP = 256                                               # P-INIT-12
RESERVED_BYTES = 36 + 72                                        # session layer; headers of a cell (P-INIT-30)


def random_number():
    """A random number of 64 bits, not 0 (P-SEC-8)."""
    return secrets.randbits(64) or 1


def mcp_of(datagram_length):
    return min((datagram_length - RESERVED_BYTES) // 4 * 4, 65532)


class Link:
    def __init__(self, timers, counters, send, eui64, datagram_length, receive_buffer, profile=im.SPEED):
        self.timers, self.counters, self._send = timers, counters, send
        self.eui64, self.instance = eui64, random_number()       # P-INIT-4: as long as this process lives
        self.datagram_length, self.receive_buffer = datagram_length - 36, receive_buffer
        self.path_mcp, self.profile, self.full = mcp_of(datagram_length), profile, None
        self.state = CONNECTING
        self.peer = None                                         # the `ready` by which the link came up
        self.lid = 0
        self.on_up = self.on_down = self.on_bye = lambda *_: None
        self.on_cell = lambda raw: None
        self._hello = self._second_nonce = None                        # nonces that are pending
        self._wait, self._repeat, self._bye_until = HELLO_FIRST, None, 0.0
        self._sent = self._heard = self._doubt_from = timers.now()
        self._closed = False

    # --- what the owner does ---

    def start(self):
        self._begin_hello(0)
        self._watch()

    def close(self):
        """P-INIT-15: a side that stops sends bye."""
        if self.state in (UP, SILENT):
            self._send_init(im.BYE, peer_instance=self.peer.instance)
        self._closed = True

    @property
    def up(self):
        return self.state == UP

    @property
    def own_mcp(self):
        return self.path_mcp if self.profile == im.SPEED else min(self.path_mcp, full_profile.MCP)

    @property
    def mcp(self):
        return min(self.own_mcp, self.peer.mcp)                  # P-INIT-30

    def send_cell(self, cell, lane):
        if self.full and not self._closed:
            self.full.send_cell(cell, lane)
        elif self.up and not self._closed:
            self._sent = self.timers.now()
            self.counters.add("link.tx.cells")
            self._send(flit.data_flit(cell, lane))

    # --- INIT ---

    def _send_init(self, step, **fields):
        self._send(flit.init_flit(im.encode(im.Init(
            step, self.eui64, self.instance, profile=self.profile, mcp=self.own_mcp, lanes=full_profile.LANES,
            flit_payload=full_profile.FLIT_PAYLOAD if self.profile == im.FULL else min(self.own_mcp + 56, 65535),
            initial_credit=full_profile.CREDIT if self.profile == im.FULL else 0,
            receive_buffer=self.receive_buffer, lid=self.lid, **fields))))

    def _begin_hello(self, after):
        self._hello, self._second_nonce = random_number(), None
        self._wait = HELLO_FIRST
        self._schedule(after)

    def _schedule(self, after):
        if self._repeat:
            self._repeat.cancel()
        self._repeat = self.timers.after(after, self._send_hello)

    def _send_hello(self):
        if self._hello is None or self._closed:
            return
        self._send_init(im.HELLO, nonce=self._hello, peer_instance=self.peer.instance if self.peer else 0)
        self.counters.add("link.tx.hello")
        if self.timers.now() < self._bye_until:
            self._schedule(BYE_REPEAT * random.uniform(1, 4 / 3))
        else:
            self._schedule(self._wait)
            self._wait = min(2 * self._wait, HELLO_MOST)

    def _on_init(self, payload):
        try:
            init = im.decode(payload)
        except im.InitError:
            return self._drop("init")
        step = init.step
        if step == im.CHALLENGE:
            self._on_challenge(init)
        elif step == im.READY:
            self._on_ready(init)
        elif step == im.REFUSE:
            if self._hello is None or init.echo not in self._pending():
                return self._drop("refuse")
            self.counters.add("link.refused")
            if init.reason == im.OTHER_PROFILE and init.profile in (im.FULL, im.SPEED):
                self.profile = init.profile
            self._schedule(AFTER_DUPLICATE if init.reason == im.DUPLICATE else AFTER_REFUSE)
        elif step in (im.BYE, im.PROBE, im.PROBE_REPLY):
            self._on_init_of_link(init)
        else:
            self._drop("init")                                   # P-INIT-16: these are for listeners

    def _pending(self):
        return [nonce for nonce in (self._hello, self._second_nonce) if nonce]

    def _on_challenge(self, init):
        if self._hello is None or init.echo != self._hello:
            return self._drop("challenge")                       # P-INIT-7
        self._second_nonce = self._second_nonce or random_number()           # the same for a challenge that comes twice
        # payload CRC 0: this host requires the CRC of whole cells, and states no proof (P-INIT-21)
        self._send_init(im.ANSWER, nonce=self._second_nonce, echo=init.nonce, peer_instance=init.instance)

    def _on_ready(self, init):
        if self._hello is None or init.echo not in self._pending() or init.offered_lid == 0:
            return self._drop("ready")                           # P-INIT-9
        if init.program_version >> 24 or init.profile != self.profile or init.cell_crc or init.payload_crc \
                or (self.profile == im.FULL and init.lanes & 0x8001 != 0x8001) \
                or init.mcp < SMALLEST_MCP or init.eui64 in (0, self.eui64):
            return self._drop("terms")                           # P-INIT-12, P-INIT-23
        self._hello = self._second_nonce = None
        self._repeat.cancel()
        self._bye_until = 0.0
        self._doubt_from = self.timers.now()
        before = self.peer
        new = before is None or (before.instance, before.eui64) != (init.instance, init.eui64)
        if not new and self.state == UP:
            return                                               # P-INIT-18: nothing changes
        if new and self.state == UP:
            self._down()
        self.peer, self.lid = init, init.offered_lid             # P-INIT-14
        self.state, self._heard = UP, self.timers.now()
        self.counters.add("link.up")
        if self.profile == im.FULL:
            self.full = full_profile.FullProfile(self.timers, self.counters, init, self.datagram_length, self._send,
                                                 lambda raw: self.on_cell(raw), self._full_down)
        self.on_up(new)

    def _down(self):
        if self.full:
            self.full.close()
            self.full = None
        self.on_down()

    def _full_down(self, reason):
        """P-LINK-34: it comes back only by a new INIT."""
        self.counters.add("link.full.down")
        self.state = CONNECTING
        self._down()
        self._begin_hello(0)

    def end_of_batch(self):
        if self.full:
            self.full.end_of_batch()

    def _on_init_of_link(self, init):
        """bye, probe and probe_reply: only of the instance that this link is with (P-INIT-15, P-INIT-31)."""
        if self.state not in (UP, SILENT) or init.instance != self.peer.instance:
            return self._drop("init")
        if init.step == im.BYE:
            if init.peer_instance != self.instance:
                return self._drop("init")
            self.counters.add("link.bye")
            self.state = CONNECTING
            self._bye_until = self.timers.now() + BYE_PERIOD
            self._down()
            self.on_bye()
            return self._begin_hello(AFTER_BYE)
        self._alive()                                            # P-LINK-6
        if init.step == im.PROBE:
            self._send_init(im.PROBE_REPLY, echo=init.nonce, peer_instance=self.peer.instance)

    # --- keep-alive ---

    def _watch(self):
        """Runs all the time, because each of its times counts from what happened last."""
        if self._closed:
            return
        now = self.timers.now()
        next_look = IDLE_AFTER
        if self.state == UP and not self.full:
            if now - self._heard >= SILENT_AFTER:                # P-LINK-14
                self.state = SILENT
                self.counters.add("link.silent")
                self.on_down()
                if self._hello is None:
                    self._begin_hello(0)
            elif now - max(self._heard, self._doubt_from) >= DOUBT_AFTER and self._hello is None:
                self._begin_hello(0)                             # P-LINK-15
            if self.state == UP:
                if now - self._sent >= IDLE_AFTER - 0.001:
                    self._sent = now
                    self._send(flit.IDLE_FLIT)
                next_look = self._sent + IDLE_AFTER - now
        self.timers.after(max(min(next_look, 0.05), 0.001), self._watch)

    def _alive(self):
        self._heard = self.timers.now()
        if self.full:
            self.full.heard = self._heard
        if self.state == UP and self._hello is not None:
            self._hello = self._second_nonce = None                    # the doubt of P-LINK-15 is gone
            self._repeat.cancel()
        elif self.state == SILENT:
            self._hello = self._second_nonce = None
            self._repeat.cancel()
            self.state = UP
            self.on_up(False)

    # --- datagrams ---

    def on_datagram(self, raw):
        if self._closed:
            return
        walk = flit.Walk(raw)
        for cause in walk.skipped + ([walk.error] if walk.error else []):
            self._drop(cause)
        if walk.error not in (None, "session") and self.full:
            self.full.on_bad()
        for number, one in enumerate(walk.flits):
            if one.type == flit.INIT:
                if number == 0 and not one.ctl & flit.CRC_OF_HEADER:
                    self._on_init(one.payload)
                    if len(walk.flits) > 1:
                        self._drop("init")
                else:
                    self._drop("init")                           # P-DG-4
                return
            self._on_flit(one)

    def _on_flit(self, one):
        if self.state == CONNECTING:
            return self._drop("state")                           # P-LINK-5
        if self.full:
            return self.full.on_flit(one)
        if one.type not in (flit.DATA, flit.IDLE):
            return self._drop("type")                            # P-LINK-8
        self._alive()                                            # P-LINK-6: also where it is dropped below
        if one.type == flit.DATA:
            if one.ctl & (flit.SOF | flit.EOF | flit.CELL_CRC_OF_HEAD) != flit.SOF | flit.EOF:
                return self._drop("ctl")                         # P-LINK-10
            if len(one.payload) < 32:
                return self._drop("size")                        # P-LINK-11
            self.on_cell(one.payload)

    def _drop(self, cause):
        self.counters.add("link.rx.drop." + cause)
