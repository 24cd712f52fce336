#!/usr/bin/env python3
"""That compare.sh and hosts.sh leave nothing behind when they are interrupted, and that --resume continues. Asserts nothing
about time or results. Root.

  interrupt_test.py FOLDER-OF-PROGRAMS [unittest options]
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = None
PATIENCE = 60


class Interrupt(unittest.TestCase):
    def setUp(self):
        # What is ignored here would be ignored by the script too.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name, "out")
        self.temporary = pathlib.Path(folder.name, "tmp")
        self.temporary.mkdir()

    def start(self, script, *options):
        """In a separate session, as under a terminal: its group is what Ctrl-C reaches."""
        with open(self.temporary.parent / "log", "w", encoding="utf-8") as log:
            started = subprocess.Popen(
                ["bash", os.path.join(HERE, script), "--bin", BIN, "--out", self.out, *options], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, env=os.environ | {"TMPDIR": str(self.temporary)})
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(started):
        """Of a test that failed: its programs end first, so that the script can clean up."""
        if started.poll() is None:
            started.terminate()
            listed = subprocess.run(["ps", "-o", "pid=", "-g", str(started.pid)], capture_output=True, text=True, check=False).stdout
            for pid in map(int, listed.split()):
                if pid != started.pid:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGTERM)
            started.wait(PATIENCE)

    def log(self):
        return (self.temporary.parent / "log").read_text(encoding="utf-8")

    def wait_until(self, happened, started):
        end = time.monotonic() + PATIENCE
        while not happened():
            self.assertIn(started.poll(), (None, 0), self.log())
            self.assertLess(time.monotonic(), end, self.log())
            time.sleep(0.02)

    @staticmethod
    def namespaces_of(started):
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.splitlines() if line.startswith(f"sn{started.pid}-")]

    def is_measuring(self, started, name, lan):
        """Waits until its results are begun, and a server of it runs in the LAN's namespace, where the carriers have nothing. False
        if all of it was over before."""
        def serves():
            if started.poll() == 0:
                return True
            if not (self.out / "rounds" / f"{name}.results.new").exists():
                return False
            return bool(subprocess.run(["ip", "netns", "pids", f"sn{started.pid}-{lan}"], capture_output=True, check=False).stdout)
        self.wait_until(serves, started)
        return started.poll() is None

    def check_gone(self, started, status):
        try:
            self.assertEqual(started.wait(PATIENCE), status, self.log())
        except subprocess.TimeoutExpired:
            self.fail(f"it continues: {self.log()}")
        self.assertEqual(self.namespaces_of(started), [])
        self.assertEqual(list(self.temporary.iterdir()), [])
        end = time.monotonic() + 10  # a process that ends may have to wait for a processor
        while (left := self.processes_of(started)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(left, [])
        self.assertNotIn("left behind", self.log())
        self.assertNotIn("Traceback", self.log())

    @staticmethod
    def processes_of(started):
        listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        return [line for line in listed.splitlines()
                if line.split()[0] == str(started.pid) and not line.split()[1].startswith("Z")]

    def kept(self):
        return {path.name: path.read_text(encoding="utf-8") for path in (self.out / "rounds").iterdir()}

    def interrupted(self, name, lan, script, *options):
        """A run that was interrupted while this one was measured: once more, if it was measured before this test came to that."""
        for _ in range(5):
            started = self.start(script, *options, "--rounds", "1", "--seconds", "1")
            if self.is_measuring(started, f"1.{name}", lan):
                while started.poll() is None:
                    os.killpg(started.pid, signal.SIGINT)
                    time.sleep(0.05)
            if not (self.out / "rounds" / f"1.{name}.results").exists():
                return started
        self.fail(f"{name} was measured each time: {self.log()}")

    def check_interrupted_and_resumed(self, names, lan, script, *options):
        """While the last one is measured. Ctrl-C again and again changes nothing."""
        *whole, last = [f"1.{name}.results" for name in names]
        started = self.interrupted(names[-1], lan, script, *options)
        self.check_gone(started, 130)
        self.assertIn("--resume continues", self.log())
        before = self.kept()
        self.assertEqual(sorted(before), whole)
        started = self.start(script, "--resume")
        self.check_gone(started, 0)
        after = self.kept()
        self.assertEqual(sorted(after), sorted([*whole, last]))
        self.assertEqual({name: after[name] for name in whole}, before, "they were measured again")

    def test_compare(self):
        self.check_interrupted_and_resumed(["veth", "vxlan"], "c", "compare.sh", "--only", "V6", "--carriers", "veth,vxlan")

    def test_hosts(self):
        self.check_interrupted_and_resumed(["1", "2"], "l", "hosts.sh", "--hosts", "1,2", "--max-hosts", "2")

    def test_a_signal_to_the_script_alone_while_it_makes_its_namespaces(self):
        started = self.start("hosts.sh", "--hosts", "1", "--quick")
        self.wait_until(lambda: len(self.namespaces_of(started)) >= 3, started)
        started.send_signal(signal.SIGTERM)
        self.check_gone(started, 143)

    def test_a_signal_to_the_script_alone_while_it_measures(self):
        started = self.start("compare.sh", "--only", "V1", "--carriers", "veth", "--seconds", "600")
        self.assertTrue(self.is_measuring(started, "1.veth", "c"))
        started.send_signal(signal.SIGTERM)
        self.check_gone(started, 143)
        self.assertEqual(self.kept(), {})


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
