#!/usr/bin/env python3
"""Measures for switches.sh; prints a line "name value" for each metric.

  switches_measure.py forward --bench FILE --in NS --window N [--seconds S] [--pid PID] -- OPTION...
      Runs forward_bench with these options, once as fast as its sender is ("fast") and once with at most N in flight
      ("window"). Of each way: WAY_per_s that arrived, WAY_sent_per_s, WAY_lost in percent, WAY_cpu_us of the process PID and
      WAY_busy_us of all processors for each that arrived. best_per_s: of the better way. --in: the namespace to run it in
  switches_measure.py gap --host NS --lan NS --pid PID --metric NAME [--rate RATE]
      Pings the LAN every 12 ms under a TCP stream of RATE, kills the process PID, and prints as NAME the longest time
      between two replies from then on, in ms, when replies flow again.
"""
import argparse
import os
import re
import signal
import subprocess
import tempfile
import time

from measuring import ADDRESS, Failed, in_namespace, iperf_server, machine_busy_seconds, main, output_of

PING_EVERY = 0.012  # s; at 10 ms and below ping spins
PATIENCE = 15  # s, for replies
BEFORE = 1.5  # s of traffic before the process is killed
AFTER = 50  # replies that show that traffic flows again


def process_seconds(stat):
    """Processor time of all threads, from the text of /proc/PID/stat."""
    user, system = map(int, stat.rpartition(")")[2].split()[11:13])
    return (user + system) / os.sysconf("SC_CLK_TCK")


def seconds_of(pid):
    if pid is None:
        return 0.0
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return process_seconds(stat.read())


def forward_results(way, text, cpu_seconds, busy_seconds):
    """From what forward_bench prints. cpu_seconds: None where no process forwards."""
    found = {name: float(value) for name, value in map(str.split, text.splitlines())}
    if found["arrived"] == 0:
        raise Failed("nothing arrived")
    results = {f"{way}_per_s": found["arrived_per_s"], f"{way}_sent_per_s": found["sent_per_s"],
               f"{way}_lost": found["lost_percent"], f"{way}_busy_us": 1e6 * busy_seconds / found["arrived"]}
    if cpu_seconds is not None:
        results[f"{way}_cpu_us"] = 1e6 * cpu_seconds / found["arrived"]
    return results


def forward(args):
    results = {}
    for way, window in (("fast", 0), ("window", args.window)):
        cpu, busy = seconds_of(args.pid), machine_busy_seconds()
        text = output_of(args.namespace, args.bench, "--seconds", str(args.seconds), "--window", str(window), *args.options,
                         timeout=args.seconds + 30)
        cpu, busy = seconds_of(args.pid) - cpu, machine_busy_seconds() - busy
        results |= forward_results(way, text, None if args.pid is None else cpu, busy)
    return results | {"best_per_s": max(results["fast_per_s"], results["window_per_s"])}


def reply_times(text):
    """Seconds, from the output of ping -D."""
    return [float(at) for at in re.findall(r"^\[([0-9.]+)\].* time=", text, re.MULTILINE)]


def longest_gap_ms(times, killed_at):
    """Between two replies, of which the second came after the kill."""
    gaps = [after - before for before, after in zip(times, times[1:]) if after >= killed_at]
    if not gaps:
        raise Failed("ping: no replies")
    return 1e3 * max(gaps)


class Pings:
    """Runs until the end of the block; ping writes into a file, which is read meanwhile."""

    def __init__(self, ns):
        self.file = tempfile.TemporaryFile()
        command = in_namespace(ns, "ping", "-D", "-i", str(PING_EVERY), "-W", "1", ADDRESS)
        self.process = subprocess.Popen(command, stdout=self.file, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.file.close()

    def times(self):
        return reply_times(os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, 0).decode("ascii", "replace"))

    def wait_for(self, count, since):
        """Until `count` replies came after that time."""
        end = time.monotonic() + PATIENCE
        while sum(at > since for at in self.times()) < count:
            if time.monotonic() > end:
                raise Failed(f"ping: no replies for {PATIENCE} s")
            time.sleep(0.1)


def under_stream(args):
    """An iperf3 that sends to the LAN in the background."""
    command = in_namespace(args.host, "iperf3", "-c", ADDRESS, "-t", "120", "-b", args.rate)
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def gap(args):
    with iperf_server(args.lan):
        client = under_stream(args)
        try:
            with Pings(args.host) as pings:
                pings.wait_for(AFTER, 0)
                time.sleep(BEFORE)
                if client.poll() is not None:
                    raise Failed("iperf3: the stream ended")
                killed_at = time.time()
                os.kill(args.pid, signal.SIGKILL)
                time.sleep(0.5)
                pings.wait_for(AFTER, time.time())
                return {args.metric: longest_gap_ms(pings.times(), killed_at)}
        finally:
            client.kill()
            client.wait()


def arguments():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(dest="kind", required=True)
    of_forward = kinds.add_parser("forward")
    for name in ("--bench", "--in"):
        of_forward.add_argument(name, required=True, dest="namespace" if name == "--in" else None)
    of_forward.add_argument("--window", type=int, required=True)
    of_forward.add_argument("--seconds", type=int, default=3)
    of_forward.add_argument("--pid", type=int)
    of_forward.add_argument("options", nargs="+")
    of_gap = kinds.add_parser("gap")
    for name in ("--host", "--lan", "--metric"):
        of_gap.add_argument(name, required=True)
    of_gap.add_argument("--pid", type=int, required=True)
    of_gap.add_argument("--rate", default="100M")
    return parser.parse_args()


if __name__ == "__main__":
    parsed = arguments()
    main("switches_measure.py", {"forward": forward, "gap": gap}[parsed.kind], parsed)
