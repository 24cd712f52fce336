"""Memory that a peer may write, and the checks of each access (memory.md).

An `Entry` is a window on one pool: bound to one queue pair, writes only (P-MEM-7). `Memory` is the table of all of them.
"""
import secrets


class Entry:
    def __init__(self, address, size, qp, guard):
        self.address, self.raw, self.qp = address, bytearray(size), qp
        self.guard = guard                                       # (offset, length) -> whether the owner lets it be written
        self.valid = True


class Memory:
    def __init__(self):
        self._entries = {}

    def bind(self, size, guard):
        """A new entry: (handle, Entry). Its queue pair is set when it is known. Handles and addresses are random, so they
        show no order, and none is used twice (P-MEM-5, P-MEM-6)."""
        handle = secrets.randbits(32)
        while handle in self._entries or handle == 0:
            handle = secrets.randbits(32)
        address = 0x7000_0000_0000 | secrets.randbits(40) & ~0xFFF
        self._entries[handle] = Entry(address, size, None, guard)
        return handle, self._entries[handle]

    def unbind(self, handle):
        entry = self._entries.pop(handle, None)
        if entry:
            entry.valid = False                                  # P-MEM-9

    def check(self, qp, handle, address, length):
        """The letter of the first check that fails, or None (P-MEM-2). Each entry is a window with the right to write, in the
        one protection domain of this host, so that b, d and g cannot fail."""
        entry = self._entries.get(handle)
        if entry is None:
            return "a"
        if entry.qp is not qp:
            return "c"
        offset = address - entry.address
        if offset < 0 or offset + length > len(entry.raw):
            return "e"
        return None if entry.guard(offset, length) else "f"      # P-MEM-8

    def place(self, handle, address, raw):
        entry = self._entries[handle]
        offset = address - entry.address
        entry.raw[offset:offset + len(raw)] = raw
