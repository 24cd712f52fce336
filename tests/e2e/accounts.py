#!/usr/bin/env python3
"""The counts of both programs and of the kernel: do they balance? Each set is three files of JSON, NAME.host, NAME.unit (of
`splitnic stats --json`) and NAME.kernel.

  accounts.py changing NAME                   prints the counts that traffic changes
  accounts.py arrived NAME                    has each program what the other gave the fabric, since both were started?
  accounts.py account BEFORE AFTER [STAYED]   do the differences of two sets balance? STAYED: host or unit, if the other was
                                              restarted meanwhile: its counts begin with its restart
"""
import json
import sys


def counts_of(name):
    found = []
    for part in ("host", "unit", "kernel"):
        with open(f"{name}.{part}", encoding="utf-8") as file:
            found.append(json.load(file))
    return found


def drops(counters, prefix):
    return sum(value for name, value in counters.items() if name.startswith(prefix + ".drop.") and not name.endswith(".kernel"))


def balance(host, unit, kernel):
    """Every frame that crossed an edge, or the name under which it was dropped. Counts are differences. Yields whose
    the counters it takes, its text, both sides, and how much more the right side may be: what was on its way when a pair
    ended is lost to its sender, which cannot know whether it has arrived."""
    h, u, k = host.get, unit.get, kernel.get
    yield "host", "nic0 sent = read from the TAP", k("nic0.tx"), h("tap.rx.frames"), 0
    yield ("host", "TAP in + announced = given on + dropped",
           h("tap.rx.frames") + h("tap.rx.split") + h("host.tx.announced"),
           h("host.tx.frames") + drops(host, "host.tx") + drops(host, "tap.rx"), 0)
    yield ("host unit", "host to unit: sent = arrived + lost", h("host.tx.frames"),
           u("iou.from_host.frames") + h("host.tx.lost"), h("host.tx.lost"))
    yield ("unit", "from the host = to the LAN + dropped", u("iou.from_host.frames"),
           u("lan.tx.frames") + drops(unit, "iou.from_host"), 0)
    yield ("unit", "to the LAN port = sent + dropped", u("lan.tx.frames") + u("lan.port.tx.split"),
           u("lan.port.tx.frames") + drops(unit, "lan.port.tx"), 0)
    yield "unit", "sent by the LAN port = seen on the LAN", u("lan.port.tx.frames"), k("peer.rx"), 0
    yield ("unit", "LAN sent = seen by the LAN port", k("peer.tx"),
           u("lan.port.rx.frames") + u("lan.port.rx.drop.kernel"), 0)
    yield ("unit", "LAN port in = given on + dropped", u("lan.port.rx.frames") + u("lan.port.rx.split"),
           u("lan.rx.frames") + drops(unit, "lan.port.rx"), 0)
    yield ("unit", "from the LAN = to the host + dropped", u("lan.rx.frames") + u("iou.to_host.split"),
           u("iou.to_host.frames") + drops(unit, "lan.rx"), 0)
    yield ("host unit", "unit to host: sent = arrived + lost", u("iou.to_host.frames"),
           h("host.rx.frames") + drops(host, "host.rx") + u("iou.to_host.lost"), u("iou.to_host.lost"))
    yield ("host", "to the TAP = written + dropped", h("host.rx.frames") + h("tap.tx.split"),
           h("tap.tx.frames") + drops(host, "tap.tx"), 0)
    yield "host", "written to the TAP = nic0 received", h("tap.tx.frames"), k("nic0.rx"), 0


def changing(name):
    host, unit, kernel = counts_of(name)
    for whose, counts in (("host", host), ("unit", unit)):
        for counter in sorted(counts):
            if ".frames" in counter or ".drop" in counter:
                print(whose, counter, counts[counter])
    print(kernel)


def arrived(name):
    host, unit, kernel = counts_of(name)
    sys.exit(any(left != right for whose, _, left, right, _ in balance(host, unit, kernel) if whose == "host unit"))


def account(before, after, stayed="host unit"):
    differences = [{name: value - old.get(name, 0) for name, value in new.items()}
                   for old, new in zip(counts_of(before), counts_of(after))]
    wrong = False
    for whose, what, left, right, more in balance(*differences):
        if whose not in stayed:
            continue
        good = right - more <= left <= right
        print(f"{'ok ' if good else 'NOT'} {what}: {left} = {right}" + (f", or down to {right - more}" if more else ""))
        wrong |= not good
    sys.exit(wrong)


if __name__ == "__main__":
    {"changing": changing, "arrived": arrived, "account": account}[sys.argv[1]](*sys.argv[2:])
