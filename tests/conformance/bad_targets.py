#!/usr/bin/env python3
"""splitnic conform where no implementation of the protocol is: one line for each program that is something else, and what a terminal
shows while cases run. Argument: the program."""
import os
import pty
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROGRAM = sys.argv.pop(1)
TIMEOUT = "0.5"
FLOOD = 200
NOISE = random.Random(1)


def echo(datagram):
    yield datagram


def name_server(datagram):
    """The reply of a DNS server to what it does not understand."""
    yield datagram[:2] + bytes.fromhex("818100000000000000000000")


def web_server(_):
    yield b"HTTP/1.1 400 Bad Request\r\n\r\n"


def flood(_):
    for _ in range(FLOOD):
        yield NOISE.randbytes(100)


def wrong_crc(datagram):
    """An INIT of step 2 with the CRC of another one: a wrong implementation of the protocol, not another program."""
    yield datagram[:17] + b"\2" + datagram[18:]


class Responder:
    """A program at a UDP port."""

    def __init__(self, replies):
        self.replies = replies
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.is_stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.is_stopping:
            try:
                datagram, peer = self.socket.recvfrom(65536)
                for reply in self.replies(datagram):
                    self.socket.sendto(reply, peer)
            except OSError:
                pass  # nothing came, or nobody is there any more

    def close(self):
        self.is_stopping = True
        self.thread.join()
        self.socket.close()


def run(*options):
    began = time.monotonic()
    done = subprocess.run([PROGRAM, "conform", "--timeout", TIMEOUT, *options], capture_output=True, text=True, check=False, timeout=60)
    return done, time.monotonic() - began


class Case(unittest.TestCase):
    def respond(self, replies):
        responder = Responder(replies)
        self.addCleanup(responder.close)
        return responder.address

    def check_one_line(self, pattern, *options):
        done, seconds = run(*options)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertRegex(done.stderr, rf"\Asplitnic: [^\n]*{pattern}[^\n]*\n\Z")
        self.assertLess(seconds, 60)


class BadTargets(Case):
    def check_all_roles(self, replies, pattern):
        address = self.respond(replies)
        for role, ports, who in (("host", 1, "no I/O unit replies"), ("switch", 4, "no switch replies"), ("manager", 3, "no switch replies")):
            with self.subTest(role):
                self.check_one_line(rf"{who} at udp://{address}, but another program does: {pattern}; is the address right\?", "--as", role,
                                    "--insecure-lab", "--target", "udp://" + ",".join([address] * ports))

    def test_an_echo(self):
        self.check_all_roles(echo, "what the suite sends comes back")

    def test_a_name_server(self):
        self.check_all_roles(name_server, r"14 bytes that are no INIT, [0-9a-f]{4}8181(0000){5}")

    def test_a_web_server(self):
        self.check_all_roles(web_server, r"28 bytes that are no INIT, 485454502f312e312034303020426164\.\.\.")

    def test_a_flood(self):
        self.check_all_roles(flood, r"100 bytes that are no INIT, [0-9a-f]{32}\.\.\.")

    def test_with_keys_nothing_of_another_program_is_looked_at(self):
        with tempfile.TemporaryDirectory() as folder:
            key = os.path.join(folder, "key")
            public = subprocess.run([PROGRAM, "keygen", "--out", key], capture_output=True, text=True, check=True).stdout.strip()
            for replies in (echo, name_server, flood):
                with self.subTest(replies.__name__):
                    self.check_one_line("no I/O unit replies at .*, with these keys", "--as", "host", "--key-file", key, "--peer", public,
                                        "--target", f"udp://{self.respond(replies)}")

    def test_a_program_in_place_of_a_host(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sender.connect(("127.0.0.1", port))
        self.addCleanup(sender.close)
        is_stopping = threading.Event()

        def send():
            while not is_stopping.wait(0.02):
                try:
                    sender.send(b"x" * 40)
                except ConnectionError:
                    pass  # nobody listens yet

        thread = threading.Thread(target=send)
        thread.start()
        try:
            self.check_one_line(rf"no host came to udp://127\.0\.0\.1:{port}, but another program does: 40 bytes that are no INIT, (78){{16}}\.\.\.;",
                                "--as", "iou", "--listen", f"udp://127.0.0.1:{port}", "--insecure-lab")
        finally:
            is_stopping.set()
            thread.join()

    def test_a_wrong_implementation_gets_its_verdict(self):
        done, _ = run("--as", "host", "--target", f"udp://{self.respond(wrong_crc)}", "--insecure-lab", "--select", "link.hello_gets_challenge")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"\A(FAIL|WEDGED) +link\.hello_gets_challenge \(P-INIT-5,P-INIT-35,P-GEN-2\)\n")


class Progress(Case):
    """A bar on the terminal of stderr, and nothing of it in a file."""

    def conform(self, stdout, stderr):
        """What came at a terminal and at a pipe: each of the two streams goes to one of them."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [PROGRAM, "conform", "--as", "host", "--timeout", TIMEOUT, "--insecure-lab", "--select", "link", "--target",
             f"udp://{self.respond(wrong_crc)}"],
            stdout=slave if stdout == "terminal" else subprocess.PIPE, stderr=slave if stderr == "terminal" else subprocess.PIPE)
        os.close(slave)
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break  # the end of a terminal
            if not part:
                break
            shown += part
        os.close(master)
        piped = b"".join(pipe.read() for pipe in (process.stdout, process.stderr) if pipe)
        for pipe in filter(None, (process.stdout, process.stderr)):
            pipe.close()
        self.assertEqual(process.wait(), 1)
        return shown.decode(), piped.decode()

    def counts_of(self, shown):
        bars = re.findall(r"\r\[(=*)( *)\] (\d+) of (\d+)", shown)
        self.assertTrue(all(len(full) + len(rest) == 40 and len(full) == int(done) * 40 // int(of) for full, rest, done, of in bars), shown)
        return [(int(done), int(of)) for _, _, done, of in bars]

    def check_bars(self, shown, results):
        cases = len(re.findall(r"^(?:PASS|FAIL|WARN|REJECTED|WEDGED|SKIP) ", results, re.MULTILINE))
        self.assertGreater(cases, 10)
        self.assertEqual(self.counts_of(shown), [(number + 1, cases) for number in range(cases)])

    def test_a_bar_on_the_terminal_and_results_in_a_file(self):
        shown, piped = self.conform("pipe", "terminal")
        self.check_bars(shown, piped)
        self.assertNotRegex(piped, r"[\r\x1b]")
        self.assertTrue(shown.endswith("\n"), shown)

    def test_the_bar_makes_room_for_results_on_the_same_terminal(self):
        shown, _ = self.conform("terminal", "terminal")
        self.check_bars(shown, re.sub(r"\r\[[^\]]*\][^\r]*\r\x1b\[K|\r\x1b\[K", "", shown))

    def test_no_bar_in_a_file(self):
        shown, piped = self.conform("terminal", "pipe")
        self.assertEqual(piped, "")
        self.assertEqual(self.counts_of(shown), [])
        self.assertNotIn("\x1b", shown)


if __name__ == "__main__":
    unittest.main()
