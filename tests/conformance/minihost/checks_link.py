"""Tests of host_check.py: link, connection and transport of the host."""
import cell as c
import flit
import init_message as im
import message as m
import mgmt
from scripted_unit import EUI64, TOKEN

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def near(a, b):
    return abs(a - b) < 0.002


def hello_times(u, seconds):
    """When hellos are sent, from now on."""
    times, count = [], len(u.inits)
    begin = u.now
    while u.now < begin + seconds:
        u.run(0.001)
        times += [u.now - begin for one in u.inits[count:] if one.step == im.HELLO]
        count = len(u.inits)
    return times


# --- link ---

@test
def hello_is_repeated_with_the_same_nonce(u):
    u.serves_init = False
    times = hello_times(u, 4)
    assert all(near(a, b) for a, b in zip(times, (0.001, 0.1, 0.3, 0.7, 1.5, 2.5, 3.5))) and len(times) == 7, times
    assert len({one.nonce for one in u.inits}) == 1 and u.inits[0].nonce and not u.inits[0].echo


@test
def what_is_not_the_challenge_or_ready_of_this_hello_is_dropped(u):
    u.serves_init = False
    u.run(0.01)
    nonce = u.inits[-1].nonce
    u.init(im.CHALLENGE, nonce=TOKEN, echo=nonce + 1)
    u.run(0.01)
    assert all(one.step == im.HELLO for one in u.inits)
    for wrong in (dict(echo=nonce ^ 1), dict(payload_crc=1), dict(offered_lid=0), dict(profile=im.FULL), dict(cell_crc=1),
                  dict(program_version=0x01000000), dict(eui64=0), dict(eui64=u.host.link.eui64)):
        u.init(im.READY, **{"echo": nonce, **wrong})
        u.run(0.01)
        assert u.host.link.state == "CONNECTING", wrong
    u.init(im.READY, echo=nonce)
    u.run(0.01)
    assert u.host.link.state == "UP" and u.host.link.lid == 5


@test
def third_init_has_the_token_and_the_instance(u):
    u.run(0.05)
    hello, third = u.inits[:2]
    assert (third.step, third.echo, third.peer_instance) == (im.ANSWER, TOKEN, u.instance)
    assert third.nonce not in (0, hello.nonce) and third.payload_crc == 0


@test
def refuse_slows_hello_down(u):
    u.serves_init = False
    for reason, wait in ((5, 1.0), (6, 0.2)):
        u.run(0.01)
        u.init(im.REFUSE, echo=u.inits[-1].nonce, reason=reason)
        u.run(0.0)
        times = hello_times(u, wait + 0.01)
        assert len(times) == 1 and near(times[0], wait), times


@test
def bye_is_followed_by_hello_soon(u):
    u.attach()
    u.init(im.BYE, peer_instance=u.host.link.instance + 1)
    u.run(0.0)
    assert u.host.link.up
    u.serves_init = False
    u.init(im.BYE, peer_instance=u.host.link.instance)
    times = hello_times(u, 3)
    assert near(times[0], 0.1) and all(0.049 < b - a < 0.069 for a, b in zip(times, times[1:]) if b < 1.0), times
    assert len(times) < 24, times


@test
def probe_gets_its_reply_and_one_of_another_instance_none(u):
    u.attach()
    u.init(im.PROBE, nonce=99)
    u.init(im.PROBE, nonce=98, instance=u.instance + 1)
    u.run(0.0)
    assert [(one.step, one.echo) for one in u.inits[-1:]] == [(im.PROBE_REPLY, 99)]


@test
def init_is_alone_in_its_datagram(u):
    u.attach()
    probe = flit.init_flit(im.encode(im.Init(im.PROBE, EUI64, u.instance, nonce=1, mcp=1364)))
    u.to_host.append(flit.IDLE_FLIT + probe)
    u.run(0.0)
    assert u.inits[-1].step != im.PROBE_REPLY and u.host_counters["link.rx.drop.init"] == 1


