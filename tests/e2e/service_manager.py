"""A service manager as far as a program with Type=notify and a store of descriptors sees one (sd_notify(3),
sd_listen_fds(3)): it keeps one descriptor of the program from process to process, and closes it when the service stops.
  service_manager.py SOCKET PROGRAM ARGUMENT...
SIGUSR1 restarts the program as `systemctl restart` does, SIGTERM stops it; a program that is killed is started again.
SOCKET is NOTIFY_SOCKET; FDSTORE comes from the environment. `ready` is printed for each READY=1, and so are RELOADING=1 and STATUS=."""
import os
import select
import signal
import socket
import sys

kept = None  # (name, descriptor)
pid = 0
wanted = set()
STOP, RESTART = "stop", "restart"


def start():
    global pid
    pid = os.fork()
    if pid:
        return
    environment = dict(os.environ, NOTIFY_SOCKET=sys.argv[1])
    if kept:
        passed = os.dup2(os.dup(kept[1]), 3, inheritable=True)
        os.closerange(passed + 1, 256)
        environment |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": kept[0]}
    os.execve(sys.argv[2], sys.argv[2:], environment)


def hear(notifications):
    global kept
    text, descriptors, _, _ = socket.recv_fds(notifications, 4096, 4)
    lines = dict(line.split("=", 1) for line in text.decode().split("\n") if line)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if "FDSTORE" in lines and descriptors:
        forget()
        kept = (lines["FDNAME"], descriptors[0])
        print("stored", kept[0], flush=True)
    if "FDSTOREREMOVE" in lines and kept and kept[0] == lines["FDNAME"]:
        forget()
        print("removed", lines["FDNAME"], flush=True)
    if "RELOADING" in lines:
        print("reloading at", lines["MONOTONIC_USEC"], flush=True)
    if "STATUS" in lines:
        print("status:", lines["STATUS"], flush=True)
    if "READY" in lines:
        print("ready", flush=True)


def forget():
    global kept
    if kept:
        os.close(kept[1])
    kept = None


def main():
    notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notifications.bind(sys.argv[1])
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda *_: wanted.add(STOP))
    signal.signal(signal.SIGUSR1, lambda *_: wanted.add(RESTART))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    start()
    while True:
        ready, _, _ = select.select([notifications, woken], [], [])
        if notifications in ready:
            hear(notifications)
        if woken in ready:
            os.read(woken, 64)
            if wanted:
                os.kill(pid, signal.SIGTERM)
            ended, status = os.waitpid(pid, 0 if wanted else os.WNOHANG)
            if ended and (STOP in wanted or os.WIFEXITED(status) and status and RESTART not in wanted):
                sys.exit(os.waitstatus_to_exitcode(status))
            if ended:
                wanted.clear()
                start()


main()
