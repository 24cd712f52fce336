#!/usr/bin/python3
"""The host of this folder against a scripted I/O unit in memory: what the specification wants refused, repeated and ignored.

Each test is a function of a fresh `Unit` (scripted_unit.py); its name is what is checked. `host_check.py [NAME...]` runs some.
Exit status 1 if one fails.
"""
import sys

import check_runner
import checks_link
import checks_messages
from scripted_unit import Unit

TESTS = checks_link.TESTS + checks_messages.TESTS


if __name__ == "__main__":
    sys.exit(check_runner.run(TESTS, Unit, sys.argv[1:]))
