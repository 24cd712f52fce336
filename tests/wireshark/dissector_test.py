#!/usr/bin/env python3
"""dissector_test.py: the dissector of tools/wireshark decodes every vector of docs/protocol to its meaning, refuses what the
vectors refuse, by name, and shows conversations: frames of several cells, times of replies, remarks on repetitions and gaps.
Mutated vectors cause no error of its scripts. docs/wireshark.md lists each field that there is. One capture, one call of tshark."""
import pathlib
import re
import subprocess
import sys
import tempfile

from capture_file import Capture
import conversation
import meanings
import mutations
import vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "tools/wireshark"
# Fields of Wireshark itself: what is wrong with a packet or the script, and the inner protocols.
OTHERS = ["_ws.malformed", "_ws.lua.error", "_ws.expert.message"] + conversation.INNER


def documented_fields():
    page = (ROOT / "docs/wireshark.md").read_text()
    return sorted({name[len("splitnic."):] for name in re.findall(r"`(splitnic\.[a-z0-9_.]+)`", page)})


def registered_names():
    """Of fields and remarks, as the scripts have them."""
    text = "\n".join(path.read_text() for path in sorted(SCRIPTS.glob("*.lua")))
    names = set(re.findall(r'\bfield\("\w+", "([a-z0-9_.]+)"', text)) | set(re.findall(r'\bremark\("([a-z0-9_.]+)"', text))
    return sorted(names | {"cfg." + name for name in re.findall(r'\bone\("([a-z0-9_.]+)"', text)})


def decode(capture, fields):
    """The fields of each packet, by its number: {name: values}."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vectors.pcap"
        capture.write(path)
        command = ["tshark", "-2", "-n", "-X", f"lua_script:{SCRIPTS / 'splitnic.lua'}", "-o", "splitnic.long_crc:TRUE", "-r", str(path),
                   "-T", "fields", "-E", "separator=/t", "-E", "aggregator=|", "-E", "occurrence=a", "-e", "frame.number"]
        for name in fields:
            command += ["-e", name if name.startswith("_ws") or name in OTHERS else f"splitnic.{name}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 or "Lua" in done.stderr:
        sys.exit(done.stderr)
    packets = {}
    for line in done.stdout.splitlines():
        columns = line.split("\t")
        # A mutated text may have a tab or the end of a line.
        if not columns[0].isdigit() or len(columns) != 1 + len(fields):
            continue
        packets[int(columns[0])] = {name: text.split("|") if text else [] for name, text in zip(fields, columns[1:])}
    return packets


def faults_of(shown, fields, error):
    filler = fields.pop("filler.bytes", None)
    if filler is not None and sum(len(part.replace(":", "")) // 2 for part in shown["filler"]) != filler:
        yield f"filler is {shown['filler']}"
    for name, values in fields.items():
        if len(shown[name]) != len(values) or not all(map(meanings.is_same, shown[name], values)):
            yield f"{name} is {shown[name]}, not {values}"
    if shown["error"] != ([error] if error else []):
        yield f"the error is {shown['error']}, not {error}"
    if bool(shown["bad"]) != bool(error):
        yield f"the remark is {shown['bad']}"
    if shown["_ws.lua.error"] or bool(shown["_ws.malformed"]) != bool(error):
        yield f"remarks of Wireshark: {shown['_ws.expert.message']}"


def main():
    capture = Capture()
    packets = vectors.Packets(capture)
    packets.expected += conversation.add_all(capture)
    mutated = mutations.add_all(capture, packets)
    faults = []
    documented, registered = documented_fields(), registered_names()
    for name in sorted(set(documented) ^ set(registered)):
        faults.append(f"{name} is {'only in docs/wireshark.md' if name in documented else 'not in docs/wireshark.md'}")
    if not faults:
        shown = decode(capture, documented + OTHERS)
        for label, number, fields, error in packets.expected:
            faults += [f"{label}: packet {number}: {fault}" for fault in faults_of(shown[number], dict(fields), error)]
        faults += [f"mutation: packet {number}: an error of the script: {shown[number]['_ws.expert.message']}"
                   for number in mutated if number in shown and shown[number]["_ws.lua.error"]]
    print("\n".join(faults), f"{len(packets.expected)} packets and {len(mutated)} mutations, {len(faults)} faults", sep="\n" if faults else "")
    return 1 if faults or len(packets.expected) < 350 else 0


sys.exit(main())
