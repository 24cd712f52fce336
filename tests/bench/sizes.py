#!/usr/bin/env python3
"""Results against the length of frames, for sizes.sh.

  sizes.py measure HOST-NS LAN-NS SECONDS few|"" [PID...]   prints a line "name bytes value" for each metric of this carrier,
                                                            and "load FRAMES-PER-SECOND us" for the programs PID;
                                                            few: of the first and the last length, and of the first load
  sizes.py report FOLDER PAGE-FOLDER...                     from settings and ROUND.CARRIER.sizes in FOLDER: sizes.md, sizes.svg
"""
import argparse
import collections
import glob
import json
import os
import sys
import time

import line_plot
import measuring
import report_page
from compare_measure import measure_tcp as compare_tcp
from measuring import ADDRESS, UDP_HEADERS, Failed, iperf_server, machine_busy_seconds, output_of, twice, udp_of
from report_page import in_cells, measured, ratio, rows, spread

FRAMES = (64, 128, 256, 512, 1024, 1464)  # the last is whole for VXLAN's MTU of 1450 too
SUPERS = (2048, 4096, 8192, 16384, 32768, 65536)
LOADS = (1000, 10000, 50000)  # frames per second
LOAD_SECONDS, FEW_SECONDS = 4, 1
CARRIERS = (("splitnic-packet", "UDP fabric"), ("splitnic-shm", "shm fabric"), ("vxlan", "kernel VXLAN"))
RESULTS = (("udp_gbit", "UDP that arrives, Gbit/s of frames", FRAMES, 2),
           ("udp_us", "CPU us per UDP frame that arrives", FRAMES, 2),
           ("tcp_gbit", "TCP to the LAN, Gbit/s, by the longest super-frame", SUPERS, 2),
           ("tcp_cpu", "CPU s per GB of it", SUPERS, 2))


def measure_udp(args, length):
    """Frames of this length in bytes; the results count what the receiver's program took."""
    with iperf_server(args.lan):
        before, cpu = udp_of(args.lan)["InDatagrams"], machine_busy_seconds()
        text = output_of(args.host, "iperf3", "-c", ADDRESS, "-u", "-b", "0", "-l", str(length - UDP_HEADERS),
                         "-t", str(args.seconds), "--json", timeout=args.seconds + 10)
        cpu = machine_busy_seconds() - cpu
        frames = udp_of(args.lan)["InDatagrams"] - before
    if frames == 0:
        raise Failed("no frame arrived")
    seconds = json.loads(text)["end"]["sum"]["seconds"]
    return {f"udp_gbit {length}": frames * length * 8 / seconds / 1e9, f"udp_us {length}": cpu * 1e6 / frames}


def measure_tcp(args, length):
    limit = str(min(length, args.longest))
    output_of(args.host, "ip", "link", "set", "nic0", "gso_max_size", limit, timeout=5)
    found = compare_tcp(args, "tcp1", False)
    return {f"tcp_gbit {length}": found["tcp_to_lan_1"] / 1e3, f"tcp_cpu {length}": found["cpu_to_lan_1"]}


