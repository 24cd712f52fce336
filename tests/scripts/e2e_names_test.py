#!/usr/bin/env python3
"""tests/e2e/run.sh refuses what does not exist before it brings anything up, and each test of tests/e2e/CMakeLists.txt has its check."""
import pathlib
import re
import subprocess
import unittest

E2E = pathlib.Path(__file__).resolve().parent.parent / "e2e"


class Names(unittest.TestCase):
    def refused(self, *words):
        done = subprocess.run(["bash", E2E / "run.sh", "/nowhere", *words], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr

    def test_a_check_that_does_not_exist(self):
        self.assertRegex(self.refused("packet", "basic", "pin"), r"^run\.sh: tests/e2e/checks/basic\.sh has no check_pin: .*\bping\b")

    def test_a_file_that_does_not_exist(self):
        self.assertRegex(self.refused("packet", "basics", "ping"), r"^run\.sh: no tests/e2e/checks/basics\.sh: .*\bbasic\b")

    def test_another_port_and_other_words(self):
        self.assertIn("ethernet is no LAN port", self.refused("ethernet", "basic", "ping"))
        self.assertIn("switches=3 is none of", self.refused("packet", "basic", "ping", "switches=3"))
        self.assertIn("usage", self.refused("packet", "basic"))

    def test_each_test_has_its_check(self):
        named = re.findall(r"^\s*e2e_check\((\w+) (\w+) ", (E2E / "CMakeLists.txt").read_text(), re.MULTILINE)
        self.assertGreater(len(named), 100)
        for file, check in named:
            if "${" not in file + check:
                self.assertRegex((E2E / f"checks/{file}.sh").read_text(), rf"(?m)^check_{check}\(\)")


if __name__ == "__main__":
    unittest.main()
