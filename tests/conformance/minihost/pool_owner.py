"""The pool that this host offers, and its elements (pools.md): the receiving direction.

A frame is delivered as soon as its element is indicated, so an element is FILLED and RELEASED within one step.
"""
import frame
import message as m

POSTED, FILLED, RELEASED, RETURNED = range(4)
WRITABLE = (POSTED, RETURNED)                                    # P-MEM-8
# what BufferRecvPoolGet may add (P-LIM-3), and how many requests that cannot be granted are kept (P-POOL-7)
MOST_ADDED, MOST_ADDED_BYTES, MOST_ADDED_POOLS, MOST_IN_POOL, LARGEST_ELEMENT = 512, 4 << 20, 16, 256, 65536
MOST_REQUESTS = 8


class OwnedPool:
    def __init__(self, memory, reference, elements, size):
        self.reference, self.elements, self.size = reference, elements, size
        self.states = [POSTED] * elements
        self.writable = elements
        self.handle, self.entry = memory.bind(elements * size, self.guard)

    def guard(self, offset, length):
        last = max(offset, offset + length - 1) // self.size
        return all(state in WRITABLE for state in self.states[offset // self.size:last + 1])

    def fill(self, first, count):
        for at in range(first, first + count):
            self.states[at] = FILLED
        self.writable -= count

    def release(self, first, count):
        for at in range(first, first + count):
            self.states[at] = RELEASED

    def raw(self, first, size):
        begin = first * self.size
        return bytes(self.entry.raw[begin:begin + size])

    def take_back(self):
        """The ranges of released elements, which are RETURNED from now on."""
        ranges = []
        for at, state in enumerate(self.states):
            if state == RELEASED:
                self.states[at] = RETURNED
                self.writable += 1
                if ranges and ranges[-1][0] + ranges[-1][1] == at:
                    ranges[-1][1] += 1
                else:
                    ranges.append([at, 1])
        return ranges


class PoolOwner:
    """`deliver(bytes)` gets each frame, with its virtio-net header."""

    def __init__(self, memory, control, data, form_in, deliver):
        self.memory, self.control, self.data, self.form_in, self.deliver = memory, control, data, form_in, deliver
        self.pools = {}
        self._added = set()                                      # references of pools that were requested
        self._requests = {}                                      # context -> (packet size, packets): not granted

    def offer(self, sizes, context=0):
        """Pools of (elements, bytes of an element), in one message."""
        records = []
        for elements, size in sizes:
            reference = next(r for r in range(256) if r not in self.pools)
            pool = self.pools[reference] = OwnedPool(self.memory, reference, elements, size)
            pool.entry.qp = self.data                            # P-MEM-7
            records.append({"pool": reference, "elements": elements, "element_size": size, "handle": pool.handle,
                            "address": pool.entry.address, "pool_context": 0})
        self._post_receives()
        self.control.send({"function": m.BUFFER_RECV_POOL, "context": context, "records": records})
        return [record["pool"] for record in records]

    def on_get(self, context, size, packets):
        """BufferRecvPoolGet: granted within the bounds, or kept (P-POOL-6, P-POOL-7)."""
        added = [self.pools[reference] for reference in self._added if reference in self.pools]
        size += -size % 64
        elements = min(packets, MOST_IN_POOL, MOST_ADDED - sum(pool.elements for pool in added))
        raw = sum(pool.elements * pool.size for pool in added) + elements * size
        if elements > 0 and size <= LARGEST_ELEMENT and raw <= MOST_ADDED_BYTES and len(added) < MOST_ADDED_POOLS:
            self._requests.pop(context, None)
            self._added.update(self.offer([(elements, size)], context))
        elif context in self._requests or len(self._requests) < MOST_REQUESTS:
            self._requests[context] = (size, packets)
        else:
            raise m.MessageError("state")

    def _post_receives(self):
        """P-CH-11: a receive of the data channel for each element that the peer may fill."""
        wanted = sum(pool.writable for pool in self.pools.values())
        posted = self.data.responder.posted
        if posted < wanted:
            self.data.responder.post_receive(wanted - posted)

    # --- indications ---

    def on_idata(self, idata, address, length):
        """A write with immediate data has completed (P-DATA-7)."""
        try:
            pool, element = self._named(idata, address, length)
        except m.MessageError as error:
            self._post_receives()
            return self.control.error(str(error))
        self._filled(pool, element, 1, length)

    def _named(self, idata, address, length):
        if self.form_in != frame.FORM_A:
            raise m.MessageError("role")
        reference, element, size = frame.decode_a(idata)
        pool = self.pools.get(reference)
        if pool is None:
            raise m.MessageError("pool")
        if element >= pool.elements or size > pool.size or size != length \
                or address != pool.entry.address + element * pool.size:
            raise m.MessageError("range")
        if pool.states[element] not in WRITABLE:
            raise m.MessageError("state")
        return pool, element

    def on_indicate(self, message, is_peers):
        """BufferRDMAIndicate (P-DATA-10). All records are checked before the first is applied."""
        named = []
        for r in message["records"]:
            pool = self.pools.get(r["pool"])
            if pool is None:
                raise m.MessageError("role" if is_peers(r["pool"]) else "pool")
            first, count, stored = r["first"], r["count"], r["stored"]
            if first + count > pool.elements or not (count - 1) * pool.size < stored <= count * pool.size:
                raise m.MessageError("range")
            named.append((pool, first, count, stored))
        seen = set()
        for pool, first, count, _ in named:
            for at in range(first, first + count):
                if pool.states[at] not in WRITABLE or (pool.reference, at) in seen:
                    raise m.MessageError("state")
                seen.add((pool.reference, at))
        for pool, first, count, stored in named:
            self._filled(pool, first, count, stored)

    def _filled(self, pool, first, count, size):
        pool.fill(first, count)
        raw = pool.raw(first, size)                              # a copy: the element is released below
        self.deliver(raw)
        pool.release(first, count)                               # P-POOL-8: its reader has taken the data out

    # --- return and end ---

    def end_of_batch(self):
        """P-POOL-13: at once, but not while the peer has half of the pool or more."""
        for pool in self.pools.values():
            if 2 * pool.writable < pool.elements:
                ranges = pool.take_back()
                if ranges:
                    self._post_receives()
                    self.control.send({"function": m.BUFFER_RECV_POOL_UPDATE, "context": 0, "records": [
                        {"pool": pool.reference, "first": first, "count": count} for first, count in ranges]})

    def on_flush_request(self, references):
        """The initiator ends pools of this host (P-POOL-17): unbind before the reply (P-MEM-9)."""
        for reference in references:
            if not self.end_pool(reference):
                self.control.counters.add("msg.flush.pool")      # P-POOL-18

    def end_pool(self, reference):
        pool = self.pools.pop(reference, None)
        if pool:
            self.memory.unbind(pool.handle)
        return pool is not None

    def end(self):
        for reference in list(self.pools):
            self.end_pool(reference)
