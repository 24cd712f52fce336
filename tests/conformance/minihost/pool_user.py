"""The pools that the peer offers, and the frames that this host writes into them (pools.md, data.md)."""
from collections import deque

import frame
import message as m

AVAILABLE, WRITING, CONSUMED = range(3)
MOST_POOLS, MOST_ELEMENTS, MOST_SIZES = 272, 66048, 16           # P-POOL-3
MOST_FLUSHES = 16                                                # P-POOL-19
MOST_FRAMES = 256                                                # that wait for an element
MOST_B = 4 << 20                                                 # bytes of a pool of form B


class KnownPool:
    def __init__(self, record):
        self.reference, self.elements, self.size = record["pool"], record["elements"], record["element_size"]
        self.handle, self.address = record["handle"], record["address"]
        self.states = [AVAILABLE] * self.elements
        self.free = deque(range(self.elements))
        self.writes = [0] * self.elements                        # number of the last write to each element
        self.open_writes = 0
        self.ending = False                                      # this host flushes it (P-POOL-21)

    def take(self):
        element = self.free.popleft()
        self.states[element] = WRITING
        self.writes[element] += 1
        self.open_writes += 1
        return element, self.writes[element]

    def completed(self, element, number):
        """P-POOL-12: an element that an Update has made AVAILABLE stays so."""
        self.open_writes -= 1
        if self.states[element] == WRITING and self.writes[element] == number:
            self.states[element] = CONSUMED

    def release(self, first, count):
        for element in range(first, first + count):
            self.states[element] = AVAILABLE
            self.free.append(element)


def _overlap(a, b):
    return a["handle"] == b["handle"] and a["address"] < b["address"] + b["elements"] * b["element_size"] \
        and b["address"] < a["address"] + a["elements"] * a["element_size"]


class PoolUser:
    def __init__(self, control, data, form_out, counters):
        self.control, self.data, self.form_out, self.counters = control, data, form_out, counters
        self.pools, self._records = {}, {}
        self.flushing = {}                                       # reference -> pool that its owner flushes
        self._flushes = []                                       # (context, pools) that wait for writes
        self.frames = deque()
        self._open_indicates = 0                                 # writes that are, or have to be, indicated by a message
        self.on_pool = lambda: None

    # --- messages of the owner ---

    def on_pools(self, message):
        records, known = message["records"], list(self._records.values())
        for at, r in enumerate(records):
            if any(_overlap(r, other) for other in known + records[:at]):
                raise m.MessageError("range")
        everything = known + records
        if len(everything) > MOST_POOLS or sum(r["elements"] for r in everything) > MOST_ELEMENTS \
                or len({r["element_size"] for r in everything}) > MOST_SIZES:
            raise m.MessageError("range")
        references = [r["pool"] for r in records]
        if len(set(references)) != len(references) or any(r in self.pools or r in self.flushing for r in references):
            raise m.MessageError("state")
        for r in records:
            self._records[r["pool"]] = r
            self.pools[r["pool"]] = KnownPool(r)
        self.on_pool()

    def on_update(self, message, is_own):
        """P-POOL-10: exactly the named elements become AVAILABLE, or none of them."""
        named, seen = [], set()
        for r in message["records"]:
            pool = self.pools.get(r["pool"]) or self.flushing.get(r["pool"])
            if pool is None:
                raise m.MessageError("role" if is_own(r["pool"]) else "pool")
            first, count = r["first"], r["count"] or pool.elements - r["first"]
            if first >= pool.elements or first + count > pool.elements:
                raise m.MessageError("range")
            for element in range(first, first + count):
                if (pool.reference, element) in seen:
                    raise m.MessageError("range")
                seen.add((pool.reference, element))
            named.append((pool, first, count))
        for pool, first, count in named:
            if pool.reference in self.flushing or \
                    (not pool.ending and AVAILABLE in pool.states[first:first + count]):
                raise m.MessageError("state")
        for pool, first, count in named:
            if pool.ending:
                self.counters.add("msg.update.state")            # P-POOL-21: they crossed the request
            else:
                pool.release(first, count)

    def on_flush_request(self, context, references):
        """P-POOL-16: take no more elements, wait for the writes, reply, forget."""
        if len(self._flushes) >= MOST_FLUSHES:
            raise m.MessageError("state")
        waiting = []
        for reference in references:
            pool = self.pools.pop(reference, None)
            if pool:
                self.flushing[reference] = pool
            pool = self.flushing.get(reference)
            if pool is None:
                self.counters.add("msg.flush.pool")              # P-POOL-18: it still gets a reply
            else:
                waiting.append(pool)
        self._flushes.append((context, waiting))
        self._finish_flushes()

    def _finish_flushes(self):
        for flush in list(self._flushes):
            context, pools = flush
            if not any(pool.open_writes for pool in pools):
                self._flushes.remove(flush)
                self.control.send({"function": m.FLUSH_REPLY, "context": context})
                for pool in pools:
                    self.flushing.pop(pool.reference, None)
                    self._records.pop(pool.reference, None)

    def begin_ending(self):
        """This host ends: no element is taken any more."""
        self.frames.clear()
        for pool in self.pools.values():
            pool.ending = True

    @property
    def open_writes(self):
        return sum(pool.open_writes for pool in self.pools.values())

    # --- frames ---

    def send(self, raw):
        """A frame with its virtio-net header goes as soon as there is an element (P-DATA-1)."""
        if len(self.frames) >= MOST_FRAMES:
            return self.counters.add("nic.tx.drop.full")
        self.frames.append(raw)
        self.pump()

    def pump(self):
        while self.frames:
            raw = self.frames[0]
            pools = [p for p in self.pools.values() if p.size >= len(raw) and not p.ending]
            if not pools:
                if self.pools:
                    self.counters.add("nic.tx.drop.too_long")
                    self.frames.popleft()
                    continue
                return
            free = [p for p in pools if p.free]
            if not free:
                return
            pool = min(free, key=lambda p: p.size)               # P-DATA-3
            with_idata = self._idata_fits(pool)
            if with_idata and self._open_indicates:
                return                                           # P-DATA-11: it would overtake a frame
            self.frames.popleft()
            self._write(pool, raw, with_idata)

    def _idata_fits(self, pool):
        """data.md, idata: the limits of the two forms."""
        if self.form_out == frame.FORM_A:
            return pool.reference <= 255 and pool.elements <= 256 and pool.size <= 65536
        return self.form_out == frame.FORM_B and len(self.pools) + len(self.flushing) == 1 and pool.size % 64 == 0 \
            and pool.elements * pool.size <= MOST_B

    def _write(self, pool, raw, with_idata):
        element, number = pool.take()
        offset, idata = element * pool.size, None
        if with_idata:                                           # P-DATA-5
            idata = frame.encode_a(pool.reference, element, len(raw)) if self.form_out == frame.FORM_A \
                else frame.encode_b(offset, len(raw))
        else:
            self._open_indicates += 1
        self.counters.add("nic.tx.frames")
        self.data.post_write(pool.handle, pool.address + offset, raw, idata,
                             lambda ok: self._written(ok, pool, element, number, None if with_idata else len(raw)))

    def _written(self, ok, pool, element, number, indicate):
        if not ok:
            self.counters.add("nic.tx.lost")
            return
        pool.completed(element, number)
        if indicate is not None:                                 # P-DATA-6
            self.control.send({"function": m.RDMA_INDICATE, "context": 0, "records": [
                {"pool": pool.reference, "first": element, "count": 1, "stored": indicate}]}, self._indicated)
        self._finish_flushes()

    def _indicated(self, ok):
        self._open_indicates -= 1
        if ok:
            self.pump()
