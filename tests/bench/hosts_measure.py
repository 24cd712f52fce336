#!/usr/bin/env python3
"""Measures the busy hosts of one I/O unit for hosts.sh; prints a line "name value" for each metric.

  hosts_measure.py --host NS... --lan NS --iou NS --pid PID --hosts N --splitnic FILE --control SOCKET [--seconds S]
  --host: of each busy host; --pid: of the I/O unit; --hosts: how many are attached, the idle ones included

Of each run WAY (to_lan, to_host; heavy_..., narrow_... from two busy hosts on): tcp_WAY Mbit/s of all, cpu_WAY CPU
seconds per GB, jain_WAY Jain's index, least_WAY and most_WAY: that host's part to an even part; first_WAY: the first
host's, which is the heavy one. pss_idle_mib and pss_after_mib: memory of the unit. show_ms and show_most_ms: `splitnic show` of
the unit from start to end, under load; snapshot_us: processor time of the unit's data threads for one, without load.
"""
import argparse
import contextlib
import json
import statistics
import subprocess
import time
from concurrent import futures

from measuring import (ADDRESS, Failed, data_threads_seconds, in_namespace, iperf_server, machine_busy_seconds, main, output_of,
                       pss_mib, twice)

FIRST_PORT = 5201
HEAVY_STREAMS = 8
SHOW_EVERY = 0.05  # s
SNAPSHOT_WINDOWS, WINDOW = 5, 1  # s
# A queue longer than the socket's buffer: what the LAN does not take waits at the unit and is not lost behind it.
NARROW = ("rate", "1gbit", "burst", "128kb", "limit", "64mb")


def shares(parts):
    """What each got, as (Jain's index, least, greatest and first part to an even one)."""
    even = sum(parts) / len(parts)
    jain = sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts))
    return jain, min(parts) / even, max(parts) / even, parts[0] / even


def run_results(way, reports, cpu_seconds):
    """From the JSON of the iperf3 client of each busy host."""
    received = [report["end"]["sum_received"] for report in reports]
    if sum(one["bytes"] for one in received) == 0:
        raise Failed("iperf3: nothing arrived")
    rates = [one["bits_per_second"] / 1e6 for one in received]
    found = {f"tcp_{way}": sum(rates), f"cpu_{way}": cpu_seconds / (sum(one["bytes"] for one in received) / 1e9)}
    if len(rates) > 1:
        found.update(zip((f"{name}_{way}" for name in ("jain", "least", "most", "first")), shares(rates)))
    return found


def finish(client, seconds):
    try:
        text, errors = client.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        client.kill()
        client.communicate()
        raise Failed(f"iperf3 did not end within {seconds} s") from error
    if client.returncode != 0:
        raise Failed(f"iperf3: {(errors or text).strip()[-300:]}")
    return json.loads(text)


def end(client):
    if client.poll() is None:
        client.kill()
        client.communicate()


def run(args, way, streams_of_first=1, reverse=False):
    ports = [str(FIRST_PORT + i) for i in range(len(args.host))]
    with contextlib.ExitStack() as started:
        for port in ports:
            started.enter_context(iperf_server(args.lan, "-p", port))
        before = machine_busy_seconds()
        clients = []
        for i, (ns, port) in enumerate(zip(args.host, ports)):
            command = ["iperf3", "-c", ADDRESS, "-p", port, "-t", str(args.seconds), "--json", "-P",
                       str(streams_of_first if i == 0 else 1), *(["-R"] if reverse else [])]
            clients.append(subprocess.Popen(in_namespace(ns, *command), stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True))
            started.callback(end, clients[-1])
        reports = [finish(client, args.seconds + 20) for client in clients]
        return run_results(way, reports, machine_busy_seconds() - before)


def run_twice(args, way, **options):
    return twice(way, run, args, way, **options)


def narrow(args):
    """The LAN port is the bottleneck, and what it does not take waits at the unit."""
    output_of(args.iou, "tc", "qdisc", "add", "dev", "lan0", "root", "tbf", *NARROW, timeout=5)
    try:
        return run_twice(args, "narrow_to_lan", streams_of_first=HEAVY_STREAMS)
    finally:
        output_of(args.iou, "tc", "qdisc", "del", "dev", "lan0", "root", timeout=5)


def show(args):
    """Seconds that the command takes."""
    began = time.perf_counter()
    subprocess.run([args.splitnic, "show", "--control", args.control], check=True, stdout=subprocess.DEVNULL, timeout=10)
    return time.perf_counter() - began


def show_under_load(args):
    times = []
    with futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_twice, args, "to_lan")
        time.sleep(0.3)
        while not running.done():
            times.append(show(args))
            time.sleep(SHOW_EVERY)
        running.result()
    return {"show_ms": 1e3 * statistics.median(times), "show_most_ms": 1e3 * max(times)}


def snapshot_us(args):
    """The median of several windows, each compared with the idle one before it."""
    def used(seconds, with_show):
        before, shows, end = data_threads_seconds(args.pid), 0, time.monotonic() + seconds
        while time.monotonic() < end:
            if with_show:
                show(args)
                shows += 1
            else:
                time.sleep(SHOW_EVERY)
        return data_threads_seconds(args.pid) - before, shows
    found = []
    for _ in range(SNAPSHOT_WINDOWS):
        idle, _ = used(WINDOW, False)
        busy, shows = used(WINDOW, True)
        found.append((busy - idle) / shows)
    return 1e6 * statistics.median(found)


def measure(args):
    found = {"hosts": args.hosts, "busy": len(args.host)}
    time.sleep(1)
    found["pss_idle_mib"] = pss_mib(args.pid)
    found["snapshot_us"] = snapshot_us(args)
    found.update(show_under_load(args))
    found.update(run_twice(args, "to_lan"))
    found.update(run_twice(args, "to_host", reverse=True))
    found["pss_after_mib"] = pss_mib(args.pid)
    if len(args.host) > 1:
        found.update(run_twice(args, "heavy_to_lan", streams_of_first=HEAVY_STREAMS))
        found.update(run_twice(args, "heavy_to_host", streams_of_first=HEAVY_STREAMS, reverse=True))
        found.update(narrow(args))
    return found


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", action="append", required=True)
    for name in ("--lan", "--iou", "--splitnic", "--control"):
        parser.add_argument(name, required=True)
    for name in ("--pid", "--hosts"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--seconds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main("hosts_measure.py", measure, arguments())
