#!/usr/bin/env python3
"""Compares the codecs of this folder with docs/protocol/vectors, and the files with their schema. Exits with 1 if one differs."""
import json
import pathlib
import sys

import jsonschema

import cells
import digest
import flits
import messages
import mgmt
import protobuf
import session
import smp
from codec import Bad, put, unwide, unwords

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "docs/protocol/vectors"


def one_flit(data):
    return flits.decode_flit(data)[0]


# Format -> bytes to meaning, meaning to bytes; both get the vector too.
CODECS = {
    "flit": (lambda data, _: one_flit(data), lambda meaning, _: flits.encode_flit(meaning)),
    "datagram": (lambda data, _: flits.decode_datagram(data), lambda meaning, _: flits.encode_datagram(meaning)),
    "init": (lambda data, _: flits.decode_init(data), lambda meaning, _: flits.encode_init(meaning)),
    "cell": (lambda data, _: cells.decode_cell(data), lambda meaning, _: cells.encode_cell(meaning)),
    "terminate": (lambda data, _: mgmt.decode_terminate(data), lambda meaning, _: mgmt.encode_terminate(meaning)),
    "mgmt": (lambda data, _: mgmt.decode_mgmt(data), lambda meaning, _: mgmt.encode_mgmt(meaning)),
    "message": (lambda data, _: messages.decode_message(data), lambda meaning, _: messages.encode_message(meaning)),
    "idata": (lambda data, vector: messages.decode_idata(vector["meaning"]["form"], data),
              lambda meaning, _: messages.encode_idata(meaning)),
    "vnet": (lambda data, _: messages.decode_vnet(data), lambda meaning, _: messages.encode_vnet(meaning)),
    "protobuf": (lambda data, vector: protobuf.decode(vector["type"], data),
                 lambda meaning, vector: protobuf.encode(vector["type"], meaning)),
    "smp": (lambda data, _: smp.decode_smp(data), lambda meaning, _: smp.encode_smp(meaning)),
    "digest": (None, lambda meaning, _: digest.digest(meaning)),
}


def faults_of(vector, decode, encode):
    data = unwords(vector["bytes"])
    if vector["valid"] and "canonical" not in vector and encode(vector["meaning"], vector) != data:
        yield "the meaning is written as other bytes"
    if decode is None:
        return
    try:
        meaning, error = decode(data, vector), None
    except Bad as bad:
        meaning, error = None, bad.args[0]
    if error != vector.get("error"):
        yield f"the error is {error}"
    elif vector["valid"] and meaning != vector["meaning"]:
        yield f"the bytes mean {meaning}"


def session_faults(vector):
    """A handshake and its records, at the host's end; an invalid datagram has no keys to fail with, and is not looked at."""
    if not vector["valid"]:
        return
    meaning = vector["meaning"]
    secret = {name: bytes.fromhex(meaning[name]) for name in ("initiator_private", "responder_public", "initiator_ephemeral", "psk", "cookie")}
    noise = session.Noise(secret["initiator_private"], secret["responder_public"], secret["initiator_ephemeral"], secret["psk"])
    message = bytes([session.INITIATION, 1, 0, 0]) + put(meaning["initiator_index"], 4)
    message += noise.initiation(put(unwide(meaning["stamp"]), 8) + put(unwide(meaning["initiator_instance"]), 8) + bytes(8))
    if session.with_macs(message, secret["responder_public"], secret["cookie"] or None) != unwords(vector["bytes"]):
        yield "the INITIATION is another one"
    payload, pair = noise.response(unwords(meaning["response"])[12:76])
    if payload != put(unwide(meaning["responder_instance"]), 8) + bytes(8):
        yield "the RESPONSE means something else"
    ends = {"initiator": session.Keys(pair, meaning["responder_index"], 0, 0),
            "responder": session.Keys(pair[::-1], meaning["initiator_index"], 0, 0)}
    for record in meaning["records"]:
        other = "responder" if record["from"] == "initiator" else "initiator"
        sealed = ends[record["from"]].seal(bytes.fromhex(record["plain"]), record["flags"])
        if sealed != unwords(record["bytes"]) or ends[other].open(sealed) != bytes.fromhex(record["plain"]):
            yield f"record {record['counter']} of the {record['from']} is another one"


def main():
    schema = json.loads((FOLDER / "schema.json").read_text())
    checked, faults = 0, []
    for path in sorted(FOLDER.glob("*.json")):
        if path.name == "schema.json":
            continue
        content = json.loads(path.read_text())
        jsonschema.Draft202012Validator(schema).validate(content)
        for vector in content["vectors"]:
            checked += 1
            found = session_faults(vector) if content["format"] == "session" else faults_of(vector, *CODECS[content["format"]])
            faults += [f"{path.name}: {vector['name']}: {fault}" for fault in found]
    print("\n".join(faults), f"{checked} vectors, {len(faults)} faults", sep="\n" if faults else "")
    return 1 if faults or checked < 300 else 0


sys.exit(main())
