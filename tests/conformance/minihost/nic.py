"""The configuration of the NIC by its host (cfgutil.md): INIT_NIC, GET_STATE, settings, START."""
import cfgutil
import protobuf
from digest import digest

AGAIN_AFTER = 1.0
VNET = 1 << 6                                                    # the one feature that this host wants (P-CFG-12)


class Nic:
    """`on_started(nic)` is called when START has succeeded, `on_refused(reason)` when it will be tried again, and
    `on_failed(reason)` when the unit does not reply."""

    def __init__(self, control, requests, name, mac, mtu, on_started, on_refused, on_failed):
        self._timers, self._alive = control.timers, lambda: control.alive
        self._requests, self._name, self._mac, self._wanted_mtu = requests, name, mac, mtu
        self._on_started, self._on_refused, self._on_failed = on_started, on_refused, on_failed
        self.mtu, self.link_up = 0, True
        self._steps = []

    def start(self):
        self._request(cfgutil.INIT_NIC, "InitNic", {"node_name": self._name.encode()[:64], "features_wanted": VNET},
                      self._initialised)

    def _again(self, reason):
        """A NIC that is not ready for this host may be later; the connection stays (P-ERR-3)."""
        self._on_refused(reason)
        self._timers.after(AGAIN_AFTER, lambda: self._alive() and self.start())

    def _request(self, code, name, values, done):
        """`done(reply)` with what the reply has. Without a reply the attempt has failed."""
        data = protobuf.encode(name + "Request", values) if values else b""

        def replied(status, raw):
            if status is None:
                return self._on_failed(f"no reply to {name}")
            if status != cfgutil.OK:
                return self._refused(name, status)
            try:
                reply = protobuf.decode(name + "Reply", raw) if name + "Reply" in protobuf.SCHEMAS else {}
            except protobuf.ProtobufError:
                return self._again(f"the reply to {name} does not parse")
            done(reply)
        self._requests.request(code, data, replied)

    def _refused(self, name, status):
        if name in ("SetFilter", "SetMtu", "GetState"):
            self._next()                                         # the NIC does without
        else:
            self._again(f"{name} has status {status}")

    def _initialised(self, reply):
        granted = reply.get("features_granted", 0) & VNET        # P-CFG-13: what was not wanted is not used
        if not granted:
            return self._again("the feature VNET was not granted")
        self.mtu = reply.get("mtu", 1500)
        self.link_up = reply.get("link", {}).get("up", False)
        self._offloads = granted
        self._steps = [self._get_state, self._set_mac, self._set_filter, self._set_mtu, self._start]
        self._next()

    def _next(self):
        self._steps.pop(0)()

    def _get_state(self):
        mtu = self._wanted_mtu or self.mtu
        own = digest({"mac": self._mac, "all_multicast": True, "mtu": mtu, "offloads": self._offloads})

        def found(reply):
            if reply.get("digest") == own:                       # P-CFG-21
                self.mtu = mtu
                self._steps = [self._start]
            self._next()
        self._request(cfgutil.GET_STATE, "GetState", {}, found)

    def _set_mac(self):
        self._request(cfgutil.SET_MAC, "SetMac", {"mac": self._mac}, lambda reply: self._next())

    def _set_filter(self):
        self._request(cfgutil.SET_FILTER, "SetFilter", {"filter": {"all_multicast": True}}, lambda reply: self._next())

    def _set_mtu(self):
        if not self._wanted_mtu or self._wanted_mtu == self.mtu:
            return self._next()

        def replied(reply):
            self.mtu = reply.get("mtu", self.mtu)                # P-CFG-17: the one in force
            self._next()
        self._request(cfgutil.SET_MTU, "SetMtu", {"mtu": self._wanted_mtu}, replied)

    def _start(self):
        self._request(cfgutil.START, "Start", {}, lambda reply: self._on_started(self))
