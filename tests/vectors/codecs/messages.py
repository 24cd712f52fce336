"""Push-push messages, idata and the virtio-net header (docs/protocol/message.md, pools.md, data.md, cfgutil.md)."""
from codec import Bad, get, pad4, put, unwide, wide

FUNCTIONS = ["", "BufferRecvPool", "BufferRecvPoolGet", "BufferRecvPoolUpdate", "BufferPoolFlushRequest", "BufferPoolFlushReply",
             "SendData", "BufferRDMAIndicate", "CfgUtilRequest", "CfgUtilReply"]
STATUS_SIZE, STATUS_VERSION = 2, 7
LEAST = [0, 44, 20, 24, 16, 12, 20, 28, 20, 24]
# Messages of records: the fields of one, with their bytes; 8 bytes are written as wide().
RECORDS = {"BufferRecvPool": (("pool", 4), ("elements", 4), ("element_size", 4), ("handle", 4), ("address", 8), ("pool_context", 8)),
           "BufferRecvPoolUpdate": (("pool", 4), ("first", 4), ("count", 4)), "BufferPoolFlushRequest": (("pool", 4),),
           "BufferRDMAIndicate": (("pool", 4), ("first", 4), ("count", 4), ("stored", 4))}
# Messages of fixed fields, then a size (4) and that much data.
FIXED = {"SendData": (), "CfgUtilRequest": (("family", 2), ("code", 2)), "CfgUtilReply": (("family", 2), ("code", 2), ("status", 4))}


def _encode_fields(fields, values):
    return b"".join(put(unwide(values[name]) if width == 8 else values[name], width) for name, width in fields)


def _decode_fields(fields, data):
    values, at = {}, 0
    for name, width in fields:
        value = get(data, at, width)
        values[name] = wide(value) if width == 8 else value
        at += width
    return values


def encode_message(message):
    function = message["function"]
    out = put(FUNCTIONS.index(function), 2) + put(1, 2) + put(unwide(message["context"]), 8)
    if function in RECORDS:
        return out + b"".join(_encode_fields(RECORDS[function], record) for record in message["records"])
    if function == "BufferRecvPoolGet":
        return out + put(message["packet_size"], 4) + put(message["packets"], 4)
    if function == "BufferPoolFlushReply":
        return out
    data = bytes.fromhex(message["data"])
    return out + _encode_fields(FIXED[function], message) + put(len(data), 4) + data + bytes(pad4(len(data)))


def _is_record_bad(function, record):
    if function == "BufferRecvPool":
        total = record["elements"] * record["element_size"]
        return not 0 < total <= 1 << 48 or unwide(record["address"]) + total >= 1 << 64
    return function == "BufferRDMAIndicate" and (record["count"] == 0 or record["stored"] == 0)


def decode_message(data):
    if len(data) < 12:
        raise Bad("short")
    code = get(data, 0, 2)
    if not 1 <= code <= 9:
        raise Bad("function")
    function = FUNCTIONS[code]
    if get(data, 2, 2) != 1:
        raise Bad("version")
    if len(data) < LEAST[code]:
        raise Bad("short")
    message = {"function": function, "context": wide(get(data, 4, 8))}
    body = data[12:]
    if function in RECORDS:
        fields = RECORDS[function]
        size = sum(width for _, width in fields)
        if len(body) % size:
            raise Bad("align")
        message["records"] = [_decode_fields(fields, body[at:at + size]) for at in range(0, len(body), size)]
        if any(_is_record_bad(function, record) for record in message["records"]):
            raise Bad("range")
        return message
    if function == "BufferPoolFlushReply":
        if body:
            raise Bad("align")
        return message
    if function == "BufferRecvPoolGet":
        if len(body) != 8:
            raise Bad("align")
        message.update(packet_size=get(body, 0, 4), packets=get(body, 4, 4))
        if 0 in (message["packet_size"], message["packets"]):
            raise Bad("range")
        return message
    fields = FIXED[function]
    at = sum(width for _, width in fields)
    size = get(body, at, 4)
    if function == "SendData" and size == 0:
        raise Bad("range")
    if len(body) != at + 4 + size + pad4(size):
        raise Bad("align")
    message.update(_decode_fields(fields, body), data=body[at + 4:at + 4 + size].hex())
    return message


def refusal_of(data, reason):
    """The reply to a CfgUtilRequest that decode_message() refused for its version or its size; None for anything else."""
    if len(data) < 12 or get(data, 0, 2) != FUNCTIONS.index("CfgUtilRequest"):
        return None
    family, code = (get(data, 12, 2), get(data, 14, 2)) if len(data) >= 16 else (0, 0)
    return {"function": "CfgUtilReply", "context": wide(get(data, 4, 8)), "family": family, "code": code,
            "status": STATUS_VERSION if reason == "version" else STATUS_SIZE, "data": ""}


def encode_idata(idata):
    size = idata["size"] & 0xFFFF
    if idata["form"] == "A":
        return put(idata["pool"] << 24 | idata["element"] << 16 | size, 4)
    return put(idata["offset"] // 64 << 16 | size, 4)


def decode_idata(form, data):
    value = get(data, 0, 4)
    size = value & 0xFFFF or 65536
    if form == "A":
        return {"form": "A", "pool": value >> 24, "element": value >> 16 & 0xFF, "size": size}
    return {"form": "B", "offset": (value >> 16) * 64, "size": size}


VNET = (("flags", 1), ("gso_type", 1), ("hdr_len", 2), ("gso_size", 2), ("csum_start", 2), ("csum_offset", 2))


def encode_vnet(header):
    return b"".join(header[name].to_bytes(width, "little") for name, width in VNET) + bytes(2)


def decode_vnet(data):
    if len(data) < 12:
        raise Bad("short")
    values, at = {}, 0
    for name, width in VNET:
        values[name] = int.from_bytes(data[at:at + width], "little")
        at += width
    return values
