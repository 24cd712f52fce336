"""The active side of a connection (mgmt.md): CONNECT, its repetition, and its end by DISC."""
import secrets

import capabilities
import mgmt
from cell import RC
from link import random_number

NONE, REQUESTED, UP, CLOSING = "none", "REQUESTED", "UP", "CLOSING"
REQUEST_REPEAT, DISC_REPEAT, MOST_DISC = 0.2, 0.1, 10            # P-CM-2, P-CM-11
LEVELS = (3, 0)                                                  # service levels of channels 0 and 1 (P-CH-17)
SMALLEST_MCP = 256


class Connection:
    """The owner calls `connect` and `disconnect`, and gets `on_up(terms)`, or `on_end(reason)` once it is over."""

    def __init__(self, node, name):
        self.node, self.timers, self.counters, self.name = node, node.timers, node.counters, name
        self.state = NONE
        self.queue_pairs = []
        self.on_up = lambda terms: None
        self.on_closing = self.on_end = lambda reason: None
        self._timer = self._request = self._transaction = None
        self._reason = ""
        node.on_mgmt = self._on_mgmt

    # --- what the owner does ---

    def connect(self, receives_of_data):
        link = self.node.link
        self._transaction = random_number()                      # P-CM-1
        self.queue_pairs = [self.node.create(LEVELS[0], False), self.node.create(LEVELS[1], True)]
        pairs = []
        for channel, qp in enumerate(self.queue_pairs):
            qp.on_error = lambda reason: self.disconnect(reason)                 # P-CH-13
            qp.responder.receive_size = capabilities.MSG_MAX[channel]
            qp.responder.post_receive((capabilities.RECEIVES, receives_of_data)[channel])
            pairs.append(mgmt.Pair(channel, RC, 0, qp.number, 0, secrets.randbits(24), secrets.randbits(16), link.mcp,
                                   qp.responder.posted, 0, capabilities.MSG_MAX[channel]))
        self._request = self._message(mgmt.CONNECT_REQ, pairs=pairs, private=capabilities.own(self.name))
        self.state = REQUESTED
        self._repeat_request()

    def disconnect(self, reason):
        if self.state in (REQUESTED, UP):
            self._reason, self.state = reason, CLOSING
            self._destroy_queue_pairs()
            self.on_closing(reason)
            self._discs = 0
            self._repeat_disc()

    def link_up(self):
        """P-CM-12: at once."""
        if self.state == REQUESTED:
            self._repeat_request()
        elif self.state == CLOSING:
            self._repeat_disc()

    def forget(self, reason):
        """The peer is another instance: nothing is sent to it (P-INIT-11)."""
        if self.state != NONE:
            self._end(reason)

    # --- messages ---

    def _message(self, kind, transaction=None, **fields):
        link = self.node.link
        return mgmt.Mgmt(kind, transaction or self._transaction, link.eui64, link.instance, link.peer.eui64,
                         link.peer.instance, **fields)

    def _send(self, kind, transaction=None):
        self.node.send_mgmt(self._message(kind, transaction))

    def _again(self, after, action):
        self._stop()
        self._timer = self.timers.after(after, action)

    def _stop(self):
        if self._timer:
            self._timer.cancel()

    def _repeat_request(self):
        if self.node.link.up:
            self.node.send_mgmt(self._request)                   # P-CM-2: the same bytes
        self._again(REQUEST_REPEAT, self._repeat_request)

    def _repeat_disc(self):
        if self.node.link.up:
            if self._discs == MOST_DISC:
                return self._end(self._reason)
            self._discs += 1
            self._send(mgmt.DISC)
        self._again(DISC_REPEAT, self._repeat_disc)

    def _on_mgmt(self, message):
        known = self.state != NONE and message.transaction == self._transaction
        kind = message.kind
        if kind == mgmt.DISC:
            self._send(mgmt.DISC_REP, message.transaction)       # P-CM-11: also of an unknown transaction
            if known:
                self._end(self._reason if self.state == CLOSING else "the peer disconnected")
        elif not known:
            self._drop()
        elif self.state == CLOSING:
            if kind == mgmt.DISC_REP:
                self._end(self._reason)
            else:
                self._drop()
        elif kind == mgmt.CONNECT_REP:
            if self.state == REQUESTED:
                self._on_reply(message)
            else:
                self._send(mgmt.CONNECT_RTU)
        elif kind == mgmt.CONNECT_REJ and self.state == REQUESTED:
            text = "".join(chr(o) if 32 <= o < 127 else "?" for o in message.private[:200])        # P-ERR-7
            self._end(f"refused: {mgmt.REJECTS[message.reject]} {text}")
        else:
            self._drop()

    def _drop(self):
        self.counters.add("fabric.mgmt.drop.state")

    def _on_reply(self, message):
        try:
            terms, agreed = self._suitable(message)
        except capabilities.Unsuitable as error:
            return self.disconnect(f"CONNECT_REP does not suit: {error}")
        most = self.node.link.peer.receive_buffer // 2 // len(agreed)            # P-RC-22, of both queue pairs together
        for qp, own, peer in agreed:
            qp.begin(own, peer, min(self.node.link.mcp, own.mcp, peer.mcp), most)        # P-CM-6
        self.state = UP
        self._stop()
        self._send(mgmt.CONNECT_RTU)
        self.on_up(terms)

    def _suitable(self, message):
        """P-CM-4: channel to channel, in whatever order they come."""
        peers = {p.channel: p for p in message.pairs}
        if sorted(peers) != [0, 1]:
            raise capabilities.Unsuitable("queue pairs")         # P-CH-1
        agreed = []
        for qp, own in zip(self.queue_pairs, self._request.pairs):
            peer = peers[own.channel]
            if peer.service != RC or peer.peer_qpn != own.qpn or peer.mcp < SMALLEST_MCP:
                raise capabilities.Unsuitable("queue pair")
            agreed.append((qp, own, peer))
        return capabilities.agree(message.private), agreed

    # --- end ---

    def _destroy_queue_pairs(self):
        for qp in self.queue_pairs:
            self.node.destroy(qp)
        self.queue_pairs = []

    def _end(self, reason):
        closing = self.state == CLOSING
        self.state = NONE
        self._stop()
        self._destroy_queue_pairs()
        if not closing:
            self.on_closing(reason)
        self.on_end(reason)
