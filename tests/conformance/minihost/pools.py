"""Both ends of pools (docs/protocol/pools.md, data.md): Memory and PoolOwner for what the peer writes, PoolUser for what we write."""
import collections
import secrets

import messages
from codec import put, unwide, wide

FLUSH_OF_RECEIVER = 1 << 63
POOLS_MAX, ELEMENTS_MAX, SIZES_MAX = 272, 66048, 16  # of the peer (P-POOL-3)
UPDATE_DELAY, FLUSH_TIMEOUT = 1e-4, 1.0


class PoolOwner:
    """Our pool. POSTED, FILLED, RELEASED and RETURNED as in the table; the peer may write POSTED and RETURNED."""

    takes_writes = True
    send_max = 65536  # what comes is dropped as `role`

    def __init__(self, elements, element_size, on_frame):
        self.elements, self.size, self.on_frame = elements, element_size, on_frame
        self.pool, self.handle = 0, secrets.randbits(32)
        self.base = secrets.randbelow(1 << 40) << 12
        self.memory = bytearray(elements * element_size)
        self.state = ["POSTED"] * elements
        self.posted_receives = elements
        self.is_bound, self.update_at, self.errors = True, None, []  # errors: of the peer, until somebody takes them

    def advertisement(self):
        record = {"pool": self.pool, "elements": self.elements, "element_size": self.size, "handle": self.handle,
                  "address": wide(self.base), "pool_context": wide(0)}
        return {"function": "BufferRecvPool", "context": wide(0), "records": [record]}

    # What the data queue pair asks.

    def receives(self):
        return self.posted_receives

    def check_write(self, handle, address, length):
        if not self.is_bound or handle != self.handle:
            return "a"
        first, end = address - self.base, address - self.base + length
        if first < 0 or end > len(self.memory):
            return "e"
        touched = range(first // self.size, max(end - 1, first) // self.size + 1)
        return "f" if any(self.state[index] not in ("POSTED", "RETURNED") for index in touched) else None

    def place(self, address, payload):
        at = address - self.base
        self.memory[at:at + len(payload)] = payload

    def on_send(self, _payload):
        self.errors.append("role")

    def on_write(self, address, length, idata):
        """An indication. It is dropped unless it names the element where the write went."""
        found = messages.decode_idata("A", put(idata, 4))
        self.posted_receives -= 1
        element = found["element"]
        if found["pool"] != self.pool:
            return self._drop("pool")
        if element >= self.elements or found["size"] != length or length > self.size or address != self.base + element * self.size:
            return self._drop("range")
        if self.state[element] not in ("POSTED", "RETURNED"):
            return self._drop("state")
        self.state[element] = "FILLED"
        at = element * self.size
        frame = bytes(self.memory[at:at + length])
        self.state[element] = "RELEASED"  # the frame is copied
        self.posted_receives += 1
        return self.on_frame(frame)

    def _drop(self, reason):
        self.posted_receives += 1
        self.errors.append(reason)

    def on_indicate(self, message, pools_of_peer):
        """BufferRDMAIndicate. Returns the reason to drop it, or None."""
        named = []
        for record in message["records"]:
            first, count, stored = record["first"], record["count"], record["stored"]
            if record["pool"] != self.pool or not self.is_bound:
                return "role" if record["pool"] in pools_of_peer else "pool"
            if first + count > self.elements or not (count - 1) * self.size < stored <= count * self.size:
                return "range"
            named += range(first, first + count)
        if len(set(named)) != len(named) or any(self.state[index] not in ("POSTED", "RETURNED") for index in named):
            return "state"
        for record in message["records"]:
            at = record["first"] * self.size
            frame = bytes(self.memory[at:at + record["stored"]])
            self.state[record["first"]:record["first"] + record["count"]] = ["RELEASED"] * record["count"]
            self.on_frame(frame)
        return None

    # Update.

    def review(self, now):
        """When the Update of released elements is due."""
        released = self.state.count("RELEASED")
        theirs = self.state.count("POSTED") + self.state.count("RETURNED")
        if released == 0 or 2 * theirs >= self.elements:
            self.update_at = None
        elif 2 * released >= self.elements or theirs == 0:
            self.update_at = now
        elif self.update_at is None:
            self.update_at = now + UPDATE_DELAY

    def update(self, now):
        self.review(now)
        if self.update_at is None or now < self.update_at:
            return None
        records, index = [], 0
        while index < self.elements:
            first = index
            while index < self.elements and self.state[index] == "RELEASED":
                self.state[index] = "RETURNED"
                index += 1
            if index > first:
                records.append({"pool": self.pool, "first": first, "count": index - first})
            index += 1
        self.update_at = None
        return {"function": "BufferRecvPoolUpdate", "context": wide(0), "records": records}


class PoolUser:
    """The pools of the peer."""

    def __init__(self):
        self.pools = {}
        self.flushes = collections.deque()  # contexts and references that wait for our writes

    def on_advertised(self, message):
        """Returns the reason to drop it, or None."""
        references = [record["pool"] for record in message["records"]]
        if len(set(references)) != len(references) or any(reference in self.pools for reference in references):
            return "state"
        everything = [pool["record"] for pool in self.pools.values()] + message["records"]
        ranges = sorted((record["handle"], unwide(record["address"]), record["elements"] * record["element_size"]) for record in everything)
        if any(one[0] == two[0] and one[1] + one[2] > two[1] for one, two in zip(ranges, ranges[1:])):
            return "range"
        if (len(everything) > POOLS_MAX or sum(record["elements"] for record in everything) > ELEMENTS_MAX or
                len({record["element_size"] for record in everything}) > SIZES_MAX):
            return "range"
        for record in message["records"]:
            self.pools[record["pool"]] = {"record": record, "available": collections.deque(range(record["elements"])),
                                          "taken": {}, "writing": 0, "is_flushed": False}
        return None

    def take(self, size):
        """An AVAILABLE element of the smallest size that is enough: pool, index; or None."""
        fitting = [pool for pool in self.pools.values() if pool["record"]["element_size"] >= size and pool["available"] and
                   not pool["is_flushed"]]
        if not fitting:
            return None
        pool = min(fitting, key=lambda one: one["record"]["element_size"])
        element = pool["available"].popleft()
        pool["taken"][element] = True
        pool["writing"] += 1
        return pool, element

    @staticmethod
    def idata_of(pool, element, size):
        """Form A, or None where it cannot name the element."""
        record = pool["record"]
        if record["pool"] > 255 or record["elements"] > 256 or record["element_size"] > 65536:
            return None
        return int.from_bytes(messages.encode_idata({"form": "A", "pool": record["pool"], "element": element, "size": size}), "big")

    @staticmethod
    def address_of(pool, element):
        return unwide(pool["record"]["address"]) + element * pool["record"]["element_size"]

    def on_update(self, message, own_pool):
        named = []
        for record in message["records"]:
            pool = self.pools.get(record["pool"])
            if pool is None:
                return "role" if record["pool"] == own_pool else "pool"
            if pool["is_flushed"]:
                return "state"
            elements, first = pool["record"]["elements"], record["first"]
            end = elements if record["count"] == 0 else first + record["count"]
            if first >= elements or end > elements:
                return "range"
            named += [(record["pool"], element) for element in range(first, end)]
        if len(set(named)) != len(named):
            return "range"
        if any(element not in self.pools[reference]["taken"] for reference, element in named):
            return "state"
        for reference, element in named:
            del self.pools[reference]["taken"][element]
            self.pools[reference]["available"].append(element)
        return None

    def on_flush(self, message):
        """Returns `pool` if one is not known; the request gets its reply all the same (P-POOL-18)."""
        references = [record["pool"] for record in message["records"]]
        reason = None if all(reference in self.pools for reference in references) else "pool"
        for reference in references:
            if reference in self.pools:
                self.pools[reference]["is_flushed"] = True
        self.flushes.append((message["context"], references))
        return reason

    def flush_reply(self):
        """The reply whose pools have none of our writes in flight any more, or None."""
        if not self.flushes:
            return None
        context, references = self.flushes[0]
        if any(self.pools[reference]["writing"] for reference in references if reference in self.pools):
            return None
        self.flushes.popleft()
        for reference in references:
            self.pools.pop(reference, None)
        return {"function": "BufferPoolFlushReply", "context": context}
