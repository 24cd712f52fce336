#!/usr/bin/env python3
"""splitnic doctor, with a host that is played here on a control socket. Argument: the program."""
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


def number(value):
    """A number of Protobuf."""
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def reply_of(text):
    """A Reply of control/socket/admin.proto with status OK, behind its length."""
    message = bytes([0x08, 1, 0x12]) + number(len(text)) + text.encode()
    return struct.pack(">I", len(message)) + message


def received(client, count):
    data = b""
    while len(data) < count:
        part = client.recv(count - len(data))
        if not part:
            return None
        data += part
    return data


class DoctorCommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()

    def serve(self, replies):
        """One to each connection, in this order."""
        for reply in replies:
            client, _ = self.listener.accept()
            with client:
                length = received(client, 4)
                if length is not None and received(client, struct.unpack(">I", length)[0]) is not None:
                    client.sendall(reply)

    def finding_about(self, address):
        """The line about a unit that no longer responds there."""
        unit = {"name": "unit", "address": address, "state": "down", "last_heard_milliseconds": 5000, "last_error": "no reply"}
        shown = json.dumps({"role": "host", "name": "h", "peers": [unit], "links": []})
        replies = [reply_of("link.tx.bytes 1\n"), reply_of(shown), reply_of("")]
        threading.Thread(target=self.serve, args=(replies,), daemon=True).start()
        done = subprocess.run([PROGRAM, "doctor", "--control", self.path], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        line, = (line for line in done.stdout.splitlines() if line.startswith("wrong unit: "))
        return line

    def test_each_command_that_it_recommends_is_one_that_it_takes(self):
        for address, end in [
                ("udp://10.99.0.2:7471", "look at its log, and at the way to it (splitnic doctor udp://10.99.0.2:7471)"),
                ("udp://office:1?via=10.0.0.1:7500", "look at its log, and at the way to its switch (splitnic doctor udp://10.0.0.1:7500)"),
                ("udp://office:1?via=10.0.0.1:7500&path=all",
                 "look at its log, and at the way to its switch (splitnic doctor udp://10.0.0.1:7500)"),
                ("shm://lan0", "look at its log"),
                ("shm://office?via=sw1", "look at its log")]:
            line = self.finding_about(address)
            self.assertTrue(line.endswith(f" the I/O unit {address} is down: no reply: {end}"), line)


if __name__ == "__main__":
    unittest.main()
