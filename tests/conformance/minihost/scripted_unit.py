"""An I/O unit in memory, for host_check.py: it sends what a test wants, and keeps all that the host sent.

It has the two queue pairs of this folder, so what a test sends over them is sequenced; `raw_cell` sends whatever it is given.
"""
import ack
import flit
import init_message as im
import message as m
import mgmt
import cell as c
import cfgutil
import protobuf
from counters import Counters
from host import Host
from memory import Entry, Memory
from queue_pair import QueuePair
from timers import Timers

EUI64, TOKEN = 0x0200000000000002, 0x7070707070707070
MAC = bytes.fromhex("0200000000aa")


class Unit:
    """Host and unit with one clock. `run(seconds)` passes time; datagrams take no time, in batches."""

    def __init__(self):
        self.now = 1000.0
        self.timers = Timers(lambda: self.now)
        self.lines, self.frames, self.to_host, self.to_unit = [], [], [], []
        self.host_counters = Counters()
        self.host = Host(self.timers, self.host_counters, self.to_unit.append, 0x020000FFFE0000AA, MAC, "check", 1472, 1 << 22)
        self.host.report, self.host.deliver = self.lines.append, self.frames.append
        self.inits, self.mgmts, self.messages, self.cells, self.idles = [], [], [], [], 0
        self.alive = self.serves_init = self.serves_connect = self.serves_config = True
        self.capabilities = {"mode": 1, "version_lowest": 1, "version_highest": 1, "msg_max": [4096, 65536], "queues": 1}
        self.pool = {"pool": 3, "elements": 8, "element_size": 2048, "handle": 77, "address": 1 << 20, "pool_context": 0}
        self.pairs_of = lambda pairs: pairs
        self.granted = {"features_granted": 1 << 6, "mtu": 1500}
        self.statuses = {}
        self.restart()
        self._idle()
        self.host.start()

    def restart(self):
        """Another instance."""
        self.instance = getattr(self, "instance", 0x51) + 1
        self.counters, self.memory, self.link, self.queue_pairs = Counters(), Memory(), self, []
        self.known = set()
        self.up, self.full, self.transaction = True, None, None

    def _idle(self):
        if self.alive:
            self.to_host.append(flit.IDLE_FLIT)
        self.timers.after(0.2, self._idle)

    # --- time and datagrams ---

    def run(self, seconds):
        until = self.now + seconds
        while True:
            self.exchange()
            at = self.timers.next_at()
            if at is None or at > until:
                break
            self.now = max(self.now, at)
            self.timers.run_due()
        self.now = until

    def exchange(self):
        while True:
            self.host.end_of_batch()
            for qp in self.queue_pairs:
                qp.end_of_batch()
            if not (self.to_host or self.to_unit):
                return
            arrived, self.to_host[:] = list(self.to_host), []
            for raw in arrived:
                self.host.on_datagram(raw)
            sent, self.to_unit[:] = list(self.to_unit), []
            for raw in sent:
                for one in flit.Walk(raw).flits:
                    self._on_flit(one)

    def _on_flit(self, one):
        if one.type == flit.INIT:
            self._on_init(im.decode(one.payload))
        elif one.type == flit.IDLE:
            self.idles += 1
        else:
            cell = c.decode(one.payload)
            self.cells.append(cell)
            if cell.op == c.MGMT:
                self._on_mgmt(mgmt.decode(cell.payload))
            for qp in self.queue_pairs:
                if qp.number == cell.dqpn:
                    qp.on_cell(cell)

    # --- link ---

    def init(self, step, **fields):
        fields.setdefault("instance", self.instance)
        self.to_host.append(flit.init_flit(im.encode(im.Init(step, fields.pop("eui64", EUI64), mcp=1364, lid=1, **{
            "receive_buffer": 1 << 22, "offered_lid": 5, **fields}))))

    def _on_init(self, init):
        self.inits.append(init)
        if not self.serves_init:
            return
        if init.step == im.HELLO:
            step = im.READY if init.instance in self.known else im.CHALLENGE
            self.init(step, nonce=TOKEN, echo=init.nonce, peer_instance=init.instance)
        elif init.step == im.ANSWER:
            self.known.add(init.instance)
            self.init(im.READY, echo=init.nonce, peer_instance=init.instance)

    # --- cells ---

    def send_cell(self, cell):
        """Also what QueuePair calls, whose node this is."""
        cell.dlid, cell.slid = 5, 1
        self.to_host.append(flit.data_flit(c.encode(cell), 0))

    def raw_cell(self, channel, op, pos=c.ONLY, **fields):
        """A cell on a channel with the next LCN and PSN, unless `fields` has others. The numbers are not used up."""
        qp = self.queue_pairs[channel]
        fields = {"psn": qp.requester.psn, "lcn": qp.requester.lcn, "dqpn": qp.peer_number, "sqpn": qp.number, **fields}
        self.send_cell(c.Cell(op, c.RC, pos, **fields))

    def mgmt(self, kind, transaction=None, **fields):
        link = self.host.link
        self.send_cell(c.Cell(c.MGMT, c.MGMT_SERVICE, dqpn=1, sqpn=1, payload=mgmt.encode(mgmt.Mgmt(
            kind, transaction or self.transaction, EUI64, fields.pop("instance", self.instance), link.eui64, link.instance,
            **fields))))

    def _on_mgmt(self, message):
        self.mgmts.append(message)
        if message.kind == mgmt.CONNECT_REQ and self.serves_connect and message.transaction != self.transaction:
            self.transaction = message.transaction
            self.connect(message)
        elif message.kind == mgmt.DISC and self.serves_connect:
            self.queue_pairs, self.transaction = [], None
            self.mgmt(mgmt.DISC_REP, message.transaction)

    def connect(self, request):
        self.queue_pairs, pairs = [], []
        for peer in request.pairs:
            qp = QueuePair(self, 200 + peer.channel, peer.channel, False)
            qp.responder.receive_size = 65536
            qp.responder.post_receive(64)
            pairs.append(mgmt.Pair(peer.channel, 0, 0, qp.number, peer.qpn, 0xFFFFFE, 0xFFFE, 1364, 64, 0, 65536))
            qp.permits_rdma = peer.channel == 1
            qp.begin(pairs[-1], peer, 1364, 1 << 20)
            self.queue_pairs.append(qp)
        self.queue_pairs[0].deliver_send = self._on_message
        self.queue_pairs[1].deliver_write = lambda *write: self.messages.append(write)
        self.reply = dict(pairs=self.pairs_of(pairs), private=protobuf.encode("Capabilities", self.capabilities))
        self.mgmt(mgmt.CONNECT_REP, **self.reply)
        if self.pool:
            size = self.pool["elements"] * self.pool["element_size"]
            entry = self.memory._entries[self.pool["handle"]] = Entry(self.pool["address"], size, self.queue_pairs[1],
                                                                      lambda offset, length: True)
            self.written = entry.raw
            self.send({"function": m.BUFFER_RECV_POOL, "context": 0, "records": [self.pool]})

    # --- messages ---

    def send(self, message):
        self.send_bytes(message if isinstance(message, bytes) else m.encode(message))

    def send_bytes(self, raw):
        self.queue_pairs[0].post_send(raw)

    def write(self, raw, element=0, idata="form A", done=None):
        """A frame into the host's pool."""
        pool = self.offered()
        if idata == "form A":
            idata = pool["pool"] << 24 | element << 16 | len(raw)
        self.queue_pairs[1].post_write(pool["handle"], pool["address"] + element * pool["element_size"], raw, idata, done)

    def offered(self):
        return [x for x in self.messages if isinstance(x, dict) and x["function"] == m.BUFFER_RECV_POOL][-1]["records"][-1]

    def request(self, code, data=b"", context=9):
        self.send({"function": m.CFG_REQUEST, "context": context, "family": code[0], "code": code[1], "data": data})

    def naks(self):
        """(code, detail) of each NAK of the host; the detail of a refused access is a letter."""
        return [(x.ackx.code, chr(x.ackx.detail) if x.ackx.code == ack.ACCESS else x.ackx.detail)
                for x in self.cells if x.op == c.NAK]

    def of(self, function):
        return [x for x in self.messages if isinstance(x, dict) and x["function"] == function]

    def _on_message(self, raw):
        message = m.decode(raw)
        self.queue_pairs[0].responder.post_receive()
        self.messages.append(message)
        if message["function"] == m.CFG_REQUEST and self.serves_config:
            code = (message["family"], message["code"])
            status = self.statuses.get(code, [0])
            status = status.pop(0) if len(status) > 1 else status[0]
            data = b""
            if code == cfgutil.INIT_NIC and status == 0:
                data = protobuf.encode("InitNicReply", self.granted)
            self.send({"function": m.CFG_REPLY, "context": message["context"], "family": code[0], "code": code[1],
                       "status": status, "data": data})

    def attach(self):
        self.run(1.0)
        assert self.lines and self.lines[-1] == "minihost: up", self.lines
        return self
