"""Cells with their extensions, TERMINATE and MGMT (docs/protocol/cell.md, ack.md, terminate.md, mgmt.md)."""
from codec import Bad, Malformed, crc32c, get, pad4, put, unwide, wide

SEND, SEND_DEREG, WRITE, READ_REQ, READ_RESP, FETCHOP_REQ, FETCHOP_RESP, RAW, ISCSI = 0, 1, 2, 3, 4, 5, 6, 8, 9
ACK, NAK, TERMINATE, MGMT = 0x10, 0x11, 0x12, 0x18
RC, UC, RD, UD, RAW_SERVICE, STREAM, ISCSI_SERVICE, MANAGEMENT = 0, 1, 2, 3, 4, 5, 6, 15
MIDDLE, LAST, FIRST, ONLY = range(4)
FLAG_A, FLAG_I, FLAG_S, FLAG_G, FLAG_P, FLAG_R = 0x80, 0x40, 0x20, 0x10, 0x08, 0x04
ACK_CODES = (0x00, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64)

# Operation -> services, and those of them with several cells per packet.
ALLOWED = {SEND: ({RC, UC, RD, UD, STREAM}, {RC, UC, RD, STREAM}), SEND_DEREG: ({RC, RD, STREAM}, {RC, RD, STREAM}),
           WRITE: ({RC, UC, RD, UD, STREAM}, {RC, UC, STREAM}), READ_REQ: ({RC, RD, STREAM}, set()),
           READ_RESP: ({RC, RD, STREAM}, {RC, STREAM}), FETCHOP_REQ: ({RC, RD}, set()), FETCHOP_RESP: ({RC, RD}, set()),
           RAW: ({RAW_SERVICE}, set()), ISCSI: ({ISCSI_SERVICE}, {ISCSI_SERVICE}), ACK: ({RC, RD, STREAM}, set()),
           NAK: ({RC, RD, STREAM}, set()), TERMINATE: ({RC, STREAM}, set()), MGMT: ({MANAGEMENT}, set())}
PAYLOADS = {READ_REQ: (0, 0), FETCHOP_REQ: (0, 0), ACK: (0, 0), NAK: (0, 0), FETCHOP_RESP: (8, 8), TERMINATE: (48, 48),
            MGMT: (0, 1024)}


def _wants_va_mh(op, service, pos):
    if service == STREAM and op in (WRITE, READ_RESP):
        return True
    return op in (WRITE, READ_REQ, FETCHOP_REQ) and pos in (FIRST, ONLY)


def _encode_ack(ack):
    out = put(ack["code"], 1) + put(ack["msn"], 3) + put(ack["credits"], 2) + put(ack["detail"], 2)
    if "cumulative" in ack:
        out += put(ack["cumulative"], 2) + put(len(ack["bitmap"]), 1) + put(ack["hold"], 1)
        out += b"".join(put(word, 4) for word in ack["bitmap"])
    return out


def _decode_ack(data, op, service):
    if len(data) < 8 or data[0] not in ACK_CODES or (data[0] == 0) != (op == ACK):
        raise Bad("extensions")
    ack = {"code": data[0], "msn": get(data, 1, 3), "credits": get(data, 4, 2), "detail": get(data, 6, 2)}
    if len(data) == 8:
        return ack
    if service != RC or len(data) < 12 or data[10] > 64 or len(data) != 12 + 4 * data[10]:
        raise Bad("extensions")
    ack.update(cumulative=get(data, 8, 2), hold=data[11], bitmap=[get(data, 12 + 4 * i, 4) for i in range(data[10])])
    return ack


def encode_extensions(cell):
    """The extensions, and the part of them that the packet CRC covers."""
    covered = b""
    if "va_mh" in cell:
        va_mh = cell["va_mh"]
        covered += put(unwide(va_mh["address"]), 8) + put(va_mh["handle"], 4) + put(va_mh["length"], 4)
    if "read" in cell:
        read = cell["read"]
        covered += put(read["msn"], 4) + put(read["sink_handle"], 4) + put(unwide(read["sink_offset"]), 8)
    if "atomic" in cell:
        atomic = cell["atomic"]
        covered += put(atomic["op"], 1) + bytes(3) + put(unwide(atomic["operand1"]), 8) + put(unwide(atomic["operand2"]), 8)
    covered += b"".join(put(cell[name], 4) for name in ("idata", "dereg") if name in cell)
    before = bytes.fromhex(cell.get("gnh", "")) + b"".join(put(cell[name], 4) for name in ("ee", "stream") if name in cell)
    after = _encode_ack(cell["ack"]) if "ack" in cell else b""
    return before + covered + after, covered


