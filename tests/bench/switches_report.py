#!/usr/bin/env python3
"""The page of switches.sh: goals, tables, and what was compared.

  switches_report.py RESULTS FOLDER...   from rounds/ROUND.VARIANT.results and settings in RESULTS: the page, in each FOLDER
"""
import statistics
import sys
from dataclasses import dataclass

from report_page import in_cells, joined, load, load_settings, main, measured, metric_table, ratio, rows, spread

HOPS = (("direct", "direct"), ("hop", "one hop"), ("direct-full", "direct, full profile"), ("hop-full", "one hop, full profile"),
        ("direct-busy", "direct, spinning"), ("hop-busy", "one hop, spinning"),
        ("direct-full-busy", "direct, full profile, spinning"), ("hop-full-busy", "one hop, full profile, spinning"),
        ("direct-keyed", "direct, keyed"), ("hop-keyed", "one hop, each link keyed"))
TRIPS_OF_CELLS = (("trip-direct", "direct"), ("trip", "one hop"), ("trip-direct-full", "direct, full profile"),
                  ("trip-full", "one hop, full profile"))
FORWARDERS = (("wire", "a veth, nothing forwards"), ("bridge", "kernel bridge"), ("bridge-2", "kernel bridge, two senders"),
              ("ovs", "Open vSwitch, `netdev`"), ("cells", "splitnic-switch"),
              ("cells-alone", "splitnic-switch, one cell per datagram"), ("cells-full", "splitnic-switch, full profile"))
PATHS = (("one-path", "one path"), ("two-paths", "two paths (`path=all`)"))
FAILOVERS = (("all-paths", "two spines, `path=all`"), ("pair", "two switches as a redundant pair, one path at a time"))
KILLS = ("gap_1_ms", "gap_2_ms")  # two per round

WAYS = (("to_lan", "to the LAN"), ("to_host", "to the host"))
TCP = tuple((f"tcp_{way}_{streams}", f"{title}, {streams} stream{'s' if streams > 1 else ''}, Mbit/s", 0)
            for streams in (1, 4) for way, title in WAYS)
TRIPS = (("ping_us", "ping, us", 0), ("rtt_p50_us", "TCP round trip of 64 bytes, p50, us", 0), ("rtt_p99_us", "p99, us", 0))
CPU = tuple((f"cpu_{way}_1", f"CPU s per GB {title}", 2) for way, title in WAYS)
CELL_TRIPS = (("trip_p50_us", "round trip p50, us", 1), ("trip_p99_us", "p99, us", 1), ("trips", "round trips", 0),
              ("trips_lost", "lost", 0))
FORWARDED = (("fast_per_s", "arrive per second", 0), ("fast_sent_per_s", "sent per second", 0), ("fast_lost", "lost, %", 1),
             ("fast_cpu_us", "us of the forwarder for each that arrives", 2), ("fast_busy_us", "us of all processors for each", 2))


def windowed(columns):
    return tuple((name.replace("fast", "window"), title, digits) for name, title, digits in columns)


@dataclass(frozen=True)
class Goal:
    """`metric` of `variant` against that of the best of `others`: their ratio, or with `unit` their difference."""
    what: str
    metric: str
    variant: str
    others: tuple
    limit: float
    unit: str = ""
    less_is_better: bool = False


GOALS = (
    *(Goal(f"TCP {title}: one hop / direct", f"tcp_{way}_1", "hop", ("direct",), 0.65) for way, title in WAYS),
    Goal("round trip of a cell, spinning: one hop - direct", "trip_p50_us", "trip", ("trip-direct",), 12, "us", True),
    Goal("ping, spinning: one hop - direct", "ping_us", "hop-busy", ("direct-busy",), 12, "us", True),
    Goal("TCP round trip p50, spinning: one hop - direct", "rtt_p50_us", "hop-busy", ("direct-busy",), 12, "us", True),
    Goal("cells of 64 bytes per second / frames by the kernel's bridge", "best_per_s", "cells", ("bridge", "bridge-2"), 1.5),
    Goal("cells of 64 bytes per second / frames by Open vSwitch", "best_per_s", "cells", ("ovs",), 2),
    *(Goal(f"TCP {title}, 1 stream: two paths / one", f"tcp_{way}_1", "two-paths", ("one-path",), 1.6) for way, title in WAYS),
)
GAP_LIMIT = 200  # ms, with path=all


