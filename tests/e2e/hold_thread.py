#!/usr/bin/env python3
"""Stops one thread of a program, as a fault of the kernel or of a processor may, and lets it continue at SIGTERM.

  hold_thread.py PID NAME    the thread of that name; prints "held" once it stands still
"""
import ctypes
import os
import signal
import sys

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WALL = 0x40000000  # also threads that are no children

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def thread_of(pid, name):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as comm:
            if comm.read().strip() == name:
                return int(task)
    sys.exit(f"hold_thread.py: process {pid} has no thread {name}")


def main(pid, name):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    thread = thread_of(pid, name)
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    print("held", flush=True)
    signal.sigwait({signal.SIGTERM})
    ptrace(PTRACE_DETACH, thread)


main(sys.argv[1], sys.argv[2])
