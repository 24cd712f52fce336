"""Tests of host_check.py: messages, configuration, frames and pools of the host, and its end."""
import random

import cell as c
import cfgutil
import flit
import init_message as im
import message as m
import mgmt
import protobuf
from crc32c import crc32c
from scripted_unit import EUI64

TESTS = []


def test(function):
    TESTS.append(function)
    return function


# --- messages ---

@test
def the_eighth_error_ends_the_connection(u):
    u.attach()
    for number in range(7):
        u.send_bytes(b"\0\0\0\1" + bytes(8))
    u.run(0.0)
    assert u.host.started
    u.send_bytes(bytes(4))
    u.run(0.0)
    assert not u.host.started and u.mgmts[-1].kind == mgmt.DISC


@test
def an_update_of_an_available_element_ends_the_connection(u):
    u.attach()
    u.send({"function": m.BUFFER_RECV_POOL_UPDATE, "context": 0, "records": [{"pool": 9, "first": 0, "count": 1}]})
    u.run(0.0)
    assert u.host.started                                        # an unknown pool is one error of eight
    u.send({"function": m.BUFFER_RECV_POOL_UPDATE, "context": 0, "records": [{"pool": 3, "first": 0, "count": 1}]})
    u.run(0.0)
    assert not u.host.started


@test
def the_server_replies_to_each_request(u):
    u.attach()
    request = m.encode({"function": m.CFG_REQUEST, "context": 7, "family": 2, "code": 5, "data": b"\x0a\x01x"})
    u.send_bytes(request)
    u.send_bytes(request)                                       # the kept reply
    u.send_bytes(request[:2] + b"\0\2" + request[4:11] + b"\x08" + request[12:])
    u.send_bytes(request[:12])
    u.request((1, 1), context=21)
    u.request(cfgutil.ECHO, b"\x08\x01", context=22)
    u.request(cfgutil.GET_VERSION, context=0)
    u.run(0.0)
    got = [(x["context"], x["family"], x["code"], x["status"]) for x in u.of(m.CFG_REPLY)]
    assert got == [(7, 2, 5, 0), (7, 2, 5, 0), (8, 2, 5, 7), (7, 0, 0, 2), (21, 1, 1, 1), (22, 2, 5, 3), (0, 2, 6, 0)], got


@test
def event_and_announce(u):
    states = []
    u.host.configure = lambda mtu, up: states.append((mtu, up))
    u.attach()
    for generation, mtu in ((5, 1400), (5, 1300), (4, 1200), (6, 1100)):
        u.request(cfgutil.EVENT, protobuf.encode("EventRequest", {"generation": generation, "mtu": mtu, "link": {"up": True}}),
                  generation * 10000 + mtu)
    u.request(cfgutil.ANNOUNCE, context=3)
    u.run(0.0)
    assert states[1:] == [(1400, True), (1100, True)] and all(x["status"] == 0 for x in u.of(m.CFG_REPLY))
    idata, _, length = u.messages[-1] if isinstance(u.messages[-1], tuple) else [x for x in u.messages if isinstance(x, tuple)][-1]
    assert idata >> 24 == 3 and u.written[12:18] == b"\xff" * 6 and length == 12 + 42


@test
def a_request_without_reply_is_repeated_and_one_that_is_busy_renewed(u):
    u.serves_config = False
    u.run(2.0)
    requests = u.of(m.CFG_REQUEST)
    assert len(requests) >= 3 and requests[0] == requests[1] == requests[2] and mgmt.DISC in [x.kind for x in u.mgmts]
    u.serves_config = True
    u.statuses[cfgutil.INIT_NIC] = [5, 0]
    del u.messages[:]
    u.run(2.0)
    requests = [x for x in u.of(m.CFG_REQUEST) if x["code"] == 1 and x["family"] == 1]
    assert u.host.started and len({x["context"] for x in requests}) == len(requests) > 1


@test
def settings_are_not_sent_where_the_digest_is_theirs(u):
    u.attach()
    assert [x["code"] for x in u.of(m.CFG_REQUEST)] == [1, 9, 2, 4, 6]


@test
def without_vnet_there_is_no_start(u):
    u.granted["features_granted"] = 0x3F
    u.run(1.0)
    assert not u.host.started and cfgutil.START[1] not in [x["code"] for x in u.of(m.CFG_REQUEST)]


