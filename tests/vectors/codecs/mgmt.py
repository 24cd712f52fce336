"""MGMT and TERMINATE: the payloads of docs/protocol/mgmt.md and terminate.md."""
from codec import Bad, get, put, unwide, wide

KINDS = ["", "CONNECT_REQ", "CONNECT_REP", "CONNECT_RTU", "CONNECT_REJ", "DISC", "DISC_REP", "RESOLVE", "RESOLVED"]
CAUSES = {(0, 0, 0), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 1, 3), (0, 1, 4), (0, 2, 6), (0, 2, 7), (1, 2, 2), (1, 2, 3), (1, 2, 5)}


def _encode_pair(pair):
    return (put(pair["channel"], 1) + put(pair["service"], 1) + put(pair["flags"], 2) + put(pair["qpn"], 4) +
            put(pair["peer_qpn"], 4) + put(pair["start_psn"], 4) + put(pair["start_lcn"], 2) + put(pair["mcp"], 2) +
            put(pair["receive_credits"], 2) + put(pair["max_dest_rd_atomic"], 2) + put(pair["msg_max"], 4) +
            put(pair["completed"], 4))


def _decode_pair(data):
    return {"channel": data[0], "service": data[1], "flags": get(data, 2, 2), "qpn": get(data, 5, 3), "peer_qpn": get(data, 9, 3),
            "start_psn": get(data, 13, 3), "start_lcn": get(data, 16, 2), "mcp": get(data, 18, 2),
            "receive_credits": get(data, 20, 2), "max_dest_rd_atomic": get(data, 22, 2), "msg_max": get(data, 24, 4),
            "completed": get(data, 29, 3)}


def encode_mgmt(mgmt):
    private = bytes.fromhex(mgmt["private"])
    return (put(1, 1) + put(KINDS.index(mgmt["kind"]), 1) + put(len(mgmt["pairs"]), 1) + bytes(1) + put(mgmt["reject"], 2) +
            put(len(private), 2) + b"".join(put(unwide(mgmt[name]), 8) for name in
            ("transaction", "eui64", "instance", "peer_eui64", "peer_instance")) +
            b"".join(_encode_pair(pair) for pair in mgmt["pairs"]) + private)


def decode_mgmt(data):
    if len(data) < 48:
        raise Bad("short")
    if data[0] != 1 or not 1 <= data[1] <= 8:
        raise Bad("format")
    kind, count, reject, private = KINDS[data[1]], data[2], get(data, 4, 2), get(data, 6, 2)
    if count > 4:
        raise Bad("pair")
    if len(data) < 48 + 32 * count:
        raise Bad("short")
    if private > 512 or len(data) != 48 + 32 * count + private:
        raise Bad("length")
    if reject > 5 or (reject != 0) != (kind == "CONNECT_REJ"):
        raise Bad("reject")
    pairs = [_decode_pair(data[48 + 32 * i:]) for i in range(count)]
    sets_up = kind in ("CONNECT_REQ", "CONNECT_REP")
    if sets_up and not pairs or len({pair["channel"] for pair in pairs}) != count:
        raise Bad("pair")
    for pair in pairs:
        if pair["service"] > 6 or pair["mcp"] % 4 or sets_up and (pair["mcp"] == 0 or pair["qpn"] == 0):
            raise Bad("pair")
    return {"kind": kind, "reject": reject, "transaction": wide(get(data, 8, 8)), "eui64": wide(get(data, 16, 8)),
            "instance": wide(get(data, 24, 8)), "peer_eui64": wide(get(data, 32, 8)), "peer_instance": wide(get(data, 40, 8)),
            "pairs": pairs, "private": data[48 + 32 * count:].hex()}


def encode_terminate(end):
    return (put(end["layer"] << 4 | end["type"], 1) + put(end["code"], 1) + (end["check"] or "\0").encode() + bytes(1) +
            put(end["tag"], 4) + put(unwide(end["address"]), 8) + put(end["length"], 4) + bytes.fromhex(end["header"]))


def decode_terminate(data):
    layer, kind, code, letter = (data[0] >> 4, data[0] & 15, data[1], data[2]) if len(data) == 48 else (15, 0, 0, 0)
    if (layer, kind, code) not in CAUSES or letter and not 0x61 <= letter <= 0x67:
        raise Bad("terminate")
    return {"layer": layer, "type": kind, "code": code, "check": chr(letter) if letter else "", "tag": get(data, 4, 4),
            "address": wide(get(data, 8, 8)), "length": get(data, 16, 4), "header": data[20:].hex()}
