#!/usr/bin/env python3
"""That forward_bench and cell_trip_bench send cells by a switch and count those that arrive. Asserts nothing about time.

  forward_bench_test.py PATH-OF-FORWARD_BENCH PATH-OF-CELL_TRIP_BENCH PATH-OF-SPLITNIC-SWITCH [unittest options]
"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

BENCH = TRIPS = SWITCH = None
TOPOLOGY = '[switches.sw]\nlid = 1\n[nodes.from]\nlid = 11\nat = "sw:1"\n[nodes.to]\nlid = 12\nat = "sw:2"\n'


def free_ports(count):
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Forward(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.ends = [f"127.0.0.1:{port}" for port in free_ports(2)]

    def start_switch(self, *options):
        (self.folder / "fabric.toml").write_text(TOPOLOGY, encoding="ascii")
        ports = [word for end in self.ends for word in ("--port", f"udp://{end}")]
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(
                [SWITCH, "--name", "sw", "--topology", self.folder / "fabric.toml", "--control", self.folder / "sock",
                 "--insecure-lab", *ports, *options], stdout=log, stderr=log)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)

    def run_bench(self, *options, program=None):
        return subprocess.run([program or BENCH, *options], capture_output=True, text=True, timeout=60, check=False)

    def check_trips(self, *options):
        ended = self.run_bench("--seconds", "0.1", *options, program=TRIPS)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        found = dict(line.split() for line in ended.stdout.splitlines())
        self.assertEqual(list(found), ["trip_p50_us", "trip_p99_us", "trips", "trips_lost"])
        self.assertGreater(float(found["trips"]), 0)
        self.assertGreaterEqual(float(found["trip_p99_us"]), float(found["trip_p50_us"]))
        self.assertGreater(float(found["trip_p50_us"]), 0)

    def check_cells(self, *options):
        ended = self.run_bench("--cells", ",".join(self.ends), "--seconds", "0.2", *options)
        self.assertEqual(ended.returncode, 0, ended.stderr + (self.folder / "log").read_text(encoding="utf-8"))
        found = dict(line.split() for line in ended.stdout.splitlines())
        self.assertEqual(list(found), ["sent_per_s", "arrived_per_s", "lost_percent", "arrived"])
        for name in ("sent_per_s", "arrived_per_s", "arrived"):
            self.assertGreater(float(found[name]), 0, found)
        return float(found["lost_percent"])

    def test_cells_arrive_and_a_window_bounds_what_is_lost(self):
        self.start_switch()
        self.assertLess(self.check_cells("--window", "200", "--batch", "50"), 50)
        self.assertLess(self.check_cells("--batch", "1"), 100)

    def test_cells_over_links_with_credits(self):
        self.start_switch("--link-profile", "full")
        self.assertLess(self.check_cells("--full"), 50)

    def test_trips_of_a_cell(self):
        self.check_trips("--direct", self.ends[0])
        self.start_switch()
        self.check_trips("--by", ",".join(self.ends))

    def test_trips_over_links_with_credits(self):
        self.start_switch("--link-profile", "full")
        self.check_trips("--full", "--by", ",".join(self.ends))

    def test_trips_without_a_switch(self):
        ended = self.run_bench("--by", ",".join(self.ends), program=TRIPS)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no switch responds at 127.0.0.1", ended.stderr)
        self.assertIn("--by or --direct is missing", self.run_bench(program=TRIPS).stderr)

    def test_without_a_switch_it_reports_that(self):
        ended = self.run_bench("--cells", ",".join(self.ends), "--seconds", "0.2")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("no switch responds at 127.0.0.1", ended.stderr)
        self.assertEqual(ended.stdout, "")

    def test_options_that_are_refused(self):
        for words, options in (("--frames or --cells is missing", []), ("take two ends", ["--cells", "127.0.0.1:1"]),
                               ("--batch takes no '0'", ["--cells", "a,b", "--batch", "0"]),
                               ("a packet socket at no-such-if", ["--frames", "lo,no-such-if"])):
            ended = self.run_bench(*options)
            self.assertEqual(ended.returncode, 1, options)
            self.assertIn(words, ended.stderr)


if __name__ == "__main__":
    BENCH, TRIPS, SWITCH = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main()
