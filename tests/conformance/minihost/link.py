"""The client's end of a link in the speed profile (docs/protocol/init.md, flit.md): INIT, keep-alive, cells in flits.

Sans-I/O: datagrams and times come in, datagrams leave by send(). The owner has on_link_up(now), on_link_ended(now),
on_cell(now, cell) and on_malformed(now, head).
"""
import secrets

import cells
import flits
from codec import Bad, Malformed, unwide, wide

CONNECTING, UP, SILENT = "CONNECTING", "UP", "SILENT"
IDLE_AFTER, DOUBT_AFTER, SILENCE_AFTER = 0.2, 0.4, 0.9
HELLO_MIN, HELLO_MAX = 0.1, 1.0
MCP_MIN = 256  # that this host requires (P-INIT-12)


def random64():
    return secrets.randbits(64) | 1


class Link:
    def __init__(self, owner, send, mcp, eui64, clock_start):
        self.owner, self.send, self.own_mcp, self.eui64 = owner, send, mcp, eui64
        self.instance = random64()
        self.state, self.mcp, self.lid, self.peer_lid, self.drops = CONNECTING, mcp, 0, 0, {}
        self.peer_eui64 = self.peer_instance = 0
        self.hello_nonce, self.proof_nonce = random64(), 0
        self.hello_at, self.hello_wait = clock_start, HELLO_MIN
        self.sent_at = self.heard_at = clock_start

    def drop(self, name):
        self.drops[name] = self.drops.get(name, 0) + 1

    # Sending.

    def _datagram(self, now, flit):
        self.sent_at = now
        self.send(flits.encode_flit(flit))

    def _init(self, now, step, **values):
        init = {"step": step, "profile": "speed", "cell_crc": 0, "program_version": 0x00010000, "lanes": 0x800F, "mcp": self.own_mcp,
                "flit_payload": self.own_mcp + 56, "port": 0, "reason": 0, "payload_crc": 0, "initial_credit": 0, "proof": wide(0),
                "receive_buffer": 1 << 20, "eui64": wide(self.eui64), "instance": wide(self.instance),
                "peer_instance": wide(self.peer_instance), "nonce": wide(0), "echo": wide(0), "lid": self.lid, "offered_lid": 0}
        init.update(values)
        self._datagram(now, {"type": flits.INIT, "lane": 15, "payload": flits.encode_init(init).hex()})

    def send_cell(self, now, cell):
        cell = dict(cell, dlid=self.peer_lid, slid=self.lid)
        ctl = flits.SOF | flits.EOF | flits.HEADER_CRC_ONLY
        lane = 15 if cell["service"] == cells.MANAGEMENT else cell.get("sl", 0) % 4  # P-LINK-12
        self._datagram(now, {"type": flits.DATA, "lane": lane, "ctl": ctl, "payload": cells.encode_cell(cell).hex()})

    def bye(self, now):
        if self.state == UP:
            self._init(now, "bye")

    # Receiving.

    def receive(self, now, datagram):
        received, end, _ = flits.walk(datagram)
        if end != "end":
            self.drop(end)
        for index, flit in enumerate(received):
            if flit["type"] == flits.INIT:
                if index > 0 or flit["ctl"] & flits.HEADER_CRC_ONLY:
                    self.drop("init")
                else:
                    self._receive_init(now, flit)
                return  # INIT is alone in its datagram
            self._receive_flit(now, flit)

    def _receive_flit(self, now, flit):
        if self.state == CONNECTING:
            return self.drop("state")
        if flit["type"] == flits.IDLE:
            return self._heard(now)
        if flit["type"] != flits.DATA:
            return self.drop("type")
        if flit["ctl"] & (flits.SOF | flits.EOF | flits.CELL_CRC_HEAD_ONLY) != flits.SOF | flits.EOF:
            return self.drop("ctl")
        self._heard(now)
        try:
            cell = cells.decode_cell(bytes.fromhex(flit["payload"]))
        except Malformed as bad:
            self.drop(f"cell {bad}")
            return self.owner.on_malformed(now, bad.head) if self._is_of_link(bad.head) else None
        except Bad as bad:
            return self.drop(f"cell {bad}")
        if not self._is_of_link(cell):
            return self.drop("source")
        return self.owner.on_cell(now, cell)

    def _is_of_link(self, cell):
        return (cell["dlid"], cell["slid"]) == (self.lid, self.peer_lid)

    def _heard(self, now):
        self.heard_at = now
        if self.state == SILENT:
            self._come_up(now)

    def _come_up(self, now):
        self.state, self.heard_at = UP, now
        self.owner.on_link_up(now)

    def _receive_init(self, now, flit):
        try:
            init = flits.decode_init(bytes.fromhex(flit["payload"]))
        except Bad as bad:
            return self.drop(f"init {bad}")
        step = init["step"]
        if step == "challenge":
            return self._on_challenge(now, init)
        if step == "ready":
            return self._on_ready(now, init)
        if step == "refuse" and self._is_echo(init):
            self.hello_at = now + HELLO_MAX
            return print(f"link: refused, reason {init['reason']}", flush=True)
        if unwide(init["instance"]) != self.peer_instance:
            return self.drop("init")
        if step == "bye" and unwide(init["peer_instance"]) == self.instance:
            return self._end(now, HELLO_MIN)
        if step == "probe":
            self._heard(now)
            return self._init(now, "probe_reply", echo=init["nonce"])
        return self.drop("init")

    def _is_echo(self, init):
        echo = unwide(init["echo"])
        return echo != 0 and echo in (self.hello_nonce, self.proof_nonce)

    def _on_challenge(self, now, init):
        if self.hello_nonce == 0 or unwide(init["echo"]) != self.hello_nonce:
            return self.drop("challenge")
        self.proof_nonce = self.proof_nonce or random64()
        return self._init(now, flits.STEPS[3], nonce=wide(self.proof_nonce), echo=init["nonce"], peer_instance=init["instance"])

    def _on_ready(self, now, init):
        if not self._is_echo(init):
            return self.drop("challenge")
        suits = (init["profile"] == "speed" and init["cell_crc"] == 0 and init["payload_crc"] == 0 and init["offered_lid"] != 0 and
                 init["mcp"] >= MCP_MIN and
                 init["program_version"] >> 24 == 0 and unwide(init["eui64"]) not in (0, self.eui64))
        if not suits:
            return self.drop("init")
        peer = unwide(init["eui64"]), unwide(init["instance"])
        if self.peer_instance and peer != (self.peer_eui64, self.peer_instance):
            self.owner.on_link_ended(now)
        self.peer_eui64, self.peer_instance = peer
        self.lid, self.peer_lid, self.mcp = init["offered_lid"], init["lid"], min(self.own_mcp, init["mcp"])
        self.hello_nonce = self.proof_nonce = 0
        self.hello_at = None
        return self._come_up(now)

    def _end(self, now, wait):
        self.state = CONNECTING
        self._hello_from(now + wait)
        self.owner.on_link_ended(now)

    # Time.

    def _hello_from(self, at):
        self.hello_nonce, self.hello_at, self.hello_wait = self.hello_nonce or random64(), at, HELLO_MIN

    def on_time(self, now):
        if self.state == UP and now - self.heard_at >= SILENCE_AFTER:
            self.state = SILENT
        if self.state != CONNECTING and self.hello_at is None and now - self.heard_at >= DOUBT_AFTER:
            self._hello_from(now)
        if self.hello_at is not None and now >= self.hello_at:
            self._init(now, "hello", nonce=wide(self.hello_nonce))
            self.hello_at, self.hello_wait = now + self.hello_wait, min(2 * self.hello_wait, HELLO_MAX)
        if self.state == UP and now - self.sent_at >= IDLE_AFTER:
            self._datagram(now, {"type": flits.IDLE, "lane": 15, "ctl": flits.HEADER_CRC_ONLY})
