#!/usr/bin/env python3
"""frames.py OUT.pcap COUNT DESTINATION SOURCE WAIT SECONDS: a capture of COUNT UDP frames of 60..1514 bytes.

After the first frame comes a gap of WAIT seconds, then the rest within SECONDS (0: all at one moment).
Prints how many bytes a capture of the same frames has.
"""
import struct
import sys


def ones_sum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def frame(number, destination, source):
    size = 60 + number * 211 % 1455
    payload = struct.pack(">I", number) + bytes(size - 46)
    udp = struct.pack(">HHHH", 4000, 4001, 8 + len(payload), 0)  # checksum 0: none
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp) + len(payload), number & 0xFFFF, 0x4000, 64, 17, 0,
                     bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2]))
    ip = ip[:10] + struct.pack(">H", ones_sum(ip) ^ 0xFFFF) + ip[12:]
    return destination + source + b"\x08\x00" + ip + udp + payload


def main():
    path, count, destination, source, wait, seconds = sys.argv[1:]
    count = int(count)
    destination, source = (bytes.fromhex(mac.replace(":", "")) for mac in (destination, source))
    total = 24
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for number in range(count):
            at = 0 if number == 0 else int(1e6 * (float(wait) + float(seconds) * number / count))
            frame_bytes = frame(number, destination, source)
            size = len(frame_bytes)
            out.write(struct.pack("<IIII", 1_700_000_000 + at // 1_000_000, at % 1_000_000, size, size))
            out.write(frame_bytes)
            total += 16 + size
    print(total)


main()
