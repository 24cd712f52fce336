#!/usr/bin/python3
"""The host of this folder against a scripted I/O unit in memory: what the specification wants refused, repeated and ignored.

Each test is a function of a fresh `Unit` (scripted_unit.py); its name is what is checked. `host_check.py [NAME...]` runs some.
Exit status 1 if one fails.
"""
import sys
import traceback

import checks_link
import checks_messages
from scripted_unit import Unit

TESTS = checks_link.TESTS + checks_messages.TESTS


def main():
    failed = 0
    for function in TESTS:
        if len(sys.argv) > 1 and function.__name__ not in sys.argv[1:]:
            continue
        try:
            function(Unit())
        except Exception:
            failed += 1
            print(f"FAILED {function.__name__}")
            traceback.print_exc(limit=-2)
    print(f"{len(TESTS)} tests, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
