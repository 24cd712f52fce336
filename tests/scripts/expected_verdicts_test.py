#!/usr/bin/env python3
"""What tests/conformance/expected_verdicts.py reports of a list and a report, and that the lists of this tree can be read."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "conformance"
sys.path.insert(0, str(FOLDER))
import expected_verdicts  # noqa: E402

CASES = [{"id": "link.hello", "verdict": "PASS"}, {"id": "lane.gap", "verdict": "SKIP", "reason": "for links of the full profile"},
         {"id": "rc.late", "verdict": "FAIL", "expected": "an ACK", "received": "nothing"}]
LIST = "lane.*  any SKIP for links of the full profile\nrc.late plain FAIL it keeps no early cells\n"


class ExpectedVerdicts(unittest.TestCase):
    def compare(self, text, links="plain"):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "report").write_text(json.dumps({"cases": CASES}))
            (path / "list").write_text(text)
            (path / "cases").write_text("".join(f"{case['id']}  P-GEN-1  MUST  A case.\n" for case in CASES) + "key.rekey  P-KEY-1  MUST  One.\n")
            return subprocess.run([sys.executable, "-B", FOLDER / "expected_verdicts.py", path / "report", path / "list", links, path / "cases"],
                                  capture_output=True, text=True, check=False)

    def test_what_is_as_expected(self):
        done = self.compare(LIST)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, "3 cases: 1 FAIL, 1 PASS, 1 SKIP\n  1 SKIP: for links of the full profile\n")

    def test_another_verdict(self):
        self.assertIn("rc.late is FAIL, and PASS in the list: expected an ACK, received nothing", self.compare(LIST, "keyed").stderr)
        self.assertIn("link.hello is PASS, and SKIP in the list", self.compare(LIST + "link.hello any SKIP not yet\n").stderr)

    def test_another_reason(self):
        done = self.compare(LIST.replace("for links of the full profile", "no lanes"))
        self.assertIn("is skipped for links of the full profile, and in the list no lanes", done.stderr)

    def test_may_be_skipped(self):
        self.assertEqual(self.compare(LIST.replace("SKIP", "MAYSKIP")).returncode, 0)

    def test_a_pattern_of_no_case(self):
        done = self.compare(LIST + "# A group that has another name now.\nlanes.* any SKIP for links of the full profile\n")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"list, line 4: no case is lanes\.\*\n$")

    def test_a_case_that_this_run_does_not_have(self):
        self.assertEqual(self.compare(LIST + "key.* any SKIP for links with keys\n").returncode, 0)

    def test_a_line_of_another_form(self):
        self.assertIn("list, line 1: not CASE", self.compare("link.hello SKIP\n").stderr)

    def test_the_lists(self):
        for name in ("minihost_expected.txt", "minihost_full_expected.txt", "programs_expected.txt"):
            self.assertGreater(len(list(expected_verdicts.read(FOLDER / name))), 1)


if __name__ == "__main__":
    unittest.main()