@test
def idle_comes_every_200_ms(u):
    u.attach()
    before = u.idles
    u.run(2.0)
    assert 9 <= u.idles - before <= 11, u.idles - before


@test
def silence_is_noticed_and_ends(u):
    u.attach()
    u.alive = u.serves_init = False
    u.run(0.7)
    assert u.host.link.state == "UP" and u.inits[-1].step == im.HELLO            # P-LINK-15
    u.run(0.5)
    assert u.host.link.state == "SILENT"
    u.alive = True
    u.run(0.3)
    assert u.host.link.state == "UP" and u.host.started and len(u.lines) == 1


@test
def another_instance_gets_a_new_connection_and_no_disc(u):
    u.attach()
    u.init(im.BYE, peer_instance=u.host.link.instance)
    u.run(0.0)
    del u.mgmts[:]
    u.restart()
    u.run(1.0)
    assert u.lines[-1] == "minihost: up" and len(u.lines) == 3, u.lines
    assert mgmt.DISC not in [one.kind for one in u.mgmts]


# --- connection ---

@test
def connect_req_is_repeated(u):
    u.serves_connect = False
    u.run(0.95)
    assert 4 <= len(u.mgmts) <= 5 and all(one == u.mgmts[0] for one in u.mgmts)


@test
def reject_is_followed_by_another_transaction(u):
    u.serves_connect = False
    u.run(0.05)
    first = u.mgmts[-1]
    u.mgmt(mgmt.CONNECT_REJ, first.transaction, reject=3, private=b"full")
    u.run(0.09)
    count = len(u.mgmts)
    u.run(1.0)
    assert len(u.mgmts) > count == 1 and u.mgmts[1].transaction != first.transaction


@test
def unsuitable_replies_get_disc(u):
    def swapped(pairs):
        for pair in pairs:
            pair.peer_qpn ^= 1
        return pairs
    u.serves_config = False
    wrong = [{"mode": 2}, {"version_lowest": 2}, {"msg_max": [4096]}, {"msg_max": [128, 65536]}, {"channels": 1}, {"queues": 2},
             {"context_in": 1}]
    for change in wrong:
        u.capabilities.update(change)
        u.run(1.0)
        kinds = [one.kind for one in u.mgmts]
        assert mgmt.DISC in kinds and mgmt.CONNECT_RTU not in kinds, change
        u.capabilities.update({"mode": 1, "version_lowest": 1, "msg_max": [4096, 65536], "channels": 0, "queues": 1})
        del u.mgmts[:]
    u.capabilities["context_in"] = 0
    u.pairs_of = swapped
    u.run(1.0)
    assert mgmt.CONNECT_RTU not in [one.kind for one in u.mgmts]
    u.pairs_of = lambda pairs: pairs[::-1]
    u.run(1.0)
    assert mgmt.CONNECT_RTU in [one.kind for one in u.mgmts]


@test
def disc_is_repeated_ten_times(u):
    u.attach()
    u.serves_connect = False
    del u.mgmts[:]
    u.host.connection.disconnect("test")
    u.run(3)
    assert [one.kind for one in u.mgmts[:10]] == [mgmt.DISC] * 10 and u.mgmts[10].kind == mgmt.CONNECT_REQ


@test
def each_disc_gets_its_reply(u):
    u.attach()
    u.mgmt(mgmt.DISC, 4711)
    u.run(0.0)
    assert (u.mgmts[-1].kind, u.mgmts[-1].transaction) == (mgmt.DISC_REP, 4711) and u.host.started
    old = u.transaction
    u.mgmt(mgmt.DISC)
    u.run(0.0)
    assert (u.mgmts[-1].kind, u.mgmts[-1].transaction) == (mgmt.DISC_REP, old) and not u.host.started
    u.run(1.0)
    assert u.host.started


