#!/usr/bin/python3
"""Runs every vector that concerns a host through the codecs of this folder: `vectors_check.py [FOLDER]`.

A valid vector has to have the meaning that it lists, and to be written so (unless it is not canonical); an invalid one has to be refused for
its cause. smp.json is not for hosts. Exit status 1 on a difference.
"""
import json
import os
import sys

import ack
import cell
import digest
import flit
import frame
import init_message
import message
import mgmt
import noise
import protobuf
import terminate


def raw(text):
    return bytes.fromhex(text.replace(" ", ""))


def wide(value):
    return "0x%016x" % value


def flit_meaning(f):
    return {"type": f.type, "lane": f.lane, "ctl": f.ctl, "lsn": f.lsn, "ack": f.ack, "credit_lane": f.credit_lane,
            "credit_limit": f.credit_limit, "payload": f.payload.hex()}


def flit_of(m):
    return flit.Flit(*(m[n] for n in flit.Flit._fields[:-1]), bytes.fromhex(m["payload"]))


class Flits:
    @staticmethod
    def read(data, vector):
        f, behind = flit.decode(data)
        if behind != len(data):
            raise flit.FlitError("trailing")
        return flit_meaning(f)

    @staticmethod
    def write(m, vector):
        return flit.encode(flit_of(m))


class Datagrams:
    @staticmethod
    def read(data, vector):
        walk = flit.Walk(data)
        if walk.error:
            raise flit.FlitError(walk.error)
        return {"flits": [flit_meaning(f) for f in walk.flits], "filler": walk.filler}

    @staticmethod
    def write(m, vector):
        data = raw(vector["bytes"])                           # what is filled in, and what is skipped, is the sender's
        return data if all(flit.encode(flit_of(f)) in data for f in m["flits"]) else b""


class Inits:
    _WIDE = ("proof", "eui64", "instance", "peer_instance", "nonce", "echo")

    @classmethod
    def read(cls, data, vector):
        m = dict(vars(init_message.decode(data)))
        m["step"], m["profile"] = init_message.STEPS[m["step"]], init_message.PROFILES[m["profile"]]
        return {name: wide(value) if name in cls._WIDE else value for name, value in m.items()}

    @classmethod
    def write(cls, m, vector):
        m = {name: int(value, 16) if name in cls._WIDE else value for name, value in m.items()}
        m["step"], m["profile"] = init_message.STEPS.index(m["step"]), init_message.PROFILES.index(m["profile"])
        return init_message.encode(init_message.Init(**m))


class Cells:
    _PLAIN = ("sl", "pos", "op", "flags", "dlid", "slid", "service", "stripe", "dqpn", "sqpn", "psn", "csn", "partition", "lcn")
    _SMALL = ("ee", "stream", "idata", "dereg", "packet_crc")

    @classmethod
    def read(cls, data, vector):
        c = cell.decode(data)
        m = {"version": 1, "payload": c.payload.hex()}
        m.update((name, getattr(c, name)) for name in cls._PLAIN)
        m.update((name, getattr(c, name)) for name in cls._SMALL if getattr(c, name) is not None)
        if c.gnh:
            m["gnh"] = c.gnh.hex()
        if c.va:
            m["va_mh"] = {"address": wide(c.va[0]), "handle": c.va[1], "length": c.va[2]}
        if c.read:
            m["read"] = {"msn": c.read[0], "sink_handle": c.read[1], "sink_offset": wide(c.read[2])}
        if c.atomic:
            m["atomic"] = {"op": c.atomic[0], "operand1": wide(c.atomic[1]), "operand2": wide(c.atomic[2])}
        if c.ackx:
            m["ack"] = {n: v for n, v in vars(c.ackx).items() if c.ackx.cumulative is not None or n in ack_names()}
        return m

    @classmethod
    def write(cls, m, vector):
        c = cell.Cell(m["op"], m["service"], m["pos"])
        for name in cls._PLAIN + cls._SMALL:
            setattr(c, name, m.get(name))
        c.payload = bytes.fromhex(m["payload"])
        c.gnh = bytes.fromhex(m["gnh"]) if "gnh" in m else None
        for name, of in (("va", "va_mh"), ("read", "read"), ("atomic", "atomic")):
            if of in m:
                setattr(c, name, tuple(int(v, 16) if isinstance(v, str) else v for v in m[of].values()))
        c.ackx = ack.Ackx(**m["ack"]) if "ack" in m else None
        return cell.encode(c)


