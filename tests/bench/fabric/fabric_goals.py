"""The goals that fabric.sh checks, each a ratio of two runs; the runs, and how their results are compared."""
import statistics
from dataclasses import dataclass

KIB = 1024
LIBFABRIC = ("tcp", "udp;ofi_rxd", "shm")


@dataclass(frozen=True)
class Run:
    """One command. `program` is fabric_bench, libfabric_bench or fi_pingpong; `carrier` an underlay or a provider."""
    program: str
    carrier: str
    op: str
    bytes: int
    spins: bool = False
    options: tuple = ()

    def title(self):
        waits = "" if self.program != "fabric_bench" else ", spinning" if self.spins else ", sleeping"
        more = " " + " ".join(self.options) if self.options else ""
        return f"{self.program} {self.carrier} {self.op} {self.bytes} B{waits}{more}"


@dataclass(frozen=True)
class Goal:
    """`metric` of `run` to that of the best of `others`, as it stands in each row: rate, or one-way time in us."""
    name: str
    what: str
    metric: str  # rate or us
    run: Run
    others: tuple
    limit: float
    beyond: float

    def less_is_better(self):
        return self.metric == "us"


def ours(underlay, size, spins, *options, op="write"):
    return Run("fabric_bench", underlay, op, size, spins, options)


def libfabric(provider, size, op="write"):
    return Run("libfabric_bench", provider, op, size, True)


def theirs(provider, size):
    return libfabric(provider, size), Run("fi_pingpong", provider, "send", size, True)


def way(spins):
    return "spinning" if spins else "sleeping"


def lossy(percent, *options):
    return ours("udp", 64 * KIB, False, "--loss", str(percent), *options)


GOALS = [
    *[Goal("V7", f"write of {size // KIB} KiB over UDP, {way(spins)}, to libfabric tcp: bandwidth", "rate",
           ours("udp", size, spins), theirs("tcp", size), limit, beyond)
      for size, limit, beyond in ((64 * KIB, 1.5, 2.0), (1024 * KIB, 2.0, 2.5)) for spins in (False, True)],
    Goal("V8", "write of 64 B over UDP, spinning, to libfabric udp;ofi_rxd: one-way time", "us",
         ours("udp", 64, True), theirs("udp;ofi_rxd", 64), 1.0, 0.7),
    Goal("V9", "write of 64 B over shm, spinning, to libfabric shm: one-way time", "us",
         ours("shm", 64, True), theirs("shm", 64), 1.5, 1.0),
    *[Goal("V9", f"write of 64 KiB over shm, {way(spins)}, to libfabric shm: bandwidth", "rate",
           ours("shm", 64 * KIB, spins), theirs("shm", 64 * KIB), 1.3, 1.6) for spins in (False, True)],
    *[Goal("V10", f"writes of 64 B per second over UDP, {way(spins)}, to datagrams by sendmmsg", "rate",
           ours("udp", 64, spins), (ours("udp", 64, spins, op="mmsg"),), 3, 8) for spins in (False, True)],
    *[Goal("V11", f"goodput of 64 KiB writes with {percent} % of datagrams lost, to none lost", "rate",
           lossy(percent), (ours("udp", 64 * KIB, False),), limit, beyond)
      for percent, limit, beyond in ((0.1, 0.9, 0.97), (1, 0.7, 0.85), (5, 0.25, 0.5))],
    Goal("V12", "goodput of 64 KiB writes with 1 % of datagrams lost, to go-back-N", "rate", lossy(1), (lossy(1, "--go-back-n"),), 3, 10),
]
NAMES = list(dict.fromkeys(goal.name for goal in GOALS))


def runs_of(goals):
    return list(dict.fromkeys(run for goal in goals for run in (goal.run, *goal.others)))


def parse_row(text):
    """The results of one row of fabric_bench's table; one that was not measured is missing."""
    words = text.split()
    if len(words) != 9:
        raise ValueError(f"not a row: {text.strip()!r}")
    return {name: float(word) for name, word in zip(("rate", "us", "lost"), (words[5], words[6], words[8])) if word != "-"}


def parse_pingpong(text, size):
    """The same of fi_pingpong's last row; its bandwidth is that of one message at a time."""
    rows = [line.split() for line in text.splitlines()]
    rows = [row for row in rows if len(row) == 8 and row[0] != "bytes"]
    if not rows:
        raise ValueError(f"fi_pingpong printed no row for {size} B")
    us = float(rows[-1][6])
    return {"rate": 1e6 / us, "us": us}


def median_of(found, run, metric):
    return statistics.median(found[run][metric].values())


def compared(goal, found):
    """(the strictest of the others, ratio of medians, least and greatest ratio of one round), or None if one of them has no
    metric. `found`: run to metric to round to value."""
    mine = found.get(goal.run, {}).get(goal.metric, {})
    if not all(mine.keys() & found.get(run, {}).get(goal.metric, {}).keys() for run in goal.others):
        return None
    pick = min if goal.less_is_better() else max
    other = pick(goal.others, key=lambda run: median_of(found, run, goal.metric))
    theirs = found[other][goal.metric]
    ratios = [mine[number] / theirs[number] for number in mine if number in theirs]
    return other, median_of(found, goal.run, goal.metric) / median_of(found, other, goal.metric), min(ratios), max(ratios)


def verdict(goal, ratio):
    def is_met(limit):
        return ratio <= limit if goal.less_is_better() else ratio >= limit
    if is_met(goal.beyond):
        return "met, and beyond"
    return "met" if is_met(goal.limit) else f"short by {abs(ratio - goal.limit) / goal.limit:.0%}"


def evaluate(goal, found):
    """One line: ratio of medians, least and most of the rounds, goal, verdict."""
    results = compared(goal, found)
    if results is None:
        return f"{goal.name:4} not measured                {goal.what}"
    other, ratio, least, greatest = results
    sign = "<=" if goal.less_is_better() else ">="
    return (f"{goal.name:4} {ratio:7.3f} ({least:.3f} to {greatest:.3f}), goal {sign} {goal.limit:g}, beyond "
            f"{sign} {goal.beyond:g}: {verdict(goal, ratio)}\n     {goal.what}; best there: {other.title()}")
