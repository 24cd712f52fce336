"""Messages of channel 0 (message.md, pools.md, data.md, cfgutil.md): bytes from and to dictionaries.

`decode` makes the checks that need no tables, in the order of P-MSG-7; the rest is for who has the tables.
"""
import struct

(BUFFER_RECV_POOL, BUFFER_RECV_POOL_GET, BUFFER_RECV_POOL_UPDATE, FLUSH_REQUEST, FLUSH_REPLY, SEND_DATA, RDMA_INDICATE,
 CFG_REQUEST, CFG_REPLY) = range(1, 10)
NAMES = ("", "BufferRecvPool", "BufferRecvPoolGet", "BufferRecvPoolUpdate", "BufferPoolFlushRequest", "BufferPoolFlushReply",
         "SendData", "BufferRDMAIndicate", "CfgUtilRequest", "CfgUtilReply")
VERSION = 1
HEADER = 12
_HEADER = struct.Struct(">HHQ")
_MINIMUM = (0, 44, 20, 24, 16, 12, 20, 28, 20, 24)
# records of a message: the format of one, and the names of its fields
_RECORDS = {
    BUFFER_RECV_POOL: (struct.Struct(">IIIIQQ"), ("pool", "elements", "element_size", "handle", "address", "pool_context")),
    BUFFER_RECV_POOL_UPDATE: (struct.Struct(">III"), ("pool", "first", "count")),
    FLUSH_REQUEST: (struct.Struct(">I"), ("pool",)),
    RDMA_INDICATE: (struct.Struct(">IIII"), ("pool", "first", "count", "stored")),
}
MOST_POOL_BYTES = 1 << 48
OF_RECEIVER = 1 << 63                                            # a flush context for pools of the receiver (P-POOL-14)


class MessageError(Exception):
    """A message to drop whole (P-MSG-6); the text is the reason of message.md."""


def _padded(raw):
    return raw + bytes(-len(raw) % 4)


def encode(message):
    function = message["function"]
    raw = _HEADER.pack(function, VERSION, message["context"])
    if function in _RECORDS:
        form, names = _RECORDS[function]
        return raw + b"".join(form.pack(*(record[n] for n in names)) for record in message["records"])
    if function == BUFFER_RECV_POOL_GET:
        return raw + struct.pack(">II", message["packet_size"], message["packets"])
    if function == FLUSH_REPLY:
        return raw
    data = message["data"]
    if function == CFG_REQUEST:
        raw += struct.pack(">HH", message["family"], message["code"])
    elif function == CFG_REPLY:
        raw += struct.pack(">HHI", message["family"], message["code"], message["status"])
    return raw + struct.pack(">I", len(data)) + _padded(data)


def header(raw):
    """(function, version, context) of what has at least 12 bytes."""
    return _HEADER.unpack_from(raw)


def _check_pool(record):
    total = record["elements"] * record["element_size"]
    if total == 0 or total > MOST_POOL_BYTES or record["address"] + total > (1 << 64) - 1:
        raise MessageError("range")


def decode(raw, msg_max=65536):
    if len(raw) > msg_max:
        raise MessageError("too_long")
    if len(raw) < HEADER:
        raise MessageError("short")
    function, version, context = header(raw)
    if not BUFFER_RECV_POOL <= function <= CFG_REPLY:
        raise MessageError("function")                           # P-MSG-8
    if version != VERSION:
        raise MessageError("version")
    if len(raw) < _MINIMUM[function]:
        raise MessageError("short")
    message = {"function": function, "context": context}
    if function in _RECORDS:
        form, names = _RECORDS[function]
        if (len(raw) - HEADER) % form.size:
            raise MessageError("align")
        message["records"] = [dict(zip(names, values)) for values in form.iter_unpack(raw[HEADER:])]
        for record in message["records"]:
            if function == BUFFER_RECV_POOL:
                _check_pool(record)
            elif function == RDMA_INDICATE and not (record["count"] and record["stored"]):
                raise MessageError("range")
    elif function == BUFFER_RECV_POOL_GET:
        if len(raw) != 20:
            raise MessageError("align")
        message["packet_size"], message["packets"] = struct.unpack_from(">II", raw, HEADER)
        if not (message["packet_size"] and message["packets"]):
            raise MessageError("range")
    elif function == FLUSH_REPLY:
        if len(raw) != 12:
            raise MessageError("align")
    else:
        _decode_data(message, raw)
    return message


def _decode_data(message, raw):
    """SendData, CfgUtilRequest and CfgUtilReply: some words, a size, and data with pad."""
    function = message["function"]
    at = {SEND_DATA: 16, CFG_REQUEST: 20, CFG_REPLY: 24}[function]
    size = int.from_bytes(raw[at - 4:at], "big")
    if size == 0 and function == SEND_DATA:
        raise MessageError("range")
    if len(raw) != at + size + -size % 4:
        raise MessageError("align")
    message["data"] = raw[at:at + size]                       # P-MSG-5: the pad is not looked at
    if function != SEND_DATA:
        message["family"], message["code"] = struct.unpack_from(">HH", raw, HEADER)
    if function == CFG_REPLY:
        message["status"] = int.from_bytes(raw[16:20], "big")
