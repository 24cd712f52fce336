"""What runs over the two channels of one connection: messages, pools, configuration (message.md, channels.md).

`Control` is channel 0: it sends messages, and counts the errors of the peer, of which eight within a minute end the connection.
`Messaging` puts the parts together and gives each message to the part that it is for.
"""
from collections import deque

import cfgutil
import message as m
from pool_owner import PoolOwner
from pool_user import PoolUser

MOST_ERRORS, ERROR_PERIOD = 8, 60.0                              # P-CH-16
MOST_QUEUED = 1024
FLUSH_WAIT = 1.0                                                 # P-POOL-16


class Control:
    def __init__(self, qp, timers, counters, msg_max, end):
        self.qp, self.timers, self.counters, self.msg_max = qp, timers, counters, msg_max
        self._end, self._errors, self._context = end, deque(), 0
        self.alive = True

    def new_context(self):
        """A counter whose bit 63 is clear (P-POOL-15)."""
        self._context += 1
        return self._context

    def send(self, message, done=None):
        if len(self.qp.requester.queue) >= MOST_QUEUED:
            return self.end("the peer takes no messages")        # P-LIM-2: what a peer can fill has a bound
        self.counters.add("msg.tx." + m.NAMES[message["function"]])
        self.qp.post_send(m.encode(message), done)

    def error(self, reason):
        """An error of the peer: counted, and the eighth within a minute ends the connection."""
        self.counters.add("msg.drop." + reason)
        now = self.timers.now()
        self._errors.append(now)
        while self._errors[0] <= now - ERROR_PERIOD:
            self._errors.popleft()
        if len(self._errors) >= MOST_ERRORS:
            self.end("eight errors of the peer within a minute")

    def end(self, reason):
        if self.alive:
            self.alive = False
            self._end(reason)


class Messaging:
    """One connection that is UP. `deliver(bytes)` gets frames, `end(reason)` disconnects."""

    def __init__(self, node, queue_pairs, terms, pools, deliver, end):
        self.timers, self.counters = node.timers, node.counters
        control, data = queue_pairs
        self.control = Control(control, node.timers, node.counters, terms.msg_max, end)
        self.owner = PoolOwner(node.memory, self.control, data, terms.form_in, deliver)
        self.user = PoolUser(self.control, data, terms.form_out, node.counters)
        self.requests = cfgutil.Requester(self.control, node.timers)
        self.server = cfgutil.Server(self.control)
        self._deliver, self._flushes, self._on_flushed = deliver, {}, None
        control.deliver_send, control.deliver_write = self._on_message, lambda *_: None
        data.deliver_send, data.deliver_write = self._on_data_send, self._on_write
        self._control_qp, self._data_qp = control, data
        self.owner.offer(pools)

    # --- what arrives ---

    def _on_write(self, idata, address, length):
        if self.control.alive:
            self.owner.on_idata(idata, address, length)

    def _on_data_send(self, raw):
        """P-CH-7: channel 1 carries RDMA writes only."""
        self._data_qp.responder.post_receive()
        if self.control.alive:
            self.control.error("role")

    def _on_message(self, raw):
        self._control_qp.responder.post_receive()                # P-CH-10
        if not self.control.alive:
            return
        try:
            message = m.decode(raw, self.control.msg_max)
            self.counters.add("msg.rx." + m.NAMES[message["function"]])
            self._take(message)
        except m.MessageError as error:
            self._on_error(raw, str(error))

    def _on_error(self, raw, reason):
        function = m.header(raw)[0] if len(raw) >= m.HEADER else 0
        if function == m.CFG_REQUEST and reason in ("version", "short", "align"):
            self.server.refuse(raw, cfgutil.OTHER_VERSION if reason == "version" else cfgutil.BAD_SIZE)
        if reason == "context":
            return self.counters.add("msg.drop.context")         # no error of the peer (P-CH-16)
        self.control.error(reason)
        if function == m.BUFFER_RECV_POOL_UPDATE and reason in ("state", "range"):
            self.control.end(f"Update with {reason}")            # P-POOL-11

    def _take(self, message):
        function = message["function"]
        if function == m.BUFFER_RECV_POOL:
            self.user.on_pools(message)
            self.user.pump()
        elif function == m.BUFFER_RECV_POOL_UPDATE:
            self.user.on_update(message, lambda reference: reference in self.owner.pools)
            self.user.pump()
        elif function == m.BUFFER_RECV_POOL_GET:
            self.owner.on_get(message["context"], message["packet_size"], message["packets"])
        elif function == m.FLUSH_REQUEST:
            self._on_flush_request(message)
        elif function == m.FLUSH_REPLY:
            self._on_flush_reply(message)
        elif function == m.SEND_DATA:
            self._deliver(message["data"])
        elif function == m.RDMA_INDICATE:
            self.owner.on_indicate(message, lambda reference: reference in self.user.pools)
        elif function == m.CFG_REQUEST:
            self.server.on_request(message)
        else:
            self.requests.on_reply(message)

    # --- flush ---

    def _on_flush_request(self, message):
        references = [r["pool"] for r in message["records"]]
        if message["context"] & m.OF_RECEIVER:                   # P-POOL-14
            self.owner.on_flush_request(references)
            self.control.send({"function": m.FLUSH_REPLY, "context": message["context"]})
        else:
            self.user.on_flush_request(message["context"], references)

    def flush_all(self, done):
        """The orderly end: the pools of both sides, those of the peer when the own writes have completed (P-POOL-17)."""
        self._on_flushed = done
        self.user.begin_ending()
        if self.owner.pools:
            self._flush(list(self.owner.pools), 0, self.owner.end)
        self._flush_of_peer(self.timers.now() + FLUSH_WAIT)

    def _flush_of_peer(self, until):
        if not self.control.alive:
            return
        if self.user.open_writes and self.timers.now() < until:
            self.timers.after(0.005, lambda: self._flush_of_peer(until))
            return
        if self.user.pools:
            self._flush(list(self.user.pools), m.OF_RECEIVER, self.user.pools.clear)
        self._when_flushed()

    def _flush(self, references, side, done):
        context = self.control.new_context() | side
        timer = self.timers.after(FLUSH_WAIT, lambda: self._flushed(context))
        self._flushes[context] = (timer, done)
        self.control.send({"function": m.FLUSH_REQUEST, "context": context, "records": [{"pool": r} for r in references]})

    def _on_flush_reply(self, message):
        if message["context"] not in self._flushes:
            raise m.MessageError("context")                      # P-POOL-20
        self._flushed(message["context"])

    def _flushed(self, context):
        timer, done = self._flushes.pop(context)
        timer.cancel()
        done()
        self._when_flushed()

    def _when_flushed(self):
        if not self._flushes and self._on_flushed:
            done, self._on_flushed = self._on_flushed, None
            done()

    # --- time ---

    def end_of_batch(self):
        if self.control.alive:
            self.owner.end_of_batch()

    def close(self):
        """The connection is over."""
        self.control.alive = False
        self.requests.end()
        self.owner.end()
        for timer, _ in self._flushes.values():
            timer.cancel()
        self._flushes.clear()
