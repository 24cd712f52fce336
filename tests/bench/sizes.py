#!/usr/bin/env python3
"""Figures against the length of frames, for sizes.sh.

  sizes.py measure HOST-NS LAN-NS SECONDS [PID...]   prints a line "name octets value" for each figure of this carrier,
                                                     and "load FRAMES-A-SECOND us" for the programs PID
  sizes.py report FOLDER SECONDS PAGE-FOLDER...      from ROUND.CARRIER.sizes in FOLDER: sizes.md and sizes.svg
"""
import argparse
import collections
import datetime
import glob
import json
import os
import statistics
import sys
import time

import compare_measure
import line_plot
from compare_report import processor, spread

FRAMES = (64, 128, 256, 512, 1024, 1464)  # the last is whole for VXLAN's MTU of 1450 too
SUPERS = (2048, 4096, 8192, 16384, 32768, 65536)
LOADS = (1000, 10000, 50000)  # frames a second
LOAD_SECONDS = 4
CARRIERS = (("splitnic-packet", "UDP fabric"), ("splitnic-shm", "shm fabric"), ("vxlan", "kernel VXLAN"))
FIGURES = (("udp_gbit", "UDP that arrives, Gbit/s of frames", FRAMES, 2),
           ("udp_us", "CPU us a UDP frame that arrives", FRAMES, 2),
           ("tcp_gbit", "TCP to the LAN, Gbit/s, by the longest super-frame", SUPERS, 2),
           ("tcp_cpu", "CPU s per GB of it", SUPERS, 2))


def measure_udp(args, octets):
    """Frames of so many octets; the figures count what the receiver's program took."""
    with compare_measure.Server(args.lan, "listening", "iperf3", "-s", "-1", "--forceflush"):
        before, cpu = compare_measure.udp_of(args.lan)["InDatagrams"], compare_measure.machine_busy_seconds()
        text = compare_measure.output_of(
            args.host, "iperf3", "-c", compare_measure.ADDRESS, "-u", "-b", "0", "-l",
            str(octets - compare_measure.UDP_HEADERS), "-t", str(args.seconds), "--json", timeout=args.seconds + 10)
        cpu = compare_measure.machine_busy_seconds() - cpu
        frames = compare_measure.udp_of(args.lan)["InDatagrams"] - before
    if frames == 0:
        raise compare_measure.Failed("no frame arrived")
    print("udp_gbit", octets, frames * octets * 8 / json.loads(text)["end"]["sum"]["seconds"] / 1e9)
    print("udp_us", octets, cpu * 1e6 / frames)


def measure_tcp(args, octets):
    limit = str(min(octets, args.longest))
    compare_measure.output_of(args.host, "ip", "link", "set", "nic0", "gso_max_size", limit, timeout=5)
    found = compare_measure.measure_tcp(args, 1, False)
    print("tcp_gbit", octets, found["tcp_to_lan_1"] / 1e3)
    print("tcp_cpu", octets, found["cpu_to_lan_1"])


