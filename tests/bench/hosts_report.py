#!/usr/bin/env python3
"""The page of a run of hosts.sh: goal V14, tables and a plot, from the results that it kept.

  hosts_report.py RESULTS FOLDER...     prints the page and writes hosts.md and hosts.svg into each FOLDER
  RESULTS: "settings" and rounds/ROUND.HOSTS.results, in lines "name value" (hosts.sh, hosts_measure.py)
"""
import statistics
import sys

import line_plot
import report_page
from report_page import metric_table, in_cells, joined, load_settings, main, marks, measured, ratio, rows, spread

# Of the plot: title, its lines as (metric, name), scale.
PANELS = [
    ("TCP of all busy hosts (up to 8), Gbit/s", [("tcp_to_lan", "to the LAN"), ("tcp_to_host", "to the hosts")], 1e-3),
    ("CPU seconds per GB", [("cpu_to_lan", "to the LAN"), ("cpu_to_host", "to the hosts")], 1),
    ("Memory (Pss) of the I/O unit, MiB", [("pss_idle_mib", "idle"), ("pss_after_mib", "after traffic")], 1),
]

# Heading, its columns as (metric, title, digits).
TABLES = [
    ("Throughput of all busy hosts, and CPU", [
        ("tcp_to_lan", "to the LAN, Mbit/s", 0), ("tcp_to_host", "to the hosts, Mbit/s", 0),
        ("cpu_to_lan", "CPU s per GB to the LAN", 2), ("cpu_to_host", "to the hosts", 2)]),
    ("Memory (Pss) of the I/O unit, MiB", [
        ("pss_idle_mib", "idle", 1), ("pss_after_mib", "after traffic", 1), ("added_idle", "each added host, idle", 2),
        ("added_after", "each added host, after traffic", 2)]),
    ("The command show, at the unit", [
        ("show_ms", "ms under load", 1), ("show_most_ms", "the longest", 1), ("snapshot_us", "us of the data threads, idle", 0)]),
    ("Fairness, one stream each", [
        ("jain_to_lan", "to the LAN: Jain's index", 3), ("least_to_lan", "least", 2), ("most_to_lan", "greatest", 2),
        ("jain_to_host", "to the hosts: Jain's index", 3), ("least_to_host", "least", 2), ("most_to_host", "greatest", 2)]),
    ("Fairness, 8 streams of one host and 1 of each other host", [
        (f"{name}_heavy_{way}", f"{start}{title}", digits)
        for way, start in (("to_lan", "to the LAN: "), ("to_host", "to the hosts: "))
        for name, title, digits in (("first", "the heavy host", 2), ("least", "least", 2), ("jain", "Jain's index", 3))]),
    ("The same into a LAN of 1 Gbit/s", [
        ("tcp_narrow_to_lan", "Mbit/s", 0), ("first_narrow_to_lan", "the heavy host", 2), ("least_narrow_to_lan", "least", 2),
        ("jain_narrow_to_lan", "Jain's index", 3)]),
]


def load(folder):
    """number of hosts -> metric -> round -> value"""
    return {int(number): {name: dict(by_round) for name, by_round in results.items()}
            for number, results in report_page.load(folder).items()}


def per_round(of, base, combine):
    return {number: combine(of[number], base[number]) for number in of if number in base}


def add_differences(results):
    """What a host adds, compared with the unit with the smallest number of hosts in the same round."""
    least = min(results)
    for number, of in results.items():
        for name in ("idle", "after"):
            pss, base = of.get(f"pss_{name}_mib", {}), results[least].get(f"pss_{name}_mib", {})
            if number > least:
                of[f"added_{name}"] = per_round(pss, base, lambda a, b, n=number: (a - b) / (n - least))


def goal_table(results):
    least, most = min(results), max(results)
    lines = []
    for way, title in (("to_lan", "to the LAN"), ("to_host", "to the hosts")):
        found = ratio(results[most].get(f"tcp_{way}", {}), results[least].get(f"tcp_{way}", {}))
        if most > least and found:
            lines.append([f"TCP {title}, {most} hosts to {least}", in_cells(found), *marks(found[0], 0.85, 1.2)])
    for name, title in (("idle", "idle"), ("after", "after traffic")):
        added = results[most].get(f"added_{name}")
        if added:
            lines.append([f"memory of each added host, {title}, MiB", spread(added.values(), 2),
                          *marks(statistics.median(added.values()), 8, 5, less_is_better=True)])
    return rows(["goal V14", "ratio of medians, or median", "wanted", "beyond", "result"], lines) if lines else []


HOW = """
## Method

    host I: nic0 10.77.1.I, fab0 10.99.1.I  --  bridge, unit: fab0 10.99.0.1, lan0  --  LAN peer: lan0 10.77.0.2

Each host is a process of `splitnic-host` in a separate namespace, with a veth into the bridge of the fabric (UDP). For each
number of hosts the unit and the hosts are restarted, all attach, and up to 8 of them carry one TCP stream of iperf3 each, all
at the same time. All programs, both ends of the traffic included, share the machine's processors.

- CPU: seconds in which the processors were not idle, whichever process used them, per GB that arrived.
- Least, greatest, the heavy host: that host's share divided by an even share; 1 is fair. With eight streams of one host and
  one of each other, TCP alone would give the heavy host eight times the bytes of another; the unit gives each host the same.
- Into a narrow LAN the port is always full, and what it does not take waits at the unit.
- `show`: from its start to its end while the busy hosts send to the LAN; and processor time of the unit's data threads for each, without traffic.
- Memory: Pss of the unit from `smaps_rollup`; of an added host: the difference to the unit with the smallest number of hosts in the same round.

To repeat it, as root: `tests/bench/hosts.sh --publish`; `--quick` gives a first impression.
"""


def heading(settings, results):
    rounds = max(len(values) for of in results.values() for values in of.values())
    return ["# Many hosts on one I/O unit", "",
            measured("hosts.sh", settings, rounds),
            "Medians, in brackets the smallest and the greatest round. Absolute results drift from hour to hour.",
            "", "![plot](hosts.svg)"]


def page(folder):
    results = load(folder)
    if not results:
        sys.exit(f"hosts_report.py: no results in {folder}")
    add_differences(results)
    names = [(number, str(number)) for number in sorted(results)]
    parts = [("Goal", goal_table(results)), *((title, metric_table(results, names, of, "hosts")) for title, of in TABLES)]
    return joined(heading(load_settings(folder), results), parts, HOW), line_plot.plot(results, PANELS, "hosts attached")


if __name__ == "__main__":
    main(page, "hosts", HOW)
