#!/usr/bin/env python3
"""That scripts/coverage-of-requirements counts the rows of each table and the tests that name them.

  coverage_of_requirements_test.py [unittest options]
"""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = "scripts/coverage-of-requirements"
REQUIREMENTS = """| Id | Reach | Requirement |
|---|---|---|
| S001-37 | programs | An address. |
| X-13 | {reach} | An interval. |
| X-45 | editorial | Slips. |
"""
OTHERS = {"docs/security.md": "| H-4 | mended | A finding. |\n", "docs/operation.md": "| B-02 | open | Another. |\n"}


class CoverageOfRequirements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for name in ("scripts", "docs", "build/check"):
            (self.tree / name).mkdir(parents=True)
        shutil.copy(ROOT / SCRIPT, self.tree / SCRIPT)
        for page, text in OTHERS.items():
            (self.tree / page).write_text(text)

    def run_with(self, tests, reach="library"):
        (self.tree / "docs/REQUIREMENTS.md").write_text(REQUIREMENTS.format(reach=reach))
        lines = "".join(f'add_test("{name}" "/bin/true")\n' for name in tests)
        (self.tree / "build/check/CTestTestfile.cmake").write_text(lines)
        return subprocess.run([self.tree / SCRIPT, "--strict"], capture_output=True, text=True, check=False)

    def test_each_claimed_row_is_named(self):
        done = self.run_with(["Cells.S001_37_first", "Reply.X_13_asks", "Keys.H_4_B_02"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 of the 3 that are claimed", done.stdout)

    def test_a_resolution_without_a_test_is_missing(self):
        done = self.run_with(["Cells.S001_37_first", "Keys.H_4"])
        self.assertEqual(done.returncode, 1)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("no test")], ["no test names X-13: An interval."])

    def test_a_resolution_that_is_not_claimed_needs_no_test(self):
        self.assertEqual(self.run_with(["Cells.S001_37_first", "Keys.H_4"], "later").returncode, 0)

    def test_a_reach_that_is_none_is_an_error(self):
        done = self.run_with(["Cells.S001_37_first"], "soon")
        self.assertEqual(done.returncode, 1)
        self.assertIn("X-13 has the reach 'soon'", done.stderr)

    def test_a_test_that_names_no_row_is_reported(self):
        done = self.run_with(["Cells.S001_37_first", "Reply.X_13_asks", "Keys.H_4", "Full.X_99_long"])
        self.assertIn("a test names X-99, which is no row", done.stdout)


unittest.main()
