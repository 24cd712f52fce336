#!/usr/bin/env python3
"""The host against a peer that is wrong or silent: status 7 and 2, limits of pools, replies that are not kept, DISC that is
repeated. The clock is simulated. Exits with 1 at the first that it does not."""
import types

import messages
from codec import Bad, wide
from host import DISC_EVERY, DISC_TIMES, Host
from link import UP
from pools import ELEMENTS_MAX, PoolUser


def pool(reference, elements=16, size=2048, handle=1, address=None):
    return {"pool": reference, "elements": elements, "element_size": size, "handle": handle,
            "address": wide(address if address is not None else reference << 32), "pool_context": wide(0)}


def advertise(user, *records):
    return user.on_advertised({"records": list(records)})


def refusal_of(data):
    try:
        messages.decode_message(data)
    except Bad as bad:
        return messages.refusal_of(data, str(bad))
    return None


def check_refusals():
    request = messages.encode_message({"function": "CfgUtilRequest", "context": wide(9), "family": 2, "code": 5, "data": ""})
    assert refusal_of(request) is None
    other = refusal_of(request[:3] + b"\x02" + request[4:])
    assert (other["status"], other["family"], other["code"], other["context"]) == (7, 2, 5, wide(9)), other
    longer = refusal_of(request[:16] + b"\0\0\0\x09")
    assert (longer["status"], longer["family"]) == (2, 2), longer
    header = refusal_of(request[:12])
    assert (header["status"], header["family"], header["code"]) == (2, 0, 0), header


def check_pools():
    user = PoolUser()
    assert advertise(user, pool(1)) is None
    assert advertise(user, pool(1)) == "state"
    assert advertise(user, pool(2, address=(1 << 32) + 64)) == "range", "an overlap"
    assert advertise(user, pool(2, elements=ELEMENTS_MAX)) == "range", "too many elements"
    assert advertise(user, pool(2, elements=0xFFFFFFFF, size=1)) == "range"
    assert advertise(user, *(pool(10 + i, size=64 + i) for i in range(16))) == "range", "too many sizes"
    assert advertise(user, *(pool(10 + i, elements=1) for i in range(272))) == "range", "too many pools"
    assert advertise(user, *(pool(10 + i, elements=1) for i in range(271))) is None
    assert len(user.pools) == 272


def new_host():
    options = types.SimpleNamespace(mcp=1360, mac="02:00:00:00:00:aa", mtu=1500, name="check")
    host = Host(lambda datagram: None, lambda frame: None, options, 0.0)
    host.sent = []
    host.send_mgmt = lambda now, kind, *rest, transaction=None, **more: host.sent.append((kind, transaction))
    host.control.send = lambda message: None
    return host


def check_contexts():
    host = new_host()
    for context in (0, 5):
        host.on_message(messages.encode_message({"function": "CfgUtilRequest", "context": wide(context), "family": 2, "code": 5, "data": ""}))
    assert list(host.kept) == [wide(5)], host.kept


def check_disc():
    host = new_host()
    host.link.on_time = lambda now: None
    host.link.state, host.state, host.transaction = UP, "UP", 77
    host.control.has_failed = "a test"
    host.step(1.0)
    host.connect_at = None
    for i in range(30):
        host.step(1.0 + DISC_EVERY * (i + 1))
    assert host.sent == [("DISC", 77)] * DISC_TIMES, host.sent
    host.closing, host.sent = (78, 0.0, 1), []
    host.on_mgmt(9.0, {"kind": "DISC_REP", "transaction": wide(78)})
    host.step(9.0)
    assert host.sent == [], host.sent


check_refusals()
check_pools()
check_contexts()
check_disc()
