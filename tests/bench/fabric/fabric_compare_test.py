#!/usr/bin/env python3
"""Shows what fabric.sh --compare makes of rounds that were measured and of some that failed. All figures are made up."""
import contextlib
import io
import os
import tempfile
import unittest
from unittest import mock

import fabric_compare
import fabric_goals as goals

GOAL = next(goal for goal in goals.GOALS if goal.name == "V10")
OTHER = GOAL.others[0]


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pages = os.path.join(folder.name, "pages")

    def run_it(self, measure, only="V10", rounds="3"):
        """Exit status, what was printed, and the page."""
        options = ["fabric_compare.py", "--bin", "none", "--netns", "a,b", "--only", only, "--rounds", rounds, "--page", self.pages]
        said = io.StringIO()
        with mock.patch.object(fabric_compare, "measure", measure), mock.patch("sys.argv", options), \
                mock.patch.object(fabric_compare, "is_there", lambda *_: True), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            status = fabric_compare.main()
        with open(os.path.join(self.pages, "fabric.md"), encoding="utf-8") as page:
            return status, said.getvalue(), page.read()

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

    def test_the_page_has_goals_and_figures(self):
        status, _, page = self.run_it(self.measuring(lambda *_: False))
        self.assertEqual(status, 0)
        self.assertIn(f"| V10 | {GOAL.what} | {OTHER.title()} | 4.00 | 3.00 | 5.00 | >= 3 | >= 8 | met |", page)
        self.assertIn(f"| {GOAL.run.title()} | 40 (30-50) | 0.0 (0.0-0.0) | - |", page)
        self.assertIn("by `tests/bench/fabric.sh --compare`: 3 rounds, runs of 1 s a figure, all in turn.", page)
        self.assertNotIn("Missing", page)

    def test_a_failed_round_leaves_the_others(self):
        status, said, page = self.run_it(self.measuring(lambda run, number: run == GOAL.run and number == 2))
        self.assertEqual(status, 0)
        self.assertIn(f"Missing: round 2 of {GOAL.run.title()}", said)
        self.assertIn(f"Missing: round 2 of {GOAL.run.title()}.", page)
        self.assertIn(f"| {GOAL.run.title()} | 40 (30-50) |", page)

    def test_rounds_are_paired_by_number(self):
        mine, theirs = {1: 10, 3: 90}, {1: 10, 2: 1, 3: 30}
        found = {GOAL.run: {"rate": mine}, OTHER: {"rate": theirs}}
        self.assertEqual(goals.compared(GOAL, found), (OTHER, 5, 1, 3))
        self.assertIsNone(goals.compared(GOAL, {GOAL.run: {"rate": {1: 1}}, OTHER: {"rate": {2: 1}}}))

    def test_a_goal_without_a_figure_is_said_and_fails(self):
        status, said, page = self.run_it(self.measuring(lambda run, _: run == OTHER))
        self.assertEqual(status, 1)
        self.assertIn("V10  not measured", said)
        self.assertIn(f"| V10 | {GOAL.what} | - | - | - | - | >= 3 | >= 8 | not measured |", page)

    def test_every_goal_has_a_row(self):
        page = self.run_it(self.measuring(lambda *_: False), only=",".join(goals.NAMES), rounds="1")[2]
        for goal in goals.GOALS:
            self.assertIn(f"| {goal.name} | {goal.what} |", page)


if __name__ == "__main__":
    unittest.main()
