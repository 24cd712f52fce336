#!/usr/bin/env python3
"""The page of profile.sh: of each run, microseconds of a processor for each frame, by program and by what it did.

  profile_page.py FOLDER SECONDS FABRIC VERSION     reads NAME.perf, NAME.frames and `processes` there, prints the page
`processes` has a line "NAME PID" for each program whose threads have names that are not the program's.
"""
import collections
import datetime
import os
import subprocess
import sys

from report_page import congestion_control

RUNS = (("to_lan", "TCP to the LAN: super-frames of up to 64 KiB"),
        ("to_host", "TCP to the host: super-frames of up to 64 KiB"),
        ("small", "UDP frames of 64 bytes to the LAN, as fast as the sender can"))
PROGRAMS = (("splitnic-host", "`splitnic-host`"), ("splitnic-iou", "`splitnic-iou`"), ("iperf3", "iperf3, both ends"),
            ("swapper", "idle"))
# The kernel's entries, by the function that is on the way in.
CALLS = {"ksys_read": "read", "ksys_write": "write", "__sys_sendmsg": "sendmsg", "___sys_sendmsg": "sendmsg",
         "__sys_sendmmsg": "sendmmsg", "__sys_recvmsg": "recvmsg", "___sys_recvmsg": "recvmsg", "__sys_sendto": "send",
         "do_sys_poll": "ppoll", "do_epoll_wait": "epoll_wait", "__x64_sys_sched_yield": "sched_yield"}
MEANING = {("splitnic-host", "read"): "read from the TAP", ("splitnic-host", "write"): "write to the TAP, the stack behind it",
           ("splitnic-host", "sendmsg"): "sendmsg to the fabric", ("splitnic-host", "recvmsg"): "recvmsg from the fabric",
           ("splitnic-iou", "sendmmsg"): "sendmmsg to the LAN, the stack behind it",
           ("splitnic-iou", "sendmsg"): "sendmsg to the fabric", ("splitnic-iou", "recvmsg"): "recvmsg from fabric and LAN"}


def kind_of(stack):
    """What a stack of symbols, innermost first, was doing: (entry or "own code", "copies", "checksum" or "rest")."""
    call = next((CALLS[s] for s in reversed(stack) if s in CALLS), None)
    top = stack[0]
    if call is not None:
        return call, "copies" if top.startswith(("_copy_", "copy_user", "rep_movs")) else "rest"
    if any(s.startswith(("asm_sysvec", "asm_common", "asm_exc")) for s in stack):
        return "interrupts", "rest"
    if any(word in top for word in ("crc32", "Crc32c", "::extend_short", "::extend_long")):  # ISA-L's, and those of base/crc32c.cc
        return "own code", "CRC of cells"
    if "memmove" in top or "memcpy" in top:
        return "own code", "copies"
    return ("own code", "rest") if any("splitnic" in s for s in stack) else ("other", "rest")


def read_samples(lines, processes):
    """{program: {(entry, kind): samples}} of the text of `perf script -F comm,pid,ip,sym`.

    processes: {process ID: program}; a process that is not there counts by the name of its thread.
    """
    found = collections.defaultdict(collections.Counter)
    program, stack = None, []

    def flush():
        if program is not None and stack:
            found[program][kind_of(stack)] += 1

    for line in lines:
        if not line.strip():
            flush()
            program, stack = None, []
        elif program is None:
            name, process = line.rsplit(None, 1)
            program = processes.get(int(process), name.strip())
        else:
            parts = line.split(None, 1)
            stack.append(parts[1].strip() if len(parts) > 1 else "?")
    flush()
    return found


def table(found, microseconds):
    """Rows of a run; `microseconds` of all processors a frame."""
    total = sum(sum(kinds.values()) for kinds in found.values())
    each = microseconds / total
    rows = ["| program | in | us per frame | of it copies | CRC |", "|---|---|---|---|---|"]
    for program, title in PROGRAMS:
        kinds = found.get(program, {})
        entries = collections.Counter()
        for (entry, _), samples in kinds.items():
            entries[entry] += samples
        rows.append(f"| **{title}** | all | **{each * sum(kinds.values()):.2f}** | | |")
        if program in ("swapper", "iperf3"):
            continue
        for entry, samples in entries.most_common():
            if samples * 200 < total:
                continue
            copies, crc = kinds.get((entry, "copies"), 0), kinds.get((entry, "CRC of cells"), 0)
            what = MEANING.get((program, entry), entry)
            rows.append(f"| | {what} | {each * samples:.2f} | {each * copies:.2f} | {each * crc:.2f} |")
    return rows


def main(folder, seconds, fabric, version):
    carrier = "UDP" if fabric == "udp" else "shared memory"
    print(f"""# CPU profile

Measured on {datetime.date.today()} by `tests/bench/profile.sh`: {version} over {carrier} and a `packet:` port, {os.cpu_count()} processors
that carry everything, sampled for {seconds} s per run. Congestion control of the system: {congestion_control()}. "us per frame": of all processors together.
Work that a system call does for others is included: a write to the TAP runs the host's TCP, a sendmmsg to the LAN the
peer's.""")
    with open(os.path.join(folder, "processes"), encoding="ascii") as file:
        processes = {int(process): name for name, process in (line.split() for line in file)}
    for name, title in RUNS:
        with open(os.path.join(folder, name + ".frames"), encoding="ascii") as file:
            frames = int(file.read())
        if frames == 0:
            sys.exit(f"profile_page.py: no frame crossed in the run {name}")
        script = subprocess.run(["perf", "script", "-i", os.path.join(folder, name + ".perf"), "-F", "comm,pid,ip,sym"],
                                capture_output=True, text=True, check=False)
        if script.returncode != 0:
            sys.exit(f"profile_page.py: perf script: {script.stderr.strip()[-300:]}")
        print(f"\n## {title}\n\n{frames / int(seconds):.0f} frames per second.\n")
        samples = read_samples(script.stdout.splitlines(), processes)
        for program in processes.values():
            if program not in samples:
                sys.exit(f"profile_page.py: no sample of {program} in the run {name}")
        print("\n".join(table(samples, int(seconds) * 1e6 * os.cpu_count() / frames)))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
