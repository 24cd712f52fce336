"""Conversations that no single vector shows: pings and a page in frames of one and several cells, requests with their replies,
remarks on what is repeated, missing or refused. Each function returns what its packets have to show, as vectors.py does."""
import struct

import cells
import flits
import messages
import vectors
from capture_file import Connection, data_flit, full_flits
from codec import unwords, wide

INNER = ["eth.src", "icmp.type", "icmp.seq", "http.request.uri", "http.response.code", "http.file_data"]
POOL, BASE = 7, 0x7F0012340000
NO_OFFLOAD, TCP4 = bytes(12), bytes.fromhex("01013600a80522001000") + bytes(2)
MACS = bytes.fromhex("020000000002" "020000000001")


def ip(protocol, payload):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0x4000, 64, protocol, 0, bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2]))
    return MACS + b"\x08\x00" + head + payload


def ping(kind, seq, size=56):
    return NO_OFFLOAD + ip(1, struct.pack(">BBHHH", kind, 0, 0, 1, seq) + bytes(size))


def tcp(source, destination, seq, ack, text, header=NO_OFFLOAD):
    return header + ip(6, struct.pack(">HHIIBBHHH", source, destination, seq, ack, 0x50, 0x18, 0xFFFF, 0, 0) + text)


def idata(element, size):
    return POOL << 24 | element << 16 | size


class Pair:
    """A connection whose passive side has advertised a pool of 64 elements of 4096 bytes."""

    def __init__(self, capture, number, form_in=0, form_out=0):
        self.capture, self.connection = capture, Connection(capture, number, form_in, form_out)
        capture.add(self.connection.message("passive", messages.encode_message({
            "function": "BufferRecvPool", "context": wide(0), "records": [{
                "pool": POOL, "elements": 64, "element_size": 4096, "handle": 0x2A01, "address": wide(BASE), "pool_context": wide(0)}]})))

    def write(self, frame, element, named=None, mcp=65532):
        """The flits of a frame that goes into an element."""
        return self.connection.write("active", frame, BASE + 4096 * element, idata(element, len(frame)) if named is None else named, mcp)


def element_of(number):
    return {"frame.pool": [POOL], "frame.element": [number]}


def pings(pair):
    add = pair.capture.add
    whole = add(pair.write(ping(8, 1), 0)[0])
    parts = pair.write(ping(0, 1), 1, mcp=40)
    first, last, middle = add(parts[0]), add(parts[2]), add(parts[1])  # overtaken on the way
    two = add(pair.write(ping(8, 2), 2)[0] + pair.write(ping(8, 3), 3)[0])
    send = add(pair.connection.message("active", messages.encode_message(
        {"function": "SendData", "context": wide(0), "data": ping(8, 4).hex()})))
    repeated = add(parts[2])
    return [("a ping in one cell", whole, {"icmp.type": [8], "icmp.seq": [1], **element_of(0), "packet.cells": []}, None),
            ("a ping in three cells: the first", first, {"icmp.type": [], "frame.pool": []}, None),
            ("a ping in three cells: the last comes before", last, {"icmp.type": [], "gap": [1]}, None),
            ("a ping in three cells: complete", middle, {
                "icmp.type": [0], "packet.cells": [3], "packet.cell_in": [first, middle, last], "repeated": [1], **element_of(1)}, None),
            ("two pings in one datagram", two, {
                "icmp.seq": [2, 3], "cell.op": [2, 2], "frame.element": [2, 3], "cell.channel": [1, 1]}, None),
            ("a ping in SendData", send, {"icmp.seq": [4], "frame.pool": [], "message": ["SendData"], "cell.channel": [0]}, None),
            ("a cell that came before", repeated, {"icmp.type": [], "repeated": [1]}, None)]


