#!/usr/bin/env python3
"""That libfabric_bench does each operation on each provider, and ends when one does not. Asserts nothing about time.

  libfabric_bench_test.py PATH-OF-LIBFABRIC_BENCH [unittest options]
"""
import subprocess
import sys
import unittest

import fabric_goals as goals

BENCH = None


def run_it(*options):
    done = subprocess.run([BENCH, "--seconds", "0.02", *options], capture_output=True, text=True, check=False, timeout=240)
    return done, done.stdout.splitlines()


class Rows(unittest.TestCase):
    def test_every_op_of_every_provider(self):
        for provider in goals.LIBFABRIC:
            done, rows = run_it("--provider", provider, "--size", "64")
            self.assertEqual((done.returncode, done.stderr, len(rows)), (0, "", 4), provider)
            self.assertEqual(rows[0].split()[:4], ["carrier", "waits", "op", "bytes"])
            for row, op in zip(rows[1:], ("write", "send", "read")):
                self.assertEqual(row.split()[:4], [provider, "spins", op, "64"])
                results = goals.parse_row(row)
                self.assertEqual(sorted(results), ["rate", "us"], row)
                self.assertGreater(min(results.values()), 0, row)

    def test_the_smallest_and_the_greatest_size(self):
        for size in ("1", "1048576"):
            done, rows = run_it("--provider", "shm", "--size", size, "--no-head")
            self.assertEqual((done.returncode, done.stderr, len(rows)), (0, "", 3))

    def test_what_takes_too_long_has_failed(self):
        done, rows = run_it("--op", "send", "--size", "64", "--no-head", "--seconds", "60", "--limit", "1")
        self.assertEqual((done.returncode, rows), (1, []))
        for text in ("the active end did not exit", "libfabric_bench: tcp send of 64 B has no result"):
            self.assertIn(text, done.stderr)

    def test_what_it_cannot_do_is_reported_in_a_line(self):
        done, rows = run_it("--provider", "none", "--op", "read", "--size", "64", "--no-head")
        self.assertEqual((done.returncode, rows), (1, []))
        self.assertIn("libfabric_bench: none read of 64 B: fi_getinfo: No data available\n", done.stderr)
        for options in (("--op", "mmsg"), ("--op", "none"), ("--size", "0"), ("--limit", "x"), ("--none",)):
            done, rows = run_it(*options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertEqual(rows, [], options)


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