def difference(ours, theirs):
    """As report_page.ratio(): of the medians, the smallest and the greatest of one round; None without any."""
    found = [ours[number] - theirs[number] for number in ours if number in theirs]
    if not found:
        return None
    return statistics.median(ours.values()) - statistics.median(theirs.values()), min(found), max(found)


def evaluate(goal, results):
    """The three values of the goal against the best of the others that were measured; None if there are none."""
    ours = results[goal.variant].get(goal.metric)
    there = [results[other][goal.metric] for other in goal.others if results[other].get(goal.metric)]
    if not ours or not there:
        return None
    best = (min if goal.less_is_better else max)(there, key=lambda values: statistics.median(values.values()))
    return (difference if goal.unit else ratio)(ours, best)


def verdict(value, limit, less_is_better):
    return "met" if (value <= limit if less_is_better else value >= limit) else "**not met**"


def goal_line(goal, results):
    digits, unit = (0, f" {goal.unit}") if goal.unit else (2, "")
    wanted = f"{'<=' if goal.less_is_better else '>='} {goal.limit:g}{unit}"
    found = evaluate(goal, results)
    if found is None:
        return [goal.what, wanted, "-", "-", "not measured"]
    of_medians, least, greatest = found
    return [goal.what, wanted, f"{of_medians:.{digits}f}{unit}", f"{least:.{digits}f} to {greatest:.{digits}f}",
            verdict(of_medians, goal.limit, goal.less_is_better)]


def gaps_of(results, variant):
    return [value for metric in KILLS for value in results[variant].get(metric, {}).values()]


def gap_lines(results):
    gaps, wanted = gaps_of(results, "all-paths"), f"<= {GAP_LIMIT} ms"
    names = [f"a spine is killed, `path=all`: time without traffic, {word}" for word in ("median", "longest")]
    if not gaps:
        return [[name, wanted, "-", "-", "not measured"] for name in names]
    return [[name, wanted, f"{value:.0f} ms", f"{min(gaps):.0f} to {max(gaps):.0f}", verdict(value, GAP_LIMIT, True)]
            for name, value in zip(names, (statistics.median(gaps), max(gaps)))]


def goal_table(results):
    return rows(["goal", "wanted", "measured", "range of the rounds", "result"],
                [*(goal_line(goal, results) for goal in GOALS), *gap_lines(results)])


def hop_table(results):
    """For each kind of link: one hop against the direct way."""
    lines = []
    for kind, title in (("", "speed profile"), ("-full", "full profile"), ("-busy", "spinning"),
                        ("-full-busy", "full profile, spinning"), ("-keyed", "keyed")):
        direct, hop = results["direct" + kind], results["hop" + kind]
        ratios = [ratio(hop.get(f"tcp_{way}_1", {}), direct.get(f"tcp_{way}_1", {})) for way, _ in WAYS]
        more = [difference(hop.get(name, {}), direct.get(name, {})) for name in ("ping_us", "rtt_p50_us")]
        if any((*ratios, *more)):
            lines.append([title, *(in_cells(found) if found else "-" for found in ratios),
                          *("{:.0f} ({:.0f} to {:.0f})".format(*found) if found else "-" for found in more)])
    header = ["one hop against direct", "TCP to the LAN, ratio", "to the host, ratio", "ping, us more", "TCP round trip p50, us more"]
    return rows(header, lines) if lines else []


def path_table(results):
    table = metric_table(results, PATHS, (*TCP, *CPU), "")
    ratios = [ratio(results["two-paths"].get(name, {}), results["one-path"].get(name, {})) for name, _, _ in TCP]
    if all(ratios):
        table.append(f"| two paths / one | {' | '.join(map(in_cells, ratios))} |" + " - |" * len(CPU))
    return table


def gap_table(results):
    lines = [[title, str(len(gaps)), spread(gaps, 0)] for variant, title in FAILOVERS if (gaps := gaps_of(results, variant))]
    return rows(["", "switches killed", "ms without traffic"], lines) if lines else []


