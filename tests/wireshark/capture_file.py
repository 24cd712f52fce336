"""A capture for the dissector: pcap records of link type USER0, cells in flits, and the connections that they belong to."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "vectors/codecs"))
import cells
import flits
import messages
import mgmt
import protobuf
from codec import wide

USER0 = 147


class Capture:
    """The records of a file; a record is a datagram. Times are in microseconds."""

    def __init__(self):
        self.records = []
        self.now = 1_700_000_000_000_000

    def add(self, datagram):
        """Returns the number of the packet, as tshark counts."""
        self.now += 100
        self.records.append((self.now, datagram))
        return len(self.records)

    def write(self, path):
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, USER0))
            for at, datagram in self.records:
                out.write(struct.pack("<IIII", at // 1_000_000, at % 1_000_000, len(datagram), len(datagram)) + datagram)


def data_flit(payload, kind=flits.DATA):
    """A flit of the speed profile, with one whole cell in it. An INIT's CRC covers it."""
    ctl = 0 if kind == flits.INIT else flits.SOF | flits.EOF | flits.HEADER_CRC_ONLY
    return flits.encode_flit({"type": kind, "ctl": ctl, "payload": payload.hex()})


def full_flits(cell, lane, lsn, step=1, size=128):
    """The flits of a cell in the full profile; `step` from one LSN to the next, because lanes alternate."""
    parts = [cell[at:at + size] for at in range(0, len(cell), size)]
    return [flits.encode_flit({"type": flits.DATA, "lane": lane, "lsn": (lsn + step * i) % 65536, "payload": part.hex(),
                               "ctl": (flits.SOF if i == 0 else 0) | (flits.EOF if i == len(parts) - 1 else 0)})
            for i, part in enumerate(parts)]


def mgmt_cell(payload, slid=1, dlid=2, qpn=1):
    return cells.encode_cell({"pos": cells.ONLY, "op": cells.MGMT, "dlid": dlid, "slid": slid, "service": cells.MANAGEMENT,
                              "dqpn": qpn, "sqpn": qpn, "psn": 0, "csn": 0, "lcn": 0, "payload": payload.hex()})


class Side:
    """One side of a connection: its LID, and the number, PSN and LCN of its queue pair of each channel."""

    def __init__(self, lid, qpn, capabilities):
        self.lid, self.qpn, self.capabilities = lid, (qpn, qpn + 1), capabilities
        self.psn, self.lcn = [100, 200], [10, 20]


class Connection:
    """Two sides that are connected at the begin; the sender of a cell is "active" or "passive"."""

    def __init__(self, capture, number, form_in=0, form_out=0):
        capabilities = {"mode": 1, "version_lowest": 1, "version_highest": 1, "msg_max": [4096, 65536], "idata_form_in": form_in,
                        "idata_form_out": form_out}
        self.capture, self.number = capture, number
        self.sides = {"active": Side(1000 + number, 0x1000 * number, capabilities),
                      "passive": Side(2000 + number, 0x2000 * number, capabilities)}
        for kind in ("CONNECT_REQ", "CONNECT_REP"):
            capture.add(self.connect(kind))

    def ends(self, sender):
        return self.sides[sender], self.sides["passive" if sender == "active" else "active"]

    def connect(self, kind, reject=0):
        me, peer = self.ends("active" if kind == "CONNECT_REQ" else "passive")
        pairs = [{"channel": channel, "service": 0, "flags": 0, "qpn": me.qpn[channel], "peer_qpn": 0, "start_psn": me.psn[channel],
                  "start_lcn": me.lcn[channel], "mcp": 1364, "receive_credits": 64, "max_dest_rd_atomic": 0, "msg_max": 65536,
                  "completed": 0} for channel in (0, 1)]
        payload = mgmt.encode_mgmt({
            "kind": kind, "reject": reject, "transaction": wide(self.number), "eui64": wide(me.lid), "instance": wide(me.lid),
            "peer_eui64": wide(peer.lid), "peer_instance": wide(peer.lid), "pairs": pairs,
            "private": protobuf.encode("Capabilities", me.capabilities).hex()})
        return data_flit(mgmt_cell(payload, me.lid, peer.lid))

    def cell(self, sender, channel, **fields):
        """The flit of a cell with the numbers of its queue pair, unless `fields` has others."""
        me, peer = self.ends(sender)
        values = {"pos": cells.ONLY, "dlid": peer.lid, "slid": me.lid, "service": cells.RC, "dqpn": peer.qpn[channel],
                  "sqpn": me.qpn[channel], "psn": me.psn[channel], "csn": 0, "lcn": me.lcn[channel]}
        values.update(fields)
        return data_flit(cells.encode_cell(values))

    def packet(self, sender, channel, op, payload, mcp=65532, first=None, last=None):
        """The flits of the cells of a packet; `first` and `last` are more fields of these cells."""
        side = self.sides[sender]
        parts = [payload[at:at + mcp] for at in range(0, len(payload), mcp)] or [b""]
        out = []
        for csn, part in enumerate(parts):
            is_first, is_last = csn == 0, csn == len(parts) - 1
            pos = cells.ONLY if is_first and is_last else cells.FIRST if is_first else cells.LAST if is_last else cells.MIDDLE
            fields = {**(first or {} if is_first else {}), **(last or {} if is_last else {})}
            out.append(self.cell(sender, channel, op=op, pos=pos, csn=csn, payload=part.hex(), **fields))
            side.lcn[channel] += 1
        side.psn[channel] += 1
        return out

    def message(self, sender, data):
        return self.packet(sender, 0, cells.SEND, data)[0]

    def write(self, sender, frame, address, idata, mcp=65532):
        va_mh = {"address": wide(address), "handle": 0x2A01, "length": len(frame)}
        return self.packet(sender, 1, cells.WRITE, frame, mcp, {"va_mh": va_mh}, {"idata": idata, "flags": cells.FLAG_I})

    def cfgutil(self, sender, code, data, context, status=None):
        function = "CfgUtilRequest" if status is None else "CfgUtilReply"
        return self.message(sender, messages.encode_message({
            "function": function, "context": wide(context), "family": code >> 16, "code": code & 0xFFFF, "status": status or 0,
            "data": data.hex()}))
