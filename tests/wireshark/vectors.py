"""The vectors of docs/protocol as packets of a capture, each with the fields and the remark that the dissector has to show."""
import json
import pathlib

import cells
import digest
import flits
import meanings
import mgmt
from capture_file import Connection, data_flit, mgmt_cell
from codec import unwords, wide

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/protocol/vectors"
CODES = {"InitNic": 0x10001, "SetMac": 0x10002, "SetFilter": 0x10004, "SetMtu": 0x10005, "VlanAdd": 0x10009, "SetOffloads": 0x1000C,
         "GetStats": 0x20001, "QueryStats": 0x20002, "Echo": 0x20005, "GetVersion": 0x20006, "Event": 0x20007, "GetState": 0x20009,
         "SetQueues": 0x1000D, "SetCoalesce": 0x1000E, "SetQos": 0x1000F, "ListNics": 0x2000A}
# The errors of dropped flits, which a receiver skips without harm to the others.
SKIPPED = {"an unknown type is skipped": "flit.type", "an IDLE with payload is skipped": "flit.payload"}


def load(form):
    return json.loads((FOLDER / f"{form}.json").read_text())["vectors"]


def error_of(form, vector):
    if vector["valid"]:
        return SKIPPED.get(vector["name"]) if form == "datagram" else None
    if form == "terminate":
        return "terminate"
    return f"{'flit' if form == 'datagram' else form}.{vector['error']}"


def shown_error(form, vector, data):
    """The error of a vector, or the one of what is around it in a datagram, where that comes first."""
    if form in ("flit", "datagram", "session"):
        if form == "flit" and len(data) < 16 or not data:
            return None  # filler
        if data[0] < 0x80:
            return None if form == "session" else error_of(form, vector)  # without keys it is a flit
        # A datagram of the session layer; its type, length and flags are all that can be looked at.
        is_whole = vector["valid"] or form == "datagram" and data[0] == 0x84
        return None if is_whole else "session.format"
    if form in ("cell", "init") and not data:
        return "flit.payload"  # a flit without payload
    if form == "terminate" and len(data) != 48:
        return "cell.length"
    if form == "mgmt" and vector["valid"] and len(vector["meaning"]["private"]) == 1024:
        return "protobuf.type"  # not the capabilities that a CONNECT_REQ has
    if form == "cell" and vector["valid"] and vector["meaning"]["op"] == cells.MGMT:
        return "mgmt.format"  # a right cell, with any payload
    return error_of(form, vector)


class Packets:
    """One packet per vector, or several: self.expected has (label, number, fields, error) of each."""

    def __init__(self, capture):
        self.capture, self.expected, self.transaction = capture, [], 1 << 32
        self.form_a = Connection(capture, 1)
        self.form_b = Connection(capture, 2, form_in=1, form_out=1)
        for path in sorted(FOLDER.glob("*.json")):
            if path.name != "schema.json":
                for vector in load(path.stem):
                    self.add(path.stem, vector)

    def add(self, form, vector):
        data, label = unwords(vector["bytes"]), f"{form}: {vector['name']}"
        if form == "session":
            return self.add_session(vector, data, label)
        fields = {}
        if form == "digest":
            fields = {"cfg.digest": [data.hex()]}
            data = digest_reply(vector)
        elif vector["valid"]:
            fields = meanings.FUNCTIONS[form](vector, data)
        error = shown_error(form, vector, data)
        self.add_packet(label, self.wrap(form, vector, data), fields, error)

    def add_packet(self, label, datagram, fields, error):
        self.expected.append((label, self.capture.add(datagram), fields, error))

    def wrap(self, form, vector, data):
        if form == "init":
            return data_flit(data, flits.INIT)
        if form == "cell":
            return data_flit(data)
        if form == "mgmt":
            return data_flit(mgmt_cell(data))
        if form == "smp":
            return data_flit(mgmt_cell(data, qpn=2))
        if form == "message":
            return self.form_a.message("active", data)
        if form == "terminate":
            return data_flit(cells.encode_cell({"pos": cells.ONLY, "op": cells.TERMINATE, "dlid": 1, "slid": 2, "service": cells.RC,
                                                "dqpn": 16, "sqpn": 17, "psn": 0, "csn": 0, "lcn": 0, "payload": data.hex()}))
        if form == "idata":
            connection = self.form_a if vector["meaning"]["form"] == "A" else self.form_b
            return connection.write("active", b"12345", 0x1000, int.from_bytes(data, "big"))[0]
        if form == "vnet":
            return self.form_a.write("active", data + bytes(12) + b"\x88\xb5", 0x1000, 0)[0]
        if form == "digest":
            return self.form_a.cfgutil("passive", 0x20009, data, 0, 0)
        if form == "protobuf":
            return self.wrap_protobuf(vector["type"], data)
        return data

    def wrap_protobuf(self, kind, data):
        if kind != "Capabilities":
            is_reply = kind.endswith("Reply")
            code = CODES[kind.removesuffix("Reply").removesuffix("Request")]
            return self.form_a.cfgutil("passive" if is_reply else "active", code, data, 0, 0 if is_reply else None)
        self.transaction += 1
        pair = {"channel": 0, "service": 0, "flags": 0, "qpn": 16, "peer_qpn": 0, "start_psn": 0, "start_lcn": 0, "mcp": 1364,
                "receive_credits": 0, "max_dest_rd_atomic": 0, "msg_max": 4096, "completed": 0}
        return data_flit(mgmt_cell(mgmt.encode_mgmt({
            "kind": "CONNECT_REQ", "reject": 0, "transaction": wide(self.transaction), "eui64": wide(1), "instance": wide(1),
            "peer_eui64": wide(2), "peer_instance": wide(2), "pairs": [pair], "private": data.hex()})))

    def add_session(self, vector, data, label):
        if not vector["valid"]:
            return self.add_packet(label, data, {}, shown_error("session", vector, data))
        meaning = vector["meaning"]
        self.add_packet(label, data, {
            "session.type": [0x81], "session.version": [1], "session.sender_index": [meaning["initiator_index"]],
            "session.receiver_index": [], "session.ephemeral": [data[8:40].hex()], "session.static": [data[40:88].hex()],
            "session.payload": [data[88:128].hex()], "session.mac1": [data[128:144].hex()], "session.mac2": [data[144:].hex()]}, None)
        response = unwords(meaning["response"])
        self.add_packet(label + ", RESPONSE", response, {
            "session.type": [0x82], "session.sender_index": [meaning["responder_index"]],
            "session.receiver_index": [meaning["initiator_index"]], "session.ephemeral": [response[12:44].hex()],
            "session.payload": [response[44:76].hex()], "session.mac1": [response[76:92].hex()],
            "session.mac2": [response[92:].hex()]}, None)
        for record in meaning["records"]:
            index = meaning["responder_index" if record["from"] == "initiator" else "initiator_index"]
            sealed = unwords(record["bytes"])
            self.add_packet(f"{label}, record {record['counter']}", sealed, {
                "session.type": [0x84], "session.flags": [record["flags"]], "session.receiver_index": [index],
                "session.counter": [record["counter"]], "session.payload": [sealed[16:-16].hex()] if record["plain"] else [],
                "session.tag": [sealed[-16:].hex()]}, None)


def digest_reply(vector):
    state = digest.digest(vector["meaning"])
    return bytes([0x0A, len(state)]) + state
