"""The node: what is between the link and the queue pairs. Checks of a cell that need tables (errors.md, rows 4 to 7)."""
import secrets

import cell as c
import mgmt
from memory import Memory
from queue_pair import QueuePair

NUMBER_REST = 60.0                                               # a number is not used again within (P-CM-7)
MGMT_QP = 1                                                      # P-MGMT-1
PARTITION = 0xFFFF                                               # the only key of this node (P-PART-2)


def lane_of(cell):
    """P-LINK-12: SL n has lane n mod 4, MGMT lane 15."""
    return 15 if cell.service == c.MGMT_SERVICE else cell.sl % 4


def partitions_match(a, b):
    """P-PART-1."""
    return a & 0x7FFF == b & 0x7FFF != 0 and bool((a | b) & 0x8000)


class Node:
    def __init__(self, timers, counters, link):
        self.timers, self.counters, self.link = timers, counters, link
        self.memory = Memory()
        self.queue_pairs = {}
        self._resting = {}                                       # number -> when it may be used again
        self.on_mgmt = lambda message: None
        link.on_cell = self._on_cell

    # --- queue pairs ---

    def create(self, service_level, permits_rdma):
        now = self.timers.now()
        self._resting = {n: until for n, until in self._resting.items() if until > now}
        number = 0
        while number < 2 or number in self.queue_pairs or number in self._resting:
            number = secrets.randbits(24)                        # P-SEC-8
        qp = self.queue_pairs[number] = QueuePair(self, number, service_level, permits_rdma)
        return qp

    def destroy(self, qp):
        qp.end()
        if self.queue_pairs.pop(qp.number, None):
            self._resting[qp.number] = self.timers.now() + NUMBER_REST

    def end_of_batch(self):
        for qp in list(self.queue_pairs.values()):
            qp.end_of_batch()

    def link_up(self):
        for qp in self.queue_pairs.values():
            if qp.state == "RTS":
                qp.requester.link_up()

    def link_down(self):
        for qp in self.queue_pairs.values():
            qp.requester.link_down()

    # --- cells ---

    def send_cell(self, cell):
        cell.dlid, cell.slid, cell.partition = self.link.peer.lid, self.link.lid, PARTITION
        self.link.send_cell(c.encode(cell), lane_of(cell))

    def send_mgmt(self, message):
        self.send_cell(c.Cell(c.MGMT, c.MGMT_SERVICE, dqpn=MGMT_QP, sqpn=MGMT_QP, payload=mgmt.encode(message)))

    def _on_cell(self, raw):
        try:
            cell, malformed = c.decode(raw), None
        except c.CellError as error:
            self.counters.add(f"fabric.cell.drop.{error}")
            cell, malformed = error.header, error
            if cell is None:
                return
        if (cell.dlid, cell.slid) != (self.link.lid, self.link.peer.lid):
            return self.counters.add("fabric.cell.drop.source")  # P-CELL-12
        if cell.service == c.MGMT_SERVICE:
            if malformed is None:
                self._on_mgmt(cell)
            return
        qp = self.queue_pairs.get(cell.dqpn)
        if qp is None:
            return self.counters.add("fabric.cell.drop.qp")      # P-CELL-13
        if cell.service != c.RC or (qp.peer_number is not None and cell.sqpn != qp.peer_number):
            return self.counters.add("fabric.cell.drop.source")  # P-CELL-14
        if not partitions_match(cell.partition, PARTITION):
            return self.counters.add("fabric.cell.drop.partition")               # P-PART-3
        if malformed:
            qp.on_malformed(cell)
        else:
            qp.on_cell(cell)

    def _on_mgmt(self, cell):
        if not partitions_match(cell.partition, PARTITION):
            return self.counters.add("fabric.mgmt.drop.partition")               # P-PART-4
        try:
            message = mgmt.decode(cell.payload)
        except mgmt.MgmtError:
            return self.counters.add("fabric.mgmt.drop.format")
        link = self.link
        if (message.eui64, message.instance, message.peer_eui64, message.peer_instance) != \
                (link.peer.eui64, link.peer.instance, link.eui64, link.instance):
            return self.counters.add("fabric.mgmt.drop.peer")    # P-MGMT-4
        self.on_mgmt(message)
