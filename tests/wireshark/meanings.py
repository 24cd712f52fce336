"""The fields that show the meaning of a vector: per format a function from vector to {field: values}, where a field is named
without its "splitnic.". Values are numbers or text; bytes are hexadecimal text. A member of a meaning that no function takes
makes the comparison fail, and a field that is missing there must not be in the packet."""
import re

from codec import unwide
from messages import RECORDS

INIT_STEPS = ["", "hello", "challenge", "answer", "ready", "refuse", "bye", "probe", "probe_reply"]
FLAG_BITS = {"ack_request": 0x80, "idata": 0x40, "solicited": 0x20, "global": 0x10, "packet_crc": 0x08, "retransmission": 0x04}
CTL_BITS = {"sof": 0x80, "eof": 0x40, "header_crc": 0x20, "cell_crc_head": 0x10}
MGMT_KINDS = ["", "CONNECT_REQ", "CONNECT_REP", "CONNECT_RTU", "CONNECT_REJ", "DISC", "DISC_REP", "RESOLVE", "RESOLVED"]
SMP_METHODS = ["", "GET", "SET", "REPLY", "TRAP"]
SMP_ATTRIBUTES = ["", "NODE", "TABLE", "MANAGER", "LIDS", "PORT", "POLICY", "LOAD"]
# Names of CfgUtil whose fields hold text, which vectors have as bytes.
TEXT = {"node_name", "program", "group", "groups", "name"}
OPTIONAL_OF_CELL = {
    "gnh": ["cell.gnh"], "ee": ["cell.ee"], "stream": ["cell.stream"], "dereg": ["cell.dereg"], "idata": ["cell.idata"],
    "packet_crc": ["cell.packet_crc"], "va_mh": ["cell.va", "cell.mh", "cell.length"],
    "read": ["cell.read.msn", "cell.read.sink_handle", "cell.read.sink_offset"],
    "atomic": ["cell.atomic.op", "cell.atomic.operand1", "cell.atomic.operand2"],
    "ack": ["ack.code", "ack.msn", "ack.credits", "ack.detail", "ack.cumulative", "ack.hold", "ack.bitmap"],
}
CELL_RENAMED = {"address": "va", "handle": "mh", "length": "length"}


def number(value):
    return unwide(value) if isinstance(value, str) else value


def flits_of(data):
    """The headers of all flits of a datagram, also of those that a receiver drops, and the bytes of filler."""
    found, at = [], 0
    while len(data) - at >= 16 and data[at:at + 4] != bytes(4):
        size = int.from_bytes(data[at + 2:at + 4], "big")
        found.append({"type": data[at] >> 4, "lane": data[at] & 15, "ctl": data[at + 1] & 0xF0,
                      "lsn": int.from_bytes(data[at + 4:at + 6], "big"), "ack": int.from_bytes(data[at + 6:at + 8], "big"),
                      "credit_lane": data[at + 8] >> 4, "credit_limit": int.from_bytes(data[at + 9:at + 12], "big"),
                      "payload": data[at + 16:at + 16 + size].hex()})
        at += 16 + size
    return found, len(data) - at


def is_dropped(flit):
    return flit["type"] > 5 or bool(flit["payload"]) != (flit["type"] in (0, 4))


