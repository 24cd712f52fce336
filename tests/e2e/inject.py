#!/usr/bin/env python3
"""Has a running program make system calls, as code that an attacker brought into it would.

  inject.py PID CALL...       a CALL is NUMBER[:ARGUMENT...], an argument a number or a text, which becomes its address
                              Prints a line "NUMBER RESULT" for each; x86-64 only

The main thread is stopped by ptrace, makes the calls, and continues as if nothing had happened. The other threads run meanwhile,
so the instruction is written where none of them comes by: to the entry point of the program, which has been left for good.
"""
import ctypes
import os
import signal
import struct
import sys

ATTACH, CONT, PEEK, POKE, GETREGS, SETREGS, DETACH = 16, 7, 1, 4, 12, 13, 17
NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base"
         " ds es fs gs").split()
SYSCALL_AND_STOP = 0xCC050F  # syscall; int3
AT_ENTRY = 9
BELOW_THE_STACK = 4096
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in NAMES]


libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = libc.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno() != 0:
        sys.exit(f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
    return result


def registers_of(pid):
    registers = Registers()
    ptrace(GETREGS, pid, 0, ctypes.addressof(registers))
    return registers


def set_registers(pid, registers):
    ptrace(SETREGS, pid, 0, ctypes.addressof(registers))


def copy(registers):
    return Registers.from_buffer_copy(bytes(registers))


def stopped_by(pid):
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSTOPPED(status):
        sys.exit("the program ended")
    return os.WSTOPSIG(status)


def poke_text(pid, address, text):
    data = text.encode() + b"\0"
    for at in range(0, len(data), 8):
        ptrace(POKE, pid, address + at, int.from_bytes(data[at:at + 8].ljust(8, b"\0"), "little"))


def entry_point(pid):
    with open(f"/proc/{pid}/auxv", "rb") as file:
        return dict(struct.iter_unpack("QQ", file.read()))[AT_ENTRY]


def make_call(pid, before, code_at, number, arguments):
    registers = copy(before)
    registers.rip = code_at
    registers.rax, registers.orig_rax = number, 2**64 - 1
    free = before.rsp - BELOW_THE_STACK
    for name, argument in zip(ARGUMENTS, arguments):
        if not argument.lstrip("-").isdigit():
            poke_text(pid, free, argument)
            argument, free = free, free - BELOW_THE_STACK
        setattr(registers, name, int(argument) % 2**64)
    set_registers(pid, registers)
    wanted = 0
    while True:
        ptrace(CONT, pid, 0, wanted)
        wanted = stopped_by(pid)
        if wanted == signal.SIGTRAP:
            return ctypes.c_int64(registers_of(pid).rax).value


def main():
    pid = int(sys.argv[1])
    ptrace(ATTACH, pid)
    if stopped_by(pid) != signal.SIGSTOP:
        sys.exit("not stopped")
    before = registers_of(pid)
    code_at = entry_point(pid)
    code = ptrace(PEEK, pid, code_at)
    ptrace(POKE, pid, code_at, code & ~0xFFFFFF | SYSCALL_AND_STOP)
    for call in sys.argv[2:]:
        number, *arguments = call.split(":")
        print(number, make_call(pid, before, code_at, int(number), arguments))
    ptrace(POKE, pid, code_at, code)
    set_registers(pid, before)
    ptrace(DETACH, pid)


main()
