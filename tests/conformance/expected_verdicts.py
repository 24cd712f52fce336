#!/usr/bin/env python3
"""Compares a report of `splitnic conform` with the list of what a target is expected not to pass.

    expected_verdicts.py REPORT.json LIST plain|keyed

minihost_expected.txt has the format of the list: the last line for a case counts, and a case without a line must pass. Prints the counts, by reason. Exits with 1 if the two differ.
"""
import collections
import fnmatch
import json
import sys

# MAYSKIP: PASS, or SKIP with this reason, as the times of the run have it. Behind WEDGED no case runs.
VERDICTS = {"PASS", "SKIP", "MAYSKIP", "FAIL", "WARN", "REJECTED"}


def expectations(path, links):
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("#") or not line.strip():
                continue
            words = line.split(maxsplit=3)
            if len(words) != 4 or words[1] not in ("plain", "keyed", "any") or words[2] not in VERDICTS:
                sys.exit(f"{path}, line {number}: not CASE plain|keyed|any VERDICT REASON")
            if words[1] in ("any", links):
                yield words[0], words[2], words[3].strip()


def differences(cases, expected):
    """An expected FAIL has its reason in the list only: what the report has of it are values of that run."""
    for case in cases:
        verdict, reason = "PASS", ""
        for pattern, of_line, why in expected:
            if fnmatch.fnmatchcase(case["id"], pattern):
                verdict, reason = of_line, why
        if verdict == "MAYSKIP" and case["verdict"] in ("PASS", "SKIP"):
            verdict = case["verdict"]
        if case["verdict"] != verdict:
            received = case.get("reason") or f"expected {case['expected']}, received {case['received']}" if case["verdict"] != "PASS" else ""
            yield f"{case['id']} is {case['verdict']}, and {verdict} in the list: {received or reason}"
        elif verdict == "SKIP" and case["reason"] != reason:
            yield f"{case['id']} is skipped {case['reason']}, and in the list {reason}"


def main():
    report, path, links = sys.argv[1:]
    with open(report, encoding="utf-8") as data:
        cases = json.load(data)["cases"]
    expected = list(expectations(path, links))
    counts = collections.Counter(case["verdict"] for case in cases)
    print(f"{len(cases)} cases: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    for reason, count in collections.Counter(case["reason"] for case in cases if case["verdict"] == "SKIP").most_common():
        print(f"  {count} SKIP: {reason}")
    faults = list(differences(cases, expected))
    sys.exit("\n".join(faults) if faults or not counts["PASS"] else 0)


if __name__ == "__main__":
    main()
