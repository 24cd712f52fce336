"""The measuring part of page_cost.sh. `page_cost.py read INTERVAL` is an open page and a scraper, in the namespace of the caller."""
import json
import statistics
import subprocess
import sys
import time
import urllib.request

from measuring import ADDRESS, Failed, in_namespace, iperf_server, output_of

URL = "http://127.0.0.1:9477"
SNAPSHOTS_PER_SECOND = 10


def read(interval):
    while True:
        began = time.monotonic()
        for path in ("/state.json", "/metrics"):
            with urllib.request.urlopen(URL + path, timeout=5) as response:
                response.read()
        time.sleep(max(0.0, float(interval) - (time.monotonic() - began)))


class Page:
    """Open in these namespaces while the block runs."""

    def __init__(self, *namespaces, interval=1.0):
        self.commands = [in_namespace(ns, sys.executable, __file__, "read", str(interval)) for ns in namespaces]

    def __enter__(self):
        self.readers = [subprocess.Popen(command) for command in self.commands]

    def __exit__(self, *_):
        ended = [reader.poll() for reader in self.readers]
        for reader in self.readers:
            reader.kill()
            reader.wait()
        if any(status is not None for status in ended):
            raise Failed("the reader has ended")


def thread_seconds(pid):
    """Processor time of the main thread, which is the data thread of queue 0."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0]) / 1e9


def run(host, lan, pids, seconds):
    with iperf_server(lan):
        before = [thread_seconds(pid) for pid in pids]
        result = json.loads(output_of(host, "iperf3", "-J", "-c", ADDRESS, "-t", str(seconds), timeout=seconds + 20))
        after = [thread_seconds(pid) for pid in pids]
    moved = result["end"]["sum_received"]["bytes"] / 1e9
    return [moved * 8 / seconds, *((b - a) / moved for a, b in zip(before, after))]


def snapshot_seconds(unit, pid, seconds):
    def used():
        before = thread_seconds(pid)
        time.sleep(seconds)
        return (thread_seconds(pid) - before) / seconds
    idle = used()
    with Page(unit, interval=1 / SNAPSHOTS_PER_SECOND):
        time.sleep(1)
        return (used() - idle) / SNAPSHOTS_PER_SECOND


def main(host, unit, lan, pid_host, pid_unit, seconds, rounds):
    results = {"closed": [], "open": []}
    for _ in range(int(rounds)):
        results["closed"].append(run(host, lan, (pid_unit, pid_host), int(seconds)))
        with Page(host, unit):
            results["open"].append(run(host, lan, (pid_unit, pid_host), int(seconds)))
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in results.items()}
    for i, what in enumerate(("throughput, Gbit/s", "data thread of the I/O unit, s/GB", "data thread of the host, s/GB")):
        closed, opened = medians["closed"][i], medians["open"][i]
        print(f"{what}: {closed:.3f} closed, {opened:.3f} open: {100 * (opened / closed - 1):+.2f} %")
    cost = snapshot_seconds(unit, pid_unit, int(seconds))
    print(f"one snapshot: {1e6 * cost:.0f} us of the I/O unit's data thread: {100 * cost:.3f} % of it with one per second")


if __name__ == "__main__":
    if sys.argv[1:2] == ["read"]:
        read(*sys.argv[2:])
    else:
        try:
            main(*sys.argv[1:])
        except Failed as error:
            sys.exit(f"page_cost: {error}")
