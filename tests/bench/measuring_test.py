"""That a measuring program that gets a signal ends what it has started, at whatever moment the signal comes."""
import os
import signal
import subprocess
import sys
import unittest

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


if __name__ == "__main__":
    unittest.main()
