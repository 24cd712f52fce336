#!/usr/bin/env python3
"""Runs what the goals of fabric_goals.py need, in turn, round by round, then once what the tables of fabric_sizes.py need,
prints results and ratios, and writes the page of fabric_report.py. fabric.sh starts it, with the two network namespaces that
it has made. Asserts nothing about time. Exit status 1 if a goal has no metric, or a column of the tables has none at all."""
import argparse
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import time

import fabric_goals as goals
import fabric_report
import fabric_sizes
from report_page import congestion_control  # fabric_report adds its folder

ACTIVE_ADDRESS, PASSIVE_ADDRESS = "10.99.0.1", "10.99.0.2"
NAMES = [*goals.NAMES, fabric_sizes.NAME]
PINGPONG_ROUNDS = {64: 1000, 64 * 1024: 500, 1024 * 1024: 50}
PINGPONG_LISTENS_WITHIN = 10  # s


def output_of(command, seconds):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if done.returncode != 0:
        raise ValueError(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def measure_table(args, run):
    command = [os.path.join(args.bin, run.program), "--no-head", "--pin", "--seconds", str(args.seconds), "--op", run.op,
               "--size", str(run.bytes), "--netns", ",".join(args.netns)]
    if run.program == "libfabric_bench":
        command += ["--provider", run.carrier, "--addresses", f"{ACTIVE_ADDRESS},{PASSIVE_ADDRESS}"]
    else:
        command += ["--underlay", run.carrier, "--address", PASSIVE_ADDRESS, *run.options]
        command += ["--spin"] if run.spins else []
    return goals.parse_row(output_of(command, args.seconds * 4 + 60))


def measure_pingpong(args, run):
    # The providers of one machine find each other without addresses; only the tool's own TCP connection needs one.
    is_shm = run.carrier == "shm"
    command = ["fi_pingpong", "-p", run.carrier, "-e", "rdm", "-I", str(PINGPONG_ROUNDS[run.bytes]), "-S", str(run.bytes)]
    passive = ["ip", "netns", "exec", args.netns[1], "taskset", "-c", "1" if os.cpu_count() > 1 else "0", *command]
    active = ["ip", "netns", "exec", args.netns[1 if is_shm else 0], "taskset", "-c", "0", *command, PASSIVE_ADDRESS]
    with subprocess.Popen(passive, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            return goals.parse_pingpong(output_when_served(active, server), run.bytes)
        finally:
            server.kill()


def output_when_served(command, server):
    """The server prints nothing when it listens: until then the command fails, and the server still runs after that."""
    end = time.monotonic() + PINGPONG_LISTENS_WITHIN
    while True:
        time.sleep(0.2)
        try:
            return output_of(command, 60)
        except ValueError:
            if server.poll() is not None or time.monotonic() > end:
                raise


def measure(args, run):
    return measure_pingpong(args, run) if run.program == "fi_pingpong" else measure_table(args, run)


def is_there(args, run):
    if run.program == "fi_pingpong":
        return shutil.which("fi_pingpong") is not None
    return os.access(os.path.join(args.bin, run.program), os.X_OK)


def run_rounds(args, runs):
    """Run to metric to round to value; and (round, run) that failed. Other rounds of a run that failed stay."""
    found = {run: {} for run in runs}
    failed = []
    for number in range(1, args.rounds + 1) if runs else ():
        for run in runs:
            try:
                for name, value in measure(args, run).items():
                    found[run].setdefault(name, {})[number] = value
            except (ValueError, subprocess.TimeoutExpired) as error:
                print(f"round {number}: {run.title()}: {error}", file=sys.stderr)
                failed.append((number, run))
        print(f"round {number} of {args.rounds} done", file=sys.stderr)
    return found, failed


def print_results(found):
    print(f"{'run':66} {'messages/s':>12} {'MB/s':>9} {'one-way us (min to max)':>28}")
    for run, results in found.items():
        rate = statistics.median(results["rate"].values()) if "rate" in results else 0
        us = list(results.get("us", {}).values())
        times = f"{statistics.median(us):.2f} ({min(us):.2f} to {max(us):.2f})" if us else "-"
        print(f"{run.title():66} {rate:12.0f} {rate * run.bytes / 1e6:9.1f} {times:>28}")


def version_of(folder):
    """Of the build: its programs are next to the folder of its tests."""
    try:
        return output_of([os.path.join(folder, "..", "bin", "splitnic"), "--version"], 5).splitlines()[0]
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return "splitnic"


def peers():
    """The version of libfabric, whose programs are compared."""
    try:
        return f"libfabric {output_of(['pkg-config', '--modversion', 'libfabric'], 5).strip()}"
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--netns", required=True, type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--only", default=",".join(NAMES), type=lambda text: text.split(","))
    parser.add_argument("--page", action="append", default=[], metavar="FOLDER")
    args = parser.parse_args()
    for name in args.only:
        if name not in NAMES:
            sys.exit(f"fabric.sh: no goal {name}; there are: {' '.join(NAMES)}")
    return args


def by_size(args):
    """How the tables by size are measured: one round, with less time a metric."""
    return argparse.Namespace(**vars(args) | {"rounds": 1, "seconds": args.seconds * fabric_sizes.SECONDS})


def has_all_columns(sizes):
    """Each program and carrier that is there has at least one metric."""
    columns = {(run.program, run.carrier): False for run in sizes}
    for run, results in sizes.items():
        columns[run.program, run.carrier] |= bool(results)
    return all(columns.values())


def main():
    args = arguments()
    wanted = [goal for goal in goals.GOALS if goal.name in args.only]
    shown = args if wanted else by_size(args)
    settings = {"date": datetime.date.today().isoformat(), "load": f"{os.getloadavg()[0]:.2f}", "seconds": f"{shown.seconds:g}",
                "version": version_of(args.bin), "peers": peers(),
                "congestion": congestion_control()}
    runs, sized = goals.runs_of(wanted), fabric_sizes.RUNS if fabric_sizes.NAME in args.only else []
    absent = sorted({run.program for run in (*runs, *sized) if not is_there(args, run)})
    if absent:
        print(f"There is no {' and no '.join(absent)}: scripts/install-deps.sh installs libfabric-bin and libfabric-dev; build "
              "again after it. What needs them is not measured.")
    found, failed = run_rounds(args, [run for run in runs if run.program not in absent])
    sizes, failed_sizes = run_rounds(by_size(args), [run for run in sized if run.program not in absent])
    missing = [f"{run.title()} (not there)" for run in dict.fromkeys((*runs, *sized)) if run.program in absent]
    missing += [f"round {number} of {run.title()}" for number, run in failed]
    missing += [f"{run.title()} by size" for _, run in failed_sizes]
    for results in filter(None, (found, sizes)):
        print_results(results)
        print()
    for goal in wanted:
        print(goals.evaluate(goal, found))
    if missing:
        print(f"\nMissing: {'; '.join(missing)}")
    fabric_report.write(args.page, fabric_report.page(settings, shown.rounds, wanted, found, missing, sizes))
    is_whole = all(goals.compared(goal, found) for goal in wanted) and has_all_columns(sizes)
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