def program_seconds(pids):
    """Of a processor, in the programs' own code and in the kernel for them."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            total += sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def measure_load(args, pids, loads, seconds):
    found = {}
    before = program_seconds(pids)
    time.sleep(seconds)
    idle = program_seconds(pids) - before
    for rate in loads:
        with iperf_server(args.lan):
            before, datagrams = program_seconds(pids), udp_of(args.lan)["InDatagrams"]
            output_of(args.host, "iperf3", "-c", ADDRESS, "-u", "-b", str(rate * 22 * 8), "-l", "22",
                      "--pacing-timer", "100", "-t", str(seconds), timeout=seconds + 10)
            used = program_seconds(pids) - before - idle
            frames = udp_of(args.lan)["InDatagrams"] - datagrams
        if frames < 0.9 * rate * seconds:
            raise Failed(f"{frames} frames arrived of {rate} per second for {seconds} s")
        found[f"load {rate}"] = used * 1e6 / frames
    return found


def measure(host, lan, seconds, choice, *pids):
    args = argparse.Namespace(host=host, lan=lan, seconds=int(seconds))
    frames, supers, loads, load_seconds = FRAMES, SUPERS, LOADS, LOAD_SECONDS
    if choice == "few":
        frames, supers, loads, load_seconds = FRAMES[::len(FRAMES) - 1], SUPERS[::len(SUPERS) - 1], LOADS[:1], FEW_SECONDS
    found = twice("load", measure_load, args, pids, loads, load_seconds) if pids else {}
    link = json.loads(output_of(host, "ip", "-d", "-j", "link", "show", "nic0", timeout=5))[0]
    args.longest = link["gso_max_size"]  # what the program set itself: no more
    for length in frames:
        found.update(twice(f"UDP frames of {length}", measure_udp, args, length))
    for length in supers:
        found.update(twice(f"TCP frames of {length}", measure_tcp, args, length))
    return found


def read(folder):
    """carrier -> bytes -> metric -> round -> value"""
    found = collections.defaultdict(lambda: collections.defaultdict(lambda: collections.defaultdict(dict)))
    for path in glob.glob(os.path.join(folder, "*.sizes")):
        number, carrier, _ = os.path.basename(path).split(".")
        with open(path, encoding="ascii") as file:
            for line in file:
                metric, length, value = line.split()
                found[carrier][int(length)][metric][int(number)] = float(value)
    return found


def carrier_table(first, found, carriers, metric, numbers, digits):
    cells = [[found[carrier][number][metric].values() for carrier, _ in carriers] for number in numbers]
    return rows([first, *(name for _, name in carriers)],
                [[str(number), *(spread(values, digits) if values else "-" for values in line)]
                 for number, line in zip(numbers, cells)])


def page(found, settings):
    rounds = max(len(values) for by_length in found.values() for results in by_length.values() for values in results.values())
    lines = ["# Length of frames", "", measured("sizes.sh", settings, rounds, ", all variants in turn"),
             "Medians, in brackets the smallest and the greatest round.", "", "![plot](sizes.svg)"]
    for metric, title, sizes, digits in RESULTS:
        lines += ["", f"## {title}", "", *carrier_table("bytes", found, CARRIERS, metric, sizes, digits)]
    lines += ["", "## Cost as the load grows: CPU us of both programs per frame of 64 bytes", "",
              *carrier_table("frames per second", found, CARRIERS[:2], "load", LOADS, 1)]
    for carrier, name in CARRIERS[:2]:
        cost = ratio(*(found[carrier][rate]["load"] for rate in reversed(LOADS[:2])))
        if cost:
            lines += ["", f"Goal V15, {name}: cost of a frame at 10,000 per second to that at 1,000, each less the cost of the idle programs: "
                      f"{in_cells(cost)}, wanted <= 1.0: {'met' if cost[0] <= 1 else 'not met'}."]
    lines += ["", "The machine's processors carry senders, receivers and all programs; UDP runs overload every tunnel on purpose. A",
              "super-frame of splitnic is never split; the longest that nic0 sends fits one call of the fabric.", ""]
    return "\n".join(lines)


def plot(found):
    joined = collections.defaultdict(dict)
    for carrier, by_length in found.items():
        for length, results in by_length.items():
            for metric, values in results.items():
                joined[length][f"{metric} {carrier}"] = values
    panels = [(title, [(f"{metric} {carrier}", name) for carrier, name in CARRIERS], 1) for metric, title, _, _ in RESULTS]
    return line_plot.plot(joined, panels, "bytes")


def report(folder, *pages):
    found = read(folder)
    if not found:
        sys.exit("sizes.py: there are no results")
    text = page(found, report_page.load_settings(folder))
    print(text)
    report_page.write(pages, "sizes", text, plot(found))


if __name__ == "__main__":
    if len(sys.argv) >= 6 and sys.argv[1] == "measure":
        measuring.main("sizes.py", measure, *sys.argv[2:])
    elif len(sys.argv) >= 4 and sys.argv[1] == "report":
        report(*sys.argv[2:])
    else:
        sys.exit(__doc__)
