"""Counters by name (P-ERR-1: each error of a peer is counted by a named counter)."""
import collections


class Counters(collections.Counter):
    def add(self, name, n=1):
        self[name] += n

    def table(self):
        width = max((len(name) for name in self), default=0)
        return "\n".join(f"  {name:<{width}}  {self[name]}" for name in sorted(self))