def ack_names():
    return ("code", "msn", "credits", "detail")


class Terminates:
    @staticmethod
    def read(data, vector):
        t = terminate.decode(data)
        if t is None:
            raise ValueError("terminate")
        return dict(vars(t), address=wide(t.address), header=t.header.hex())

    @staticmethod
    def write(m, vector):
        return terminate.encode(terminate.Terminate(**dict(m, address=int(m["address"], 16), header=bytes.fromhex(m["header"]))))


class Mgmts:
    _WIDE = ("transaction", "eui64", "instance", "peer_eui64", "peer_instance")

    @classmethod
    def read(cls, data, vector):
        m = dict(vars(mgmt.decode(data)))
        m["kind"], m["private"] = mgmt.KINDS[m["kind"]], m["private"].hex()
        m["pairs"] = [dict(vars(p)) for p in m["pairs"]]
        return {name: wide(value) if name in cls._WIDE else value for name, value in m.items()}

    @classmethod
    def write(cls, m, vector):
        m = {name: int(value, 16) if name in cls._WIDE else value for name, value in m.items()}
        return mgmt.encode(mgmt.Mgmt(**dict(m, kind=mgmt.KINDS.index(m["kind"]), private=bytes.fromhex(m["private"]),
                                            pairs=[mgmt.Pair(**p) for p in m["pairs"]])))


class Messages:
    _WIDE = ("context", "address", "pool_context")

    @classmethod
    def _converted(cls, m, to_text):
        converted = {}
        for name, value in m.items():
            if name in cls._WIDE:
                value = wide(value) if to_text else int(value, 16)
            elif name == "data":
                value = value.hex() if to_text else bytes.fromhex(value)
            elif name == "records":
                value = [cls._converted(record, to_text) for record in value]
            elif name == "function":
                value = message.NAMES[value] if to_text else message.NAMES.index(value)
            converted[name] = value
        return converted

    @classmethod
    def read(cls, data, vector):
        return cls._converted(message.decode(data), True)

    @classmethod
    def write(cls, m, vector):
        return message.encode(cls._converted(m, False))


class Idatas:
    @staticmethod
    def read(data, vector):
        word, form = int.from_bytes(data, "big"), vector["meaning"]["form"]
        names = ("pool", "element", "size") if form == "A" else ("offset", "size")
        return dict(zip(names, (frame.decode_a if form == "A" else frame.decode_b)(word)), form=form)

    @staticmethod
    def write(m, vector):
        word = frame.encode_a(m["pool"], m["element"], m["size"]) if m["form"] == "A" else frame.encode_b(m["offset"], m["size"])
        return word.to_bytes(4, "big")


class Protobufs:
    @classmethod
    def _converted(cls, fields, m, to_text):
        by_name, converted = {f.name: f for f in fields.values()}, {}
        for name, value in m.items():
            field = by_name[name]

            def one(v):
                if field.kind == protobuf.FIXED64:
                    return wide(v) if to_text else int(v, 16)
                if field.kind == protobuf.BYTES:
                    return v.hex() if to_text else bytes.fromhex(v)
                return cls._converted(field.of, v, to_text) if field.kind == protobuf.MESSAGE else v
            converted[name] = [one(v) for v in value] if field.repeated else one(value)
        return converted

    @classmethod
    def read(cls, data, vector):
        return cls._converted(protobuf.SCHEMAS[vector["type"]], protobuf.decode(vector["type"], data), True)

    @classmethod
    def write(cls, m, vector):
        return protobuf.encode(vector["type"], cls._converted(protobuf.SCHEMAS[vector["type"]], m, False))


