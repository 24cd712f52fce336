"""The tables of fabric.sh --compare: write, Send and read by size, ours and the providers of libfabric."""
from fabric_goals import KIB, libfabric, median_of, ours

NAME = "sizes"  # among the goals of --only
SECONDS = 0.3  # of what a metric of a goal takes
SIZES = (1, 64, KIB, 4 * KIB, 64 * KIB, 1024 * KIB)
OPS = (("write", "RDMA write with idata"), ("send", "Send"), ("read", "RDMA read"))
# A column's title, and its run of an operation and size.
COLUMNS = (
    ("UDP, sleeping", lambda op, size: ours("udp", size, False, op=op)),
    ("UDP, spinning", lambda op, size: ours("udp", size, True, op=op)),
    ("libfabric tcp", lambda op, size: libfabric("tcp", size, op)),
    ("libfabric udp;ofi_rxd", lambda op, size: libfabric("udp;ofi_rxd", size, op)),
    ("shm, sleeping", lambda op, size: ours("shm", size, False, op=op)),
    ("shm, spinning", lambda op, size: ours("shm", size, True, op=op)),
    ("libfabric shm", lambda op, size: libfabric("shm", size, op)),
)
# What is shown, of which metric of a run, times what.
RESULTS = (
    ("MB/s", "rate", lambda run: run.bytes / 1e6),
    ("messages/s", "rate", lambda run: 1),
    ("one-way us", "us", lambda run: 1),
)
RUNS = [run_of(op, size) for op, _ in OPS for size in SIZES for _, run_of in COLUMNS]


def size_in_words(size):
    for unit, name in ((1024 * KIB, "MiB"), (KIB, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def cell(found, run, metric, times):
    """Three digits or more; "-" if the run has no such metric."""
    if not found.get(run, {}).get(metric):
        return "-"
    value = median_of(found, run, metric) * times(run)
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def tables(found):
    """(title of the operation, header, lines) for each operation and metric."""
    for op, title in OPS:
        for name, metric, times in RESULTS:
            lines = [[size_in_words(size), *(cell(found, run_of(op, size), metric, times) for _, run_of in COLUMNS)]
                     for size in SIZES]
            yield title, [name, *(column for column, _ in COLUMNS)], lines