def flit_fields(flits, filler):
    fields = {f"flit.{name}": [flit[name] for flit in flits] for name in ("type", "lane", "lsn", "ack", "credit_lane", "credit_limit")}
    for name, bit in CTL_BITS.items():
        fields[f"flit.{name}"] = [int(bool(flit["ctl"] & bit)) for flit in flits]
    fields["flit.size"] = [len(flit["payload"]) // 2 for flit in flits]
    fields["filler.bytes"] = filler
    return fields


def of_datagram(vector, data):
    meaning = vector["meaning"]
    flits, filler = flits_of(data)
    assert [flit for flit in flits if not is_dropped(flit)] == meaning["flits"] and filler == meaning["filler"]
    return flit_fields(flits, filler)


def of_flit(vector, _):
    return flit_fields([vector["meaning"]], 0)


def of_init(vector, _):
    fields = {}
    for name, value in vector["meaning"].items():
        profile = vector["meaning"]["profile"]
        if name == "step":
            value = INIT_STEPS.index(value)
        elif name == "profile":
            value = ["full", "speed", "shm"].index(value)
        elif name == "proof":
            fields["init.proof"] = [value[4:]] if profile == "speed" else []
            continue
        elif (name == "initial_credit" and profile != "full") or (name == "payload_crc" and profile != "speed"):
            fields[f"init.{name}"] = []
            continue
        fields[f"init.{name}"] = [number(value)]
    return fields


def of_cell(vector, _):
    cell = dict(vector["meaning"])
    fields = {name: [] for names in OPTIONAL_OF_CELL.values() for name in names}
    for name in OPTIONAL_OF_CELL:
        value = cell.pop(name, None)
        if name == "ack" and value:
            words = value.get("bitmap")
            fields.update({f"ack.{part}": [item] for part, item in value.items() if part != "bitmap"})
            fields["ack.bitmap"] = ["".join(f"{word:08x}" for word in words)] if words else []
        elif isinstance(value, dict):
            prefix = "cell." if name == "va_mh" else f"cell.{name}."
            fields.update({prefix + (CELL_RENAMED.get(part, part) if name == "va_mh" else part): [number(item)]
                           for part, item in value.items()})
        elif value is not None:
            fields[f"cell.{name}"] = [value]
    flags, payload = cell["flags"], cell.pop("payload")
    for name, bit in FLAG_BITS.items():
        fields[f"cell.flags.{name}"] = [int(bool(flags & bit))]
    fields["cell.payload"], fields["cell.payload_bytes"] = [payload] if payload else [], [len(payload) // 2]
    fields.update({f"cell.{name}": [value] for name, value in cell.items()})
    return fields


def of_terminate(vector, _):
    fields = {f"terminate.{name}": [number(value)] for name, value in vector["meaning"].items() if name not in ("check", "header")}
    check = vector["meaning"]["check"]
    fields.update({"terminate.header": [vector["meaning"]["header"]], "terminate.check": [check] if check else []})
    return fields


def of_mgmt(vector, _):
    meaning = dict(vector["meaning"])
    pairs, private, kind = meaning.pop("pairs"), meaning.pop("private"), meaning.pop("kind")
    fields = {f"mgmt.{name}": [number(value)] for name, value in meaning.items()}
    fields["mgmt.kind"], fields["mgmt.pairs"] = [MGMT_KINDS.index(kind)], [len(pairs)]
    fields["mgmt.private"], fields["mgmt.private_bytes"] = [private] if private else [], [len(private) // 2]
    for name in ("channel", "service", "flags", "qpn", "peer_qpn", "start_psn", "start_lcn", "mcp", "receive_credits",
                 "max_dest_rd_atomic", "msg_max", "completed"):
        fields[f"mgmt.{name}"] = [pair.pop(name) for pair in pairs]
    assert not any(pairs)
    return fields


def of_policy(policy):
    """Of the body of POLICY, with what the policy means where this part is all of it."""
    part = bytes.fromhex(policy["data"])
    whole = part if len(part) == policy["count"] else b""
    fields = {f"smp.policy.{name}": [policy[name]] for name in ("first", "count", "check")}
    fields["smp.policy.data"], fields["smp.policy.lanes"] = ([data.hex()] if data else [] for data in (part, whole[:16]))
    ports, keys, at = [], [], 17
    while at < len(whole):
        end = at + 2 + 2 * whole[at + 1]
        ports.append(whole[at])
        keys += [int.from_bytes(whole[key:key + 2], "big") for key in range(at + 2, end, 2)]
        at = end
    fields.update({"smp.policy.port": ports, "smp.policy.key": keys})
    return fields


def of_smp(vector, _):
    meaning = dict(vector["meaning"])
    method, attribute, route = meaning.pop("method"), meaning.pop("attribute"), meaning.pop("route")
    node, table = meaning.pop("node", None), meaning.pop("table", None)
    lids, port, policy, load = (meaning.pop(name, None) for name in ("lids", "port", "policy", "load"))
    fields = {f"smp.{name}": [number(value)] for name, value in meaning.items()}
    fields.update({"smp.method": [SMP_METHODS.index(method)], "smp.attribute": [SMP_ATTRIBUTES.index(attribute)],
                   "smp.hops": [len(route)], "smp.route": [bytes(route).hex()] if route else []})
    ports = node.pop("ports") if node else []
    if node:
        fields.update({f"smp.node.{name}": [value if name == "name" else number(value)] for name, value in node.items()})
        fields.update({"smp.node.ports": [len(ports)], "smp.node.name_bytes": [len(node["name"])]})
    if table:
        entries, stage = table.pop("ports"), table.pop("stage")
        fields.update({f"smp.table.{name}": [value] for name, value in table.items()})
        fields.update({"smp.table.stage": [["", "clear", "set"].index(stage)], "smp.table.ports": [entries] if entries else []})
    if policy:
        fields.update(of_policy(policy))
    fields["smp.load.port"] = [one["number"] for one in load or []]
    fields["smp.load.cells"] = [number(one["cells"]) for one in load or []]
    entries = lids.pop("entries") if lids else [port] if port else []
    fields.update({f"smp.lids.{name}": [value] for name, value in (lids or {}).items()})
    fields["smp.lid"], fields["smp.lmc"] = ([entry[name] for entry in entries] for name in ("lid", "lmc"))
    fields["smp.port"], fields["smp.port.state"] = ([port[name] for port in ports] for name in ("number", "state"))
    fields["smp.port.state"] = [["down", "up", "held", "unset"].index(state) for state in fields["smp.port.state"]]
    for name in ("lid", "eui64"):
        fields[f"smp.port.{name}"] = [number(port[name]) for port in ports]
    return fields


def of_message(vector, _):
    meaning = dict(vector["meaning"])
    function, context = meaning.pop("function"), meaning.pop("context")
    fields = {"message": [function], "message.context": [number(context)]}
    records = meaning.pop("records", [])
    for name, _ in RECORDS.get(function, ()):
        fields[f"message.{name}"] = [number(record[name]) for record in records]
    if "family" in meaning:
        fields["cfg.code"] = [meaning.pop("family") << 16 | meaning.pop("code")]
        fields["cfg.status"] = [meaning.pop("status")] if "status" in meaning else []
    if "data" in meaning:
        data = meaning.pop("data")
        fields["message.data"], fields["message.size"] = [data] if data else [], [len(data) // 2]
    fields.update({f"message.{name}": [value] for name, value in meaning.items()})
    return fields


def of_idata(vector, _):
    meaning = vector["meaning"]
    fields = {f"idata.{name}": [meaning[name]] if name in meaning else [] for name in ("pool", "element", "offset", "size")}
    return fields


def of_vnet(vector, _):
    meaning = dict(vector["meaning"])
    gso_type = meaning.pop("gso_type")
    return {"vnet.gso_type": [gso_type & 0x7F], "vnet.ecn": [gso_type >> 7], **{f"vnet.{name}": [value] for name, value in meaning.items()}}


def of_protobuf(vector, _):
    prefix = "cap." if vector["type"] == "Capabilities" else "cfg."
    fields = {}

    def take(name, value):
        if isinstance(value, list):
            for item in value:
                take(name, item)
            return
        if isinstance(value, dict):
            for part, item in value.items():
                take({"link": "link.", "counters": "counter.", "nics": "listed."}.get(name.rsplit(".", 1)[-1], "") + part, item)
            return
        last = name.rsplit(".", 1)[-1]
        if isinstance(value, bool):
            value = int(value)
        elif isinstance(value, str) and last in TEXT:
            value = bytes.fromhex(value).decode()
        elif isinstance(value, str) and value.startswith("0x"):
            value = number(value)
        fields.setdefault(prefix + name, []).append(value)

    for name, value in vector["meaning"].items():
        take(name, value)
    return fields


FUNCTIONS = {"datagram": of_datagram, "flit": of_flit, "init": of_init, "cell": of_cell, "terminate": of_terminate, "mgmt": of_mgmt,
             "smp": of_smp, "message": of_message, "idata": of_idata, "vnet": of_vnet, "protobuf": of_protobuf}


def is_same(shown, expected):
    """Whether a value of tshark, a text, is the expected one."""
    if isinstance(expected, int):
        return re.fullmatch(r"0x[0-9a-f]+|\d+", shown) is not None and int(shown, 0) == expected
    return shown.replace(":", "") == expected or shown == expected
