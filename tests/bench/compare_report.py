#!/usr/bin/env python3
"""The page of a run of compare.sh: tables, goals and a plot, from the results that it kept.

  compare_report.py RESULTS FOLDER...     prints the page and writes compare.md and compare.svg into each FOLDER
  RESULTS: "settings" and rounds/ROUND.CARRIER.results, in lines "name value" (compare.sh, compare_measure.py)
"""
import statistics
import sys

import compare_plot
from compare_goals import GOALS
from report_page import metric_table, joined, load, load_settings, main, marks, measured, ratio, rows, spread

TITLES = {
    "splitnic-packet": "splitnic, `packet:` port",
    "splitnic-auto": "splitnic, `packet:` port, no payload CRC (`--payload-crc auto`)",
    "splitnic-keyed": "splitnic keyed, `packet:` port",
    "splitnic-keyed-openssl": "the same, encrypted by OpenSSL in place of libipsec-mb",
    "splitnic-keyed-flood": "the same, 100000 bad datagrams per second from strangers",
    "splitnic-keyed-aside": "the same, as many datagrams to a closed port of that machine",
    "splitnic-pcap": "splitnic, `pcap:` port",
    "splitnic-keyed-pcap": "splitnic keyed, `pcap:` port",
    "splitnic-shm": "splitnic, shm fabric, `packet:` port",
    "splitnic-busy": "splitnic, `packet:` port, `--busy-poll`",
    "splitnic-awake": "splitnic, `packet:` port, `--keep-awake 1000`",
    "direct": "TAP to AF_PACKET in one process",
    "vxlan": "kernel VXLAN and bridge",
    "openvpn": "OpenVPN tap, no cipher, MTU 1500",
    "openvpn-9000": "OpenVPN tap, no cipher, MTU 9000",
    "openvpn-gcm": "OpenVPN tap, AES-256-GCM, MTU 1500",
    "wireguard": "wireguard-go (IP packets only)",
    "socat": "socat TAP over UDP",
    "veth": "one veth, no tunnel",
}


def tcp_columns(prefix, digits):
    return [(f"{prefix}_{way}_{streams}", f"to the {where}, {streams} stream{'s' if streams > 1 else ''}", digits)
            for way, where in (("to_lan", "LAN"), ("to_host", "host")) for streams in (1, 4)]


# Heading, its columns as (metric, title, digits).
TABLES = [
    ("TCP, Mbit/s, by the congestion control of the system", tcp_columns("tcp", 0)),
    ("TCP, Mbit/s, by cubic", tcp_columns("tcp_cubic", 0)),
    ("Frames and round trips", [
        ("udp64_pps", "UDP frames of 64 bytes/s", 0), ("udp1400_pps", "of 1400 bytes/s", 0), ("ping_us", "ping, average, us", 0),
        ("rtt_p50_us", "TCP round trip of 64 bytes, p50, us", 0), ("rtt_p99_us", "p99, us", 0)]),
    ("CPU seconds per GB of TCP, memory", [*tcp_columns("cpu", 2), ("pss_mib", "memory (Pss) of its programs, MiB", 1)]),
    ("TCP segments and, summed over all these runs, cells of the fabric that were retransmitted", [
        *tcp_columns("retransmits", 0), ("cells_again_host", "cells, by the host", 0), ("cells_again_iou", "cells, by the unit", 0)]),
]
CELLS_AGAIN = ("fabric.rc.retransmit", "fabric.stream.tx.retransmit")  # splitnic's counters


def median_of(results, carrier, metric):
    return statistics.median(results[carrier][metric].values())


def evaluate(goal, results):
    """(the other carrier, ratio of medians, least and greatest ratio of one round), or None if results are missing."""
    if any(not results.get(carrier, {}).get(goal.metric) for carrier in (goal.carrier, *goal.others)):
        return None
    best = min if goal.less_is_better else max
    other = best(goal.others, key=lambda carrier: median_of(results, carrier, goal.metric))
    found = ratio(results[goal.carrier][goal.metric], results[other][goal.metric])
    return (other, *found) if found else None


def goal_table(results):
    lines = []
    for goal in GOALS:
        found = evaluate(goal, results)
        if found:
            other, of_medians, least, greatest = found
            lines.append([goal.name, goal.what, f"{goal.carrier} / {other}", f"{of_medians:.2f}", f"{least:.2f}",
                          f"{greatest:.2f}", *marks(of_medians, goal.limit, goal.beyond, goal.less_is_better)])
        elif any(results.get(carrier, {}).get(goal.metric) for carrier in (goal.carrier, *goal.others)):
            lines.append([goal.name, goal.what, f"{goal.carrier} / {' or '.join(goal.others)}", *["-"] * 5, "not measured"])
    header = ["goal", "what", "carriers", "ratio of medians", "least of a round", "greatest", "wanted", "beyond", "result"]
    return rows(header, lines) if lines else []


