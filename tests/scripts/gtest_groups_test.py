#!/usr/bin/env python3
"""That scripts/lib/gtest-groups gives each test its own result, in whatever way a test of the same process ends.

  gtest_groups_test.py PATH-OF-GROUPS_SAMPLE [unittest options]
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = sys.argv.pop(1)
GOOD = ["Good.passes", "Good.prints_a_note", "Good.prints_half_a_line"]


class GtestGroups(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tests(self, names, properties="", jobs="2", program=lambda name: SAMPLE):
        lines = []
        for number, name in enumerate(names):
            lines.append(f'add_test("{name}" "{program(name)}" "--gtest_filter={name}")')
            lines.append(f'set_tests_properties("{name}" PROPERTIES TIMEOUT 2 WORKING_DIRECTORY "{self.folder}" {properties.format(number=number)})')
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(lines))
        return subprocess.run([ROOT / "scripts/lib/gtest-groups", self.folder, jobs, self.folder / "junit.xml"],
                              capture_output=True, text=True, check=False)

    def results_of(self, names, properties=""):
        """Name -> (status, output), of the file as ctest writes it."""
        done = self.run_tests(names, properties)
        self.assertEqual(done.returncode, 0, done.stderr)
        cases = xml.parse(self.folder / "junit.xml").iter("testcase")
        return {case.get("name"): (case.get("status"), case.findtext("system-out")) for case in cases}

    def check_only_one_fails(self, bad, text):
        results = self.results_of([GOOD[0], bad, *GOOD[1:]])
        self.assertEqual([name for name, (status, _) in results.items() if status != "run"], [bad])
        self.assertEqual(len(results), 4)
        self.assertIn(text, results[bad][1])
        self.assertEqual(results["Good.prints_a_note"][1], "note: here is a note\n")

    def test_all_pass(self):
        self.assertEqual({status for status, _ in self.results_of(GOOD).values()}, {"run"})

    def test_a_failure_has_its_output(self):
        self.check_only_one_fails("Bad.fails", "Expected equality of these values")

    def test_a_skipped_test_has_failed(self):
        self.check_only_one_fails("Bad.is_skipped", "SKIPPED")

    def test_a_crash_fails_the_test_that_ran(self):
        self.check_only_one_fails("Bad.crashes", "the process ended with status -6")

    def test_a_test_that_takes_too_long_has_failed(self):
        self.check_only_one_fails("Bad.never_ends", "the test took longer than 2 s")

    def test_a_failure_at_the_exit_is_found(self):
        self.check_only_one_fails("Bad.fails_at_the_exit", "the process ended with status 3")

    def test_a_test_that_ends_the_process_has_failed(self):
        self.check_only_one_fails("Bad.ends_the_process", "the process ended with status 0")

    def test_a_test_that_does_not_exist_has_failed(self):
        self.check_only_one_fails("Good.is_gone", "no result")

    def test_many_bad_ones_are_all_found(self):
        bad = ["Bad.crashes", "Bad.fails", "Bad.never_ends", "Bad.is_skipped"]
        results = self.results_of([*bad[:2], *GOOD, *bad[2:]])
        self.assertEqual({name for name, (status, _) in results.items() if status != "run"}, set(bad))

    def test_a_disabled_test_has_failed(self):
        results = self.results_of(GOOD, "DISABLED ON")
        self.assertEqual(set(results.values()), {("fail", "disabled\n")})

    def test_the_longest_program_begins(self):
        def program(name):
            link = self.folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(SAMPLE)
            return link

        for properties, order in ("", GOOD), ("COST {number}", GOOD[::-1]):
            done = self.run_tests(GOOD, properties, "1", program)
            self.assertEqual(re.findall("1 tests of (.*)", done.stdout), order, done.stderr)

    def test_a_property_that_only_ctest_knows_is_refused(self):
        done = self.run_tests(GOOD, "RUN_SERIAL ON")
        self.assertEqual(done.returncode, 1)
        self.assertIn("needs ctest", done.stderr)


unittest.main()
