"""An RC queue pair: a requester, a responder, and the states that a host goes through (transport.md)."""
import cell as c
import terminate
from mgmt import GO_BACK_N, PACKET_CRC
from requester import Requester
from responder import Responder
from serial import distance

RESET, RTS, ERR = "RESET", "RTS", "ERR"
MOST_AHEAD = 1 << 16                                             # of a TERMINATE (P-TERM-3)


class QueuePair:
    """The node gives `node` (link, memory), the connection gives the numbers of both sides, the messaging the functions
    `deliver_send` and `deliver_write`, and `on_error(reason)` is called once, when it ends on its own."""

    def __init__(self, node, number, service_level, permits_rdma):
        self.node, self.number, self.sl, self.permits_rdma = node, number, service_level, permits_rdma
        self.state = RESET
        self.peer_number = None
        self.requester = Requester(self, node.timers, node.counters)
        self.responder = Responder(self, node.counters)
        self.deliver_send = self.deliver_write = lambda *_: None
        self.on_error = lambda reason: None

    def begin(self, own, peer, mcp, most_bytes):
        """A connection is agreed: RESET to RTS, over INIT and RTR. `own` and `peer` are the pairs of CONNECT."""
        self.peer_number = peer.qpn
        go_back_n = bool((own.flags | peer.flags) & GO_BACK_N)   # P-CM-8
        self.responder.begin(peer.start_psn, peer.start_lcn, mcp, go_back_n, bool(peer.flags & PACKET_CRC))
        self.requester.begin(own.start_psn, own.start_lcn, mcp, peer.receive_credits, most_bytes)
        self.state = RTS

    @property
    def in_error(self):
        return self.state == ERR

    @property
    def may_send(self):
        return self.state == RTS and self.node.link.up

    def end(self):
        """By request of the owner: no cell is taken or sent any more."""
        if self.state != ERR:
            self.state = ERR
            self.requester.flush()

    def fail(self, reason):
        if self.state == RTS:
            self.end()
            self.on_error(reason)

    @property
    def bitmap_words(self):
        return 8 if self.node.link.full else 64                  # P-ACK-8

    # --- sending ---

    def transmit(self, cell):
        if not self.may_send:
            return
        cell.sl, cell.dqpn, cell.sqpn = self.sl, self.peer_number, self.number
        self.node.send_cell(cell)

    def post_send(self, raw, done=None):
        if self.state == RTS:
            self.requester.post(raw, done=done)

    def post_write(self, handle, address, raw, idata, done=None):
        if self.state == RTS:
            self.requester.post(raw, (address, handle, len(raw)), idata, done)

    def pump_later(self):
        self.end_of_batch()

    def end_of_batch(self):
        if self.state == RTS:
            self.responder.end_of_batch()
            self.requester.pump()

    # --- memory, for the responder ---

    def check(self, handle, address, length):
        return self.node.memory.check(self, handle, address, length)

    def place(self, handle, address, raw):
        self.node.memory.place(handle, address, raw)

    # --- cells ---

    def on_cell(self, cell):
        if self.state != RTS:
            return self.node.counters.add("fabric.cell.drop.state")
        if cell.op in (c.ACK, c.NAK):
            self.requester.on_ack(cell)
        elif cell.op == c.TERMINATE:
            self._on_terminate(cell)
        elif cell.op in (c.READ_RESP, c.FETCHOP_RESP):
            self.node.counters.add("fabric.read.drop.stale")     # this host requests no reads
        else:
            self.responder.on_cell(cell)

    def on_malformed(self, header):
        if self.state == RTS:
            self.responder.on_malformed(header)

    def _on_terminate(self, cell):
        if terminate.decode(cell.payload) is None:
            return self.node.counters.add("fabric.cell.drop.terminate")
        if distance(self.responder.psn, cell.psn, 24) > MOST_AHEAD:
            return self.node.counters.add("fabric.cell.drop.window")
        self.node.counters.add("fabric.rx.terminate")
        self.fail("ended by the peer")
