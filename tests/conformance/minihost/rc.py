"""A queue pair of RC (docs/protocol/transport.md, ack.md): requester and responder. Sans-I/O.

The consumer has send_max, the bytes of its receives, on_send(payload), on_write(address, length, idata) at the end of a packet, check_write(handle, address, length),
which returns a letter or None, place(handle, address, payload), and receives(), the number of posted receives.
"""
import collections
import secrets

import cells
from codec import unwide, wide

WINDOW, EARLY_MAX = 64, 4096
RTO_MIN, RTO_MAX, TRIES, STALL = 0.02, 0.2, 7, 5.0
RNR_WAIT = 10  # x 10 us
SUB_SEQUENCE, SUB_OPERATION, SUB_LENGTH, SUB_RDMA = 1, 2, 3, 4


def ahead(number, base, bits):
    """Signed distance by serial comparison."""
    distance = (number - base) % (1 << bits)
    return distance - (1 << bits) if distance >> (bits - 1) else distance


class QueuePair:
    def __init__(self, link, consumer):
        self.link, self.consumer = link, consumer
        self.qpn = secrets.randbelow((1 << 24) - 2) + 2
        self.start_psn, self.start_lcn = secrets.randbits(24), secrets.randbits(16)
        self.is_open, self.has_failed = False, None

    def connect(self, peer, mcp):
        self.peer_qpn, self.mcp, self.credits = peer["qpn"], mcp, peer["receive_credits"]
        # Requester.
        self.next_psn, self.next_lcn = self.start_psn, self.start_lcn
        self.posted, self.flying = collections.deque(), collections.deque()  # packets; cells that are not acknowledged
        self.rto, self.tries, self.due, self.progress_at, self.wait_until = RTO_MIN, 0, None, 0.0, 0.0
        # Responder.
        self.psn, self.csn, self.lcn = peer["start_psn"], 0, peer["start_lcn"]
        self.last = ((self.psn - 1) % (1 << 24), 0)
        self.early, self.open, self.completed = {}, None, 0
        self.ack_due = self.nak = None
        self.is_open = True

    # Requester.

    def send(self, payload, done=None):
        self.posted.append({"op": cells.SEND, "payload": payload, "done": done, "receives": 1})

    def write(self, address, handle, payload, idata, done):
        self.posted.append({"op": cells.WRITE, "payload": payload, "idata": idata, "done": done, "receives": 1,
                            "va_mh": {"address": wide(address), "handle": handle, "length": len(payload)}})

    def _cells_of(self, packet):
        payload, mcp = packet["payload"], self.mcp
        pieces = [payload[at:at + mcp] for at in range(0, len(payload), mcp)] or [b""]
        for csn, piece in enumerate(pieces):
            is_first, is_last = csn == 0, csn + 1 == len(pieces)
            pos = {(True, True): cells.ONLY, (True, False): cells.FIRST, (False, True): cells.LAST}.get((is_first, is_last), cells.MIDDLE)
            cell = self._cell(packet["op"], pos, self.next_psn, csn, piece)
            if is_first and "va_mh" in packet:
                cell["va_mh"] = packet["va_mh"]
            if is_last and packet.get("idata") is not None:
                cell["idata"] = packet["idata"]
                cell["flags"] |= cells.FLAG_I
            if is_last:
                cell["flags"] |= cells.FLAG_A
            cell["lcn"] = self.next_lcn
            self.next_lcn = (self.next_lcn + 1) % (1 << 16)
            yield cell, packet if is_last else None
        self.next_psn = (self.next_psn + 1) % (1 << 24)

    def _cell(self, op, pos, psn, csn, payload=b""):
        return {"pos": pos, "op": op, "flags": 0, "service": cells.RC, "dqpn": self.peer_qpn, "sqpn": self.qpn, "psn": psn, "csn": csn,
                "lcn": 0, "payload": payload.hex()}

    def _outstanding(self):
        return sum(record["packet"]["receives"] for record in self.flying if record["packet"])

    def transmit(self, now):
        if not self.is_open or self.has_failed or now < self.wait_until:
            return
        while self.posted and len(self.flying) < WINDOW:
            outstanding = self._outstanding()
            if outstanding and outstanding >= self.credits:
                break
            for cell, packet in self._cells_of(self.posted.popleft()):
                if not self.flying:
                    self.progress_at = now
                self.flying.append({"cell": cell, "packet": packet, "is_there": False})
                self.link.send_cell(now, cell)
            self.due = self.due or now + self.rto

    def _resend(self, now, record):
        self.link.send_cell(now, dict(record["cell"], flags=record["cell"]["flags"] | cells.FLAG_R | cells.FLAG_A))

    def _take_ack(self, now, ack):
        """Everything up to the cumulative LCN, and what the bitmap has. Returns False if it acknowledges what was not sent."""
        count = ahead(ack["cumulative"] + 1, self.flying[0]["cell"]["lcn"], 16) if self.flying else 0
        if count < 0 or count > len(self.flying):
            return False
        self.credits = ack["credits"]
        for _ in range(count):
            record = self.flying.popleft()
            if record["packet"] and record["packet"]["done"]:
                record["packet"]["done"]()
        if count:
            self.tries, self.rto, self.progress_at = 0, RTO_MIN, now
            self.due = now + self.rto if self.flying else None
        newest = -1
        for index, record in enumerate(self.flying):
            bit = index - 1
            if bit >= 0 and bit // 32 < len(ack["bitmap"]) and ack["bitmap"][bit // 32] & 0x80000000 >> bit % 32:
                record["is_there"], newest = True, index
        for record in list(self.flying)[:max(newest - 2, 0)]:
            if not record["is_there"] and not record.get("is_repeated"):
                record["is_repeated"] = True
                self._resend(now, record)
        return True

    def _on_reply(self, now, cell):
        ack = cell["ack"]
        if not self._take_ack(now, ack) or cell["op"] == cells.ACK:
            return
        if not self.flying or self.flying[0]["cell"]["psn"] != cell["psn"]:
            return  # a NAK for another packet
        if ack["code"] == 0x20:
            self.wait_until = now + max(ack["detail"], 1) * 1e-5
            self.due = self.wait_until
            self.tries = 0
        elif ack["code"] == 0x60:
            for record in self.flying:
                self._resend(now, record)
        else:
            self.has_failed = f"NAK 0x{ack['code']:02x}, detail {ack['detail']}"

    def on_time(self, now):
        if not self.is_open or self.has_failed or self.due is None or now < self.due or not self.flying:
            return
        if self.tries >= TRIES and now - self.progress_at >= STALL:
            self.has_failed = "no acknowledgement"
            return
        self.tries += 1
        self.rto = min(2 * self.rto, RTO_MAX)
        self.due = now + self.rto
        for record in list(self.flying)[:4]:
            if not record["is_there"] or record is self.flying[0]:
                self._resend(now, record)

    # Responder.

    def on_cell(self, now, cell):
        if not self.is_open or self.has_failed or cell["service"] != cells.RC or cell["sqpn"] != self.peer_qpn:
            return
        if cell["op"] in (cells.ACK, cells.NAK):
            self._on_reply(now, cell)
            return
        if cell["op"] == cells.TERMINATE:
            self.has_failed = "TERMINATE"
            return
        distance = ahead(cell["lcn"], self.lcn, 16)
        self.ack_due = True
        if distance > 0:
            if distance <= EARLY_MAX:
                self.early[cell["lcn"]] = cell
            return
        if distance < 0 or not self._take(cell):
            return
        while self.lcn in self.early and self._take(self.early.pop(self.lcn)):
            pass

    def on_malformed(self, head):
        """NAK 0x61 if it is the next one (P-RC-23)."""
        if (self.is_open and not self.has_failed and head["op"] not in (cells.ACK, cells.NAK) and head["service"] == cells.RC and
                head["sqpn"] == self.peer_qpn and head["lcn"] == self.lcn):
            self.nak = (0x61, SUB_OPERATION, head["psn"], head["csn"])

    def _take(self, cell):
        nak = self._refusal(cell)
        if nak:
            self.nak = (*nak, cell["psn"], cell["csn"])
            return False
        self._execute(cell)
        self.lcn = (self.lcn + 1) % (1 << 16)
        self.last = (cell["psn"], cell["csn"])
        return True

    def _refusal(self, cell):
        """The code and detail of the NAK for this cell, which is the next one, or None. The order is that of P-RC-12."""
        begins, size = cell["pos"] in (cells.FIRST, cells.ONLY), len(cell["payload"]) // 2
        ends = cell["pos"] in (cells.LAST, cells.ONLY)
        if (cell["psn"], cell["csn"]) != (self.psn, self.csn) or begins == bool(self.open):
            return 0x61, SUB_SEQUENCE
        if cell["op"] not in (cells.SEND, cells.WRITE) or self.open and self.open["op"] != cell["op"]:
            return 0x61, SUB_OPERATION
        is_write = cell["op"] == cells.WRITE
        if is_write and not self.consumer.takes_writes:
            return 0x61, SUB_RDMA
        if size > self.mcp if ends else size != self.mcp:
            return 0x61, SUB_LENGTH
        if cell["pos"] == cells.LAST and size == 0:
            return 0x61, SUB_LENGTH
        known = self.open["idata"] if self.open else None
        if known is not None and cell.get("idata", known) != known:
            return 0x61, SUB_OPERATION
        if not is_write and cell["csn"] * self.mcp + size > self.consumer.send_max:
            return 0x61, SUB_LENGTH
        if is_write:
            target = cell["va_mh"] if begins else self.open["va_mh"]
            upto = cell["csn"] * self.mcp + size
            if upto != target["length"] if ends else upto >= target["length"]:
                return 0x61, SUB_LENGTH
            letter = self.consumer.check_write(target["handle"], unwide(target["address"]), target["length"])
            if letter:
                return 0x62, ord(letter)
        consumes = begins if not is_write else ends and "idata" in cell
        return (0x20, RNR_WAIT) if consumes and self.consumer.receives() == 0 else None

    def _execute(self, cell):
        payload = bytes.fromhex(cell["payload"])
        if self.open is None:
            self.open = {"op": cell["op"], "va_mh": cell.get("va_mh"), "data": b"", "idata": None}
        packet = self.open
        packet["idata"] = cell.get("idata", packet["idata"])
        if packet["op"] == cells.WRITE:
            self.consumer.place(unwide(packet["va_mh"]["address"]) + cell["csn"] * self.mcp, payload)
        else:
            packet["data"] += payload
        if cell["pos"] not in (cells.LAST, cells.ONLY):
            self.csn += 1
            return
        self.open, self.csn, self.psn = None, 0, (self.psn + 1) % (1 << 24)
        self.completed = (self.completed + 1) % (1 << 24)
        if packet["op"] == cells.SEND:
            self.consumer.on_send(packet["data"])
        elif packet["idata"] is not None:
            self.consumer.on_write(unwide(packet["va_mh"]["address"]), packet["va_mh"]["length"], packet["idata"])

    def end_batch(self, now):
        if not self.is_open or not (self.ack_due or self.nak):
            return
        code, detail, psn, csn = self.nak or (0, 0, *self.last)
        words = []
        for lcn in self.early:
            bit = ahead(lcn, self.lcn, 16) - 1
            while 0 <= bit < 2048 and len(words) <= bit // 32:
                words.append(0)
            if 0 <= bit < 2048:
                words[bit // 32] |= 0x80000000 >> bit % 32
        cell = self._cell(cells.NAK if self.nak else cells.ACK, cells.ONLY, psn, csn)
        cell["ack"] = {"code": code, "msn": self.completed, "credits": self.consumer.receives(), "detail": detail,
                       "cumulative": (self.lcn - 1) % (1 << 16), "hold": 0, "bitmap": words}
        self.link.send_cell(now, cell)
        if self.nak and code not in (0x20, 0x60):
            self.has_failed = f"we refused a cell: NAK 0x{code:02x}, detail {detail}"
        self.ack_due = self.nak = None