def program_seconds(pids):
    """Of a processor, in the programs' own code and in the kernel for them."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def measure_load(args, pids):
    before = program_seconds(pids)
    time.sleep(LOAD_SECONDS)
    idle = program_seconds(pids) - before
    for rate in LOADS:
        with compare_measure.Server(args.lan, "listening", "iperf3", "-s", "-1", "--forceflush"):
            before = program_seconds(pids)
            compare_measure.output_of(
                args.host, "iperf3", "-c", compare_measure.ADDRESS, "-u", "-b", str(rate * 22 * 8), "-l", "22",
                "--pacing-timer", "100", "-t", str(LOAD_SECONDS), timeout=LOAD_SECONDS + 10)
            used = program_seconds(pids) - before - idle
        print("load", rate, used * 1e6 / (rate * LOAD_SECONDS))


def measure(host, lan, seconds, *pids):
    args = argparse.Namespace(host=host, lan=lan, seconds=int(seconds))
    if pids:
        measure_load(args, pids)
    link = json.loads(compare_measure.output_of(host, "ip", "-d", "-j", "link", "show", "nic0", timeout=5))[0]
    args.longest = link["gso_max_size"]  # what the program set itself: no more
    for octets in FRAMES:
        measure_udp(args, octets)
    for octets in SUPERS:
        measure_tcp(args, octets)


def read(folder):
    """carrier -> octets -> figure -> round -> value"""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for path in glob.glob(os.path.join(folder, "*.sizes")):
        number, carrier, _ = os.path.basename(path).split(".")
        with open(path, encoding="ascii") as file:
            for line in file:
                figure, octets, value = line.split()
                found[carrier][int(octets)][figure][int(number)] = float(value)
    return found


def by_round(values):
    return [values[number] for number in sorted(values)]


def page(found, seconds):
    rounds = max(len(values) for by_octets in found.values() for figures in by_octets.values() for values in figures.values())
    lines = ["# Length of frames", "",
             f"Measured on {datetime.date.today()} by `tests/bench/sizes.sh`: {rounds} rounds, runs of {seconds} s, the carriers in",
             f"turn, {processor()}. Medians, in brackets the least and greatest round.", "", "![plot](sizes.svg)"]
    for figure, title, sizes, digits in FIGURES:
        lines += ["", f"## {title}", "", "| octets | " + " | ".join(name for _, name in CARRIERS) + " |",
                  "|---" * (1 + len(CARRIERS)) + "|"]
        for octets in sizes:
            cells = [list(found[carrier][octets][figure].values()) for carrier, _ in CARRIERS]
            lines.append(f"| {octets} | " + " | ".join(spread(values, digits) if values else "-" for values in cells) + " |")
    lines += ["", "## Cost as the load grows: CPU us of both programs a frame of 64 octets", "",
              "| frames a second | " + " | ".join(name for _, name in CARRIERS[:2]) + " |", "|---" * 3 + "|"]
    for rate in LOADS:
        cells = [list(found[carrier][rate]["load"].values()) for carrier, _ in CARRIERS[:2]]
        lines.append(f"| {rate} | " + " | ".join(spread(values, 1) if values else "-" for values in cells) + " |")
    for carrier, name in CARRIERS[:2]:
        ratios = [many / few for few, many in zip(*(by_round(found[carrier][rate]["load"]) for rate in LOADS[:2])) if few > 0]
        if ratios:
            lines += ["", f"Goal V15, {name}: a frame at 10,000 a second to one at 1,000, each less what the idle programs take: "
                      f"{spread(ratios, 2)}, wanted <= 1.0: {'met' if statistics.median(ratios) <= 1 else 'not met'}."]
    lines += ["", "The machine's processors carry senders, receivers and all programs; UDP runs overload every carrier on purpose. A",
              "super-frame of splitnic is never split; the longest that nic0 makes is what one call of the fabric carries.", ""]
    return "\n".join(lines)


def plot(found):
    joined = collections.defaultdict(dict)
    for carrier, by_octets in found.items():
        for octets, figures in by_octets.items():
            for figure, values in figures.items():
                joined[octets][f"{figure} {carrier}"] = values
    panels = [(title, [(f"{figure} {carrier}", name) for carrier, name in CARRIERS], 1) for figure, title, _, _ in FIGURES]
    return line_plot.plot(joined, panels, "octets")


def report(folder, seconds, *pages):
    found = read(folder)
    if not found:
        sys.exit("sizes.py: there are no figures")
    text = page(found, seconds)
    print(text)
    for to in pages:
        for name, content in (("sizes.md", text), ("sizes.svg", plot(found))):
            with open(os.path.join(to, name), "w", encoding="utf-8") as file:
                file.write(content)


if __name__ == "__main__":
    if len(sys.argv) >= 5 and sys.argv[1] == "measure":
        try:
            measure(*sys.argv[2:])
        except compare_measure.Failed as error:
            sys.exit(f"sizes.py: {error}")
    elif len(sys.argv) >= 5 and sys.argv[1] == "report":
        report(*sys.argv[2:])
    else:
        sys.exit(__doc__)
