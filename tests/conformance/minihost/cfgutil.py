"""CfgUtil (cfgutil.md): the requester, and what a host serves itself (EVENT, ANNOUNCE, ECHO, GET_VERSION)."""
from collections import OrderedDict

import message as m
import protobuf

OK, UNKNOWN, BAD_SIZE, BAD_VALUE, NOT_PERMITTED, BUSY, DEVICE, OTHER_VERSION = range(8)
INIT_NIC, SET_MAC, SET_FILTER, SET_MTU, START, GET_STATE = (1, 1), (1, 2), (1, 4), (1, 5), (1, 6), (2, 9)
ECHO, GET_VERSION, EVENT, ANNOUNCE = (2, 5), (2, 6), (2, 7), (2, 8)
REPEAT_AFTER, TRIES, MOST_OPEN, KEPT = 0.5, 3, 8, 8              # P-CFG-2, P-CFG-3
BUSY_WAIT = 0.2


class Requester:
    def __init__(self, control, timers):
        self.control, self.timers = control, timers
        self._open = {}                                          # context -> [code, bytes, tries, timer, done]
        self._waiting = []

    def request(self, code, data, done):
        """`done(status, data)`; status is None if no reply came. A busy server is asked again, with a new context (P-CFG-7)."""
        if len(self._open) >= MOST_OPEN:
            return self._waiting.append((code, data, done))
        context = self.control.new_context()
        message = {"function": m.CFG_REQUEST, "context": context, "family": code[0], "code": code[1], "data": data}
        self._open[context] = [code, message, 0, None, data, done]
        self._try(context)

    def _try(self, context):
        entry = self._open.get(context)
        if entry is None:
            return
        if entry[2] == TRIES:
            self._open.pop(context)
            return entry[5](None, b"")
        entry[2] += 1
        entry[3] = self.timers.after(REPEAT_AFTER, lambda: self._try(context))
        self.control.send(entry[1])

    def on_reply(self, message):
        entry = self._open.get(message["context"])
        if entry is None or entry[0] != (message["family"], message["code"]):
            return self.control.counters.add("msg.drop.context")                 # P-CFG-8: no error of the peer
        self._open.pop(message["context"])
        entry[3].cancel()
        if message["status"] == BUSY:
            self.timers.after(BUSY_WAIT, lambda: self.control.alive and self.request(entry[0], entry[4], entry[5]))
        else:
            entry[5](message["status"], message["data"])
        if self._waiting and len(self._open) < MOST_OPEN:
            self.request(*self._waiting.pop(0))

    def end(self):
        for entry in self._open.values():
            if entry[3]:
                entry[3].cancel()
        self._open.clear()
        self._waiting.clear()


class Server:
    """`on_event(event)` and `on_announce()` are the owner's."""

    def __init__(self, control):
        self.control = control
        self._kept = OrderedDict()                               # context -> reply
        self._generation = -1
        self.on_event = lambda event: None
        self.on_announce = lambda: None

    def on_request(self, message):
        context = message["context"]
        reply = self._kept.get(context)
        if reply is None:
            code = (message["family"], message["code"])
            status, data = self._execute(code, message["data"])
            if 24 + len(data) + -len(data) % 4 > self.control.msg_max:
                status, data = DEVICE, b""                       # P-CFG-9
            reply = self._reply(context, code, status, data)
            if context:                                          # P-CFG-3
                self._kept[context] = reply
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        self.control.send(reply)

    def refuse(self, raw, status):
        """The reply to a request that cannot be read further (P-CFG-4)."""
        code = tuple(int.from_bytes(raw[at:at + 2], "big") if len(raw) >= at + 2 else 0 for at in (12, 14))
        self.control.send(self._reply(m.header(raw)[2], code, status, b""))

    @staticmethod
    def _reply(context, code, status, data):
        return {"function": m.CFG_REPLY, "context": context, "family": code[0], "code": code[1], "status": status,
                "data": data}

    def _execute(self, code, data):
        try:
            if code == ECHO:
                return OK, protobuf.encode("EchoReply", protobuf.decode("EchoRequest", data))
            if code == GET_VERSION:
                protobuf.decode("Empty", data)
                return OK, protobuf.encode("GetVersionReply", {"version": 1, "version_highest": 1, "program": b"minihost"})
            if code == EVENT:
                event = protobuf.decode("EventRequest", data)
                if event.get("generation", 0) > self._generation:                # P-CFG-23
                    self._generation = event.get("generation", 0)
                    self.on_event(event)
                return OK, b""
            if code == ANNOUNCE:
                protobuf.decode("Empty", data)
                self.on_announce()                               # P-CFG-24
                return OK, b""
        except protobuf.ProtobufError:
            return BAD_VALUE, b""                                # P-CFG-5
        return UNKNOWN, b""                                      # P-CFG-10
