#!/usr/bin/env python3
"""splitnic ping, with a program that is played here on a control socket. Argument: the program."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

PROGRAM = sys.argv.pop(1)
OK, REFUSED, FAILED = 1, 3, 4
ONE = json.dumps({"sent": 1, "replied": 1, "round_trip_ns": [50000]})


def reply_of(status, text):
    """A Reply of control/socket/admin.proto, behind its length."""
    assert len(text) < 128, "a length of one byte"
    message = bytes([0x08, status, 0x12, len(text)]) + text.encode()
    return struct.pack(">I", len(message)) + message


def received(client, count):
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        if not part:
            return None
        data += part
    return data


class PingCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()

    def serve(self, replies):
        """Each is sent to one request; None: the connection is closed in its place."""
        left = list(replies)
        while left:
            client, _ = self.listener.accept()
            with client:
                while left:
                    length = received(client, 4)
                    if length is None or received(client, struct.unpack(">I", length)[0]) is None:
                        break
                    reply = left.pop(0)
                    if reply is None:
                        break
                    client.sendall(reply)

    def ping(self, replies, *options):
        server = threading.Thread(target=self.serve, args=(replies,), daemon=True)
        server.start()
        return subprocess.run([PROGRAM, "ping", "--control", self.path, *options], capture_output=True, text=True, check=False, timeout=30)

    def test_a_program_that_was_started_again_is_found(self):
        done = self.ping([reply_of(OK, ONE), None, reply_of(OK, ONE)], "--interval", "1", "--count", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual((lines[0], lines[2]), ("1: 50.0 us", "3: 50.0 us"))
        self.assertIn("closed the control socket", lines[1])
        self.assertTrue(lines[3].startswith("3 sent, 2 replied, "), lines[3])

    def test_json_without_a_reply(self):
        done = self.ping([reply_of(FAILED, "no reply from the other side")], "--json")
        self.assertEqual((done.returncode, done.stderr), (1, "splitnic: no reply from the other side\n"))
        self.assertEqual(json.loads(done.stdout), {"sent": 1, "replied": 0, "round_trip_ns": []})

    def test_a_refusal_is_one_line(self):
        done = self.ping([reply_of(REFUSED, "two pings run already")], "--json")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "splitnic: two pings run already\n"))

    def test_no_round_trip_in_a_good_reply_is_another_version(self):
        nothing = json.dumps({"sent": 1, "replied": 0, "round_trip_ns": []})
        done = self.ping([reply_of(OK, nothing)], "--interval", "1", "--count", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1: the reply of the program is malformed", done.stdout)


if __name__ == "__main__":
    unittest.main()
