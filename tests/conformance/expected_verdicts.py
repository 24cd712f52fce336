#!/usr/bin/env python3
"""Compares a report of `splitnic conform` with the list of what a target is expected not to pass.

    expected_verdicts.py REPORT.json LIST plain|keyed CASES

A list has one line for a case or pattern: CASE plain|keyed|any VERDICT REASON; the last line for a case counts, and a case without a line must
pass. minihost_expected.txt is one; scripts/conform-all reads programs_expected.txt. CASES is the output of `splitnic conform --list` for the
role: each line of the list is for one of them. Prints the counts, by reason. Exits with 1 if the two differ.
"""
import collections
import fnmatch
import json
import sys

# MAYSKIP: PASS, or SKIP with this reason, as the times of the run have it. Behind WEDGED no case runs.
VERDICTS = {"PASS", "SKIP", "MAYSKIP", "FAIL", "WARN", "REJECTED"}
Line = collections.namedtuple("Line", "number pattern links verdict reason")


def read(path):
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith("#") or not line.strip():
                continue
            words = line.split(maxsplit=3)
            if len(words) != 4 or words[1] not in ("plain", "keyed", "any") or words[2] not in VERDICTS:
                sys.exit(f"{path}, line {number}: not CASE plain|keyed|any VERDICT REASON")
            yield Line(number, words[0], words[1], words[2], words[3].strip())


def line_for(lines, case, links):
    """The one that counts, or None."""
    found = [line for line in lines if line.links in ("any", links) and fnmatch.fnmatchcase(case, line.pattern)]
    return found[-1] if found else None


def without_case(lines, cases):
    """Lines that are for no case: of a name that has changed, or with a wrong letter."""
    return [line for line in lines if not fnmatch.filter(cases, line.pattern)]


def ids_of_list(text):
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def differences(cases, lines, links):
    """An expected FAIL has its reason in the list only: what the report has of it are values of that run."""
    for case in cases:
        line = line_for(lines, case["id"], links)
        verdict, reason = (line.verdict, line.reason) if line else ("PASS", "")
        if verdict == "MAYSKIP" and case["verdict"] in ("PASS", "SKIP"):
            verdict = case["verdict"]
        if case["verdict"] != verdict:
            received = case.get("reason") or f"expected {case['expected']}, received {case['received']}" if case["verdict"] != "PASS" else ""
            yield f"{case['id']} is {case['verdict']}, and {verdict} in the list: {received or reason}"
        elif verdict == "SKIP" and case["reason"] != reason:
            yield f"{case['id']} is skipped {case['reason']}, and in the list {reason}"


def main():
    report, path, links, ids = sys.argv[1:]
    with open(report, encoding="utf-8") as data:
        cases = json.load(data)["cases"]
    with open(ids, encoding="utf-8") as data:
        listed = ids_of_list(data.read())
    lines = list(read(path))
    counts = collections.Counter(case["verdict"] for case in cases)
    print(f"{len(cases)} cases: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    for reason, count in collections.Counter(case["reason"] for case in cases if case["verdict"] == "SKIP").most_common():
        print(f"  {count} SKIP: {reason}")
    faults = [f"{path}, line {line.number}: no case is {line.pattern}" for line in without_case(lines, listed)]
    faults += differences(cases, lines, links)
    sys.exit("\n".join(faults) if faults or not counts["PASS"] else 0)


if __name__ == "__main__":
    main()
