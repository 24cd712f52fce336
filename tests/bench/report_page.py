"""What the pages of this folder have in common: results and settings of a run, cells, tables, marks, a main.
For compare_report.py, hosts_report.py, sizes.py and fabric_report.py."""
import os
import platform
import statistics
import sys
from collections import defaultdict


def load(folder):
    """carrier or number of hosts -> metric -> round -> value, from rounds/ROUND.NAME.results, in lines "name value"."""
    results = defaultdict(lambda: defaultdict(dict))
    for file in sorted(os.listdir(os.path.join(folder, "rounds"))):
        if not file.endswith(".results"):
            continue
        number, name = file[:-len(".results")].split(".", 1)
        with open(os.path.join(folder, "rounds", file), encoding="utf-8") as lines:
            for line in lines:
                metric, value = line.rsplit(" ", 1)
                results[name][metric][int(number)] = float(value)
    return results


def load_settings(folder):
    with open(os.path.join(folder, "settings"), encoding="utf-8") as lines:
        return dict((line.rstrip("\n").split(" ", 1) + [""])[:2] for line in lines)


def spread(values, digits):
    values = list(values)
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def ratio(ours, theirs):
    """Of two results by round: the ratio of their medians, the smallest and the greatest of one round; None without any."""
    ratios = [ours[number] / theirs[number] for number in ours if theirs.get(number)]
    if not ratios:
        return None
    return statistics.median(ours.values()) / statistics.median(theirs.values()), min(ratios), max(ratios)


def in_cells(found):
    return "{:.2f} ({:.2f}-{:.2f})".format(*found)


def rows(header, lines):
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|", *("| " + " | ".join(line) + " |" for line in lines)]


def metric_table(results, names, columns, first):
    """A row for each of `names`, (name, title); a column for each (metric, title, digits). What nobody measured is left out."""
    columns = [column for column in columns if any(results[name].get(column[0]) for name, _ in names)]
    lines = []
    for name, title in names:
        cells = [spread(results[name][metric].values(), digits) if results[name].get(metric) else "-"
                 for metric, _, digits in columns]
        if any(cell != "-" for cell in cells):
            lines.append([title, *cells])
    return rows([first, *(title for _, title, _ in columns)], lines) if lines else []


def marks(value, limit, beyond, less_is_better=False):
    """Cells: what is wanted, what is beyond it, and the result. Without a limit nothing is wanted."""
    if limit is None:
        return ["-", "-", "-"]
    sign, words = "<=" if less_is_better else ">=", "not met"
    for mark, reached in ((limit, "met"), (beyond, "met, and beyond")):
        if value <= mark if less_is_better else value >= mark:
            words = reached
    return [f"{sign} {limit:g}", f"{sign} {beyond:g}", words]


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")


def congestion_control():
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="ascii") as file:
        return file.read().strip()


def measured(script, settings, rounds, more=""):
    """The line with date, script, machine, the congestion control of its TCP and the versions of what was compared."""
    versions = f" Compared with or by: {settings['peers']}." if settings.get("peers") else ""
    return (f"Measured on {settings['date']} by `tests/bench/{script}`: {rounds} round{'s' if rounds > 1 else ''}, runs of"
            f" {settings['seconds']} s{more}. {settings.get('version', '')}, Linux {platform.release()},"
            f" {os.cpu_count()} x {processor()}. Load average before it began: {settings.get('load', 'unknown')}."
            f" Congestion control of the system: {settings.get('congestion', 'unknown')}.{versions}")


def joined(heading, parts, how):
    """The page of its parts, (title, table); parts without a table are left out."""
    lines = list(heading)
    for title, table in parts:
        if table:
            lines += ["", f"## {title}", "", *table]
    return "\n".join(lines) + "\n" + how


def write(folders, name, text, picture=None):
    """The page `name` and, if there is one, its picture in each folder."""
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
        for suffix, content in (("md", text), *([("svg", picture)] if picture else [])):
            with open(os.path.join(folder, f"{name}.{suffix}"), "w", encoding="utf-8") as out:
                out.write(content)


def main(page, name, how):
    """RESULTS FOLDER...: prints the page down to `how` and writes it and its plot into each FOLDER."""
    text, picture = page(sys.argv[1])
    print(text.split(how)[0])
    write(sys.argv[2:], name, text, picture)
