#!/usr/bin/env python3
"""The page of queues.sh.

  queues_report.py RESULTS FOLDER...   from rounds/NUMBER.QUEUES.results and settings in RESULTS: queues.md in each FOLDER
"""
from report_page import in_cells, joined, load, load_settings, main, measured, metric_table, ratio, rows

STREAMS = (("tcp_to_lan_1", "1 stream to the LAN"), ("tcp_to_host_1", "1 stream to the host"),
           ("tcp_to_lan_4", "4 streams to the LAN"), ("tcp_to_host_4", "4 streams to the host"))
CPU = tuple((name.replace("tcp", "cpu"), title) for name, title in STREAMS)
OTHERS = (("ping_us", "ping, us", 0), ("rtt_p50_us", "TCP round trip p50, us", 0), ("rtt_p99_us", "p99, us", 0),
          ("pss_mib", "memory of the programs, MiB", 1))

HOW = """
## How

- Three network namespaces on one machine: the host, the I/O unit with `packet:`, and the LAN's peer. Each number is that of
  `--queues` of both programs; no data thread is bound to a processor. `iperf3` and the kernel share these
  processors, so a machine with as many processors as queues has none left for them.
- A flow stays on one queue, so one stream gains nothing from additional queues but that the other direction and the
  acknowledgements of it are on the same processor.
- Medians, in brackets the smallest and the greatest round. CPU seconds are those in which a processor was not idle.

To repeat it, as root: `tests/bench/queues.sh --publish`.
"""


def page(folder):
    results, settings = load(folder), load_settings(folder)
    numbers = sorted((name for name in results if name != "vxlan"), key=int)
    names = [(name, f"{name} queue{'s' if name != '1' else ''}") for name in numbers] + [("vxlan", "kernel VXLAN")]
    rounds = max(len(values) for metrics in results.values() for values in metrics.values())
    heading = ["# Queues: data threads per program", "", measured("queues.sh", settings, rounds, ", all numbers in turn")]
    return joined(heading, [
        ("TCP, Mbit/s", metric_table(results, names, [(*one, 0) for one in STREAMS], "")),
        ("Against one queue", gains(results, numbers[0], names[1:])),
        ("CPU seconds per GB", metric_table(results, names, [(*one, 2) for one in CPU], "")),
        ("Round trips and memory", metric_table(results, names, OTHERS, ""))], HOW), None


def gains(results, first, names):
    lines = []
    for name, title in names:
        found = [ratio(results[name][metric], results[first][metric]) for metric, _ in STREAMS]
        if all(found):
            lines.append([title, *map(in_cells, found)])
    return rows(["ratio to " + first, *(title for _, title in STREAMS)], lines)


if __name__ == "__main__":
    main(page, "queues", HOW)