def page(pair):
    """A page whose reply is a super-frame of many cells."""
    body = "x" * 3000
    get = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n"
    reply = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nContent-Type: text/plain\r\n\r\n{body}"
    request = pair.capture.add(pair.write(tcp(5000, 80, 1, 1, get.encode()), 4)[0])
    parts = pair.write(tcp(80, 5000, 1, 1 + len(get), reply.encode(), TCP4), 5, mcp=1364)
    replies = [pair.capture.add(part) for part in parts]
    return [("the request of a page", request, {"http.request.uri": ["/page"]}, None),
            ("a page", replies[-1], {"http.response.code": [200], "packet.cells": [len(parts)], "vnet.gso_type": [1],
                                     "vnet.gso_size": [1448], "vnet.hdr_len": [54], "http.file_data": [body]}, None)]


def form_b(pair):
    frame = ping(8, 9)
    number = pair.capture.add(pair.write(frame, 3, named=3 * 64 << 16 | len(frame))[0])
    return [("form B", number, {"icmp.seq": [9], "idata.offset": [3 * 4096], "refusal": [], **element_of(3)}, None)]


def wrong_element(pair):
    frame = ping(8, 5)
    number = pair.capture.add(pair.write(frame, 6, named=idata(9, len(frame)))[0])
    return [("idata of another element", number, {"idata.element": [9], "frame.element": [6], "refusal": [1]}, None)]


def requests(pair):
    """ECHO, whose first try is lost, and a request that is refused. A packet comes 100 us after the one before."""
    add, ask = pair.capture.add, pair.connection.cfgutil
    first, second = add(ask("active", 0x20005, b"\x0a\x01x", 77)), add(ask("active", 0x20005, b"\x0a\x01x", 77))
    reply = add(ask("passive", 0x20005, b"\x0a\x01x", 77, 0))
    again = add(ask("passive", 0x20005, b"\x0a\x01x", 77, 0))
    other = add(ask("active", 0x10002, b"", 78))
    refused = add(ask("passive", 0x10002, b"", 78, 3))
    return [("ECHO", first, {"reply_in": [reply], "tries": [], "cfg.data": ["78"]}, None),
            ("ECHO, second try", second, {"request_in": [first], "tries": [2], "repeated": [1], "reply_in": [reply]}, None),
            ("ECHO, reply", reply, {"request_in": [first], "reply_time": ["0.000200000"], "tries": [2]}, None),
            ("ECHO, reply once more", again, {"request_in": [first], "reply_time": [], "repeated": [1]}, None),
            ("SET_MAC", other, {"reply_in": [refused], "refusal": []}, None),
            ("SET_MAC, reply", refused, {"reply_time": ["0.000100000"], "cfg.status": [3], "refusal": [1]}, None)]


def connects(pair):
    """CONNECT_REQ and CONNECT_REP are the two packets before the pool."""
    request, reply = len(pair.capture.records) - 2, len(pair.capture.records) - 1
    return [("CONNECT_REQ", request, {"reply_in": [reply]}, None),
            ("CONNECT_REP", reply, {"request_in": [request], "reply_time": ["0.000100000"], "mgmt.kind": [2]}, None)]


def remarks(pair):
    """A gap of two cells, the retransmission of one of them, a NAK."""
    add, connection = pair.capture.add, pair.connection
    frame = ping(8, 6)
    lost = pair.write(frame, 7)[0], pair.write(frame, 8)[0]
    gap = add(pair.write(frame, 10)[0])
    side = connection.sides["active"]
    again = add(connection.cell("active", 1, op=cells.WRITE, flags=cells.FLAG_R, psn=side.psn[1] - 3, lcn=side.lcn[1] - 3, payload=frame.hex(),
                                va_mh={"address": wide(BASE + 7 * 4096), "handle": 0x2A01, "length": len(frame)}))
    nak = add(connection.cell("passive", 1, op=cells.NAK, psn=1, lcn=0, ack={
        "code": 0x60, "msn": 0, "credits": 1, "detail": 0, "cumulative": 5, "hold": 0, "bitmap": []}))
    assert len(lost) == 2
    return [("a gap", gap, {"gap": [1], "icmp.seq": [6]}, None),
            ("a retransmission", again, {"retransmission": [1], "repeated": [], "icmp.seq": [6]}, None),
            ("a NAK", nak, {"nak": [1], "ack.code": [0x60]}, None)]


