"""What the measuring programs of this folder have in common: commands in network namespaces, servers in the LAN's peer,
readings of the machine, and a main. For compare_measure.py, hosts_measure.py and sizes.py."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

ADDRESS = "10.77.0.2"  # of the LAN's peer
UDP_HEADERS = 14 + 20 + 8


class Failed(Exception):
    pass


def in_namespace(ns, *command):
    return ["ip", "netns", "exec", ns, *command]


def output_of(ns, *command, timeout):
    try:
        done = subprocess.run(in_namespace(ns, *command), capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{command[0]} did not end within {timeout} s") from error
    if done.returncode != 0:
        raise Failed(f"{command[0]}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


class Server:
    """A program in the LAN's peer that serves one client; ready once it has printed its first lines."""

    def __init__(self, ns, ready, *command):
        self.process = subprocess.Popen(in_namespace(ns, *command), stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        if not any(ready in line for line in self.process.stdout):
            raise Failed(f"{command[0]} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            self.process.communicate(timeout=0 if kind is SystemExit else 2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def iperf_server(ns, *options):
    return Server(ns, "listening", "iperf3", "-s", "-1", "--forceflush", *options)


def busy_seconds(stat):
    """Seconds that the processors were not idle, from the text of /proc/stat. What a hypervisor took is not counted."""
    user, nice, system, _idle, _iowait, irq, softirq = map(int, stat.splitlines()[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def machine_busy_seconds():
    with open("/proc/stat", encoding="ascii") as stat:
        return busy_seconds(stat.read())


def thread_seconds(pid):
    """Processor time of the main thread, which is the data thread of queue 0."""
    with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0]) / 1e9


def data_threads_seconds(pid):
    """The same of all data threads."""
    total = thread_seconds(pid)
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text(encoding="ascii").startswith("queue-"):
            total += int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9
    return total


def pss_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) / 1024


def udp_counts(snmp):
    """Name to number, from the text of /proc/net/snmp."""
    names, values = [line.split()[1:] for line in snmp.splitlines() if line.startswith("Udp:")]
    return dict(zip(names, map(int, values)))


def udp_of(ns):
    return udp_counts(output_of(ns, "cat", "/proc/net/snmp", timeout=5))


def twice(what, measure, *arguments, **options):
    """A second try for what one lost control connection spoiled."""
    try:
        return measure(*arguments, **options)
    except Failed as error:
        print(f"{what}: {error}; once more", file=sys.stderr)
        time.sleep(1)
        return measure(*arguments, **options)


SIGNALS = (signal.SIGINT, signal.SIGTERM)


def end_by_signal(number, _frame):
    for one in SIGNALS:
        signal.signal(one, lambda *_: None)  # a second one does not break the clean-up off
    sys.exit(128 + number)


def children_in(tasks):
    """The children of all threads of the process with that folder of threads. A thread that ends meanwhile leaves its own to another
    one, whose list may have been read: then all are read once more."""
    while True:
        before = sorted(path.name for path in tasks.iterdir())
        try:
            found = [int(pid) for name in before for pid in (tasks / name / "children").read_text(encoding="ascii").split()]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if sorted(path.name for path in tasks.iterdir()) == before:
            return found


def end_children():
    """A signal may come between the start of a child and the line that would end it."""
    for pid in children_in(pathlib.Path("/proc/self/task")):
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main(program, measure, *arguments):
    """Prints a line "name value" for each metric that is returned. Interrupted, it ends what it has started and prints none."""
    for number in SIGNALS:
        signal.signal(number, end_by_signal)
    try:
        found = measure(*arguments)
    except Failed as error:
        sys.exit(f"{program}: {error}")
    finally:
        end_children()
    for name, value in (found or {}).items():
        print(name, f"{value:.6g}" if isinstance(value, float) else value)
