#!/usr/bin/env python3
"""`splitnic decrypt` with captures of every link type, as tcpdump writes them; the records are sealed here.

    decrypt_command_test.py SPLITNIC
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ETHERNET, RAW, SLL, USER0, SLL2, PPP = 1, 101, 113, 147, 276, 9
KEYS = {0x0A0B0C0D: bytes(range(32)), 0x11223344: bytes(range(100, 132))}
PLAIN = bytes.fromhex("4f000000") + bytes(20)
NAMES = ["records opened", "records without a key in the log", "records that no key opens", "records that came before",
         "records that the capture has cut", "other packets, as they were"]


def record(counter, plain=PLAIN, index=0x0A0B0C0D):
    header = struct.pack(">BBHIQ", 0x84, 0, 0, index, counter)
    key = KEYS.get(index, bytes(32))
    return header + AESGCM(key).encrypt(bytes(4) + struct.pack(">Q", counter), plain, header)


def folded(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data)) if len(data) % 2 == 0 else folded(data + b"\0")
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ip4(payload, protocol=17, fragment=0):
    udp = struct.pack(">HHHH", 7471, 40000, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, fragment, 64, protocol, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    head = head[:10] + struct.pack(">H", 0xFFFF - folded(head)) + head[12:]
    return head + udp


def ip6(payload):
    udp = struct.pack(">HHHH", 7471, 40000, 8 + len(payload), 0) + payload
    return struct.pack(">IHBB", 6 << 28, len(udp), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + udp


def ethernet(packet, ethertype=0x0800, tag=b""):
    return bytes(12) + tag + struct.pack(">H", ethertype) + packet


def capture(path, link_type, packets):
    """Packets are bytes, or (bytes, length on the wire)."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link_type)
    for number, packet in enumerate(packets):
        data, length = packet if isinstance(packet, tuple) else (packet, len(packet))
        out += struct.pack("<IIII", 1000 + number, number, len(data), length) + data
    path.write_bytes(out)


def packets_of(path):
    """(time, bytes) of each packet, and the link type."""
    data = path.read_bytes()
    magic, link_type = struct.unpack("<I", data[:4])[0], struct.unpack("<I", data[20:24])[0]
    assert magic == 0xA1B23C4D, hex(magic)
    found, at = [], 24
    while at < len(data):
        seconds, nanoseconds, size, length = struct.unpack("<IIII", data[at:at + 16])
        found.append(((seconds, nanoseconds), data[at + 16:at + 16 + size]))
        assert length >= size
        at += 16 + size
    return found, link_type


