#!/usr/bin/env python3
"""That each script of this folder still measures: its shortest form ends well, makes its page or its lines, and each result in it
is greater than zero. Asserts nothing about times. interrupt_test.py runs hosts.sh. Root, with all that scripts/install-deps.sh
installs.

  scripts_test.py FOLDER-OF-PROGRAMS [unittest options]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent import futures

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = None
AT_ONCE = 5  # most of the time passes while something is measured
PATIENCE = 200
SHORT = ("--rounds", "1", "--seconds", "1")
# Of each run, those that take longest first: the script, its options, whether it takes --out.
RUNS = {
    "paths and failover": ("switches.sh", [*SHORT, "--only", "paths,failover", "--variants", "two-paths,pair"], True),
    "switches": ("switches.sh", [*SHORT, "--only", "hop,trip,forward", "--variants", "hop-keyed,trip,cells,ovs"], True),
    "profile": ("profile.sh", ["--seconds", "1"], False),
    "queues": ("queues.sh", [*SHORT, "--queues", "2"], True),
    "show": ("show.sh", ["--seconds", "1", "--hosts", "1"], False),
    "page_cost": ("page_cost.sh", ["--quick"], False),
    "sizes": ("sizes.sh", ["--quick", "--carriers", "splitnic-shm"], True),
    "compare": ("compare.sh", [*SHORT, "--only", "V5", "--carriers", "splitnic-keyed-flood,splitnic-shm,direct"], True),
    "fabric": ("fabric.sh", ["--compare", "--only", "V7,V10", "--rounds", "1", "--seconds", "0.1"], True),
    "sim": ("sim.sh", ["--rounds", "1", "--nodes", "16"], False),
}
TCP = {f"{name}_{way}_{streams}" for name in ("tcp", "cpu") for way in ("to_lan", "to_host") for streams in (1, 4)}
TRIPS = {"ping_us", "rtt_p50_us", "rtt_p99_us"}
FORWARDED = {f"{way}_{name}" for way in ("fast", "window") for name in ("per_s", "sent_per_s", "cpu_us", "busy_us")}
# Metrics, and columns of pages, that are 0 when all is well.
MAY_BE_ZERO = re.compile(r"retransmit|^drop\.|lost")
NUMBER = re.compile(r"-?\d+(\.\d+)?")
STARTED = {}


def run_script(folder, script, options, takes_out, programs=None):
    """(exit status, standard output, standard error)"""
    (folder / "tmp").mkdir(parents=True)
    programs = programs or (os.path.join(BIN, "..", "tests") if script == "fabric.sh" else BIN)
    command = ["bash", os.path.join(HERE, script), "--bin", programs, *options]
    process = subprocess.Popen([*command, "--out", folder] if takes_out else command, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | {"TMPDIR": str(folder / "tmp")})
    try:
        text, errors = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.terminate()  # it removes what it has made
        text, errors = process.communicate()
        errors += f"it did not end within {PATIENCE} s\n"
    return process.returncode, text, errors


def programs_with_a_host_that_ends(folder):
    folder.mkdir()
    for name in ("splitnic", "splitnic-iou"):
        (folder / name).symlink_to(os.path.join(BIN, name))
    (folder / "splitnic-host").write_text("#!/bin/sh\necho the first line\necho the cause\nexit 1\n", encoding="ascii")
    (folder / "splitnic-host").chmod(0o755)
    return folder


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    pool = futures.ThreadPoolExecutor(AT_ONCE)
    unittest.addModuleCleanup(pool.shutdown)
    for name, run in RUNS.items():
        at = pathlib.Path(folder.name, name.replace(" ", "-"))
        STARTED[name] = at, pool.submit(run_script, at, *run)
    at = pathlib.Path(folder.name, "ends")
    programs = programs_with_a_host_that_ends(pathlib.Path(folder.name, "bin"))
    STARTED["ends"] = at, pool.submit(run_script, at, "page_cost.sh", ["--quick"], False, programs)


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def table_below(page, heading):
    """Header and lines, each a list of cells, of the first table below the heading."""
    below = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    header, _, *lines = [line for line in below.splitlines() if line.startswith("|")]
    return cells_of(header), [cells_of(line) for line in lines]


class Scripts(unittest.TestCase):
    maxDiff = None

    def ended(self, name):
        """Its folder and what it has printed, when it has ended well."""
        folder, run = STARTED[name]
        status, text, errors = run.result()
        self.assertEqual(status, 0, text + errors)
        for words in ("left behind", "Traceback", "FAILED"):
            self.assertNotIn(words, errors)
        self.assertEqual(list((folder / "tmp").iterdir()), [])
        return folder, text

    def page(self, name, file):
        folder, text = self.ended(name)
        page = (folder / file).read_text(encoding="utf-8")
        self.assertTrue(page.startswith("# "), page)
        if name != "fabric":  # it prints results and ratios
            self.assertIn(page.splitlines()[0], text)
        return folder, page

    def check_results(self, folder, variant, names):
        """All of these metrics are there, and all that are there are greater than zero."""
        lines = (folder / "rounds" / f"1.{variant}.results").read_text(encoding="utf-8").splitlines()
        found = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
        self.assertEqual(names - set(found), set(), found)
        for name, value in found.items():
            if not MAY_BE_ZERO.search(name):
                self.assertGreater(value, 0, (variant, name))

    def check_table(self, page, heading, count):
        """There are as many lines, each with a number; and each number in it is greater than zero."""
        header, lines = table_below(page, heading)
        self.assertEqual(len(lines), count, page)
        for line in lines:
            cells = [(title, cell) for title, cell in zip(header[1:], line[1:]) if cell != "-" and not MAY_BE_ZERO.search(title)]
            self.assertTrue(cells, (heading, line))
            for title, cell in cells:
                found = NUMBER.match(cell)
                self.assertTrue(found and float(found[0]) > 0, (heading, title, line))

    def check_lines(self, text, pattern, count):
        """As many lines fit the pattern, and the numbers in its groups are greater than zero."""
        found = re.findall(pattern, text, re.MULTILINE)
        self.assertEqual(len(found), count, text)
        for groups in found:
            for number in (groups,) if isinstance(groups, str) else groups:
                self.assertGreater(float(number), 0, text)

    def test_compare(self):
        folder, page = self.page("compare", "compare.md")
        for carrier in ("splitnic-keyed-flood", "splitnic-shm", "direct"):
            self.check_results(folder, carrier, {"rtt_p50_us", "rtt_p99_us"})
        self.check_table(page, "Frames and round trips", 3)
        self.assertTrue((folder / "compare.svg").stat().st_size)

    def test_queues(self):
        folder, page = self.page("queues", "queues.md")
        self.check_results(folder, "2", TCP | TRIPS | {"pss_mib"})
        self.check_results(folder, "vxlan", TCP | TRIPS)
        for heading, count in (("TCP, Mbit/s", 2), ("Against one queue", 1), ("CPU seconds per GB", 2), ("Round trips and memory", 2)):
            self.check_table(page, heading, count)

    def test_sizes(self):
        folder, page = self.page("sizes", "sizes.md")
        found = {}
        for line in (folder / "1.splitnic-shm.sizes").read_text(encoding="ascii").splitlines():
            metric, number, value = line.split()
            found[metric, int(number)] = float(value)
        # Less the cost of the idle programs, in steps of 10 ms: it may be 0.
        self.assertIsNotNone(found.pop(("load", 1000), None))
        self.assertEqual(set(found), {(name, size) for names, sizes in ((("udp_gbit", "udp_us"), (64, 1464)),
                                                                        (("tcp_gbit", "tcp_cpu"), (2048, 65536)))
                                      for name in names for size in sizes})
        self.assertGreater(min(found.values()), 0, found)
        self.assertRegex(page, r"\| 64 \| - \| [0-9.]+ \| - \|")
        self.assertTrue((folder / "sizes.svg").stat().st_size)

    def test_switches(self):
        folder, page = self.page("switches", "switches.md")
        self.check_results(folder, "hop-keyed", {name for name in TCP if name.endswith("_1")} | TRIPS)
        self.check_results(folder, "trip", {"trip_p50_us", "trip_p99_us", "trips"})
        for forwarder in ("cells", "ovs"):
            self.check_results(folder, forwarder, FORWARDED | {"best_per_s"})
        for heading, count in (("One hop, results", 1), ("Round trip of a cell", 1), ("64 bytes, as fast as the sender is", 2),
                               ("64 bytes, with a window", 2)):
            self.check_table(page, heading, count)

    def test_paths_and_failover(self):
        folder, page = self.page("paths and failover", "switches.md")
        self.check_results(folder, "two-paths", TCP)
        self.check_results(folder, "pair", {"gap_1_ms", "gap_2_ms"})
        self.check_table(page, "Two paths of 200 Mbit/s each", 1)
        self.check_table(page, "Failover", 1)

    def test_fabric(self):
        _, page = self.page("fabric", "fabric.md")
        self.assertNotIn("Missing", page)
        self.assertNotIn("not measured", page)
        # V7: four runs of fabric_bench, and two sizes by each of two programs of libfabric. V10: two runs, and datagrams for each.
        self.check_table(page, "Results", 12)

    def test_profile(self):
        _, text = self.ended("profile")
        self.check_lines(text, r"^(\d+) frames per second\.$", 3)
        for program in ("`splitnic-host`", "`splitnic-iou`", "iperf3, both ends"):
            self.check_lines(text, rf"^\| \*\*{program}\*\* \| all \| \*\*([0-9.]+)\*\* \|", 3)

    def test_page_cost(self):
        _, text = self.ended("page_cost")
        self.check_lines(text, r"^all three: .*: ([0-9.]+) without, ([0-9.]+) with: ", 4)
        self.assertEqual(len(re.findall("^goal: ", text, re.MULTILINE)), 2, text)
        self.assertRegex(text, r"\none snapshot: -?\d+ us of the I/O unit's data thread")
        self.assertEqual(len(re.findall("^all three, without traffic: ", text, re.MULTILINE)), 2, text)

    def test_show(self):
        _, text = self.ended("show")
        self.check_lines(text, r"^(?:show|stats)[a-z -]*, ([0-9.]+) Gbit/s to the (?:LAN|hosts): (\d+) replies of ([0-9.]+) kB: "
                               r"median ([0-9.]+) ms, 99 % ([0-9.]+) ms, longest ([0-9.]+) ms: ", 12)

    def test_a_program_that_does_not_come_up_prints_why(self):
        status, text, errors = STARTED["ends"][1].result()
        self.assertEqual((status, text), (1, ""), errors)
        self.assertIn("page_cost.sh: the programs did not come up\n", errors)
        self.assertIn("  host: the cause\n", errors)
        self.assertNotIn("the first line", errors)

    def test_sim(self):
        _, text = self.ended("sim")
        self.check_lines(text, r"^ +cells +(\d+) sent, (\d+) delivered, ", 1)
        self.check_lines(text, r"^ +simulated .* (\d+) ns per cell and link$", 1)
        self.assertRegex(text, "\n +deadlock +none\n")


if __name__ == "__main__":
    BIN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