# --- frames ---

FRAME = bytes(12) + b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x08\0" + b"payload of a frame"


@test
def frames_come_in_and_their_elements_go_back(u):
    u.attach()
    for element in range(40):
        u.write(FRAME + bytes([element]), element)
    u.run(0.0)
    assert [f[-1] for f in u.frames] == list(range(40)) and u.frames[0] == FRAME[12:] + b"\0"
    updates = [r for x in u.of(m.BUFFER_RECV_POOL_UPDATE) for r in x["records"]]
    assert updates and updates[0]["first"] == 0 and updates[0]["count"] > 32


@test
def wrong_indications_are_dropped_and_change_nothing(u):
    u.attach()
    pool = u.offered()["pool"]
    for idata in ((pool + 1) << 24 | len(FRAME), pool << 24 | 1 << 16 | len(FRAME), pool << 24 | len(FRAME) + 1,
                  pool << 24 | 64 << 16 | len(FRAME)):
        u.write(FRAME, 0, idata)
    u.run(0.0)
    assert u.frames == [] and u.host.started
    u.write(FRAME, 0)
    u.run(0.0)
    assert len(u.frames) == 1
    u.write(FRAME, 0, None)                                      # FILLED, or RELEASED: letter f
    u.run(0.0)
    assert u.naks()[-1] == (0x62, "f")


@test
def indicate_and_senddata_deliver_too(u):
    u.attach()
    u.write(FRAME, 2, None)
    u.run(0.0)
    assert u.frames == []
    pool = u.offered()["pool"]
    u.send({"function": m.RDMA_INDICATE, "context": 0, "records": [{"pool": pool, "first": 2, "count": 1, "stored": len(FRAME)}]})
    u.send({"function": m.SEND_DATA, "context": 0, "data": FRAME})
    u.send({"function": m.RDMA_INDICATE, "context": 0, "records": [{"pool": 3, "first": 2, "count": 1, "stored": 1}]})
    u.run(0.0)
    assert u.frames == [FRAME[12:]] * 2 and u.host_counters["msg.drop.role"] == 1


@test
def offloads_that_were_not_granted_are_dropped(u):
    u.attach()
    u.write(b"\1" + FRAME[1:], 0)
    u.write(b"\0\1" + FRAME[2:], 1)
    u.run(0.0)
    assert u.frames == [] and u.host_counters["nic.rx.drop.vnet"] == 2


@test
def frames_wait_for_elements_in_order(u):
    u.attach()
    for number in range(12):
        u.host.on_frame(FRAME[12:] + bytes([number]))
    u.run(0.0)
    writes = [x for x in u.messages if isinstance(x, tuple)]
    assert [w[0] >> 16 & 0xFF for w in writes] == list(range(8))
    u.send({"function": m.BUFFER_RECV_POOL_UPDATE, "context": 0, "records": [{"pool": 3, "first": 0, "count": 0}]})
    u.run(0.0)
    assert len([x for x in u.messages if isinstance(x, tuple)]) == 12


@test
def each_form_of_idata_as_agreed(u):
    for form, expected in ((0, 3 << 24 | len(FRAME)), (1, len(FRAME)), (2, None)):
        u.capabilities["idata_form_in"] = form
        u.attach()
        del u.messages[:]
        u.host.on_frame(FRAME[12:])
        u.run(0.0)
        if expected is None:
            assert u.of(m.RDMA_INDICATE)[0]["records"] == [{"pool": 3, "first": 0, "count": 1, "stored": len(FRAME)}]
        else:
            assert u.messages[0][0] == expected
        u.mgmt(mgmt.DISC)
        u.run(0.0)


@test
def flushes_of_both_sides_get_one_reply_each(u):
    u.attach()
    pool = u.offered()
    for context, reference in ((1, 3), (2, 3), (m.OF_RECEIVER | 3, pool["pool"]), (m.OF_RECEIVER | 4, 200)):
        u.send({"function": m.FLUSH_REQUEST, "context": context, "records": [{"pool": reference}]})
    u.run(0.0)
    assert [x["context"] for x in u.of(m.FLUSH_REPLY)] == [1, 2, m.OF_RECEIVER | 3, m.OF_RECEIVER | 4]
    u.host.on_frame(FRAME[12:])
    u.run(0.0)
    assert not [x for x in u.messages if isinstance(x, tuple)]
    u.queue_pairs[1].post_write(pool["handle"], pool["address"], FRAME, 0)
    u.run(0.0)
    assert u.naks() == [(0x62, "a")]


