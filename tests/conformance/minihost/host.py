"""A host: link, connection, messages, frames and configuration together. Sans-I/O: frames and datagrams come and go by calls."""
import secrets
import sys
import time

import cells
import messages
import mgmt
import protobuf
from codec import Bad, unwide, wide
from link import UP, Link
from nic import Nic
from pools import FLUSH_OF_RECEIVER, PoolOwner, PoolUser
from rc import QueuePair

ELEMENTS, ELEMENT_SIZE, MSG_MAX, RECEIVES = 128, 2048, 4096, 64
FRAMES_WAITING_MAX = 256
DISC_EVERY, DISC_TIMES = 0.1, 10
ERRORS_MAX, ERRORS_WITHIN = 8, 60  # P-CH-16


class Control:
    """Channel 0: the consumer of its queue pair."""

    takes_writes = False
    send_max = MSG_MAX

    def __init__(self, on_message):
        self.on_send = on_message

    @staticmethod
    def receives():
        return RECEIVES


class Host:
    def __init__(self, send, write_frame, options, now):
        self.options, self.write_frame = options, write_frame
        self.link = Link(self, send, options.mcp, secrets.randbits(63) << 1 | 1, now)
        self.counts = {}
        self.frames = []
        self.next_context = secrets.randbits(62)
        self.nic = Nic(options.mac.replace(":", ""), options.mtu, options.name, self.context)
        self.forget()
        self.connect_at = None
        self.closing = None  # the transaction that DISC ends, when it is sent next, and how often

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def context(self):
        self.next_context = (self.next_context + 1) % FLUSH_OF_RECEIVER or 1
        return wide(self.next_context)

    def forget(self):
        self.state, self.transaction, self.is_up = "NONE", 0, False
        self.owner = PoolOwner(ELEMENTS, ELEMENT_SIZE, self.on_frame)
        self.user = PoolUser()
        self.control, self.data = QueuePair(self.link, Control(self.on_message)), QueuePair(self.link, self.owner)
        self.kept = {}  # replies that we sent, by context
        self.errors = []  # of the peer: when they came

    # Link.

    def on_link_up(self, now):
        if self.state == "NONE":
            self.connect_at = now

    def on_link_ended(self, now):
        self.closing = None
        self.end(now, "the link ended")

    def end(self, now, why):
        if self.state != "NONE":
            self.count("connections that ended")
            print(f"minihost: {why}", file=sys.stderr, flush=True)
        self.forget()
        self.connect_at = now + 0.1 + secrets.randbelow(400) / 1000

    # Connection.

    def send_mgmt(self, now, kind, pairs=(), private=b"", transaction=None):
        message = {"kind": kind, "reject": 0, "transaction": wide(transaction or self.transaction), "eui64": wide(self.link.eui64),
                   "instance": wide(self.link.instance), "peer_eui64": wide(self.link.peer_eui64),
                   "peer_instance": wide(self.link.peer_instance), "pairs": list(pairs), "private": private.hex()}
        self.link.send_cell(now, {"pos": cells.ONLY, "op": cells.MGMT, "service": cells.MANAGEMENT, "dqpn": 1, "sqpn": 1, "psn": 0,
                                  "csn": 0, "lcn": 0, "payload": mgmt.encode_mgmt(message).hex()})

    def describe(self, channel, pair, credits, msg_max):
        return {"channel": channel, "service": cells.RC, "flags": 0, "qpn": pair.qpn, "peer_qpn": 0, "start_psn": pair.start_psn,
                "start_lcn": pair.start_lcn, "mcp": self.link.mcp, "receive_credits": credits, "max_dest_rd_atomic": 0,
                "msg_max": msg_max, "completed": 0}

    def connect(self, now):
        if self.state == "NONE":
            self.state, self.transaction = "REQUESTED", secrets.randbits(64)
        capabilities = {"mode": 1, "version_lowest": 1, "version_highest": 1, "msg_max": [MSG_MAX, 65536], "queues": 1,
                        "node_name": self.options.name.encode().hex(), "program": b"minihost".hex()}
        pairs = [self.describe(0, self.control, RECEIVES, MSG_MAX), self.describe(1, self.data, ELEMENTS, 0)]
        self.send_mgmt(now, "CONNECT_REQ", pairs, protobuf.encode("Capabilities", capabilities))
        self.connect_at = now + 0.2

    def disconnect(self, now, why):
        """DISC, which is repeated until DISC_REP; the connection has ended at once."""
        self.closing = (self.transaction, now, 0)
        self.end(now, why)
        self.repeat_disc(now)

    def repeat_disc(self, now):
        if self.closing is None or now < self.closing[1]:
            return
        transaction, _, times = self.closing
        self.send_mgmt(now, "DISC", transaction=transaction)
        self.closing = (transaction, now + DISC_EVERY, times + 1) if times + 1 < DISC_TIMES else None

    def on_mgmt(self, now, message):
        if message["kind"] == "DISC_REP" and self.closing and unwide(message["transaction"]) == self.closing[0]:
            self.closing = None
            return None
        if message["kind"] == "DISC":
            self.send_mgmt(now, "DISC_REP", transaction=unwide(message["transaction"]))
            if self.closing and unwide(message["transaction"]) == self.closing[0]:
                self.closing = None  # the two have crossed
        if unwide(message["transaction"]) != self.transaction or self.state == "NONE":
            return self.count("drop mgmt.state")
        kind = message["kind"]
        if kind == "DISC":
            return self.end(now, "the I/O unit disconnected")
        if kind == "CONNECT_REJ" and self.state == "REQUESTED":
            self.end(now, f"refused, code {message['reject']}: {bytes.fromhex(message['private']).decode('ascii', 'replace')}")
            self.connect_at = now + 1
        elif kind == "CONNECT_REP":
            if self.state == "REQUESTED" and not self.on_accepted(message):
                return self.disconnect(now, "the reply does not suit")
            self.send_mgmt(now, "CONNECT_RTU")
        return None

    def on_accepted(self, message):
        theirs = {pair["channel"]: pair for pair in message["pairs"]}
        try:
            agreed = protobuf.decode("Capabilities", bytes.fromhex(message["private"]))
        except Bad:
            return False
        longest = agreed.get("msg_max", [])
        # Two channels as we asked for, and contexts that select no flows: we place no frame by them.
        suits = (set(theirs) == {0, 1} and all(pair["service"] == cells.RC for pair in theirs.values()) and agreed.get("mode") == 1 and
                 agreed.get("version_lowest", 0) <= 1 <= agreed.get("version_highest", 0) and len(longest) == 2 and
                 all(256 <= size <= 65536 and size % 4 == 0 for size in longest) and
                 agreed.get("channels", 0) == 0 and agreed.get("context_in", 0) == 0)
        if not suits:
            return False
        self.msg_max, self.writes_idata = min(MSG_MAX, agreed["msg_max"][0]), agreed.get("idata_form_in", 0) == 0
        for pair, channel in ((self.control, theirs[0]), (self.data, theirs[1])):
            pair.connect(channel, min(self.link.mcp, channel["mcp"]))
        self.state, self.connect_at = "UP", None
        self.send_message(self.owner.advertisement())
        return True

    def on_cell(self, now, cell):
        if cell["service"] == cells.MANAGEMENT:
            try:
                message = mgmt.decode_mgmt(bytes.fromhex(cell["payload"]))
            except Bad as bad:
                return self.count(f"drop mgmt.{bad}")
            known = {"eui64": self.link.peer_eui64, "instance": self.link.peer_instance, "peer_eui64": self.link.eui64,
                     "peer_instance": self.link.instance}
            if any(unwide(message[name]) != value for name, value in known.items()):
                return self.count("drop mgmt.peer")
            return self.on_mgmt(now, message)
        for pair in (self.control, self.data):
            if pair.qpn == cell["dqpn"]:
                return pair.on_cell(now, cell)
        return self.count("drop cell.qp")

    def on_malformed(self, _now, head):
        for pair in (self.control, self.data):
            if pair.qpn == head["dqpn"]:
                pair.on_malformed(head)

    # Messages.

    def send_message(self, message):
        self.count(f"sent {message['function']}")
        self.control.send(messages.encode_message(message))

    def on_message(self, data):
        try:
            message = messages.decode_message(data)
        except Bad as bad:
            refusal = messages.refusal_of(data, str(bad))
            if refusal:
                self.send_message(refusal)
            return self.on_error(str(bad))
        function = message["function"]
        self.count(f"got {function}")
        reason = None
        if function == "BufferRecvPool":
            reason = self.user.on_advertised(message)
            if not self.is_up and not reason:
                self.is_up = True
                self.nic.begin()
        elif function == "BufferRecvPoolUpdate":
            reason = self.user.on_update(message, self.owner.pool)
            if reason in ("state", "range"):
                self.control.has_failed = f"an Update with {reason}"
        elif function == "BufferPoolFlushRequest":
            reason = self.on_flush(message)
        elif function == "BufferPoolFlushReply":
            reason = "context"  # we request none
        elif function == "BufferRDMAIndicate":
            reason = self.owner.on_indicate(message, self.user.pools)
        elif function == "CfgUtilReply":
            reason = self.nic.on_reply(time.monotonic(), message)
            if self.nic.is_started and self.nic.log[-1].startswith("START"):
                print("minihost: up", flush=True)
        elif function == "CfgUtilRequest":
            reply = self.kept.get(message["context"]) or self.nic.on_request(message)
            if unwide(message["context"]) != 0:
                self.kept[message["context"]] = reply
            while len(self.kept) > 8:
                del self.kept[next(iter(self.kept))]
            self.send_message(reply)
            if self.nic.takes_announce():
                self.from_interface(self.announcement())
        elif function == "SendData":
            self.on_frame(bytes.fromhex(message["data"]))
        if reason:
            self.on_error(reason)
        return None

    def on_error(self, reason):
        """A message or an indication of the peer that was dropped. The eighth within a minute ends the connection (P-CH-16)."""
        self.count(f"drop msg.{reason}")
        if reason == "context":
            return
        now = time.monotonic()
        self.errors = [at for at in self.errors if now - at < ERRORS_WITHIN] + [now]
        if len(self.errors) >= ERRORS_MAX:
            self.control.has_failed = f"{ERRORS_MAX} errors of the peer"

    def on_flush(self, message):
        """Returns the reason to count it as an error, or None; it gets its reply all the same."""
        if not unwide(message["context"]) & FLUSH_OF_RECEIVER:
            return self.user.on_flush(message)
        is_known = self.owner.is_bound and all(record["pool"] == self.owner.pool for record in message["records"])
        if any(record["pool"] == self.owner.pool for record in message["records"]):
            self.owner.is_bound = False
        self.send_message({"function": "BufferPoolFlushReply", "context": message["context"]})
        return None if is_known else "pool"

    # Frames.

    def on_frame(self, frame):
        """From the LAN. Without offloads the virtio-net header is empty: a frame that uses one is dropped."""
        if len(frame) < 12 + 14 or frame[0] & 1 or frame[1]:
            return self.count("drop frame.vnet")
        self.count("frames from the LAN")
        return self.write_frame(frame[12:])

    def announcement(self):
        """RARP of this interface address to everybody: switches on the way learn where it is."""
        mac = bytes.fromhex(self.nic.mac)
        return b"\xff" * 6 + mac + bytes.fromhex("8035 0001 0800 06 04 0003") + mac + bytes(4) + mac + bytes(4 + 18)

    def from_interface(self, frame):
        if not (self.is_up and self.nic.is_started) or len(self.frames) >= FRAMES_WAITING_MAX:
            return self.count("drop frame.room")
        return self.frames.append(bytes(12) + frame)

    def push(self):
        while self.frames:
            taken = self.user.take(len(self.frames[0]))
            if taken is None:
                return
            frame, (pool, element) = self.frames.pop(0), taken
            idata = PoolUser.idata_of(pool, element, len(frame)) if self.writes_idata else None

            def on_written(pool=pool, element=element, size=len(frame), is_indicated=idata is not None):
                pool["writing"] -= 1
                if not is_indicated:
                    self.send_message({"function": "BufferRDMAIndicate", "context": wide(0), "records": [
                        {"pool": pool["record"]["pool"], "first": element, "count": 1, "stored": size}]})

            self.data.write(PoolUser.address_of(pool, element), pool["record"]["handle"], frame, idata, on_written)
            self.count("frames to the LAN")

    # Time.

    def step(self, now):
        self.link.on_time(now)
        if self.link.state != UP:
            return
        self.repeat_disc(now)
        if self.connect_at is not None and now >= self.connect_at and self.state in ("NONE", "REQUESTED"):
            self.connect(now)
        if self.state != "UP":
            return
        if self.is_up:
            self.push()
            for message in (self.owner.update(now), self.user.flush_reply(), self.nic.next_message(now)):
                if message:
                    self.send_message(message)
        while self.owner.errors:
            self.on_error(self.owner.errors.pop())
        for pair in (self.control, self.data):
            pair.end_batch(now)
            pair.on_time(now)
            pair.transmit(now)
            if pair.has_failed:
                return self.disconnect(now, pair.has_failed)
        return None

    def stop(self, now):
        if self.state != "NONE":
            self.send_mgmt(now, "DISC")
        self.link.bye(now)
