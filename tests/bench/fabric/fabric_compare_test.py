#!/usr/bin/env python3
"""Shows what fabric.sh --compare makes of rounds that were measured and of some that failed. All results are made up."""
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import fabric_compare
import fabric_goals as goals
import fabric_sizes as sizes

GOAL = next(goal for goal in goals.GOALS if goal.name == "V10")
OTHER = GOAL.others[0]


class Made(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pages = os.path.join(folder.name, "pages")

    def run_it(self, measure, only="V10", rounds="3", is_there=lambda *_: True):
        """Exit status, what was printed, and the page."""
        options = ["fabric_compare.py", "--bin", "none", "--netns", "a,b", "--only", only, "--rounds", rounds, "--page", self.pages]
        printed = io.StringIO()
        with mock.patch.object(fabric_compare, "measure", measure), mock.patch("sys.argv", options), \
                mock.patch.object(fabric_compare, "is_there", is_there), \
                contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            status = fabric_compare.main()
        with open(os.path.join(self.pages, "fabric.md"), encoding="utf-8") as page:
            return status, printed.getvalue(), page.read()

    @staticmethod
    def measuring(fails):
        """Ours 30, 40, 50 by round; the others 10. `fails`: true for a run and its round."""
        rounds = {}

        def measure(_, run):
            rounds[run] = rounds.get(run, 0) + 1
            if fails(run, rounds[run]):
                raise ValueError("made up")
            return {"rate": 10 if run.op == "mmsg" else 20 + 10 * rounds[run]}
        return measure


class Compare(Made):
    def test_the_page_has_goals_and_results(self):
        status, _, page = self.run_it(self.measuring(lambda *_: False))
        self.assertEqual(status, 0)
        self.assertIn(f"| V10 | {GOAL.what} | {OTHER.title()} | 4.00 | 3.00 | 5.00 | >= 3 | >= 8 | met |", page)
        self.assertIn(f"| {GOAL.run.title()} | 40 (30-50) | 0.0 (0.0-0.0) | - |", page)
        self.assertIn("by `tests/bench/fabric.sh --compare`: 3 rounds, runs of 1 s each, all variants in turn.", page)
        self.assertNotIn("Missing", page)

    def test_a_failed_round_leaves_the_others(self):
        status, printed, page = self.run_it(self.measuring(lambda run, number: run == GOAL.run and number == 2))
        self.assertEqual(status, 0)
        self.assertIn(f"Missing: round 2 of {GOAL.run.title()}", printed)
        self.assertIn(f"Missing: round 2 of {GOAL.run.title()}.", page)
        self.assertIn(f"| {GOAL.run.title()} | 40 (30-50) |", page)

    def test_rounds_are_paired_by_number(self):
        mine, theirs = {1: 10, 3: 90}, {1: 10, 2: 1, 3: 30}
        found = {GOAL.run: {"rate": mine}, OTHER: {"rate": theirs}}
        self.assertEqual(goals.compared(GOAL, found), (OTHER, 5, 1, 3))
        self.assertIsNone(goals.compared(GOAL, {GOAL.run: {"rate": {1: 1}}, OTHER: {"rate": {2: 1}}}))

    def test_a_goal_without_a_metric_is_reported_and_fails(self):
        status, printed, page = self.run_it(self.measuring(lambda run, _: run == OTHER))
        self.assertEqual(status, 1)
        self.assertIn("V10  not measured", printed)
        self.assertIn(f"| V10 | {GOAL.what} | - | - | - | - | >= 3 | >= 8 | not measured |", page)

    def test_every_goal_has_a_row(self):
        page = self.run_it(self.measuring(lambda *_: False), only=",".join(goals.NAMES), rounds="1")[2]
        for goal in goals.GOALS:
            self.assertIn(f"| {goal.name} | {goal.what} |", page)

    def test_a_goal_alone_has_no_tables_by_size(self):
        self.assertNotIn("By size", self.run_it(self.measuring(lambda *_: False))[2].split("## Method")[0])


class PingPong(unittest.TestCase):
    def run_it(self, *outputs, server_runs=True):
        server = mock.Mock(**{"poll.return_value": None if server_runs else 1})
        with mock.patch.object(fabric_compare, "output_of", side_effect=outputs), mock.patch.object(fabric_compare.time, "sleep"):
            return fabric_compare.output_when_served(["made up"], server)

    def test_it_is_repeated_until_the_server_listens(self):
        self.assertEqual(self.run_it(ValueError("refused"), ValueError("refused"), "rows"), "rows")

    def test_a_failure_that_ended_the_server_too_is_one(self):
        with self.assertRaises(ValueError):
            self.run_it(ValueError("no provider"), "rows", server_runs=False)


class Sizes(Made):
    TITLES = [title for title, _ in sizes.COLUMNS]

    def line(self, page, op, metric, size):
        """The cells of a line, by column."""
        table = page.split(f"### {op}\n")[1].split(f"| {metric} | ")[1]
        cells = next(line for line in table.splitlines() if line.startswith(f"| {size} | ")).strip("| ").split(" | ")
        return dict(zip(self.TITLES, cells[1:]))

    def test_every_operation_by_size_next_to_libfabric(self):
        def measure(_, run):
            return {"rate": 2000 if run.program == "fabric_bench" else 500, "us": 12.345 if run.spins else 2.5}
        status, _, page = self.run_it(measure, only="sizes")
        self.assertEqual(status, 0)
        self.assertIn("1 round, runs of 0.3 s each", page)
        for absent in ("Missing", "## Goals", "## Results"):
            self.assertNotIn(absent, page)
        for _, op in sizes.OPS:
            for size, mb in (("1 B", ("0.00", "0.00")), ("64 KiB", ("131", "32.8")), ("1 MiB", ("2097", "524"))):
                self.assertEqual(set(self.line(page, op, "MB/s", size).values()), set(mb))
            self.assertEqual(self.line(page, op, "messages/s", "64 B")["libfabric udp;ofi_rxd"], "500")
            times = self.line(page, op, "one-way us", "4 KiB")
            self.assertEqual((times["UDP, sleeping"], times["shm, spinning"], times["libfabric shm"]), ("2.50", "12.3", "12.3"))

    def test_all_are_there_from_1_b_to_1_mib(self):
        self.assertEqual(len(set(sizes.RUNS)), 3 * 6 * 7)
        self.assertEqual((min(run.bytes for run in sizes.RUNS), max(run.bytes for run in sizes.RUNS)), (1, 1024 * 1024))
        self.assertEqual({run.carrier for run in sizes.RUNS if run.program == "libfabric_bench"}, set(goals.LIBFABRIC))

    def test_one_that_fails_is_named_and_does_not_lose_the_others(self):
        stops = goals.libfabric("udp;ofi_rxd", 64, "read")

        def measure(_, run):
            if run == stops:
                raise ValueError("made up")
            return {"rate": 1000, "us": 5}
        status, printed, page = self.run_it(measure, only="sizes")
        self.assertEqual(status, 0)
        self.assertIn("Missing: libfabric_bench udp;ofi_rxd read 64 B by size", printed)
        self.assertIn("Missing: libfabric_bench udp;ofi_rxd read 64 B by size.", page)
        self.assertEqual(self.line(page, "RDMA read", "messages/s", "64 B"),
                         {title: "-" if title == "libfabric udp;ofi_rxd" else "1000" for title in self.TITLES})
        self.assertNotIn(" - |", page.split("### RDMA read")[0])

    def test_one_short_round_next_to_the_rounds_of_the_goals(self):
        asked = []

        def measure(args, run):
            asked.append((run, args.seconds))
            return {"rate": 1, "us": 1}
        page = self.run_it(measure, only="V10,sizes", rounds="2")[2]
        of_goal = goals.runs_of([goal for goal in goals.GOALS if goal.name == "V10"])
        self.assertEqual([run for run, seconds in asked if seconds == 1], 2 * of_goal)
        self.assertEqual([run for run, seconds in asked if seconds == 0.3], sizes.RUNS)
        self.assertIn("2 rounds, runs of 1 s each", page)
        self.assertIn("| V10 |", page)

    def test_nothing_at_all_fails(self):
        self.assertEqual(self.run_it(self.measuring(lambda *_: True), only="sizes")[0], 1)

    def test_ours_stay_without_libfabric(self):
        status, printed, page = self.run_it(lambda *_: {"rate": 1000, "us": 5}, only="sizes",
                                         is_there=lambda _, run: run.program == "fabric_bench")
        self.assertEqual(status, 0)
        self.assertIn("There is no libfabric_bench", printed)
        self.assertEqual(self.line(page, "Send", "messages/s", "1 B"),
                         {title: "-" if "libfabric" in title else "1000" for title in self.TITLES})


if __name__ == "__main__":
    unittest.main()