def add_cells_again(results):
    """Of the rounds that had TCP; a count that did not change has no metric."""
    for carrier in [name for name in results if name.startswith("splitnic-")]:
        of = results[carrier]
        rounds = {number for name in list(of) if name.startswith("tcp_") for number in of[name]}
        for where in ("host", "iou"):
            counts = [of.get(f"drop.tcp.{where}.splitnic:{name}", {}) for name in CELLS_AGAIN]
            of[f"cells_again_{where}"] = {number: sum(count.get(number, 0) for count in counts) for number in rounds}


def drop_table(results, carriers):
    """A metric drop.PHASE.HOP is there only in the rounds that had some: the others count as 0."""
    lines = []
    for carrier in carriers:
        of_carrier = results[carrier]
        rounds = {number for values in of_carrier.values() for number in values}
        for metric in sorted(name for name in of_carrier if name.startswith("drop.")):
            _, phase, hop = metric.split(".", 2)
            values = [of_carrier[metric].get(number, 0) for number in rounds]
            lines.append([TITLES[carrier], phase.upper(), f"`{hop}`", spread(values, 0)])
    return rows(["carrier", "runs", "where", "frames, datagrams or cells per round"], lines) if lines else []


def heading(settings, results, carriers):
    counts = {carrier: len({number for values in results[carrier].values() for number in values}) for carrier in carriers}
    rounds = max(counts.values())
    few = [f"{TITLES[carrier]}: {count}" for carrier, count in counts.items() if count < rounds]
    lines = ["# Tunnels compared", "",
             measured("compare.sh", settings, rounds, ", all variants in turn"),
             "The goals refer to the congestion control of the system.",
             "Medians, in brackets the smallest and the greatest round. Absolute results drift from hour to hour: only ratios of one run",
             "are meaningful."]
    return lines + ([f"Fewer rounds: {'; '.join(few)}."] if few else []) + ["", "![plot](compare.svg)"]


HOW = """
## Method

    host: nic0 10.77.0.1, fab0 10.99.0.1  --  unit: fab0 10.99.0.2, lan0  --  LAN peer: lan0 10.77.0.2

Three network namespaces on one machine, joined by veths of MTU 1500 with their offloads as the kernel sets them. All
programs, both ends of the traffic included, share its processors. VXLAN and socat have MTU 1450, so that nothing is sent in
fragments; wireguard-go has MTU 1420, its default, carries IP packets only, and the unit forwards between it and the LAN as a
router; OpenVPN at MTU 9000 has a LAN of that MTU too. "One veth" joins host and LAN peer without a tunnel.

- TCP: iperf3, by the congestion control of the system and by cubic: BBR paces each super-frame by a timer. CPU:
  seconds in which the processors were not idle, whichever process used them, per GB that arrived.
- UDP frames: iperf3 sends as fast as it can; the result counts what the receiving program got, so overload shows as loss.
- TCP round trip: `tests/bench/round_trips.py`; both ends are Python, which adds the same time to all results.
- splitnic over UDP and without keys runs with `--payload-crc on`, as between two machines; `splitnic-auto` leaves it out, as programs of one
  machine do by default. Over shm there is none.
- Dropped, lost, retransmitted: of each interface, of the UDP and packet sockets of each namespace, and splitnic's own counters
  (`splitnic stats`), of which `*.drop.kernel` repeat the kernel's count; `*.timeout` counts expiries of a timer. UDP runs
  overload every tunnel on purpose.
- Cells: what the fabric of each end retransmitted (`fabric.rc.retransmit`, `fabric.stream.tx.retransmit`).

Goals V7 to V12 are in [fabric.md](fabric.md), V14 in [hosts.md](hosts.md), V15 in [sizes.md](sizes.md).

To repeat it, as root: `tests/bench/compare.sh --publish`; `--quick` gives a first impression; `--only V4` measures only what that goal needs.
"""


def page(folder):
    settings, results = load_settings(folder), load(folder)
    carriers = [carrier for carrier in TITLES if carrier in results]
    if not carriers:
        sys.exit(f"compare_report.py: no results in {folder}")
    add_cells_again(results)
    names = [(carrier, TITLES[carrier]) for carrier in carriers]
    parts = [("Goals", goal_table(results)),
             *((title, metric_table(results, names, columns, "carrier")) for title, columns in TABLES),
             ("Dropped, lost, retransmitted", drop_table(results, carriers))]
    return joined(heading(settings, results, carriers), parts, HOW), compare_plot.plot(results, carriers)


if __name__ == "__main__":
    main(page, "compare", HOW)