class Run:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.keys = self.folder / "keys"
        self.keys.touch(mode=0o600)
        self.keys.write_text("".join(f"RECORD {index:08x} {key.hex()}\n" for index, key in KEYS.items()))

    def __call__(self, link_type, packets, status=0):
        """What is in the result, and the counts, in the order of NAMES."""
        capture(self.folder / "in", link_type, packets)
        done = subprocess.run([self.program, "decrypt", str(self.folder / "in"), str(self.folder / "out"), "--key-log", str(self.keys)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == status, done
        self.error = done.stderr
        counts = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines())
        assert status == 1 or list(counts) == NAMES, done.stdout
        found, link_type = packets_of(self.folder / "out") if done.stdout else ([], None)
        return found, [int(counts[name]) for name in NAMES] if counts else [], link_type


def check_link_types(run):
    sealed = record(1)
    lengths = len(PLAIN) + 8
    for link_type, packet in [
            (ETHERNET, ethernet(ip4(sealed))), (RAW, ip4(sealed)), (SLL, bytes(14) + b"\x08\0" + ip4(sealed)),
            (SLL2, b"\x08\0" + bytes(18) + ip4(sealed)), (ETHERNET, ethernet(ip4(sealed), 0x0800, b"\x81\0\0\5"))]:
        found, counts, made = run(link_type, [packet])
        assert counts == [1, 0, 0, 0, 0, 0], (link_type, counts)
        assert made == ETHERNET
        (time, frame), = found
        at = len(frame) - lengths - 20
        head, udp = frame[at:at + 20], frame[at + 20:]
        assert time == (1000, 0) and frame[at - 2:at] == b"\x08\0", frame.hex()
        assert udp[8:] == PLAIN and struct.unpack(">HHH", udp[:6]) == (7471, 40000, lengths)
        assert struct.unpack(">H", head[2:4])[0] == 20 + lengths and folded(head) == 0xFFFF
        assert folded(head[12:20] + struct.pack(">HH", 17, lengths) + udp) == 0xFFFF, "checksum of UDP"
    for link_type, packet in [(ETHERNET, ethernet(ip6(sealed), 0x86DD)), (RAW, ip6(sealed))]:
        (_, frame), = run(link_type, [packet])[0]
        head, udp = frame[14:54], frame[54:]
        assert udp[8:] == PLAIN and struct.unpack(">H", head[4:6])[0] == lengths and frame[12:14] == b"\x86\xdd"
        assert folded(head[8:] + struct.pack(">II", lengths, 17) + udp) == 0xFFFF
    found, counts, made = run(USER0, [sealed])
    assert [data for _, data in found] == [PLAIN] and made == USER0 and counts[0] == 1


def check_counts(run):
    changed = record(7)[:-1] + b"\0"
    other = ethernet(ip4(b"some other text", protocol=6))
    initiation = ethernet(ip4(bytes([0x81, 1]) + bytes(158)))
    fragment = ethernet(ip4(record(9), fragment=0x2000))
    packets = [ethernet(ip4(data)) for data in (
        record(5), record(3), record(5), record(0, index=0x11223344), record(1, index=0x55), changed, record(8, b""))]
    packets += [other, initiation, fragment, (ethernet(ip4(record(10)))[:82], 98), (ethernet(ip4(record(11)))[:50], 98)]
    found, counts, _ = run(ETHERNET, packets)
    # The empty record is opened, and there is nothing to show of it. Cut behind its header, a datagram is no record.
    assert counts == [4, 1, 1, 1, 1, 4], counts
    times = [seconds - 1000 for (seconds, _), _ in found]
    assert times[:3] == [0, 1, 3] and times[3:6] == [7, 8, 9], times
    assert [data for _, data in found[3:6]] == [other, initiation, fragment]


def check_joined(run):
    """As a kernel with segmentation offload hands them to a capture."""
    parts = [bytes([0x4F, n]) * (30 if n < 3 else 11) for n in range(4)]
    joined = b"".join(record(20 + n, part) for n, part in enumerate(parts))
    found, counts, _ = run(ETHERNET, [ethernet(ip4(joined))])
    assert counts == [4, 0, 0, 0, 0, 0], counts
    assert [data[42:] for _, data in found] == parts


def check_standard_output(run):
    """With - as OUT the capture is the output, and the counts are on stderr."""
    capture(run.folder / "in", USER0, [record(1)])
    done = subprocess.run([run.program, "decrypt", "in", "-", "--key-log", str(run.keys)], cwd=run.folder, capture_output=True, check=False)
    assert done.returncode == 0, done
    (run.folder / "piped").write_bytes(done.stdout)
    found, link_type = packets_of(run.folder / "piped")
    assert [data for _, data in found] == [PLAIN] and link_type == USER0, found
    assert done.stderr.decode().splitlines()[0] == "records opened: 1", done.stderr
    assert not (run.folder / "-").exists()


def check_refusals(run):
    _, counts, _ = run(ETHERNET, [ethernet(ip4(record(1, index=0x66)))], status=1)
    assert counts[:2] == [0, 1] and "was opened" in run.error
    run(PPP, [b"x"], status=1)
    assert "link type 9" in run.error, run.error
    (run.folder / "bad").write_bytes(b"no capture")
    capture(run.folder / "in", USER0, [record(1)])
    out = run.folder / "mode"
    out.write_text("")
    out.chmod(0o644)
    for paths, word in [(("bad", "out"), "capture"), (("missing", "out"), "No such file"), (("in", "no/such"), "No such file")]:
        done = subprocess.run([run.program, "decrypt", *(str(run.folder / path) for path in paths), "--key-log", str(run.keys)],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and word in done.stderr and done.stderr.count("\n") == 1, done
    subprocess.run([run.program, "decrypt", str(run.folder / "in"), str(out), "--key-log", str(run.keys)], check=True, capture_output=True)
    assert out.stat().st_mode & 0o777 == 0o600, "others may read what users sent"
    run.keys.chmod(0o640)
    run(USER0, [record(1)], status=1)
    assert "chmod 600" in run.error


def main():
    with tempfile.TemporaryDirectory() as folder:
        run = Run(sys.argv[1], folder)
        check_link_types(run)
        check_counts(run)
        check_joined(run)
        check_standard_output(run)
        check_refusals(run)


main()