def encode_cell(cell, head_only=False):
    payload = bytes.fromhex(cell.get("payload", ""))
    extensions, _ = encode_extensions(cell)
    flags = cell.get("flags", 0) | pad4(len(payload))
    head = (put(cell.get("version", 1) << 4 | cell.get("sl", 0), 1) + put(cell["pos"] << 6 | cell["op"], 1) + put(flags, 1) +
            put(len(extensions) // 4, 1) + put(cell["dlid"], 2) + put(cell["slid"], 2) +
            put(cell["service"] << 4 | cell.get("stripe", 0), 1) + put(cell["dqpn"], 3) + put(cell["sqpn"], 4) +
            put(cell["psn"], 4) + put(cell["csn"], 2) + put(len(payload), 2) + put(cell.get("partition", 0xFFFF), 2) +
            put(cell["lcn"], 2) + extensions)
    body = payload + bytes(pad4(len(payload)))
    if flags & FLAG_P:
        body += put(cell["packet_crc"], 4)
    return head + body + put(crc32c(head if head_only else head + body), 4)


def _decode_extensions(data, cell):
    op, service, pos, flags = cell["op"], cell["service"], cell["pos"], cell["flags"]
    at = 0

    def take(width):
        nonlocal at
        if at + width > len(data):
            raise Bad("extensions")
        at += width
        return data[at - width:at]

    if flags & FLAG_G:
        gnh = take(40)
        if gnh[0] >> 4 != 6:
            raise Bad("extensions")
        cell["gnh"] = gnh.hex()
    if service == RD:
        cell["ee"] = get(take(4), 1, 3)
    if service in (STREAM, ISCSI_SERVICE):
        cell["stream"] = get(take(4), 0, 4)
    if _wants_va_mh(op, service, pos):
        va_mh = take(16)
        cell["va_mh"] = {"address": wide(get(va_mh, 0, 8)), "handle": get(va_mh, 8, 4), "length": get(va_mh, 12, 4)}
    if op == READ_REQ and service == STREAM:
        read = take(16)
        cell["read"] = {"msn": get(read, 0, 4), "sink_handle": get(read, 4, 4), "sink_offset": wide(get(read, 8, 8))}
    if op == FETCHOP_REQ:
        atomic = take(20)
        if not 1 <= atomic[0] <= 3:
            raise Bad("extensions")
        cell["atomic"] = {"op": atomic[0], "operand1": wide(get(atomic, 4, 8)), "operand2": wide(get(atomic, 12, 8))}
    if flags & FLAG_I:
        cell["idata"] = get(take(4), 0, 4)
    if op == SEND_DEREG and pos in (LAST, ONLY):
        cell["dereg"] = get(take(4), 0, 4)
    if op in (ACK, NAK):
        cell["ack"] = _decode_ack(data[at:], op, service)
    elif at != len(data):
        raise Bad("extensions")


def decode_cell(data, head_only=False):
    """Checks in the order of docs/protocol/cell.md#rejected; the name of the first that fails is in Bad."""
    if len(data) < 32 or 28 + 4 * data[3] > len(data) - 4:
        raise Bad("short")
    head, end = 28 + 4 * data[3], len(data) - 4
    if crc32c(data[:head if head_only else end]) != get(data, end, 4):
        raise Bad("crc")
    if data[0] >> 4 != 1:
        raise Bad("version")
    cell = {"version": 1, "sl": data[0] & 15, "pos": data[1] >> 6, "op": data[1] & 63, "flags": data[2] & 0xFC, "dlid": get(data, 4, 2),
            "slid": get(data, 6, 2), "service": data[8] >> 4, "stripe": data[8] & 15, "dqpn": get(data, 9, 3), "sqpn": get(data, 13, 3),
            "psn": get(data, 17, 3), "csn": get(data, 20, 2), "partition": get(data, 24, 2), "lcn": get(data, 26, 2)}
    try:
        _decode_rest(data, cell, head, end)
    except Bad as bad:
        raise Malformed(bad.args[0], cell) from None
    return cell


def _decode_rest(data, cell, head, end):
    """The checks from `op` on."""
    op, service, pos, flags, csn = cell["op"], cell["service"], cell["pos"], data[2], cell["csn"]
    services, several = ALLOWED.get(op, ((), ()))
    if service not in services:
        raise Bad("op")
    if service not in several and pos != ONLY or op not in (ACK, NAK) and (pos in (FIRST, ONLY)) != (csn == 0):
        raise Bad("position")
    if flags & FLAG_I and op not in (SEND, SEND_DEREG, WRITE) or flags & FLAG_P and (pos in (FIRST, MIDDLE) or op in (ACK, NAK)):
        raise Bad("flags")
    _decode_extensions(data[28:head], cell)
    size, trailer = get(data, 22, 2), 4 if flags & FLAG_P else 0
    least, most = PAYLOADS.get(op, (0, 65532))
    if head + size + pad4(size) + trailer != end or pad4(size) != flags & 3 or not least <= size <= most:
        raise Bad("length")
    cell["payload"] = data[head:head + size].hex()
    if trailer:
        cell["packet_crc"] = get(data, end - 4, 4)
