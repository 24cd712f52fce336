#!/usr/bin/env python3
"""Measures the carrier behind nic0 for compare.sh; prints a line "name value" for each metric.

  compare_measure.py --host NS --iou NS --lan NS [--seconds S] [--pid PID]...
      [--stats PROGRAM --host-control SOCKET --iou-control SOCKET] METRIC...
  METRIC: tcp1 tcp4 (both ways, with CPU seconds per GB and retransmits, by the system's congestion control), cubic1 cubic4
  (the same by cubic), udp64 udp1400 (frames of that length delivered
  to the LAN's peer per second), ping, rtt (round trips of 64 bytes over TCP), memory (Pss of the PIDs).
  What was dropped, lost or retransmitted on every hop comes with them: drop.tcp.HOP and drop.udp.HOP.

CPU seconds are those that both processors were not idle, whoever used them: run it on a quiet machine.
"""
import argparse
import json
import os
import re
import sys

from measuring import (ADDRESS, UDP_HEADERS, Failed, Server, iperf_server, machine_busy_seconds, main, output_of, pss_mib,
                       twice, udp_of)

# Name of the results, number of streams, options of iperf3.
TCP = {"tcp1": ("", 1, []), "tcp4": ("", 4, []),
       "cubic1": ("cubic_", 1, ["-C", "cubic"]), "cubic4": ("cubic_", 4, ["-C", "cubic"])}
LENGTHS = {"udp64": 64, "udp1400": 1400}
LOSS_WORDS = ("lost", "retransmit", "again", "timeout")  # the last one of a counter's name
HERE = os.path.dirname(os.path.abspath(__file__))


def tcp_results(name, report, cpu_seconds):
    """From the JSON of iperf3's client."""
    end = report["end"]
    received = end["sum_received"]
    if received["bytes"] == 0:
        raise Failed("iperf3: nothing arrived")
    return {f"tcp_{name}": received["bits_per_second"] / 1e6,
            f"cpu_{name}": cpu_seconds / (received["bytes"] / 1e9),
            f"retransmits_{name}": end["sum_sent"]["retransmits"]}


def measure_tcp(args, metric, reverse):
    prefix, streams, options = TCP[metric]
    with iperf_server(args.lan):
        before = machine_busy_seconds()
        text = output_of(args.host, "iperf3", "-c", ADDRESS, "-t", str(args.seconds), "-P", str(streams), "--json",
                         *options, *(["-R"] if reverse else []), timeout=args.seconds + 10)
        cpu_seconds = machine_busy_seconds() - before
    return tcp_results(f"{prefix}{'to_host' if reverse else 'to_lan'}_{streams}", json.loads(text), cpu_seconds)


def measure_udp(args, metric):
    """Counted where the receiver's program takes them, not by the sender's numbers."""
    with iperf_server(args.lan):
        before = udp_of(args.lan)["InDatagrams"]
        text = output_of(args.host, "iperf3", "-c", ADDRESS, "-u", "-b", "0", "-l", str(LENGTHS[metric] - UDP_HEADERS),
                         "-t", str(args.seconds), "--json", timeout=args.seconds + 10)
        delivered = udp_of(args.lan)["InDatagrams"] - before
    return {f"{metric}_pps": delivered / json.loads(text)["end"]["sum"]["seconds"]}


def ping_average_us(text):
    found = re.search(r"= [\d.]+/([\d.]+)/", text)
    if not found:
        raise Failed("ping: no reply")
    return float(found.group(1)) * 1000


def measure_ping(args):
    return {"ping_us": ping_average_us(output_of(args.host, "ping", "-q", "-c", "200", "-i", "0.005", ADDRESS, timeout=20))}


def measure_round_trips(args):
    script = os.path.join(HERE, "round_trips.py")
    with Server(args.lan, "listening", sys.executable, "-u", script, "serve", ADDRESS):
        text = output_of(args.host, sys.executable, script, "ask", ADDRESS, str(min(args.seconds, 2)), timeout=20)
    p50, p99 = text.split()
    return {"rtt_p50_us": float(p50), "rtt_p99_us": float(p99)}


def measure_memory(args):
    mib = sum(map(pss_mib, args.pid))
    return {"pss_mib": mib} if mib else {}


def drops_of_links(where, links):
    """Hop to number, from the JSON of `ip -s link`."""
    drops = {}
    for link in links:
        if link["ifname"] != "lo":
            for way in ("rx", "tx"):
                count = link["stats64"][way]
                drops[f"{where}.{link['ifname']}.{way}"] = count["dropped"] + count["errors"]
    return drops


def drops_of_sockets(text):
    """From the output of `ss -m` for each socket: skmem:(...,dNUMBER)."""
    return sum(map(int, re.findall(r",d(\d+)\)", text)))


def is_of_loss(counter):
    words = counter.split(".")
    return "drop" in words or words[-1] in LOSS_WORDS


def drops_of_stats(where, stats):
    """host.* of the I/O unit are parts of its other counters."""
    return {f"{where}.splitnic:{name}": number for name, number in stats.items()
            if is_of_loss(name) and not (where == "iou" and name.startswith("host."))}


def drops_now(args):
    drops = {}
    for where, ns in (("host", args.host), ("iou", args.iou), ("lan", args.lan)):
        drops.update(drops_of_links(where, json.loads(output_of(ns, "ip", "-s", "-j", "link", timeout=5))))
        udp = udp_of(ns)
        drops[f"{where}.udp_socket"] = udp["RcvbufErrors"] + udp["SndbufErrors"]
        drops[f"{where}.packet_socket"] = drops_of_sockets(output_of(ns, "ss", "-0", "-a", "-m", timeout=5))
    for where, control in (("host", args.host_control), ("iou", args.iou_control)):
        if control:
            text = output_of(args.host, args.stats, "stats", "--json", "--control", control, timeout=5)
            drops.update(drops_of_stats(where, json.loads(text)))
    return drops


def differences(phase, before, after):
    return {f"drop.{phase}.{hop}": number - before.get(hop, 0) for hop, number in after.items()
            if number != before.get(hop, 0)}


def measure(args, metric):
    if metric in TCP:
        return measure_tcp(args, metric, False) | measure_tcp(args, metric, True)
    if metric in LENGTHS:
        return measure_udp(args, metric)
    return {"ping": measure_ping, "rtt": measure_round_trips, "memory": measure_memory}[metric](args)


def measure_all(args):
    found = {}
    for phase in ("tcp", "udp", ""):
        mine = [metric for metric in args.results
                if phase == ("tcp" if metric in TCP else "udp" if metric in LENGTHS else "")]
        before = drops_now(args) if phase and mine else {}
        for metric in mine:
            found.update(twice(metric, measure, args, metric))
        if phase and mine:
            found.update(differences(phase, before, drops_now(args)))
    return found


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("--host", "--iou", "--lan"):
        parser.add_argument(name, required=True)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--pid", action="append", default=[])
    for name in ("--stats", "--host-control", "--iou-control"):
        parser.add_argument(name)
    parser.add_argument("results", nargs="+", choices=[*TCP, *LENGTHS, "ping", "rtt", "memory"])
    return parser.parse_args()


if __name__ == "__main__":
    main("compare_measure.py", measure_all, arguments())
