"""Vectors with bytes that a seed changes, cuts off or repeats, under CRCs that are right again: whatever comes, the dissector has no
error of its script. What it shows is not compared."""
import random

import vectors
from capture_file import data_flit
from codec import crc32c, put, unwords

COUNT = 1500
FORMS = ["cell", "datagram", "flit", "idata", "init", "message", "mgmt", "protobuf", "session", "smp", "terminate", "vnet"]


def changed(data, draw):
    data = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        how, at = draw.randrange(4), draw.randrange(len(data) + 1)
        if how == 0:
            del data[at:]
        elif how == 1:
            data[at:at] = data[:draw.randrange(16)]
        else:
            data[at:at + 1] = bytes([draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))])
    return bytes(data)


def add_all(capture, packets):
    """Returns the numbers of the packets. `packets` wraps them as it wraps vectors."""
    draw = random.Random(1)
    pool = [(form, vector) for form in FORMS for vector in vectors.load(form) if vector["valid"]]
    numbers = []
    for _ in range(COUNT):
        form, vector = draw.choice(pool)
        data = changed(unwords(vector["bytes"]), draw)
        if form == "cell" and len(data) >= 4:
            datagram = data_flit(data[:-4] + put(crc32c(data[:-4]), 4))
        elif form == "idata":
            datagram = packets.form_a.write("active", changed(bytes(40), draw), 0x1000, int.from_bytes(data[:4], "big"))[0]
        else:
            datagram = packets.wrap(form, vector, data)
        numbers.append(capture.add(datagram))
    return numbers
