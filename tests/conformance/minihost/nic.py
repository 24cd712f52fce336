"""Configuration of the NIC by CfgUtil (docs/protocol/cfgutil.md): what a host sends after each connect, and its replies."""
import protobuf
from codec import Bad, unwide, wide
from digest import digest

OK, UNKNOWN, BAD_VALUE, BUSY = 0, 1, 3, 5
RETRY, TRIES = 0.5, 3
VNET = 1 << 6
CODES = {"INIT_NIC": (1, 1), "SET_MAC": (1, 2), "SET_FILTER": (1, 4), "SET_MTU": (1, 5), "START": (1, 6), "SET_OFFLOADS": (1, 12),
         "GET_STATS": (2, 1), "ECHO": (2, 5), "GET_VERSION": (2, 6), "EVENT": (2, 7), "ANNOUNCE": (2, 8), "GET_STATE": (2, 9)}


class Nic:
    """Requests, one at a time, in the order INIT_NIC, GET_STATE, SET_..., START."""

    def __init__(self, mac, mtu, name, contexts):
        self.mac, self.mtu, self.name, self.contexts = mac, mtu, name, contexts
        self.waiting, self.open, self.is_started, self.generation, self.link_up, self.log = [], None, False, 0, False, []
        self.is_asked_to_announce = False

    def begin(self):
        self.is_started, self.open, self.generation = False, None, 0
        self.waiting = [("INIT_NIC", "InitNicRequest", {"node_name": self.name.encode().hex(), "features_wanted": wide(VNET)})]

    def state(self):
        return {"mac": self.mac, "mtu": self.mtu, "all_multicast": True, "offloads": wide(VNET)}

    def next_message(self, now):
        """The request to send or to repeat now, or None."""
        if self.open and now >= self.open["due"]:
            if self.open["tries"] == TRIES:
                self.open["tries"] = 0  # it is still needed: as a new request
                self.open["message"]["context"] = self.contexts()
            return self._sent(now)
        if self.open or not self.waiting:
            return None
        code, message, values = self.waiting[0]
        family, number = CODES[code]
        data = protobuf.encode(message, values).hex() if message else ""
        self.open = {"tries": 0, "message": {"function": "CfgUtilRequest", "context": self.contexts(), "family": family, "code": number,
                                             "data": data}}
        return self._sent(now)

    def _sent(self, now):
        self.open["tries"] += 1
        self.open["due"] = now + RETRY
        return self.open["message"]

    def on_reply(self, now, reply):
        if not self.open or reply["context"] != self.open["message"]["context"]:
            return "context"
        if reply["status"] == BUSY:
            self.open.update(due=now + 0.1, tries=0)
            self.open["message"] = dict(self.open["message"], context=self.contexts())
            return None
        code, self.open = self.waiting.pop(0)[0], None
        self.log.append(f"{code}: status {reply['status']}")
        data = bytes.fromhex(reply["data"])
        try:
            self._take(code, reply["status"], data)
        except Bad as bad:
            self.log.append(f"{code}: the data is no message of Protobuf ({bad})")
        return None

    def _take(self, code, status, data):
        if code == "INIT_NIC" and status == OK:
            granted = protobuf.decode("InitNicReply", data)
            self.link_up = granted["link"].get("up", False) if "link" in granted else False
            self.mtu = min(self.mtu, granted.get("mtu_max", self.mtu))
            self.waiting = [("GET_STATE", None, None)]
        elif code == "GET_STATE":
            self.waiting = [] if status == OK and self._is_own_digest(data) else [
                ("SET_MAC", "SetMacRequest", {"mac": self.mac}), ("SET_FILTER", "SetFilterRequest", {"filter": {"all_multicast": True}}),
                ("SET_MTU", "SetMtuRequest", {"mtu": self.mtu}), ("SET_OFFLOADS", "SetOffloadsRequest", {"mask": wide(VNET)})]
            self.waiting.append(("START", None, None))
        elif code == "START":
            self.is_started = status == OK

    def _is_own_digest(self, data):
        try:
            return protobuf.decode("GetStateReply", data).get("digest") == digest(self.state()).hex()
        except Bad:
            return False

    def takes_announce(self):
        """Whether ANNOUNCE has come since the last call."""
        is_asked, self.is_asked_to_announce = self.is_asked_to_announce, False
        return is_asked

    def on_request(self, request):
        """The reply to a request of the I/O unit."""
        code, status, data = (request["family"], request["code"]), OK, ""
        content = bytes.fromhex(request["data"])
        try:
            event = protobuf.decode("EventRequest", content) if code == CODES["EVENT"] else {}
            if code == CODES["ECHO"]:
                protobuf.decode("EchoRequest", content)
        except Bad:
            return dict(request, function="CfgUtilReply", status=BAD_VALUE, data="")
        if code == CODES["EVENT"]:
            if unwide(event.get("generation", "0x0")) > self.generation:
                self.generation, self.link_up = unwide(event["generation"]), event.get("link", {}).get("up", False)
        elif code == CODES["ECHO"]:
            data = request["data"]  # the reply has the same field
        elif code == CODES["GET_VERSION"]:
            data = protobuf.encode("GetVersionReply", {"version": 1, "version_highest": 1, "program": b"minihost".hex()}).hex()
        elif code == CODES["ANNOUNCE"]:
            self.is_asked_to_announce = True
        else:
            status = UNKNOWN
        return {"function": "CfgUtilReply", "context": request["context"], "family": code[0], "code": code[1], "status": status, "data": data}
