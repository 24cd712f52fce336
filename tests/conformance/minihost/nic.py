"""Configuration of the NIC by CfgUtil (docs/protocol/cfgutil.md): what a host sends after each connect, and its replies."""
import protobuf
from codec import unwide, wide
from digest import digest

OK, UNKNOWN, BAD_VALUE, BUSY = 0, 1, 3, 5
RETRY, TRIES = 0.5, 3
VNET = 1 << 6
CODES = {"INIT_NIC": (1, 1), "SET_MAC": (1, 2), "SET_FILTER": (1, 4), "SET_MTU": (1, 5), "START": (1, 6), "SET_OFFLOADS": (1, 12),
         "GET_STATS": (2, 1), "ECHO": (2, 5), "EVENT": (2, 7), "ANNOUNCE": (2, 8), "GET_STATE": (2, 9)}


class Nic:
    """Requests, one at a time, in the order INIT_NIC, GET_STATE, SET_..., START."""

    def __init__(self, mac, mtu, name, contexts):
        self.mac, self.mtu, self.name, self.contexts = mac, mtu, name, contexts
        self.waiting, self.open, self.is_started, self.generation, self.link_up, self.log = [], None, False, 0, False, []

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
        if code == "INIT_NIC" and reply["status"] == OK:
            granted = protobuf.decode("InitNicReply", data)
            self.link_up = granted["link"].get("up", False) if "link" in granted else False
            self.mtu = min(self.mtu, granted.get("mtu_max", self.mtu))
            self.waiting = [("GET_STATE", None, None)]
        elif code == "GET_STATE":
            known = reply["status"] == OK and protobuf.decode("GetStateReply", data).get("digest") == digest(self.state()).hex()
            self.waiting = [] if known else [
                ("SET_MAC", "SetMacRequest", {"mac": self.mac}), ("SET_FILTER", "SetFilterRequest", {"filter": {"all_multicast": True}}),
                ("SET_MTU", "SetMtuRequest", {"mtu": self.mtu}), ("SET_OFFLOADS", "SetOffloadsRequest", {"mask": wide(VNET)})]
            self.waiting.append(("START", None, None))
        elif code == "START":
            self.is_started = reply["status"] == OK
        return None

    def on_request(self, request):
        """The reply to a request of the I/O unit."""
        code, status, data = (request["family"], request["code"]), OK, ""
        if code == CODES["EVENT"]:
            event = protobuf.decode("EventRequest", bytes.fromhex(request["data"]))
            if unwide(event.get("generation", "0x0")) > self.generation:
                self.generation, self.link_up = unwide(event["generation"]), event.get("link", {}).get("up", False)
        elif code == CODES["ECHO"]:
            data = request["data"]  # the reply has the same field
        elif code != CODES["ANNOUNCE"]:
            status = UNKNOWN
        return {"function": "CfgUtilReply", "context": request["context"], "family": code[0], "code": code[1], "status": status, "data": data}
