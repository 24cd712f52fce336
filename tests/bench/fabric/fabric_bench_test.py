#!/usr/bin/env python3
"""That fabric_bench prints its rows, and that fabric_goals.py reads and checks them. Asserts nothing about time.

  fabric_bench_test.py PATH-OF-FABRIC_BENCH [unittest options]
"""
import os
import subprocess
import sys
import tempfile
import unittest

import fabric_goals as goals

BENCH = None


def rows_of(*options):
    done = subprocess.run([BENCH, "--seconds", "0.1", "--size", "64", *options], capture_output=True, text=True, check=False,
                          env=os.environ | {"SPLITNIC_SHM_DIR": tempfile.gettempdir()}, timeout=240)
    return done, done.stdout.splitlines()


class Table(unittest.TestCase):
    def check_row(self, row, *begins, results):
        self.assertEqual(row.split()[:4], list(begins))
        found = goals.parse_row(row)
        self.assertEqual(sorted(found), sorted(results), row)
        for value in found.values():
            self.assertGreater(value, 0, row)

    def check_ops(self, underlay):
        done, rows = rows_of("--underlay", underlay)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[0].split()[:4], ["carrier", "waits", "op", "bytes"])
        for row, op in zip(rows[1:], ("write", "send", "read")):
            self.check_row(row, underlay, "sleeps", op, "64", results=("rate", "us"))

    def test_every_op_over_udp(self):
        self.check_ops("udp")

    def test_every_op_over_shm(self):
        self.check_ops("shm")

    def test_spinning_over_both(self):
        for underlay in ("udp", "shm"):
            done, rows = rows_of("--underlay", underlay, "--spin", "--op", "write", "--no-head")
            self.assertEqual((done.returncode, len(rows)), (0, 1), done.stderr)
            self.check_row(rows[0], underlay, "spins", "write", "64", results=("rate", "us"))

    def check_loss(self, *options):
        for _ in range(50):  # on a busy machine so few cells are sent that none may be lost by chance
            done, rows = rows_of("--op", "write", "--no-head", "--loss", "2", *options)
            self.assertEqual((done.returncode, len(rows)), (0, 1), done.stderr)
            if goals.parse_row(rows[0])["lost"] > 0:
                break
        self.check_row(rows[0], "udp", "sleeps", "write", "64", results=("rate", "us", "lost"))

    def test_what_is_lost_is_repaired_selectively(self):
        self.check_loss()

    def test_what_is_lost_is_repaired_by_go_back_n(self):
        self.check_loss("--go-back-n")

    def test_plain_datagrams_have_a_rate_only(self):
        done, rows = rows_of("--op", "mmsg", "--no-head")
        self.assertEqual((done.returncode, len(rows)), (0, 1), done.stderr)
        self.check_row(rows[0], "udp", "sleeps", "mmsg", "64", results=("rate",))

    def test_what_it_does_not_know_is_refused(self):
        for options in (("--op", "none"), ("--underlay", "none"), ("--seconds", "x"), ("--netns", "a"), ("--none",)):
            done, rows = rows_of(*options)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertEqual(rows, [], options)


class Goals(unittest.TestCase):
    TABLE = "udp          spins  write        64       4.28          66845       40.470       51.000        -"
    PINGPONG = ("bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
                "64      100     =100     12k         0.00s      4.00      16.00       0.06\n")

    def test_rows_are_read(self):
        self.assertEqual(goals.parse_row(self.TABLE), {"rate": 66845, "us": 40.47})
        self.assertEqual(goals.parse_row(self.TABLE.replace("40.470", "-")), {"rate": 66845})
        self.assertEqual(goals.parse_pingpong(self.PINGPONG, 64), {"rate": 62500, "us": 16})
        for read in (lambda: goals.parse_row("nothing"), lambda: goals.parse_pingpong("nothing", 64)):
            self.assertRaises(ValueError, read)

    def test_every_goal_of_the_fabric_is_there(self):
        self.assertEqual(goals.NAMES, ["V7", "V8", "V9", "V10", "V11", "V12"])
        for goal in goals.GOALS:
            self.assertGreater(goal.beyond / goal.limit, 0.99 if not goal.less_is_better() else 0)

    def goal(self, name):
        return next(goal for goal in goals.GOALS if goal.name == name)

    def evaluated(self, name, mine, *others):
        """The last of the others stands for the rest of them."""
        goal = self.goal(name)
        others += others[-1:] * (len(goal.others) - len(others))
        found = {run: {goal.metric: dict(enumerate(values, 1))} for run, values in zip((goal.run, *goal.others), (mine, *others))}
        return goals.evaluate(goal, found)

    def test_more_is_better_for_rates(self):
        self.assertIn("1.600 (1.500 to 1.700), goal >= 1.5, beyond >= 2: met",
                      self.evaluated("V7", [15, 16, 17], [10, 10, 10]))
        self.assertIn(": met, and beyond\n", self.evaluated("V7", [21], [10]))
        self.assertIn("short by 50%", self.evaluated("V7", [7.5], [10]))

    def test_less_is_better_for_times(self):
        self.assertIn("goal <= 1, beyond <= 0.7: met, and beyond", self.evaluated("V8", [6], [10]))
        self.assertIn("short by 50%", self.evaluated("V8", [15], [10]))

    def test_the_better_of_the_others_counts(self):
        self.assertIn("best there: fi_pingpong", self.evaluated("V7", [15], [10], [20]))
        self.assertIn("best there: libfabric_bench", self.evaluated("V8", [15], [10], [20]))

    def test_what_is_absent_is_reported(self):
        self.assertIn("not measured", self.evaluated("V7", [15]))
        self.assertIn("not measured", self.evaluated("V7", [], [10]))
        self.assertIn("not measured", self.evaluated("V7", [15], [], [10]), "the stricter one may be the one that is absent")


if __name__ == "__main__":
    BENCH = sys.argv.pop(1)
    unittest.main()
