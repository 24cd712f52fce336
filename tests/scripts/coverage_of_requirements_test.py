#!/usr/bin/env python3
"""That scripts/coverage-of-requirements counts the rows of each table and the tests that name them, and the clauses of docs/protocol with
the conformance cases that cite them.

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


PAGE = "- **P-RC-1.** A rule.\n- **P-RC-2.** Another.\n- **P-UD-1.** One of UD.\n"
CODE = 'P-RC-1 = ["docs/page", "Cells.first"]\nP-RC-2 = ["docs/page", "Cells.first"]\nP-UD-1 = ["docs/page", "Cells.first"]\n'


class Clauses(unittest.TestCase):
    """The tree has three clauses with code and a test each, and a splitnic that lists these cases."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for name in ("scripts", "docs/protocol/vectors", "tests", "build/check/bin"):
            (self.tree / name).mkdir(parents=True)
        shutil.copy(ROOT / SCRIPT, self.tree / SCRIPT)
        (self.tree / "docs/page").touch()
        (self.tree / "docs/protocol" / "page.md").write_text(PAGE)
        (self.tree / "build/check/CTestTestfile.cmake").write_text('add_test("Cells.first" "/bin/true")\n')

    def run_with(self, cases, reasons="", *options):
        (self.tree / "tests/clauses.toml").write_text(CODE + ("[nocase]\n" + reasons if reasons else ""))
        program = self.tree / "build/check/bin/splitnic"
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{case}'\n" for case in cases))
        program.chmod(0o755)
        return subprocess.run([self.tree / SCRIPT, "--clauses", "--strict", *options], capture_output=True, text=True, check=False)

    def test_a_clause_has_a_case_or_a_reason(self):
        done = self.run_with(["rc.one P-RC-1,P-RC-2 MUST Two rules."], 'P-UD-1 = "nobody sends it"\n', "--all")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("P-RC-2: docs/page; 1 tests; cases rc.one", done.stdout)
        self.assertIn("P-UD-1: docs/page; 1 tests; no case: nobody sends it", done.stdout)
        self.assertIn("2 with conformance cases (1 cases), 1 with a reason", done.stdout)

    def test_a_clause_without_a_case_is_a_gap(self):
        done = self.run_with(["rc.one P-RC-1,P-RC-2 MUST Two rules."])
        self.assertEqual(done.returncode, 1)
        self.assertIn("P-UD-1: docs/page; 1 tests; no case\n", done.stdout)
        self.assertIn("1 with a gap", done.stdout)

    def test_a_case_of_robustness_shows_nothing(self):
        done = self.run_with(["rc.one P-RC-1,P-RC-2 robustness Survived."], 'P-UD-1 = "nobody sends it"\n')
        self.assertEqual(done.returncode, 1)
        self.assertIn("2 with a gap", done.stdout)

    def test_a_reason_may_be_that_of_a_group(self):
        done = self.run_with(["rc.one P-RC-1 MUST A rule."], 'P-UD- = "nobody sends it"\nP-RC- = "not seen"\nP-RC-2 = "inside"\n', "--all")
        self.assertEqual(done.returncode, 1)  # of P-RC- no clause is left
        self.assertIn("error: nocase: P-RC- has its cases, and needs no reason", done.stdout)
        self.assertIn("P-RC-2: docs/page; 1 tests; no case: inside", done.stdout)
        done = self.run_with(["rc.one P-RC-1 MUST A rule."], 'P-UD- = "nobody sends it"\nP-RC- = "not seen"\n')
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_reason_that_is_not_needed_or_empty_is_an_error(self):
        all_cases = ["rc.one P-RC-1,P-RC-2,P-UD-1 MUST All."]
        self.assertIn("P-UD-1 has its cases", self.run_with(all_cases, 'P-UD-1 = "nobody sends it"\n').stdout)
        self.assertIn("P-XX- is no clause and begins none", self.run_with(all_cases, 'P-XX- = "nobody"\n').stdout)
        self.assertIn("P-UD-1 has no reason", self.run_with(["rc.one P-RC-1,P-RC-2 MUST Two."], 'P-UD-1 = " "\n').stdout)

    def test_a_case_that_cites_no_clause_is_an_error(self):
        done = self.run_with(["rc.one P-RC-1,P-RC-2,P-UD-1,P-RC-9 MUST All."])
        self.assertEqual(done.returncode, 1)
        self.assertIn("the conformance case rc.one cites P-RC-9, which is no clause", done.stdout)

    def test_without_the_list_of_cases_nothing_is_complete(self):
        done = self.run_with([])
        self.assertEqual(done.returncode, 1)
        self.assertIn("lists conformance cases", done.stdout)


unittest.main()