class Vnets:
    @staticmethod
    def read(data, vector):
        return frame.decode_vnet(data)._asdict()

    @staticmethod
    def write(m, vector):
        return frame.encode_vnet(frame.Vnet(**m))


class Digests:
    @staticmethod
    def read(data, vector):
        return vector["meaning"]                                 # it goes one way only

    @staticmethod
    def write(m, vector):
        hexadecimal = ("mac", "priorities", "code_points")
        state = {n: bytes.fromhex(v) if n in hexadecimal else int(v, 16) if n == "offloads" else
                 [bytes.fromhex(x) for x in v] if n in ("unicast", "multicast") else v for n, v in m.items()}
        return digest.digest(state)


class Sessions:
    """The meaning has every secret: the initiation has to come out, the response and the records have to open."""

    @staticmethod
    def read(data, vector):
        kind = noise.check_format(data)
        return vector.get("meaning") or kind

    @staticmethod
    def write(m, vector):
        b = {name: bytes.fromhex(value) for name, value in m.items()
             if isinstance(value, str) and not value.startswith("0x") and name != "response"}
        one = noise.Initiator(b["initiator_private"], b["responder_public"], int(m["stamp"], 16),
                              int(m["initiator_instance"], 16), m["initiator_index"], b["cookie"] or None, b["psk"],
                              b["initiator_ephemeral"])
        response = raw(m["response"])
        one.check_mac(response)
        seal_key, open_key, index, instance = one.take_response(response)
        assert noise.public_of(b["initiator_private"]) == b["initiator_public"], "public key"
        assert (index, instance) == (m["responder_index"], int(m["responder_instance"], 16)), "response"
        for record in m["records"]:
            data, plain = raw(record["bytes"]), bytes.fromhex(record["plain"])
            key = seal_key if record["from"] == "initiator" else open_key
            assert data[:16] + noise.seal(key, record["counter"], data[:16], plain) == data, "record"
            assert noise.open_sealed(key, record["counter"], data[:16], data[16:]) == plain, "record"
        return one.initiation


FORMATS = {"flit": Flits, "datagram": Datagrams, "init": Inits, "cell": Cells, "terminate": Terminates, "mgmt": Mgmts,
           "message": Messages, "idata": Idatas, "protobuf": Protobufs, "vnet": Vnets, "digest": Digests, "session": Sessions}
ERRORS = (flit.FlitError, init_message.InitError, cell.CellError, mgmt.MgmtError, message.MessageError, protobuf.ProtobufError,
          noise.HandshakeError, ValueError)


def difference(codec, vector):
    data = raw(vector["bytes"])
    if not vector["valid"]:
        try:
            return f"is taken as {codec.read(data, vector)}"
        except ERRORS as error:
            return None if str(error) == vector["error"] else f"refused as {error}, not as {vector['error']}"
    try:
        meaning = codec.read(data, vector)
        if meaning != vector["meaning"]:
            return f"means {meaning}"
        if vector.get("canonical", True) and codec.write(vector["meaning"], vector) != data:
            return f"is written as {codec.write(vector['meaning'], vector).hex()}"
    except ERRORS + (AssertionError,) as error:
        return f"refused: {error!r}"
    return None


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../../docs/protocol/vectors")
    checked, different = 0, 0
    for name in sorted(FORMATS):
        with open(os.path.join(folder, name + ".json")) as file:
            for vector in json.load(file)["vectors"]:
                checked += 1
                text = difference(FORMATS[name], vector)
                if text:
                    different += 1
                    print(f"{name}: {vector['name']}: {text}")
    print(f"{checked} vectors, {different} differences")
    return 1 if different or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
