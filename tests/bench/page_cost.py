"""The measuring part of page_cost.sh. `page_cost.py read INTERVAL PATH...` reads pages in the namespace of the caller."""
import json
import math
import os
import statistics
import subprocess
import sys
import time
import urllib.request

from measuring import ADDRESS, Failed, Server, in_namespace, iperf_server, main, output_of, thread_seconds

URL = "http://127.0.0.1:9477"
SNAPSHOTS_PER_SECOND = 10
CONFIDENCE = 0.95
GOAL = 2  # per cent, of throughput and round trip with all three
ROUND_TRIPS = os.path.join(os.path.dirname(__file__), "round_trips.py")
METRICS = ("throughput, Gbit/s", "data thread of the I/O unit, s/GB", "data thread of the host, s/GB", "round trip, us")


def read(interval, *paths):
    while True:
        began = time.monotonic()
        for path in paths:
            with urllib.request.urlopen(URL + path, timeout=5) as response:
                response.read()
        time.sleep(max(0.0, float(interval) - (time.monotonic() - began)))


class Watched:
    """These commands run while the block does: who reads, shows or watches."""

    def __init__(self, *commands):
        self.commands = commands

    def __enter__(self):
        self.readers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in self.commands]

    def __exit__(self, *_):
        ended = [reader.poll() for reader in self.readers]
        for reader in self.readers:
            reader.kill()
            reader.wait()
        if any(status is not None for status in ended):
            raise Failed("a reader has ended")


def reader(ns, *paths, interval=1.0):
    return in_namespace(ns, sys.executable, __file__, "read", str(interval), *paths)


def watchers(host, unit, splitnic, work):
    """What is on in each variant, at both programs."""
    metrics = [reader(ns, "/metrics") for ns in (host, unit)]
    page = [reader(ns, "/state.json") for ns in (host, unit)]
    monitor = [[splitnic, "monitor", "--control", f"{work}/{name}.sock"] for name in ("host", "iou")]
    return {"metrics": metrics, "page": page, "monitor": monitor, "all three": metrics + page + monitor}


def run(host, lan, pids, seconds):
    with iperf_server(lan):
        before = [thread_seconds(pid) for pid in pids]
        result = json.loads(output_of(host, "iperf3", "-J", "-c", ADDRESS, "-t", str(seconds), timeout=seconds + 20))
        after = [thread_seconds(pid) for pid in pids]
    moved = result["end"]["sum_received"]["bytes"] / 1e9
    with Server(lan, "listening", sys.executable, ROUND_TRIPS, "serve", ADDRESS):
        times = output_of(host, sys.executable, ROUND_TRIPS, "ask", ADDRESS, "1", timeout=20)
    return [moved * 8 / seconds, *((b - a) / moved for a, b in zip(before, after)), float(times.split()[0])]


def median_with_range(ratios):
    """The median, and the range that it is in with CONFIDENCE, by order statistics: whatever the distribution. With too few
    values for that, all of their range."""
    ordered = sorted(ratios)
    count = len(ordered)
    least = 0
    below = 0.0  # the chance that fewer than least + 1 of them are below the median
    while True:
        below += math.comb(count, least) / 2 ** count
        if 2 * below > 1 - CONFIDENCE or least + 1 > (count - 1) // 2:
            break
        least += 1
    least = max(0, least - 1)
    return statistics.median(ordered), ordered[least], ordered[count - 1 - least]


def line_of(name, metric, without, with_it):
    """One line: how much more with it, in each round against the run before it."""
    middle, least, greatest = (100 * (ratio - 1) for ratio in
                               median_with_range([b / a for a, b in zip(without, with_it)]))
    return (f"{name}: {metric}: {statistics.median(without):.3f} without, {statistics.median(with_it):.3f} with: "
            f"{middle:+.2f} % ({least:+.2f} to {greatest:+.2f})")


def verdict(ratios, less_is_better):
    """Whether what is worse with it is worse by GOAL per cent at most: the range of the median decides, if it does."""
    worse = [100 * (ratio - 1 if less_is_better else 1 - ratio) for ratio in median_with_range(ratios)]
    least, greatest = sorted(worse[1:])
    if greatest <= GOAL:
        return f"within {GOAL} %"
    return f"NOT within {GOAL} %" if least > GOAL else "not decided: measure more rounds on a quiet machine, or longer runs"


def goal_lines(without, with_it):
    """Of the runs of all three: throughput and round trip."""
    lines = []
    for metric, less_is_better in ((0, False), (3, True)):
        ratios = [b[metric] / a[metric] for a, b in zip(without, with_it)]
        lines.append(f"goal: {METRICS[metric]}: {verdict(ratios, less_is_better)}")
    return lines


def idle_cost(pid, seconds, *commands):
    """Processor time of the data thread per second that these commands take, without traffic: exact on a busy machine too."""
    def used():
        before = thread_seconds(pid)
        time.sleep(seconds)
        return (thread_seconds(pid) - before) / seconds
    idle = used()
    with Watched(*commands):
        time.sleep(1)
        return used() - idle


def measure(host, unit, lan, pid_host, pid_unit, splitnic, work, seconds, rounds, *names):
    """names: of the variants, "all three" among them; without any, all."""
    variants = {name: commands for name, commands in watchers(host, unit, splitnic, work).items() if name in names or not names}
    results = {name: ([], []) for name in variants}
    for _ in range(int(rounds)):
        for name, commands in variants.items():
            without, with_it = results[name]
            without.append(run(host, lan, (pid_unit, pid_host), int(seconds)))
            with Watched(*commands):
                with_it.append(run(host, lan, (pid_unit, pid_host), int(seconds)))
    for name, (without, with_it) in results.items():
        for metric, a, b in zip(METRICS, zip(*without), zip(*with_it)):
            print(line_of(name, metric, a, b))
    print("\n".join(goal_lines(*results["all three"])))
    often = reader(unit, "/state.json", interval=1 / SNAPSHOTS_PER_SECOND)
    snapshot = idle_cost(pid_unit, int(seconds), often) / SNAPSHOTS_PER_SECOND
    print(f"one snapshot: {1e6 * snapshot:.0f} us of the I/O unit's data thread, without traffic")
    for what, pid in (("I/O unit", pid_unit), ("host", pid_host)):
        print(f"all three, without traffic: {100 * idle_cost(pid, int(seconds), *variants['all three']):+.4f} % of the data thread of the {what}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        read(*sys.argv[2:])
    else:
        main("page_cost.py", measure, *sys.argv[1:])
