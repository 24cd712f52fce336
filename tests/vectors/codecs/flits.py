"""Flits, datagrams and INIT (docs/protocol/flit.md, datagram.md, init.md): bytes to meaning and back."""
from codec import Bad, crc32c, get, put, unwide, wide

DATA, LACK, LNAK, CREDIT, INIT, IDLE = range(6)
SOF, EOF, HEADER_CRC_ONLY, CELL_CRC_HEAD_ONLY = 0x80, 0x40, 0x20, 0x10
STEPS = ["", "hello", "challenge", "answer", "ready", "refuse", "bye", "probe", "probe_reply"]
PROFILES = ["full", "speed", "shm"]


def encode_flit(flit):
    payload = bytes.fromhex(flit.get("payload", ""))
    head = (put(flit["type"] << 4 | flit.get("lane", 0), 1) + put(flit.get("ctl", 0), 1) + put(len(payload), 2) +
            put(flit.get("lsn", 0), 2) + put(flit.get("ack", 0), 2) + put(flit.get("credit_lane", 0) << 4, 1) +
            put(flit.get("credit_limit", 0), 3))
    covered = head if flit.get("ctl", 0) & HEADER_CRC_ONLY else head + payload
    return head + put(crc32c(covered), 4) + payload


def decode_flit(data):
    """The flit at the start of `data` and its length. After `type` and `payload` the length is in the exception."""
    if len(data) < 16:
        raise Bad("short")
    size = get(data, 2, 2)
    if 16 + size > len(data):
        raise Bad("size")
    payload = data[16:16 + size]
    if crc32c(data[:12] if data[1] & HEADER_CRC_ONLY else data[:12] + payload) != get(data, 12, 4):
        raise Bad("crc")
    kind = data[0] >> 4
    if kind > IDLE:
        raise Bad("type", 16 + size)
    if (size > 0) != (kind in (DATA, INIT)):
        raise Bad("payload", 16 + size)
    flit = {"type": kind, "lane": data[0] & 15, "ctl": data[1] & 0xF0, "lsn": get(data, 4, 2), "ack": get(data, 6, 2),
            "credit_lane": data[8] >> 4, "credit_limit": get(data, 9, 3), "payload": payload.hex()}
    return flit, 16 + size


def encode_datagram(datagram):
    return b"".join(encode_flit(flit) for flit in datagram["flits"]) + bytes(datagram["filler"])


def walk(datagram):
    """The flits of a datagram, and why the walk ended: end, session, or the name of the error that ended it."""
    flits, at = [], 0
    if datagram and datagram[0] >= 0x80:
        return flits, "session", 0
    while len(datagram) - at >= 16 and get(datagram, at, 4) != 0:
        try:
            flit, width = decode_flit(datagram[at:])
        except Bad as bad:
            if len(bad.args) == 1:
                return flits, bad.args[0], at
            at += bad.args[1]
            continue
        flits.append(flit)
        at += width
    return flits, "end", at


def decode_datagram(datagram):
    flits, end, at = walk(datagram)
    if end != "end":
        raise Bad(end)
    return {"flits": flits, "filler": len(datagram) - at}


def encode_init(init):
    full = init["profile"] == "full"
    proof = unwide(init["proof"])
    variable = init["initial_credit"] if full else proof >> 32
    return (put(1, 1) + put(STEPS.index(init["step"]), 1) + put(PROFILES.index(init["profile"]), 1) + put(init["cell_crc"], 1) +
            put(init["program_version"], 4) + put(init["lanes"], 2) + put(init["mcp"], 2) + put(init["flit_payload"], 2) +
            put(init["port"], 1) + put(init["reason"], 1) + put(init["payload_crc"], 1) + put(variable, 3) +
            put(init["receive_buffer"], 4) + b"".join(put(unwide(init[name]), 8) for name in
            ("eui64", "instance", "peer_instance", "nonce", "echo")) + put(init["lid"], 2) + put(init["offered_lid"], 2) +
            put(0 if full else proof & 0xFFFFFFFF, 4))


def decode_init(data):
    if len(data) != 72:
        raise Bad("length")
    if data[0] != 1:
        raise Bad("format")
    step, profile, cell_crc, reason, payload_crc = data[1], data[2], data[3], data[15], data[16]
    if not 1 <= step <= 8 or profile > 2 or cell_crc > 1 or reason > 6 or (reason != 0) != (step == 5):
        raise Bad("step")
    if profile != 1:
        payload_crc = 0
    if payload_crc > 2:
        raise Bad("step")
    lanes, mcp, flit_payload, instance = get(data, 8, 2), get(data, 10, 2), get(data, 12, 2), get(data, 32, 8)
    if lanes == 0 or mcp < 4 or mcp % 4 != 0 or flit_payload < 120 or instance == 0:
        raise Bad("value")
    full, speed = profile == 0, profile == 1
    return {"step": STEPS[step], "profile": PROFILES[profile], "cell_crc": cell_crc, "program_version": get(data, 4, 4),
            "lanes": lanes, "mcp": mcp, "flit_payload": flit_payload, "port": data[14], "reason": reason,
            "payload_crc": payload_crc, "initial_credit": get(data, 17, 3) if full else 0,
            "proof": wide(get(data, 17, 3) << 32 | get(data, 68, 4) if speed else 0), "receive_buffer": get(data, 20, 4),
            "eui64": wide(get(data, 24, 8)), "instance": wide(instance), "peer_instance": wide(get(data, 40, 8)),
            "nonce": wide(get(data, 48, 8)), "echo": wide(get(data, 56, 8)), "lid": get(data, 64, 2),
            "offered_lid": get(data, 66, 2)}
