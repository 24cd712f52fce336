"""The host: attaches in the order of introduction.md, passes frames, attaches again when something ends.

It does no I/O. The owner gives `deliver(frame)` (a frame of the LAN, without virtio-net header), `addresses()` (IPv4 addresses
of the interface), `configure(mtu, link_up)` (0: the MTU stays) and `report(line)`; it calls `on_datagram`, `on_frame`, and
`end_of_batch` after each batch.
"""
import random

import announce
import frame
from connection import UP, Connection
from init_message import SPEED
from link import Link
from messaging import Messaging
from nic import Nic
from node import Node

# elements and their bytes: small frames, and those of the MTU where that is not larger
SMALL, FULL = (64, 256), (64, 2048)
AGAIN_AFTER, AGAIN_MOST = 0.1, 1.0                               # P-ERR-8, P-CM-15
POOL_WAIT = 3.0                                                  # for the pool of the peer
SILENCE_BUSY, SILENCE_IDLE = 5.0, 60.0                           # errors.md, Consequences
STOP_WAIT = 3.0
LEAST_MTU, MOST_MTU = 576, 65535                                 # P-CFG-17


class Host:
    def __init__(self, timers, counters, send, eui64, mac, name, datagram_length, receive_buffer, mtu=0, profile=SPEED):
        self.timers, self.counters, self.mac, self.name, self.wanted_mtu = timers, counters, mac, name, mtu
        self.link = Link(timers, counters, send, eui64, datagram_length, receive_buffer, profile)
        self.node = Node(timers, counters, self.link)
        self.connection = Connection(self.node, name)
        self.link.on_up, self.link.on_down = self._link_up, self._link_down
        self.connection.on_up, self.connection.on_closing = self._connected, self._closing
        self.connection.on_end = self._ended
        self.deliver = lambda raw: None
        self.addresses = lambda: []
        self.configure = lambda mtu, link_up: None
        self.report = lambda line: None
        self.messaging = self.nic = None
        self.started = self._stopping = self.stopped = False
        self._retry = self._silence = None
        self._failures = 0

    def start(self):
        self.link.start()

    def on_datagram(self, raw):
        self.link.on_datagram(raw)

    def end_of_batch(self):
        if self.messaging:
            self.messaging.end_of_batch()
        self.node.end_of_batch()
        self.link.end_of_batch()

    # --- link and connection ---

    def _link_up(self, new_instance):
        if self._silence:
            self._silence.cancel()
        if new_instance:
            self._failures = 0
            self.connection.forget("the peer is another instance")               # P-INIT-11
            self._connect_after(0)
        else:
            self.node.link_up()
            self.connection.link_up()

    def _link_down(self):
        self.node.link_down()
        if self._silence:
            self._silence.cancel()
        busy = any(not qp.requester.idle for qp in self.connection.queue_pairs if qp.state == "RTS")
        self._silence = self.timers.after(SILENCE_BUSY if busy else SILENCE_IDLE,
                                          lambda: self.connection.forget("silence of the link"))

    def _connect_after(self, seconds):
        if self._retry:
            self._retry.cancel()
        self._retry = self.timers.after(seconds, self._connect)

    def _connect(self):
        if self._stopping or self.connection.state != "none":
            return
        if self.link.up:
            self.connection.connect(SMALL[0] + FULL[0])
        else:
            self._connect_after(AGAIN_AFTER)

    def _connected(self, terms):
        longest = self.wanted_mtu + frame.VNET_HEADER + 14 + 8   # with two VLAN tags
        pools = [SMALL, (FULL[0], max(FULL[1], longest + -longest % 64))]
        self.messaging = Messaging(self.node, self.connection.queue_pairs, terms, pools, self._frame_in,
                                   self.connection.disconnect)
        messaging = self.messaging
        messaging.server.on_event = self._on_event
        messaging.server.on_announce = self._announce
        self.nic = Nic(messaging.control, messaging.requests, self.name, self.mac, self.wanted_mtu, self._nic_started,
                       lambda reason: self.report(f"minihost: not configured: {reason}"), self._nic_failed)
        messaging.user.on_pool = self._usable
        self._pool_wait = self.timers.after(POOL_WAIT, lambda: messaging.control.end("no pool of the peer"))

    def _usable(self):
        """P-CH-12: the peer has advertised a pool."""
        if self._pool_wait.pending:
            self._pool_wait.cancel()
            self.nic.start()

    def _closing(self, reason):
        """The connection carries nothing any more."""
        if self.messaging:
            self._pool_wait.cancel()
            self.messaging.close()
        self.messaging = self.nic = None
        self.started = False

    def _ended(self, reason):
        self.report(f"minihost: not connected: {reason}")
        if self._stopping:
            return self._stop_link()
        refused = reason.startswith("refused") or reason.startswith("NIC")
        self._failures = self._failures + 1 if refused else 0
        self._connect_after(min(AGAIN_AFTER * 2 ** self._failures, AGAIN_MOST / 1.2) * random.uniform(1, 1.2))

    # --- configuration ---

    def _nic_started(self, nic):
        self.started = True
        self._failures = 0
        self._configure(nic.mtu, nic.link_up)
        self.report("minihost: up")

    def _configure(self, mtu, link_up):
        """An MTU that no interface has is not used (P-LIM-1)."""
        self.configure(mtu if LEAST_MTU <= mtu <= MOST_MTU else 0, link_up)

    def _nic_failed(self, reason):
        if self.messaging:
            self._failures += 1
            self.messaging.control.end("NIC: " + reason)

    def _on_event(self, event):
        self.counters.add("nic.events")
        if self.started:
            self._configure(event.get("mtu", 0) or self.nic.mtu, event.get("link", {}).get("up", False))

    def _announce(self):
        for raw in announce.frames(self.mac, self.addresses()):
            self.on_frame(raw)

    # --- frames ---

    def _frame_in(self, raw):
        if not self.started:
            return self.counters.add("nic.rx.drop.not_started")
        if not frame.acceptable(raw):
            return self.counters.add("nic.rx.drop.vnet")         # P-DATA-16
        self.counters.add("nic.rx.frames")
        self.deliver(raw[frame.VNET_HEADER:])

    def on_frame(self, raw):
        """A frame of the interface."""
        if not self.started:
            return self.counters.add("nic.tx.drop.not_started")
        self.messaging.user.send(frame.NO_OFFLOAD + raw)      # P-DATA-15

    @property
    def takes_frames(self):
        """False while frames wait for elements: then the interface had better keep them."""
        return not (self.started and len(self.messaging.user.frames) >= 64)

    # --- end ---

    def stop(self):
        """Orderly: flush, DISC, bye, and bounded in time (channels.md, end)."""
        if self._stopping:
            return
        self._stopping, self.started = True, False
        self.timers.after(STOP_WAIT, self._stop_link)
        if self.connection.state == UP and self.link.up:
            self.messaging.flush_all(lambda: self.connection.disconnect("stopped"))
        elif self.connection.state != "none" and self.link.up:
            self.connection.disconnect("stopped")
        else:
            self._stop_link()

    def _stop_link(self):
        if not self.stopped:
            self.stopped = True
            self.link.close()
