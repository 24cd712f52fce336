"""SMPs: the payload of docs/protocol/subnet.md."""
from codec import Bad, get, put, unwide, wide

METHODS = ["", "GET", "SET", "REPLY", "TRAP"]
ATTRIBUTES = ["", "NODE", "TABLE", "MANAGER", "LIDS", "PORT", "POLICY", "LOAD"]
STATES = ["down", "up", "held", "unset"]
STAGES = ["", "clear", "set"]
NAME_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def encode_node(node):
    name = node["name"].encode()
    out = (put(node["lid"], 2) + put(len(node["ports"]), 1) + put(len(name), 1) + put(node["changes"], 4) + put(unwide(node["eui64"]), 8) +
           put(node["check"], 4) + name)
    for port in node["ports"]:
        out += put(port["number"], 1) + put(STATES.index(port["state"]), 1) + put(port["lid"], 2) + put(unwide(port["eui64"]), 8)
    return out


def decode_node(body):
    if len(body) < 20:
        raise Bad("body")
    count, name_bytes = body[2], body[3]
    name = body[20:20 + name_bytes]
    if count > 32 or len(body) != 20 + name_bytes + 12 * count or not 1 <= name_bytes <= 64 or name[:1] == b"." or not NAME_CHARACTERS.issuperset(name):
        raise Bad("body")
    ports, last = [], 0
    for at in range(20 + name_bytes, len(body), 12):
        number, state = body[at], body[at + 1]
        if not last < number <= 32 or state >= len(STATES):
            raise Bad("body")
        last = number
        ports.append({"number": number, "state": STATES[state], "lid": get(body, at + 2, 2), "eui64": wide(get(body, at + 4, 8))})
    return {"lid": get(body, 0, 2), "name": name.decode(), "changes": get(body, 4, 4), "eui64": wide(get(body, 8, 8)),
            "check": get(body, 16, 4), "ports": ports}


def encode_table(table):
    return (put(table["input"], 1) + put(table["block"], 1) + put(STAGES.index(table["stage"]), 1) + put(table["parts"], 1) + put(table["changes"], 4) +
            put(table["check"], 4) + bytes.fromhex(table["ports"]))


def decode_table(body, method):
    if len(body) not in (12, 268) or body[0] > 32 or body[1] > 191 or body[2] >= len(STAGES) or body[3] > 192:
        raise Bad("body")
    table = {"input": body[0], "block": body[1], "stage": STAGES[body[2]], "parts": body[3], "changes": get(body, 4, 4),
             "check": get(body, 8, 4), "ports": body[12:].hex()}
    sets = bool(table["stage"]) and table["parts"] > 0
    if method != "REPLY" and (sets != (method == "SET") or sets != bool(table["ports"])):
        raise Bad("body")
    return table


def encode_port(port):
    return put(port["lid"], 2) + put(port["lmc"], 1) + bytes(1)


def decode_port(body):
    if len(body) != 4:
        raise Bad("body")
    return {"lid": get(body, 0, 2), "lmc": body[2]}


def encode_lids(lids):
    return put(lids["first"], 2) + put(lids["count"], 2) + put(lids["check"], 4) + b"".join(encode_port(one) for one in lids["entries"])


def decode_lids(body, method):
    if len(body) < 8 or len(body) % 4 or len(body) > 8 + 4 * 64 or (len(body) > 8) != (method == "SET"):
        raise Bad("body")
    entries = [decode_port(body[at:at + 4]) for at in range(8, len(body), 4)]
    first, count = get(body, 0, 2), get(body, 2, 2)
    if entries and first + len(entries) > count:
        raise Bad("body")
    for one in entries:
        if not 1 <= one["lid"] <= 0xBFFF or one["lmc"] > 7 or one["lid"] % 2 ** one["lmc"]:
            raise Bad("body")
    return {"first": first, "count": count, "check": get(body, 4, 4), "entries": entries}


def encode_policy(policy):
    return put(policy["first"], 2) + put(policy["count"], 2) + put(policy["check"], 4) + bytes.fromhex(policy["data"])


def decode_policy(body, method):
    if len(body) < 8 or (len(body) > 8) != (method == "SET"):
        raise Bad("body")
    first, count, part = get(body, 0, 2), get(body, 2, 2), body[8:]
    if count > 17 + 32 * (2 + 2 * 16) or (part and (first % 256 or len(part) != min(256, count - first))):
        raise Bad("body")
    return {"first": first, "count": count, "check": get(body, 4, 4), "data": part.hex()}


def encode_load(load):
    return b"".join(put(port["number"], 1) + put(unwide(port["cells"]), 8) for port in load)


def decode_load(body):
    if len(body) % 9:
        raise Bad("body")
    load = [{"number": body[at], "cells": wide(get(body, at + 1, 8))} for at in range(0, len(body), 9)]
    numbers = [port["number"] for port in load]
    if numbers != sorted(set(numbers)) or not all(1 <= number <= 32 for number in numbers):
        raise Bad("body")
    return load


def encode_smp(smp):
    encoders = {"node": encode_node, "table": encode_table, "lids": encode_lids, "port": encode_port, "policy": encode_policy,
                "load": encode_load}
    body = b"".join(encode(smp[name]) for name, encode in encoders.items() if name in smp)
    return (put(1, 1) + put(METHODS.index(smp["method"]), 1) + put(ATTRIBUTES.index(smp["attribute"]), 1) + put(smp["status"], 1) +
            put(smp["manager"], 2) + put(smp["priority"], 1) + bytes(1) + put(unwide(smp["transaction"]), 8) + put(len(smp["route"]), 1) +
            put(smp["hop"], 1) + put(len(body), 2) + bytes(smp["route"]) + body)


def decode_smp(data):
    if len(data) < 20:
        raise Bad("short")
    if data[0] != 1 or not 1 <= data[1] <= 4 or not 1 <= data[2] <= 7 or data[3] > 3 or (data[3] and data[1] != 3):
        raise Bad("format")
    method, attribute, hops, hop = METHODS[data[1]], ATTRIBUTES[data[2]], data[16], data[17]
    if hops > 64 or hop > hops:
        raise Bad("route")
    if len(data) < 20 + hops:
        raise Bad("short")
    if len(data) != 20 + hops + get(data, 18, 2):
        raise Bad("length")
    route, body = list(data[20:20 + hops]), data[20 + hops:]
    if not all(1 <= port <= 32 for port in route):
        raise Bad("route")
    smp = {"method": method, "attribute": attribute, "status": data[3], "manager": get(data, 4, 2), "priority": data[6],
           "transaction": wide(get(data, 8, 8)), "hop": hop, "route": route}
    if attribute == "TABLE" and method != "TRAP":
        smp["table"] = decode_table(body, method)
    elif attribute == "LIDS" and method != "TRAP":
        smp["lids"] = decode_lids(body, method)
    elif attribute == "POLICY" and method != "TRAP":
        smp["policy"] = decode_policy(body, method)
    elif attribute == "PORT" and method in ("SET", "REPLY"):
        smp["port"] = decode_port(body)
    elif attribute == "NODE" and method == "REPLY" and data[3] == 0:
        smp["node"] = decode_node(body)
    elif attribute == "LOAD" and method == "REPLY" and data[3] == 0:
        smp["load"] = decode_load(body)
    elif body:
        raise Bad("body")
    return smp
