#!/usr/bin/env python3
"""Shows what show_measure.py asks and makes of times. All times are made up."""
import os
import socket
import tempfile
import threading
import unittest

from measuring import Failed
from show_measure import REQUESTS, ask, line_of, message, percentile


class Requests(unittest.TestCase):
    def test_bytes_are_those_that_the_programs_read(self):
        # tests/unit/control/requests_test.cc has the same for show.
        self.assertEqual(message(*REQUESTS["show --json"]), b"\0\0\0\4\x0a\2\x08\1")
        self.assertEqual(message(*REQUESTS["show --verbose"]), b"\0\0\0\4\x0a\2\x10\1")
        self.assertEqual(message(*REQUESTS["stats"]), b"\0\0\0\2\x12\0")

    def replied(self, reply):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            path = os.path.join(folder, "unit.sock")
            server.bind(path)
            server.listen()

            def serve():
                connection, _ = server.accept()
                with connection:
                    connection.recv(100)
                    for byte in len(reply).to_bytes(4, "big") + reply:
                        connection.sendall(bytes([byte]))
            thread = threading.Thread(target=serve)
            thread.start()
            try:
                return ask(path, message(*REQUESTS["show"]))
            finally:
                thread.join()

    def test_a_reply_counts_when_all_of_it_has_come(self):
        took, length = self.replied(b"\x08\x01\x12\x02up")
        self.assertGreater(took, 0)
        self.assertEqual(length, 6)

    def test_a_refusal_is_a_failure(self):
        with self.assertRaises(Failed):
            self.replied(b"\x08\x04\x12\x04busy")


class Times(unittest.TestCase):
    def test_percentiles(self):
        self.assertEqual(percentile(range(1, 101), 99), 99)
        self.assertEqual(percentile(range(1, 201), 99), 198)
        self.assertEqual(percentile([7], 99), 7)
        self.assertEqual(percentile([1, 2, 3], 50), 2)

    def test_a_line_has_the_goal_and_whether_the_longest_is_within_it(self):
        self.assertEqual(line_of("show", "1.00 Gbit/s to the LAN", [0.002, 0.004, 0.05], 48000),
                         "show, 1.00 Gbit/s to the LAN: 3 replies of 48.0 kB: median 4.00 ms, 99 % 50.00 ms, longest 50.00 ms: "
                         "within 50 ms")
        self.assertTrue(line_of("show", "x", [0.0501], 1).endswith("longest 50.10 ms: NOT within 50 ms"))


if __name__ == "__main__":
    unittest.main()
