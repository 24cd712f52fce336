"""The Protobuf messages of docs/protocol/channels.md and cfgutil.md: the part of proto3 that they need.

A value is an int, a bool, bytes as hexadecimal text, a dict for a message, or a list of these. Zero and empty values are not
written, as proto3 has it; a field that is missing is not in the decoded dict. Unknown fields are skipped.
"""
from codec import Bad

LINK = {1: ("up", "bool"), 2: ("speed_mbps", "int"), 3: ("full_duplex", "bool")}
FILTER = {1: ("unicast", "*bytes"), 2: ("multicast", "*bytes"), 3: ("promiscuous", "bool"), 4: ("all_multicast", "bool"),
          5: ("no_unicast", "bool"), 6: ("no_multicast", "bool"), 7: ("no_broadcast", "bool")}
COUNTER = {1: ("name", "bytes"), 2: ("value", "fixed64")}
MAC, VLAN, MASK, ECHO, NONE = {1: ("mac", "bytes")}, {1: ("vlan_id", "int")}, {1: ("mask", "fixed64")}, {1: ("data", "bytes")}, {}
GROUP, QUEUES = {1: ("group", "bytes")}, {1: ("queues", "int")}
COALESCING = {1: ("microseconds", "int"), 2: ("frames", "int"), 3: ("bytes", "int"), 4: ("adaptive", "bool")}
LEVELS = {1: ("priorities", "bytes"), 2: ("code_points", "bytes")}
LISTED_NIC = {1: ("number", "int"), 2: ("mac", "bytes"), 3: ("mtu", "int"), 4: ("link", LINK), 5: ("in_use", "bool")}
MESSAGES = {
    "Capabilities": {1: ("mode", "int"), 2: ("version_lowest", "int"), 3: ("version_highest", "int"), 5: ("msg_max", "packed"),
                     6: ("idata_form_in", "int"), 7: ("idata_form_out", "int"), 8: ("node_name", "bytes"), 10: ("queues", "int"),
                     11: ("queue", "int"), 12: ("program", "bytes"), 13: ("nic", "int"), 14: ("channels", "int"),
                     15: ("channel", "int"), 16: ("context_in", "int"), 17: ("context_out", "int"), 18: ("level", "int")},
    "InitNicRequest": {1: ("node_name", "bytes"), 3: ("features_wanted", "fixed64")},
    "InitNicReply": {1: ("mac", "bytes"), 2: ("mtu", "int"), 3: ("mtu_min", "int"), 4: ("mtu_max", "int"), 5: ("link", LINK),
                     6: ("features_granted", "fixed64"), 7: ("filter_entries_max", "int"), 8: ("queues_max", "int")},
    "SetMacRequest": MAC, "SetMacReply": {1: ("mac", "bytes"), 2: ("refusal", "int")}, "GetMacRequest": NONE, "GetMacReply": MAC,
    "SetFilterRequest": {1: ("filter", FILTER)}, "SetFilterReply": {1: ("in_force", FILTER), 2: ("refusal", "int")},
    "SetMtuRequest": {1: ("mtu", "int")}, "SetMtuReply": {1: ("mtu", "int")},
    "VlanAddRequest": VLAN, "VlanDelRequest": VLAN, "SetPvidRequest": VLAN, "SetOffloadsRequest": MASK, "SetOffloadsReply": MASK,
    "GetStatsRequest": GROUP, "GetStatsReply": {1: ("counters", ("*", COUNTER))}, "QueryStatsReply": {1: ("groups", "*bytes")},
    "ClearStatsRequest": GROUP, "GetLinkReply": {1: ("link", LINK)}, "EchoRequest": ECHO, "EchoReply": ECHO,
    "GetVersionReply": {1: ("version", "int"), 2: ("version_highest", "int"), 3: ("program", "bytes")},
    "EventRequest": {1: ("generation", "fixed64"), 2: ("link", LINK), 3: ("mtu", "int")}, "GetStateReply": {1: ("digest", "bytes")},
    "SetQueuesRequest": QUEUES, "SetQueuesReply": QUEUES, "SetCoalesceRequest": COALESCING, "SetCoalesceReply": COALESCING,
    "SetQosRequest": LEVELS, "SetQosReply": LEVELS, "ListNicsRequest": NONE, "ListNicsReply": {1: ("nics", ("*", LISTED_NIC))},
}


def _varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _take_varint(data, at):
    value = 0
    for index in range(10):
        if at + index >= len(data):
            raise Bad("protobuf")
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise Bad("protobuf")


def _field(number, kind, value):
    if isinstance(kind, tuple):
        return b"".join(_field(number, kind[1], one) for one in value)
    if isinstance(kind, dict):
        data = encode_fields(kind, value)
        return _varint(number << 3 | 2) + _varint(len(data)) + data
    if kind == "*bytes":
        return b"".join(_field(number, "bytes", one) for one in value)
    if kind == "packed":
        data = b"".join(_varint(one) for one in value)
        return _varint(number << 3 | 2) + _varint(len(data)) + data
    if kind == "bytes":
        data = bytes.fromhex(value)
        return _varint(number << 3 | 2) + _varint(len(data)) + data
    if kind == "fixed64":
        return _varint(number << 3 | 1) + int(value, 16).to_bytes(8, "little")
    return _varint(number << 3) + _varint(int(value))


def encode_fields(fields, values):
    return b"".join(_field(number, kind, values[name]) for number, (name, kind) in sorted(fields.items()) if name in values)


def _wire_type(kind):
    return {"int": 0, "bool": 0, "fixed64": 1}.get(kind if isinstance(kind, str) else "", 2)


def _value(kind, raw):
    if isinstance(kind, dict):
        return decode_fields(kind, raw)
    if kind == "bool":
        return raw != 0
    if kind == "fixed64":
        return f"0x{int.from_bytes(raw, 'little'):016x}"
    return raw.hex() if isinstance(raw, bytes) else raw


def _take_field(data, at):
    """Number, wire type, value of any field, and where the next one begins."""
    tag, at = _take_varint(data, at)
    number, wire = tag >> 3, tag & 7
    if number == 0 or wire not in (0, 1, 2, 5):
        raise Bad("protobuf")
    if wire == 0:
        value, at = _take_varint(data, at)
        return number, wire, value, at
    width = {1: 8, 5: 4}.get(wire)
    if width is None:
        width, at = _take_varint(data, at)
    if at + width > len(data):
        raise Bad("protobuf")
    return number, wire, data[at:at + width], at + width


def decode_fields(fields, data):
    values, at = {}, 0
    while at < len(data):
        number, wire, raw, at = _take_field(data, at)
        if number not in fields:
            continue
        name, kind = fields[number]
        if kind == "packed" and wire == 2:
            while raw:
                one, used = _take_varint(raw, 0)
                values.setdefault(name, []).append(one)
                raw = raw[used:]
        elif kind == "packed" and wire == 0:
            values.setdefault(name, []).append(raw)
        elif wire != _wire_type(kind):
            raise Bad("type")
        elif isinstance(kind, tuple):
            values.setdefault(name, []).append(decode_fields(kind[1], raw))
        elif kind == "*bytes":
            values.setdefault(name, []).append(raw.hex())
        else:
            values[name] = _value(kind, raw)
    return values


def encode(message, values):
    return encode_fields(MESSAGES[message], values)


def decode(message, data):
    return decode_fields(MESSAGES[message], data)
