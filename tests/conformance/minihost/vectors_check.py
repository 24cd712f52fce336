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
from codec import Bad, unwords

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


def main():
    schema = json.loads((FOLDER / "schema.json").read_text())
    checked, faults = 0, []
    for path in sorted(FOLDER.glob("*.json")):
        if path.name == "schema.json":
            continue
        content = json.loads(path.read_text())
        jsonschema.Draft202012Validator(schema).validate(content)
        if content["format"] not in CODECS:
            continue  # session.json: keys and records are not part of this implementation
        for vector in content["vectors"]:
            checked += 1
            faults += [f"{path.name}: {vector['name']}: {fault}" for fault in faults_of(vector, *CODECS[content["format"]])]
    print("\n".join(faults), f"{checked} vectors, {len(faults)} faults", sep="\n" if faults else "")
    return 1 if faults or checked < 300 else 0


sys.exit(main())
