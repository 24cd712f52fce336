#!/usr/bin/env python3
"""The measuring part of show.sh: prints a line for each kind of reply of an I/O unit under load.

  show_measure.py --host NS... --lan NS --control SOCKET --hosts N [--seconds S]
  --host: of each busy host; --hosts: how many are attached
"""
import argparse
import socket
import statistics
import time
from concurrent import futures

from hosts_measure import run_twice
from measuring import Failed, main

GOAL_MS = 50
EVERY = 0.02  # s, between two requests
# Requests of control/socket/admin.proto: the field of the command, and in it json = 1, verbose = 2.
JSON, VERBOSE = b"\x08\x01", b"\x10\x01"
REQUESTS = {"show": (b"\x0a", b""), "show --json": (b"\x0a", JSON), "show --verbose": (b"\x0a", VERBOSE),
            "show --verbose --json": (b"\x0a", JSON + VERBOSE), "stats": (b"\x12", b""), "stats --json": (b"\x12", JSON)}
STATUS_OK = b"\x08\x01"  # the first field of a reply


def message(field, command):
    body = field + bytes([len(command)]) + command
    return len(body).to_bytes(4, "big") + body


def receive(connection, count):
    got = bytearray()
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise Failed("the unit closed the connection")
        got += more
    return bytes(got)


def ask(path, request):
    """Seconds until the last byte of the reply has come, and its length."""
    began = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(path)
        connection.sendall(request)
        length = int.from_bytes(receive(connection, 4), "big")
        reply = receive(connection, length)
    if not reply.startswith(STATUS_OK):
        raise Failed(f"the unit refused: {reply[2:200]!r}")
    return time.perf_counter() - began, length


def percentile(values, part):
    """The smallest value that this part of all is not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def line_of(name, way, times, length):
    """`times` in seconds."""
    longest = 1e3 * max(times)
    words = "within" if longest <= GOAL_MS else "NOT within"
    return (f"{name}, {way}: {len(times)} replies of {length / 1e3:.1f} kB: median {1e3 * statistics.median(times):.2f} ms, 99 % "
            f"{1e3 * percentile(times, 99):.2f} ms, longest {longest:.2f} ms: {words} {GOAL_MS} ms")


def under_load(args, request, way, reverse):
    times, length = [], 0
    with futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_twice, args, way, reverse=reverse)
        time.sleep(0.3)
        while not running.done():
            took, length = ask(args.control, request)
            times.append(took)
            time.sleep(EVERY)
        return times, length, running.result()[f"tcp_{way}"]


def measure(args):
    print(f"{args.hosts} hosts, {len(args.host)} of them busy")
    for name, parts in REQUESTS.items():
        request = message(*parts)
        for way, reverse in (("to_lan", False), ("to_host", True)):
            times, length, rate = under_load(args, request, way, reverse)
            words = "to the LAN" if way == "to_lan" else "to the hosts"
            print(line_of(name, f"{rate / 1e3:.2f} Gbit/s {words}", times, length), flush=True)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", action="append", required=True)
    for name in ("--lan", "--control"):
        parser.add_argument(name, required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--seconds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main("show_measure.py", measure, arguments())
