"""The page of a run of fabric.sh --compare: each goal with its ratio, and the results of each run."""
import os
import sys

import fabric_goals as goals
import fabric_sizes

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import report_page
from report_page import joined, marks, measured, rows, spread

HOW = """
## Method

    active end: fab0 10.99.0.1  --  passive end: fab0 10.99.0.2

Two network namespaces on one machine, joined by a veth; "shm" is shared memory of the machine. Each end is a process, bound
to its own processor where there are two. One queue pair: `fabric_bench` writes with the fabric of splitnic,
`libfabric_bench` with a provider of libfabric. `fi_pingpong` is libfabric's own tool: it sends one message at a time, both
ways, and supports neither write nor read. mmsg is plain datagrams by `sendmmsg`. A goal with several comparisons takes the
best of them.

- Messages/s, MB/s: with as many in flight as the program allows; one-way time: half of a round trip of one message.
- `--loss N`: N % of the datagrams to the passive end are dropped; `--go-back-n`: instead of selective repeat.
- Goals with times: less is better.
- By size: ours and `libfabric_bench`, which always spins. Of its reads over `udp;ofi_rxd` 16 are in flight: with more it is
  slower, and may stop permanently. One-way time of a read: half of its time.

To repeat it, as root: `tests/bench/fabric.sh --compare --publish`; `--only V8,V9 --rounds 1` gives a first impression, `--only sizes`
the tables by size.
"""


def goal_table(wanted, found):
    lines = []
    for goal in wanted:
        result = goals.compared(goal, found)
        if result is None:
            lines.append([goal.name, goal.what, "-", "-", "-", "-", *marks(0, goal.limit, goal.beyond, goal.less_is_better())[:2],
                          "not measured"])
            continue
        other, *ratios = result
        lines.append([goal.name, goal.what, other.title(), *(f"{ratio:.2f}" for ratio in ratios),
                      *marks(ratios[0], goal.limit, goal.beyond, goal.less_is_better())])
    return rows(["goal", "measured", "compared with", "ratio of medians", "least of a round", "greatest", "wanted", "beyond", "result"],
                lines)


def metric_table(found):
    lines = []
    for run, results in found.items():
        rates, times = results.get("rate", {}).values(), results.get("us", {}).values()
        cells = [spread(rates, 0), spread([rate * run.bytes / 1e6 for rate in rates], 1)] if rates else ["-", "-"]
        lines.append([run.title(), *cells, spread(times, 2) if times else "-"])
    return rows(["run", "messages/s", "MB/s", "one-way us"], lines)


def size_tables(found):
    """None without results. The text mentions that it is one round, since its ratios are no verdict."""
    lines = []
    if found:
        lines = ["One round, with less time per result than the goals, which take the rounds above; - was not measured."]
    title = ""
    for op, header, cells in fabric_sizes.tables(found) if found else ():
        lines += ["", *([] if op == title else [f"### {op}", ""]), *rows(header, cells)]
        title = op
    return lines


def page(settings, rounds, wanted, found, missing, by_size=None):
    """`found`, `by_size`: run to metric to round to value; `missing`: what was not measured, in words."""
    heading = ["# One queue pair of the fabric", "",
               measured("fabric.sh --compare", settings, rounds, " each, all variants in turn"),
               "Medians, in brackets the smallest and the greatest round. Absolute results drift from hour to hour: only ratios of one run",
               "are meaningful."]
    if missing:
        heading += ["", f"Missing: {'; '.join(missing)}."]
    goal_tables = [("Goals", goal_table(wanted, found)), ("Results", metric_table(found))] if wanted else []
    return joined(heading, [*goal_tables, ("By size, with libfabric", size_tables(by_size))], HOW)


def write(folders, text):
    report_page.write(folders, "fabric", text)
