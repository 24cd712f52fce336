#!/usr/bin/env python3
"""splitnic keygen and pubkey, compared with a second implementation of Curve25519. Argument: the program."""
import base64
import os
import stat
import subprocess
import sys
import tempfile
import unittest

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def public_of(private_text):
    private = X25519PrivateKey.from_private_bytes(base64.b64decode(private_text, validate=True))
    return base64.b64encode(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


class KeyCommandsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "key")

    def test_a_key_in_a_file(self):
        os.umask(0)
        made = run("keygen", "--out", self.path)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        with open(self.path, encoding="ascii") as file:
            private = file.read()
        self.assertRegex(private, r"\A[A-Za-z0-9+/]{43}=\n\Z")
        self.assertEqual(made.stdout, public_of(private.strip()) + "\n")
        shown = run("pubkey", self.path)
        self.assertEqual((shown.returncode, shown.stdout), (0, made.stdout))
        refused = run("keygen", "--out", self.path)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        with open(self.path, encoding="ascii") as file:
            self.assertEqual(file.read(), private)

    def test_an_empty_path_prints_no_private_key(self):
        refused = run("keygen", "--out", "")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("--out: the value is empty", refused.stderr)
        self.assertEqual(refused.stderr.count("\n"), 1)

    def test_printed_keys_differ_and_have_the_form_of_curve25519(self):
        keys = {run("keygen").stdout for _ in range(5)}
        self.assertEqual(len(keys), 5)
        for key in keys:
            private = base64.b64decode(key.strip(), validate=True)
            self.assertEqual((len(private), private[0] & 7, private[31] & 0xC0), (32, 0, 0x40))

    def test_a_key_that_others_may_read_is_refused(self):
        run("keygen", "--out", self.path)
        os.chmod(self.path, 0o640)
        refused = run("pubkey", self.path)
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("chmod 600", refused.stderr)
        self.assertEqual(refused.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
