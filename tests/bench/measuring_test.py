"""That a measuring program that gets a signal ends what it has started, at whatever moment the signal comes."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from measuring import children_in

HERE = os.path.dirname(os.path.abspath(__file__))

# It starts a child whose number it prints, and gets the signal at MOMENT.
PROGRAM = """
import os, signal, subprocess, sys, threading
sys.path.insert(0, HERE)
import measuring

def starts():
    child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
    if MOMENT == "not one":
        return child
    os.kill(os.getpid(), signal.SIGTERM)
    return child

class Starting(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

def measure():
    if MOMENT == "within Popen":
        Starting(["sleep", "600"], stdout=subprocess.DEVNULL)
    elif MOMENT == "in a thread":
        thread = threading.Thread(target=starts)
        thread.start()
        thread.join()
    else:
        starts()
    return {"metric": 1.5}

measuring.main("program", measure)
"""


class Signals(unittest.TestCase):
    def run_program(self, moment):
        text = f"HERE, MOMENT = {HERE!r}, {moment!r}\n{PROGRAM}"
        ended = subprocess.run([sys.executable, "-B", "-c", text], capture_output=True, text=True, timeout=60, check=False)
        child, *printed = ended.stdout.splitlines()
        with self.assertRaises(ProcessLookupError, msg=f"process {child} is left behind"):
            os.kill(int(child), signal.SIGKILL)
        self.assertEqual(ended.stderr, "")
        return ended.returncode, printed

    def test_a_child_ends_with_the_program(self):
        self.assertEqual(self.run_program("not one"), (0, ["metric 1.5"]))

    def test_a_signal_after_the_start_of_a_child(self):
        self.assertEqual(self.run_program("at once"), (143, []))

    def test_a_signal_before_the_start_has_returned(self):
        self.assertEqual(self.run_program("within Popen"), (143, []))

    def test_a_child_of_another_thread(self):
        self.assertEqual(self.run_program("in a thread"), (143, []))


class Children(unittest.TestCase):
    """In a folder as that of a process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tasks = pathlib.Path(folder.name)
        self.has_thread("1", "")
        self.has_thread("2", "7 8 ")

    def has_thread(self, name, children):
        (self.tasks / name).mkdir(exist_ok=True)
        (self.tasks / name / "children").write_text(children, encoding="ascii")

    def test_those_of_all_threads(self):
        self.assertEqual(children_in(self.tasks), [7, 8])

    def check_that_ends(self, *, when_read):
        """Thread 2 ends when the list of thread 1 has been read: with it, or before its own is opened."""
        read, ended = pathlib.Path.read_text, []

        def read_and_end(path, **options):
            text = read(path, **options)
            if path.parent.name == when_read and not ended:
                ended.append(True)
                shutil.rmtree(self.tasks / "2")
                self.has_thread("1", "7 8 ")
                return "" if when_read == "2" else text
            return text
        with mock.patch.object(pathlib.Path, "read_text", read_and_end):
            self.assertEqual(children_in(self.tasks), [7, 8])
        self.assertEqual(ended, [True])

    def test_a_thread_that_ends_before_its_list_is_opened(self):
        self.check_that_ends(when_read="1")

    def test_a_thread_that_ends_before_its_list_is_read(self):
        self.check_that_ends(when_read="2")


if __name__ == "__main__":
    unittest.main()
