"""Protobuf, as much of it as the protocol needs: messages as dictionaries, with the fields of cfgutil.md and channels.md.

A field that is missing has the value 0, false or empty, and is not in the dictionary.
"""
import struct

U32, BOOL, FIXED64, BYTES, MESSAGE = range(5)
_WIRE_TYPE = {U32: 0, BOOL: 0, FIXED64: 1, BYTES: 2, MESSAGE: 2}


class ProtobufError(Exception):
    """"protobuf": the bytes are no message; "type": a known field has another wire type."""


class Field:
    def __init__(self, number, name, kind, repeated=False, of=None):
        self.number, self.name, self.kind, self.repeated, self.of = number, name, kind, repeated, of


def _fields(*fields):
    return {f.number: f for f in fields}


def _u32(number, name, **more):
    return Field(number, name, U32, **more)


LINK_STATE = _fields(Field(1, "up", BOOL), _u32(2, "speed_mbps"), Field(3, "full_duplex", BOOL))
FILTER = _fields(Field(1, "unicast", BYTES, True), Field(2, "multicast", BYTES, True), Field(3, "promiscuous", BOOL),
                 Field(4, "all_multicast", BOOL), Field(5, "no_unicast", BOOL), Field(6, "no_multicast", BOOL),
                 Field(7, "no_broadcast", BOOL))
COUNTER = _fields(Field(1, "name", BYTES), Field(2, "value", FIXED64))
LISTED_NIC = _fields(_u32(1, "number"), Field(2, "mac", BYTES), _u32(3, "mtu"),
                     Field(4, "link", MESSAGE, of=LINK_STATE), Field(5, "in_use", BOOL))
_LINK = Field(2, "link", MESSAGE, of=LINK_STATE)

SCHEMAS = {
    "Capabilities": _fields(
        _u32(1, "mode"), _u32(2, "version_lowest"), _u32(3, "version_highest"), _u32(5, "msg_max", repeated=True),
        _u32(6, "idata_form_in"), _u32(7, "idata_form_out"), Field(8, "node_name", BYTES), _u32(10, "queues"),
        _u32(11, "queue"), Field(12, "program", BYTES), _u32(13, "nic"), _u32(14, "channels"), _u32(15, "channel"),
        _u32(16, "context_in"), _u32(17, "context_out"), _u32(18, "level")),
    "InitNicRequest": _fields(Field(1, "node_name", BYTES), Field(3, "features_wanted", FIXED64)),
    "InitNicReply": _fields(
        Field(1, "mac", BYTES), _u32(2, "mtu"), _u32(3, "mtu_min"), _u32(4, "mtu_max"),
        Field(5, "link", MESSAGE, of=LINK_STATE), Field(6, "features_granted", FIXED64), _u32(7, "filter_entries_max"),
        _u32(8, "queues_max")),
    "SetMacRequest": _fields(Field(1, "mac", BYTES)),
    "SetMacReply": _fields(Field(1, "mac", BYTES), _u32(2, "refusal")),
    "SetFilterRequest": _fields(Field(1, "filter", MESSAGE, of=FILTER)),
    "SetFilterReply": _fields(Field(1, "in_force", MESSAGE, of=FILTER), _u32(2, "refusal")),
    "SetMtuRequest": _fields(_u32(1, "mtu")),
    "SetMtuReply": _fields(_u32(1, "mtu")),
    "VlanAddRequest": _fields(_u32(1, "vlan_id")),
    "SetOffloadsRequest": _fields(Field(1, "mask", FIXED64)),
    "SetQueuesRequest": _fields(_u32(1, "queues")),
    "SetCoalesceRequest": _fields(_u32(1, "microseconds"), _u32(2, "frames"), _u32(3, "bytes"), Field(4, "adaptive", BOOL)),
    "SetQosRequest": _fields(Field(1, "priorities", BYTES), Field(2, "code_points", BYTES)),
    "GetStatsRequest": _fields(Field(1, "group", BYTES)),
    "GetStatsReply": _fields(Field(1, "counters", MESSAGE, True, COUNTER)),
    "QueryStatsReply": _fields(Field(1, "groups", BYTES, True)),
    "EchoRequest": _fields(Field(1, "data", BYTES)),
    "EchoReply": _fields(Field(1, "data", BYTES)),
    "GetVersionReply": _fields(_u32(1, "version"), _u32(2, "version_highest"), Field(3, "program", BYTES)),
    "EventRequest": _fields(Field(1, "generation", FIXED64), _LINK, _u32(3, "mtu")),
    "GetStateReply": _fields(Field(1, "digest", BYTES)),
    "ListNicsReply": _fields(Field(1, "nics", MESSAGE, True, LISTED_NIC)),
    "Empty": {},
}


def _varint(value):
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _value(field, value):
    if field.kind in (U32, BOOL):
        return _varint(int(value))
    if field.kind == FIXED64:
        return struct.pack("<Q", value)
    encoded = _encode(field.of, value) if field.kind == MESSAGE else value
    return _varint(len(encoded)) + encoded


def _encode(fields, values):
    encoded = b""
    for number in sorted(fields):
        field = fields[number]
        value = values.get(field.name)
        if value is None or (not value and field.kind != MESSAGE):
            continue
        if field.repeated and field.kind == U32:                 # packed
            packed = b"".join(map(_varint, value))
            encoded += _varint(number << 3 | 2) + _varint(len(packed)) + packed
            continue
        for one in value if field.repeated else (value,):
            encoded += _varint(number << 3 | _WIRE_TYPE[field.kind]) + _value(field, one)
    return encoded


def encode(name, values):
    return _encode(SCHEMAS[name], values)


class _Reader:
    def __init__(self, encoded):
        self.encoded, self.at = encoded, 0

    def varint(self):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ProtobufError("protobuf")

    def take(self, size):
        if size > len(self.encoded) - self.at:
            raise ProtobufError("protobuf")
        self.at += size
        return self.encoded[self.at - size:self.at]

    def raw(self, wire_type):
        if wire_type == 0:
            return self.varint()
        if wire_type == 1:
            return self.take(8)
        if wire_type == 2:
            return self.take(self.varint())
        if wire_type == 5:
            return self.take(4)
        raise ProtobufError("protobuf")


def _decode(fields, encoded):
    values, reader = {}, _Reader(encoded)
    while reader.at < len(encoded):
        tag = reader.varint()
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise ProtobufError("protobuf")
        raw = reader.raw(wire_type)
        field = fields.get(number)
        if field is None:
            continue                                             # P-CFG-5: unknown fields are skipped
        if field.repeated and field.kind == U32 and wire_type == 2:
            packed = _Reader(raw)
            while packed.at < len(raw):
                values.setdefault(field.name, []).append(packed.varint() & 0xFFFFFFFF)
            continue
        if wire_type != _WIRE_TYPE[field.kind]:
            raise ProtobufError("type")
        value = _meaning(field, raw)
        if field.repeated:
            values.setdefault(field.name, []).append(value)
        elif field.kind == MESSAGE:
            values.setdefault(field.name, {}).update(value)
        elif value:
            values[field.name] = value
        else:
            values.pop(field.name, None)
    return values


def _meaning(field, raw):
    if field.kind == U32:
        return raw & 0xFFFFFFFF
    if field.kind == BOOL:
        return bool(raw)
    if field.kind == FIXED64:
        return struct.unpack("<Q", raw)[0]
    return _decode(field.of, raw) if field.kind == MESSAGE else raw


def decode(name, encoded):
    return _decode(SCHEMAS[name], encoded)
