"""Metrics as Prometheus reads them, and clients that attack.

    metrics.py complete METRICS STATS       every counter of `splitnic stats --json` is a sample with a HELP, and its value is not smaller
    metrics.py value METRICS NAME LABEL=VALUE...
    metrics.py dashboard JSON METRICS...    each metric that the dashboard names is in one of the files
    metrics.py attack ADDRESS PORT COUNT    until it is ended
"""
import json
import random
import re
import socket
import sys
import time


def samples_of(path):
    from prometheus_client.parser import text_string_to_metric_families
    with open(path, encoding="utf-8") as text:
        for family in text_string_to_metric_families(text.read()):
            if not family.documentation or family.type not in ("counter", "gauge"):
                sys.exit(f"{family.name}: HELP is '{family.documentation}', TYPE is {family.type}")
            yield from family.samples


def name_of(counter, hosts):
    """The sample of a counter: its name and labels."""
    labels = {}
    for host in sorted(hosts, key=len, reverse=True):
        if counter.startswith(f"host.{host}."):
            labels["host"], counter = host, counter[len(f"host.{host}."):]
            break
    nic = re.match(r"lan(\d*)\.", counter)
    if nic:
        labels["nic"] = nic.group(1) or "0"
        counter = "lan." + counter[nic.end():]
    drop = re.match(r"(.*\.drop)\.(.*)", counter)
    if drop:
        counter, labels["cause"] = drop.groups()
    name = "splitnic_" + ("host_" if "host" in labels else "") + re.sub(r"[^a-z0-9_]", "_", counter) + "_total"
    return name, tuple(sorted(labels.items()))


def complete(metrics, stats):
    found = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples_of(metrics)}
    is_unit = any(name == "splitnic_info" and ("role", "iou") in pairs for name, pairs in found)
    hosts = {dict(pairs)["peer"] for name, pairs in found if is_unit and name == "splitnic_peer_up"}
    with open(stats, encoding="utf-8") as text:
        counters = json.load(text)
    wanted = {}
    for counter, value in counters.items():
        key = name_of(counter, hosts)
        wanted[key] = wanted.get(key, 0) + value
    for key, value in wanted.items():
        if key not in found:
            sys.exit(f"no sample {key}")
        if found[key] > value:  # stats were taken later
            sys.exit(f"{key}: {found[key]} is more than {value}")
    own = {("splitnic_metrics_drop_total", (("cause", "busy"),))}  # of the server of the metrics itself
    others = {key for key in found if key not in wanted and key not in own and key[0].endswith("_total")}
    if others:
        sys.exit(f"samples that are no counter: {others}")
    if not any(name == "splitnic_up" and value == 1 for (name, _), value in found.items()):
        sys.exit("splitnic_up is not 1")
    print(f"{len(counters)} counters, {len(found)} samples")


def value(metrics, name, *labels):
    wanted = dict(label.split("=", 1) for label in labels)
    print(next(int(sample.value) for sample in samples_of(metrics) if sample.name == name and sample.labels == wanted))


def dashboard(board, *metrics):
    known = {sample.name for path in metrics for sample in samples_of(path)}
    with open(board, encoding="utf-8") as text:
        panels = json.load(text)["panels"]
    used = {name for panel in panels for target in panel["targets"] for name in re.findall(r"splitnic_[a-z0-9_]+", target["expr"])}
    unknown = {name for name in used - {"splitnic_"} if name not in known}
    if unknown or len(used) < 8:
        sys.exit(f"the dashboard names {unknown}")
    print(f"{len(panels)} panels, {len(used)} metrics")


def attack(address, port, count):
    seeded = random.Random(1)
    kinds = [b"", b"GET", b"GET /metrics HTTP/1.1\r\nHost: ", b"\x16\x03\x01\x02\x00\x01" * 50, b"GET /metrics HTTP/1.1\r\n\r\n",
             b"GET / HTTP/1.1\r\n\r\n", b"GET /state.json HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET / HTTP/1.1\r\nHost: evil\r\n\r\n",
             b"GET /" + b"x" * 9000, b"POST /metrics HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n"]
    clients = []
    print("attacking", flush=True)
    while True:
        while len(clients) < int(count):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex((address, int(port)))
            clients.append(client)
        for client in seeded.sample(clients, 100):
            try:
                client.send(seeded.choice(kinds))
            except OSError:
                clients.remove(client)
                client.close()
        time.sleep(0.005)


if __name__ == "__main__":
    {"complete": complete, "value": value, "dashboard": dashboard, "attack": attack}[sys.argv[1]](*sys.argv[2:])