@test
def a_get_is_granted_within_bounds(u):
    u.attach()
    u.send({"function": m.BUFFER_RECV_POOL_GET, "context": 77, "packet_size": 1530, "packets": 1000})
    u.run(0.0)
    pools = u.of(m.BUFFER_RECV_POOL)
    assert pools[-1]["context"] == 77 and (pools[-1]["records"][0]["elements"], pools[-1]["records"][0]["element_size"]) == (256, 1536)
    for number in range(9):
        u.send({"function": m.BUFFER_RECV_POOL_GET, "context": 100 + number, "packet_size": 70000, "packets": 1})
    u.run(0.0)
    assert len(u.of(m.BUFFER_RECV_POOL)) == 2 and u.host_counters["msg.drop.state"] == 1
    u.write(FRAME, 255)
    u.run(0.0)
    assert len(u.frames) == 1


@test
def garbage_with_good_crcs_does_not_stop_it(u):
    """Cells, messages and INITs with random changes, and with right CRCs, so that they get far."""
    chance = random.Random(1)
    u.attach()

    def change(raw):
        raw = bytearray(raw)
        for _ in range(chance.randint(1, 3)):
            if raw:
                raw[chance.randrange(len(raw))] = chance.choice((0, 1, 255, chance.randrange(256)))
        return bytes(raw[:chance.choice((len(raw), len(raw), chance.randint(0, len(raw))))])

    def message():
        records = [u.pool, {"pool": 3, "first": 0, "count": 1, "stored": 5}]
        return change(m.encode(chance.choice((
            {"function": m.BUFFER_RECV_POOL, "records": records[:1]}, {"function": m.BUFFER_RECV_POOL_UPDATE, "records": records[1:]},
            {"function": m.FLUSH_REQUEST, "records": records[1:]}, {"function": m.RDMA_INDICATE, "records": records[1:]},
            {"function": m.CFG_REQUEST, "family": 2, "code": chance.randint(0, 11), "data": chance.randbytes(9)},
            {"function": m.CFG_REPLY, "family": 1, "code": 1, "status": 0, "data": b""},
            {"function": m.BUFFER_RECV_POOL_GET, "packet_size": 9, "packets": 9}, {"function": m.SEND_DATA, "data": bytes(40)},
        )) | {"context": chance.randint(0, 3)}))

    for number in range(3000):
        kind = chance.randrange(4)
        if kind == 0 and u.queue_pairs:
            u.send_bytes(message())
        elif kind == 1 and u.queue_pairs:
            qp = u.queue_pairs[chance.randrange(2)]
            cell = c.encode(c.Cell(chance.choice((c.SEND, c.RDMA_WRITE, c.READ_REQ)), c.RC, psn=qp.requester.psn,
                                   lcn=qp.requester.lcn, dqpn=qp.peer_number, sqpn=qp.number, dlid=5, slid=1,
                                   va=(u.offered()["address"], u.offered()["handle"], 60), payload=bytes(60)))
            cell = change(cell[:-4])
            u.to_host.append(flit.data_flit(cell + crc32c(cell).to_bytes(4, "big"), 0))
        elif kind == 2:
            init = im.encode(im.Init(chance.randint(1, 8), EUI64, u.instance, u.host.link.instance, 1, 2, mcp=1364, lid=1))
            u.to_host.append(flit.init_flit(change(init) or b"x"))
        else:
            u.to_host.append(change(flit.IDLE_FLIT + flit.data_flit(chance.randbytes(40), 0)))
        u.run(chance.choice((0, 0, 0.01)))
    u.run(3)
    u.attach()


@test
def stop_flushes_disconnects_and_names_bye(u):
    u.attach()
    u.host.stop()
    u.run(0.01)
    flushes = u.of(m.FLUSH_REQUEST)
    assert sorted(x["context"] >> 63 for x in flushes) == [0, 1]
    for x in flushes:
        u.send({"function": m.FLUSH_REPLY, "context": x["context"]})
    u.run(0.01)
    assert u.mgmts[-1].kind == mgmt.DISC and u.inits[-1].step == im.BYE and u.host.stopped