@test
def mgmt_of_another_instance_is_dropped(u):
    u.attach()
    u.mgmt(mgmt.DISC, instance=u.instance + 7)
    u.run(0.0)
    assert u.host.started and u.host_counters["fabric.mgmt.drop.peer"] == 1


# --- transport ---

@test
def refusals_have_their_code_and_end_the_connection(u):
    write = dict(payload=b"x" * 60, flags=c.A)
    cases = [(0, c.SEND, c.ONLY, dict(psn=9), (0x61, 0)), (0, c.SEND, c.LAST, dict(csn=1, payload=b"x"), (0x61, 0)),
             (0, c.RDMA_WRITE, c.ONLY, dict(write, va=(0, 0, 60)), (0x61, 0)), (0, c.READ_REQ, c.ONLY, dict(va=(0, 0, 1)), (0x61, 0)),
             (0, c.SEND_DEREG, c.ONLY, dict(dereg=1), (0x61, 0)), (0, c.SEND, c.ONLY, dict(payload=bytes(4100)), (0x61, 0)),
             (1, c.RDMA_WRITE, c.ONLY, dict(write, va=(0, 0, 60)), (0x62, "a")),
             (1, c.RDMA_WRITE, c.ONLY, dict(write, va=(0, None, 60)), (0x62, "e")),
             (1, c.RDMA_WRITE, c.ONLY, dict(write, va=(None, None, 61)), (0x61, 0))]
    for channel, op, pos, fields, expected in cases:
        u.attach()
        pool = u.offered()
        if "va" in fields:
            address, handle, length = fields["va"]
            fields["va"] = (pool["address"] if address is None else address, pool["handle"] if handle is None else handle, length)
        del u.cells[:]
        u.raw_cell(channel, op, pos, **fields)
        u.run(0.0)
        assert u.naks() == [expected], (op, fields, u.naks())
        assert not u.host.started and u.mgmts[-1].kind == mgmt.DISC


@test
def malformed_cells_are_refused_only_if_they_are_the_next(u):
    u.attach()
    lcn = u.queue_pairs[0].requester.lcn
    del u.cells[:]
    u.raw_cell(0, 0x07, lcn=lcn + 1 & 0xFFFF)
    u.run(0.0)
    assert u.naks() == [] and u.host.started
    u.raw_cell(0, c.READ_RESP, c.ONLY, csn=1)                    # also if its operation is a response (P-RC-23)
    u.run(0.0)
    assert u.naks() == [(0x61, 0)] and not u.host.started


@test
def duplicates_are_acknowledged_and_early_cells_are_kept(u):
    u.attach()
    qp = u.queue_pairs[0]
    ping = m.encode({"function": m.CFG_REQUEST, "context": 5, "family": 2, "code": 6, "data": b""})
    del u.cells[:]
    u.raw_cell(0, c.SEND, psn=qp.requester.psn + 1 & 0xFFFFFF, lcn=qp.requester.lcn + 1 & 0xFFFF, payload=ping)
    u.run(0.0)
    acks = [x.ackx for x in u.cells if x.op == c.ACK]
    assert len(acks) == 1 and acks[0].bitmap == [0x80000000] and not u.of(m.CFG_REPLY)
    for _ in range(2):
        u.raw_cell(0, c.SEND, payload=ping[:11] + b"\x06" + ping[12:])
        u.run(0.0)
    assert [x["context"] for x in u.of(m.CFG_REPLY)] == [6, 5]
    assert len([x for x in u.cells if x.op == c.ACK and not x.ackx.bitmap]) == 2


@test
def foreign_cells_are_dropped(u):
    u.attach()
    for wrong in (dict(sqpn=1), dict(dqpn=2), dict(partition=0x8001), dict(partition=0)):
        u.raw_cell(0, c.SEND, payload=b"bad " * 3, **wrong)
    u.run(0.0)
    assert u.host.started and not u.host_counters["msg.drop.function"]
