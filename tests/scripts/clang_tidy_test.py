#!/usr/bin/env python3
"""Which sources scripts/clang-tidy checks: in a small tree, with a clang-tidy that finds the word BUG in main sources."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = "library"
CLANG_TIDY = """#!/usr/bin/env python3
import pathlib, sys
if "--version" in sys.argv:
    print("LLVM version 14.0.6")
elif any("BUG" in pathlib.Path(word).read_text() for word in sys.argv if word.endswith(".cc")):
    sys.exit("a finding")
"""


class ClangTidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve() / "tree"
        self.caches = 0
        for path, text in {f"{LIBRARY}/a.h": "", f"{LIBRARY}/a.cc": f'#include "{LIBRARY}/a.h"\n', f"{LIBRARY}/b.cc": "int b;\n",
                           ".clang-tidy": "", "bin/clang-tidy": CLANG_TIDY}.items():
            self.write(path, text)
        (self.tree / "bin/clang-tidy").chmod(0o755)
        (self.tree / "scripts/lib").mkdir(parents=True)
        shutil.copy(ROOT / "scripts/clang-tidy", self.tree / "scripts/clang-tidy")
        self.use_flags("-O0")

    def write(self, path, text):
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text)

    def use_flags(self, flags):
        self.write("build/lint/compile_commands.json", json.dumps(
            [{"file": str(path), "command": f"clang++ {flags} -o x.o -c {path}"} for path in (self.tree / LIBRARY).glob("*.cc")]))

    def run_script(self, *options, fails=False):
        """The number of sources that are checked, in a machine that knows no result."""
        self.caches += 1
        environment = os.environ | {"PATH": f"{self.tree}/bin:{os.environ['PATH']}",
                                    "XDG_CACHE_HOME": f"{self.tree}/caches/{self.caches}"}
        environment.pop("TIDY_BASE", None)
        done = subprocess.run([self.tree / "scripts/clang-tidy", *options], env=environment, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1 if fails else 0, done.stdout + done.stderr)
        self.assertIn("1 passed, 1 failed" if fails else "2 passed, 0 failed", done.stdout)
        return int(done.stdout.split("clang-tidy: ", 1)[1].split()[0])

    def test_without_a_record_all_are_checked(self):
        self.assertEqual(self.run_script(), 2)
        self.assertEqual(self.run_script(), 2)

    def test_what_is_recorded_is_not_checked(self):
        self.assertEqual(self.run_script("--record"), 2)
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(self.run_script("--record"), 0)
        self.assertEqual(self.run_script(), 0)
        self.assertEqual(self.run_script("--all"), 2)

    def test_a_change_of_a_source_or_header_is_checked(self):
        self.run_script("--record")
        self.write(f"{LIBRARY}/b.cc", "int c;\n")
        self.assertEqual(self.run_script(), 1)
        self.write(f"{LIBRARY}/a.h", "int a;\n")
        self.assertEqual(self.run_script(), 2)

    def test_a_change_of_the_flags_the_checks_or_the_version_is_checked(self):
        self.run_script("--record")
        self.use_flags("-O1")
        self.assertEqual(self.run_script(), 2)
        self.use_flags("-O0")
        self.write(".clang-tidy", "Checks: '*'")
        self.assertEqual(self.run_script(), 2)
        self.write(".clang-tidy", "")
        self.write("bin/clang-tidy", CLANG_TIDY.replace("14.0.6", "15.0.1"))
        self.assertEqual(self.run_script(), 2)

    def test_a_finding_is_not_recorded(self):
        self.write(f"{LIBRARY}/a.cc", "BUG\n")
        self.run_script("--record", fails=True)
        self.assertEqual(self.run_script(fails=True), 1)


unittest.main()