HOW = """
## How

Network namespaces on one machine, joined by veths of MTU 1500; all programs and both ends of the traffic share its processors.
Medians, in brackets the smallest and the greatest round. Absolute results drift from hour to hour: only ratios and differences
of one run are meaningful. CPU: seconds in which the processors were not idle, whichever process used them. UDP without keys
but for the variants that are named keyed; cells have a payload CRC.

**One hop.** Host, switch and I/O unit with `packet:` are three processes with one queue each, the LAN's peer is in a fourth
namespace. TCP by `iperf3`, one stream. Ping: the average of 200. TCP round trip: `tests/bench/round_trips.py`, whose ends are
Python, in both variants. Spinning: all programs have `--busy-poll`, so with the switch three threads spin, and direct two; where
there are two processors, one of the three waits for a processor, and the difference has that wait. In the full profile cells
have up to 1024 bytes of payload.

**Round trip of a cell.** A cell of 64 bytes goes from one port to another and one comes back
(`tests/bench/fabric/cell_trip_bench.cc`). One thread polls both ports and never sleeps, and the switch has `--busy-poll`: two
threads spin. All cells take the loopback interface. A round trip passes the switch twice.

**Forwarding.** One sender and one receiver in separate namespaces, the forwarder in a third one between them
(`tests/bench/fabric/forward_bench.cc`). All of 64 bytes:

- A frame has 64 bytes with its Ethernet header and without the FCS that a wire would add. It is sent by a packet socket, 64 in
  each system call, past the queueing discipline. It has arrived when the kernel counts it at the receiver's interface; no
  program reads it, which favours those that forward frames.
- A cell has 64 bytes with its MAC header of 28 bytes and its CRC, so 32 bytes of payload, and travels in a flit of 80 bytes
  over UDP. It has arrived when the receiving program has read it and found its CRC right; the switch checks that CRC, too. It
  is made once and copied into each flit, without a queue pair, so neither end has the work of a transport service.
- Cells that leave together share datagrams and system calls, here up to 512 cells at the sender, and whatever has arrived at
  the switch: under load the kernel has few packets to carry, while it carries each frame separately. With one cell per datagram
  the sender makes a system call for each cell, as it does where there is one cell at a time.
- The bridge has no process: it forwards in the context of the sender, whose processor time for sending is in the result
  ("nothing forwards" has that alone), and with one sender it uses one processor. So two senders are measured, too, and the goal
  takes the better. Sender, switch and receiver of cells, and sender and Open vSwitch, are separate processes and share all
  processors; the last column counts all of them.
- Open vSwitch is the package of Debian, with `datapath_type=netdev` and without DPDK: it reads and writes packet sockets. It
  learns addresses as the bridge does, and has no other rules.
- As fast as the sender is: what the forwarder does not take is lost, and costs the sender as much. With a window, at most
  128 frames or 4096 cells are in flight (one cell per datagram: 1024). The goals take the better of the two ways.

**Two paths.** Host and unit are behind two leaves with two spines between them, four switches in all; each spine has its veths,
and each leaf sends to each spine at most RATE (tc tbf). One path is `path=0` at the host, two paths are `path=all`; host and
unit have two LIDs. TCP by `iperf3` through nic0, which counts the payload of TCP only.

**Failover.** The LAN is pinged every 12 ms under a TCP stream of 100 Mbit/s, and a switch is killed with SIGKILL; the result is
the longest time between two replies from then on, so 12 ms is the minimum. Each round kills two switches, the second when the first
is back: each spine once, and of the pair the switch in use. With `path=all` there is no subnet manager: queue pairs send by the
path that is left. A redundant pair is another arrangement: the host names the unit by two switches, uses one of them, and moves
when that path does not reply to probes for 140 ms and the other one does, or was silent for 600 ms. The goal is not about it; its
time is here for comparison.

To repeat it, as root: `tests/bench/switches.sh --publish`; `--only forward` measures one part.
"""


def page(folder):
    settings, results = load_settings(folder), load(folder)
    if not results:
        sys.exit(f"switches_report.py: no results in {folder}")
    rounds = max(len(values) for metrics in results.values() for values in metrics.values())
    heading = ["# Switches", "", measured("switches.sh", settings, rounds, ", all variants in turn")]
    if settings.get("skipped"):
        heading.append(f"Not installed, so not measured: {settings['skipped']}.")
    limit = settings.get("rate", "the same rate")
    return joined(heading, [
        ("Goals", goal_table(results)),
        ("One hop", hop_table(results)),
        ("One hop, results", metric_table(results, HOPS, (*TCP[:2], *CPU, *TRIPS), "")),
        ("Round trip of a cell", metric_table(results, TRIPS_OF_CELLS, CELL_TRIPS, "")),
        ("64 bytes, as fast as the sender is", metric_table(results, FORWARDERS, FORWARDED, "")),
        ("64 bytes, with a window", metric_table(results, FORWARDERS, windowed(FORWARDED), "")),
        (f"Two paths of {limit} each", path_table(results)),
        ("Failover", gap_table(results))], HOW.replace("RATE", limit)), None


if __name__ == "__main__":
    main(page, "switches", "\n## How\n")