def lanes(pair):
    """Two cells whose flits alternate on two lanes; one flit is lost first, and what followed it is retransmitted."""
    cells_of_lanes = [pair.write(ping(8, seq, 200), element)[0][16:] for seq, element in ((30, 11), (31, 12))]
    whole = [full_flits(cell, lane, 65533 + lane, 2) for lane, cell in enumerate(cells_of_lanes)]
    (a1, a2, a3), (b1, b2, b3) = whole
    number = {}
    for name, flit in (("a1", a1), ("b1", b1), ("b2", b2), ("a3", a3), ("b3", b3), ("a2", a2), ("b2 again", b2), ("a3 again", a3),
                       ("b3 again", b3)):
        number[name] = pair.capture.add(flit)
    return [("the last flit, before another", number["b3"], {"cell.op": [], "icmp.seq": [], "flit.lane": [1]}, None),
            ("the flit that was missing", number["a2"], {
                "icmp.seq": [30], "flit.parts": [3], "flit.part_in": [number["a1"], number["a2"], number["a3"]], **element_of(11)}, None),
            ("a flit once more", number["b2 again"], {
                "icmp.seq": [31], "flit.parts": [3], "flit.part_in": [number["b1"], number["b2"], number["b3"]], **element_of(12)}, None),
            ("a part of a cell that is complete", number["b3 again"], {"cell.op": [], "flit.parts": []}, None)]


def handshake(capture):
    """The hello of the vectors, and a challenge with its nonce."""
    step1 = next(unwords(vector["bytes"]) for vector in vectors.load("init") if vector["valid"] and vector["meaning"]["step"] == "hello")
    nonce = bytes([0x55] * 8)
    hello = step1[:48] + nonce + step1[56:]
    challenge = step1[:1] + b"\x02" + step1[2:48] + bytes(8) + nonce + step1[64:]
    one, two = (capture.add(data_flit(data, flits.INIT)) for data in (hello, challenge))
    return [("hello", one, {"reply_in": [two], "init.step": [1]}, None),
            ("challenge", two, {"request_in": [one], "reply_time": ["0.000100000"], "init.step": [2]}, None)]


def path_probes(capture):
    """A probe of a path is longer than other management cells may be, to another subnet too."""
    probe = next(unwords(vector["bytes"]) for vector in vectors.load("init") if vector["valid"] and vector["meaning"]["step"] == "probe")
    filler = 1200
    gnh = f"60000000{16 + len(probe) + filler:04x}3b40" "fd00000a00000000000000000000000b" "fd00000b000000000000000000000014"
    expected = []
    for number, (name, header) in enumerate((("in the subnet", {}), ("to another subnet", {"flags": cells.FLAG_G, "gnh": gnh}))):
        init = probe[:48] + bytes([0x66 + number] * 8) + probe[56:]
        datagram = flits.encode_flit({"type": flits.INIT, "lane": 15, "payload": init.hex()}) + bytes(filler)
        for is_probe in (True, False):
            payload = datagram if is_probe else b"\x50" + datagram[1:]
            sent = capture.add(data_flit(cells.encode_cell({
                "pos": cells.ONLY, "op": cells.MGMT, "dlid": 1, "slid": 11, "service": cells.MANAGEMENT, "dqpn": 0, "sqpn": 0, "psn": 0,
                "csn": 0, "lcn": 0, "payload": payload.hex(), **header})))
            if is_probe:
                expected.append((f"a path probe {name}", sent, {
                    "init.step": [7], "cell.payload_bytes": [len(payload)], "cell.flags.global": [number],
                    "cell.gnh.hop_limit": [64] if number else [], "filler.bytes": filler}, None))
            else:
                expected.append((f"no path probe, as long {name}", sent, {"init.step": []}, "cell.length"))
    return expected


def add_all(capture):
    pair = Pair(capture, 10)
    expected = connects(pair)
    for play in (pings, page, lanes, wrong_element, requests, remarks):
        expected += play(pair)
    return expected + form_b(Pair(capture, 11, form_in=1, form_out=1)) + handshake(capture) + path_probes(capture)
