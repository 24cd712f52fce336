#!/usr/bin/env python3
"""The goals that compare.sh can check, each a ratio of two carriers' results.

  compare_goals.py V1,V4      prints the carriers that these goals need, and on a second line the results
"""
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """One ratio: `metric` of `carrier` to that of the best of `others`. Without a limit it is shown, without a verdict."""
    name: str
    what: str
    metric: str         # as compare_measure.py prints it
    carrier: str
    others: tuple
    limit: float | None
    beyond: float | None
    less_is_better: bool = False
    measured_by: str = ""  # the metric's name on compare_measure.py's command line


def of_tcp(name, carrier, others, limits, metric="tcp", less_is_better=False):
    """`limits`: for each number of streams what is wanted and what would be beyond it."""
    ways = (("to_lan", "to the LAN"), ("to_host", "to the host"))
    what = {"tcp": "TCP", "cpu": "CPU seconds per GB of TCP"}[metric]
    return [Goal(name, f"{what} {where}, {'1 stream' if streams == 1 else f'{streams} streams'}",
                 f"{metric}_{way}_{streams}", carrier, others, *limits[streams], less_is_better, f"tcp{streams}")
            for streams in limits for way, where in ways]


GOALS = [
    *of_tcp("V1", "splitnic-packet", ("vxlan",), {1: (0.95, 1.1), 4: (0.5, 0.65)}),
    *of_tcp("V1", "splitnic-packet", ("direct",), {4: (0.7, 0.85)}),
    *of_tcp("V1", "splitnic-auto", ("vxlan",), dict.fromkeys((1, 4), (None, None))),
    *of_tcp("V2", "splitnic-shm", ("direct",), dict.fromkeys((1, 4), (0.75, 0.85))),
    *of_tcp("V2", "splitnic-shm", ("vxlan",), dict.fromkeys((1, 4), (None, None))),
    *of_tcp("V3", "splitnic-pcap", ("openvpn", "openvpn-9000"), dict.fromkeys((1, 4), (9, 12))),
    Goal("V4", "UDP frames of 64 bytes", "udp64_pps", "splitnic-packet", ("vxlan",), 1.2, 1.5, False, "udp64"),
    Goal("V5", "TCP round trip of 64 bytes", "rtt_p50_us", "splitnic-packet", ("openvpn",), 0.4, 0.3, True, "rtt"),
    Goal("V5", "the same, p99", "rtt_p99_us", "splitnic-packet", ("vxlan",), 1.0, 0.7, True, "rtt"),
    Goal("V6", "TCP round trip of 64 bytes, spinning", "rtt_p50_us", "splitnic-busy", ("vxlan",), 1.0, 0.5, True, "rtt"),
    Goal("V6", "ping, spinning", "ping_us", "splitnic-busy", ("vxlan",), 3, 2, True, "ping"),
    Goal("V6", "TCP round trip of 64 bytes, processors awake", "rtt_p50_us", "splitnic-awake", ("vxlan",), None, None, True, "rtt"),
    Goal("V6", "ping to a sleeping pair, processors awake", "ping_us", "splitnic-awake", ("vxlan",), None, None, True, "ping"),
    Goal("V6", "ping to a sleeping pair", "ping_us", "splitnic-packet", ("vxlan",), 6, 4, True, "ping"),
    *of_tcp("V13", "splitnic-packet", ("vxlan",), {1: (1.5, 1.25), 4: (2.2, 1.8)}, "cpu", True),
    *of_tcp("K1", "splitnic-keyed", ("splitnic-packet",), {1: (0.93, 1.0), 4: (None, None)}),
    *of_tcp("K1", "splitnic-keyed-openssl", ("splitnic-packet",), {1: (0.5, 0.6)}),
    *of_tcp("K2", "splitnic-keyed", ("openvpn-gcm",), {1: (10, 13)}),
    *of_tcp("K2", "splitnic-keyed", ("wireguard",), {1: (12, 20)}),
    Goal("K3", "TCP round trip of 64 bytes", "rtt_p50_us", "splitnic-keyed", ("splitnic-packet",), 1.05, 1.0, True, "rtt"),
    Goal("K3", "UDP frames of 64 bytes", "udp64_pps", "splitnic-keyed", ("splitnic-packet",), 0.9, 1.0, False, "udp64"),
    *of_tcp("K4", "splitnic-keyed-flood", ("splitnic-keyed",), {1: (0.8, 0.9), 4: (None, None)}),
    # Without what the flood itself takes of the processors, which a stranger has elsewhere.
    *of_tcp("K4", "splitnic-keyed-flood", ("splitnic-keyed-aside",), {1: (0.8, 0.9), 4: (None, None)}),
]
ELSEWHERE = {**dict.fromkeys(("V7", "V8", "V9", "V10", "V11", "V12"), "fabric.sh --compare"),
             "V14": "hosts.sh", "V15": "sizes.sh"}


def needs(names):
    """Carriers and results, each in the order in which the goals name them."""
    wanted = [goal for goal in GOALS if goal.name in names]
    carriers = dict.fromkeys(carrier for goal in wanted for carrier in (goal.carrier, *goal.others))
    results = dict.fromkeys(goal.measured_by for goal in wanted)
    return list(carriers), list(results)


def check(names):
    here = " ".join(dict.fromkeys(goal.name for goal in GOALS))
    for name in names:
        if name in ELSEWHERE:
            sys.exit(f"compare.sh: {name} is measured by tests/bench/{ELSEWHERE[name]}; here are: {here}")
        if name not in here.split():
            sys.exit(f"compare.sh: no goal {name}; here are: {here}")


def main():
    names = sys.argv[1].split(",")
    check(names)
    for line in needs(names):
        print(*line)


if __name__ == "__main__":
    main()
