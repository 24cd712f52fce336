#!/usr/bin/env python3
"""scripts/lib/topology.sh ends what it has started, and bash reports none of it."""
import pathlib
import subprocess
import tempfile
import unittest

TOPOLOGY = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/lib/topology.sh"


class Topology(unittest.TestCase):
    def test_a_program_that_is_killed_is_not_reported(self):
        for signal in ("TERM", "KILL"):
            with tempfile.TemporaryDirectory() as folder:
                script = pathlib.Path(folder, "script.sh")
                script.write_text(f"""
. {TOPOLOGY}
work={folder}
sleep 60 &
pid_of[one]=$!
stop one {signal} || echo "stop: $?"
sleep 0.01
echo "left: ${{#pid_of[@]}}"
""")
                done = subprocess.run(["bash", script], capture_output=True, text=True, check=False, timeout=30)
                self.assertEqual((done.stdout, done.stderr), ("left: 0\n", ""), signal)


if __name__ == "__main__":
    unittest.main()
