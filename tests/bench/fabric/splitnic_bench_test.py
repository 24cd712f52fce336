#!/usr/bin/env python3
"""That `splitnic bench` measures against another one that listens. Asserts nothing about time.

  splitnic_bench_test.py PATH-OF-SPLITNIC [unittest options]
"""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

SPLITNIC = None
WORDS = {"op", "service", "carrier", "waits"}
FIELDS = WORDS | {"queue_pairs", "pieces", "bytes", "messages", "messages_per_second", "bytes_per_second", "one_way_p50_ns",
                  "one_way_mean_ns", "lost"}


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = os.environ | {"SPLITNIC_SHM_DIR": folder.name}
        self.addresses = {"udp": f"udp://127.0.0.1:{free_port()}", "shm": "shm://bench"}

    def start(self, *options):
        return subprocess.Popen([SPLITNIC, "bench", "--insecure-lab", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment)

    @contextlib.contextmanager
    def listener(self, address, *options):
        """Ends it with SIGTERM, which is to be exit status 0 and no word."""
        process = self.start("--listen", address, *options)
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            self.assertEqual((process.communicate(timeout=10), process.returncode), (("", ""), 0))
        finally:
            process.kill()
            process.communicate()

    def measure(self, op, address, *options, status=0):
        process = self.start(op, "--peer", address, "--seconds", "0.02", *options)
        out, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, errors)
        return out, errors

    def test_every_verb_over_udp_and_shm(self):
        for carrier, address in self.addresses.items():
            with self.listener(address):
                for op in ("write", "send", "read"):
                    out, errors = self.measure(op, address, "--json", "--size", "64", "--size", "5000")
                    self.assertEqual(errors, "")
                    rows = [json.loads(line) for line in out.splitlines()]
                    self.assertEqual([row["bytes"] for row in rows], [64, 5000])
                    for row in rows:
                        self.assertEqual(set(row), FIELDS)
                        self.assertEqual([row[name] for name in ("op", "service", "queue_pairs", "carrier", "waits", "lost")],
                                         [op, "rc", 1, carrier, "sleeps", 0])
                        for name in FIELDS - WORDS - {"lost"}:
                            self.assertGreater(row[name], 0, (name, row))

    def test_every_service_over_udp_and_shm(self):
        for carrier, address in self.addresses.items():
            with self.listener(address):
                for service, *more in (("uc",), ("ud",), ("rd",), ("rd", "--qps", "3"), ("stream",)):
                    out, errors = self.measure("write", address, "--json", "--size", "64", "--service", service, *more)
                    self.assertEqual(errors, "")
                    row = json.loads(out)
                    self.assertEqual((row["service"], row["queue_pairs"], row["carrier"]), (service, 3 if more else 1, carrier))
                    self.assertGreater(row["messages"], 0, row)

    def test_fetch_ops_of_one_word_over_udp_and_shm(self):
        for carrier, address in self.addresses.items():
            with self.listener(address):
                for service in ("rc", "rd"):
                    out, errors = self.measure("fetchop", address, "--json", "--service", service)
                    self.assertEqual(errors, "")
                    row = json.loads(out)  # the only one
                    self.assertEqual([row[name] for name in ("op", "service", "carrier", "bytes", "lost")],
                                     ["fetchop", service, carrier, 8, 0])
                    self.assertGreater(row["messages"], 0, row)

    def test_both_queue_pairs_in_one_adapter(self):
        for op in ("write", "send", "read", "fetchop"):
            process = self.start(op, "--loopback", "--json", "--seconds", "0.02")
            out, errors = process.communicate(timeout=120)
            self.assertEqual((process.returncode, errors), (0, ""))
            rows = [json.loads(line) for line in out.splitlines()]
            self.assertEqual([row["bytes"] for row in rows], [8] if op == "fetchop" else [64, 4096, 65536, 1048576])
            for row in rows:
                self.assertEqual(set(row), FIELDS)
                self.assertEqual([row[name] for name in ("op", "service", "carrier", "lost")], [op, "rc", "loopback", 0])
                self.assertGreater(row["messages"], 0, row)

    def test_messages_of_one_cell(self):
        for carrier, address in self.addresses.items():
            with self.listener(address):
                for op, service in (("send", "ud"), ("write", "rd")):
                    out, _ = self.measure(op, address, "--json", "--service", service)
                    self.assertEqual([json.loads(line)["bytes"] for line in out.splitlines()], [64, 4096], carrier)
                    out, errors = self.measure(op, address, "--service", service, "--size", "1048576", status=1)
                    self.assertEqual(out, "")
                    self.assertRegex(errors, "^splitnic: --size 1048576: a (send of UD|write of RD) is one cell, of at most [0-9]+ bytes "
                                             "on this path: give a smaller one\n$")

    def test_sends_of_rd_of_several_cells(self):
        for carrier, address in self.addresses.items():
            with self.listener(address):
                out, _ = self.measure("send", address, "--json", "--service", "rd")
                rows = [json.loads(line) for line in out.splitlines()]
                self.assertEqual([row["bytes"] for row in rows], [64, 4096, 65536, 1048576], carrier)
                self.assertEqual([row["lost"] for row in rows], [0, 0, 0, 0], carrier)

    def test_a_table_of_four_sizes_and_both_ends_spin(self):
        address = self.addresses["udp"]
        with self.listener(address, "--spin"):
            out, _ = self.measure("write", address, "--spin")
            lines = [line.split() for line in out.splitlines()]
            self.assertEqual(lines[0][:6], ["carrier", "waits", "op", "service", "qps", "bytes"])
            self.assertEqual([line[:6] for line in lines[1:]],
                             [["udp", "spins", "write", "rc", "1", size] for size in ("64", "4096", "65536", "1048576")])

    def test_one_at_a_time_and_the_next_after_one_that_was_killed(self):
        address = self.addresses["udp"]
        with self.listener(address):
            first = self.start("write", "--peer", address, "--seconds", "60")
            for _ in range(100):
                refused = self.once(address)
                if refused[0] == 1:
                    break
                if first.poll() is not None:  # it came while the other measured
                    first.communicate()
                    first = self.start("write", "--peer", address, "--seconds", "60")
            first.kill()
            first.communicate()
            self.assertEqual(refused, (1, "splitnic: the peer refuses: no_resources: another one measures there\n"))
            for _ in range(1000):
                after = self.once(address)
                if after[0] == 0:
                    break
            self.assertEqual(after, (0, ""))

    def once(self, address):
        process = self.start("write", "--peer", address, "--seconds", "0.02", "--size", "64")
        _, errors = process.communicate(timeout=60)
        return process.returncode, errors

    def test_more_of_them_than_the_listener_has_links_one_after_the_other(self):
        address = self.addresses["udp"]
        with self.listener(address):
            for _ in range(70):
                self.assertEqual(self.once(address), (0, ""))


if __name__ == "__main__":
    SPLITNIC = sys.argv.pop(1)
    unittest.main()
