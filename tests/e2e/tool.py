#!/usr/bin/env python3
"""Frames for the end-to-end checks: makes them, takes them from an interface, compares them.

  tool.py make OUT.pcap DESTINATION SOURCE [BRIDGED [PLAIN]]
                                            a capture with the frames that break NICs, before and after PLAIN (1000) UDP
                                            frames of 60 to 1514 bytes; BRIDGED "bridged": none for a bridge itself
  tool.py take IF OUT.pcap COUNT SECONDS    COUNT frames that come in (tags put back), then a little more. OUT.pcap has
                                            each frame soon after it came
  tool.py send IF IN.pcap TAKEN.pcap WINDOW sends the frames of IN.pcap, at most WINDOW of them ahead of those in TAKEN.pcap
  tool.py same A.pcap B.pcap [flows]        equal in number, order and every byte? flows: in order within each flow of
                                            TCP and UDP; frames of other kinds may change places
  tool.py super IF DESTINATION SOURCE TAGS [BYTES]
                                            sends one TCP super-frame of 30000 (BYTES) bytes payload with a vnet
                                            header; TAGS: none, a VID, or OUTER.INNER for QinQ
  tool.py count FILE.pcap DESTINATION       how many frames to that address?
  tool.py carrier IF SECONDS                "up" or "down" and the time, at the start and at each change, looked at every ms
  tool.py udp_send ADDRESS NUMBER           sends NUMBER times 20 datagrams of 1400 bytes, each time in one UDP super-frame
  tool.py udp_take FAMILY NUMBER            are they all there, as sent and in order?
  tool.py udp_reflect                       returns each datagram over IPv6 to its sender
  tool.py udp_exchange ADDRESS NUMBER       sends NUMBER datagrams of 1100 bytes there, the next one when one has come back as
                                            it was; one that does not come back is sent up to 20 times
  tool.py notified SOCKET                   prints the notifications to a service manager there
  tool.py refuse PORT REASON                an I/O unit that refuses each hello (docs/protocol/flit.md, INIT)
  tool.py spoof IF SOURCE NUMBER            sends broadcasts with that source address
  tool.py stream FILE.pcap TAGS [BYTES]    is that super-frame's payload whole in FILE, under these tags?
"""
import select
import signal
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 8, 15, 23
SO_RCVBUFFORCE, ETH_P_ALL = 33, 3
VLAN_VALID, TPID_VALID = 0x10, 0x40
PAYLOAD_BYTES, SEGMENT_BYTES, FIRST_SEQUENCE = 30000, 1400, 1000


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ip4(protocol, payload, number=1, fragment=0x4000):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), number, fragment, 64, protocol, 0,
                       bytes([10, 77, 0, 101]), bytes([10, 77, 0, 102]))
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def filler(count, seed):
    return bytes((seed * 7 + i * 31) & 0xFF for i in range(count))


def udp(payload, number=0):
    # Eight flows. Checksum 0: none was made, so nobody may complete it.
    return ip4(17, struct.pack(">HHHH", 4000 + number % 8, 4001, 8 + len(payload), 0) + payload, number)


PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)


def pcap_record(number, frame):
    return struct.pack("<IIII", 1_700_000_000, number % 1_000_000, len(frame), len(frame)) + frame


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(PCAP_HEADER + b"".join(pcap_record(number, frame) for number, frame in enumerate(frames)))


def read_pcap(path):
    """The whole records of a capture, which may still be written to."""
    with open(path, "rb") as file:
        data = file.read()
    frames, at = [], len(PCAP_HEADER)
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        if at + 16 + size > len(data):
            break
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def tag(vid, tpid=0x8100, priority=0):
    return struct.pack(">HH", tpid, priority << 13 | vid)


def special_frames(destination, source):
    ends, everyone = destination + source, b"\xff" * 6 + source
    ipv4, ipv6 = b"\x08\x00", b"\x86\xdd"
    arp = struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + source + bytes([10, 77, 0, 101]) + bytes(6) + bytes([10, 77, 0, 102])
    yield everyone + b"\x08\x06" + arp
    yield everyone + b"\x08\x06" + arp + bytes(18)
    yield mac("01:80:c2:00:00:0e") + source + b"\x88\xcc" + bytes.fromhex("0207 04") + source + filler(40, 1)
    yield mac("01:80:c2:00:00:00") + source + struct.pack(">H", 38) + b"\x42\x42\x03" + filler(43, 2)
    yield ends + struct.pack(">H", 1500) + filler(1500, 3)
    yield ends + b"\x88\xb5"  # a header and nothing else
    yield ends + b"\x88\xb5" + filler(1, 4)
    for size in (46, 47, 63, 1500):
        yield ends + b"\x88\xb5" + filler(size, size)
    datagram = struct.pack(">HHHH", 4000, 4001, 2008, 0) + filler(2000, 5)
    yield ends + ipv4 + ip4(17, datagram[:1480], 77, 0x2000)
    yield ends + ipv4 + ip4(17, datagram[1480:], 77, 1480 // 8)
    yield ends + ipv6 + struct.pack(">IHBB", 0x60000000, 20, 59, 64) + filler(32, 6) + filler(20, 7)
    yield ends + ipv4 + udp(b"trailer") + filler(11, 8)  # bytes after the datagram
    # Wrong checksums, of the IPv4 header, of UDP and of TCP, are for the receiver to find. [L-35]
    right = udp(filler(60, 14))
    yield ends + ipv4 + right[:10] + bytes([right[10] ^ 0xFF]) + right[11:]
    yield ends + ipv4 + ip4(17, struct.pack(">HHHH", 4000, 4001, 68, 0x1234) + filler(60, 15))
    yield ends + ipv4 + ip4(6, struct.pack(">HHIIBBHHH", 4000, 4001, 1, 1, 0x50, 0x10, 1024, 0x1234, 0) + filler(60, 16))
    yield mac("33:33:00:00:00:01") + source + ipv6 + struct.pack(">IHBB", 0x60000000, 8, 59, 1) + filler(40, 9)
    for vid in (0, 1, 5, 4094, 4095):
        yield ends + tag(vid, priority=vid % 8) + ipv4 + udp(filler(60, vid % 251))
    yield ends + tag(5) + ipv4 + udp(filler(1472, 10))  # 1518 bytes
    yield ends + tag(5) + struct.pack(">H", 50) + filler(50, 11)
    yield ends + tag(7, tpid=0x88A8) + tag(9) + ipv4 + udp(filler(80, 12))
    yield ends + tag(7) + tag(9) + ipv4 + udp(filler(80, 13))
    yield everyone + tag(5) + b"\x08\x06" + arp


def make(path, destination, source, bridged="", plain=1000):
    special = list(special_frames(mac(destination), mac(source)))
    if bridged:
        special = [frame for frame in special if frame[:6] != mac("01:80:c2:00:00:00")]
    frames = list(special)
    for number in range(int(plain)):
        frames.append(mac(destination) + mac(source) + b"\x08\x00" + udp(filler(18 + number * 211 % 1455, number), number))
    frames += special
    write_pcap(path, frames)
    print(len(frames))


def open_socket(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    s.bind((interface, ETH_P_ALL))
    return s


def receive(s):
    frame, control, _, _ = s.recvmsg(70000, 256)
    for level, kind, data in control:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & VLAN_VALID:
                frame = frame[:12] + struct.pack(">HH", tpid if status & TPID_VALID else 0x8100, tci) + frame[12:]
    return frame


def take(interface, path, count, seconds):
    stopped = []
    signal.signal(signal.SIGINT, lambda *_: stopped.append(1))
    s = open_socket(interface)
    s.setblocking(False)
    taken, end = 0, time.monotonic() + float(seconds)
    with open(path, "wb") as out:
        out.write(PCAP_HEADER)
        out.flush()
        print("ready", flush=True)
        while time.monotonic() < end:
            # What is in the socket when the signal comes is taken still.
            try:
                frame = receive(s)
            except BlockingIOError:
                out.flush()
                if stopped:
                    break
                select.select([s], [], [], 0.05)
                continue
            out.write(pcap_record(taken, frame))
            taken += 1
            if taken == int(count):
                end = min(end, time.monotonic() + 0.3)


def send(interface, path, taken_path, window):
    """The taker sets the pace: however late a program on the way runs, no queue has more than `window` frames. Continues
    without the taker when nothing has come for 15 s: the comparison names what is missing."""
    frames = read_pcap(path)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind((interface, 0))
    taken, patience = 0, time.monotonic() + 15
    for sent, frame in enumerate(frames):
        while sent - taken >= int(window) and time.monotonic() < patience:
            time.sleep(0.005)
            before, taken = taken, len(read_pcap(taken_path))
            if taken > before:
                patience = time.monotonic() + 15
        s.send(frame)


def flow(frame):
    """MAC addresses, tags, ethertype, IP addresses, protocol and ports; a fragment has no ports. Other frames have no flow: each is
    one alone."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    key, kind, ip = frame[:at + 2], frame[at:at + 2], frame[at + 2:]
    addresses, protocol, ports = {b"\x08\x00": (ip[12:20], ip[9:10], ip[20:24]),
                                  b"\x86\xdd": (ip[8:40], ip[6:7], ip[40:44])}.get(kind, (b"", b"", b""))
    fragment = kind == b"\x08\x00" and ip[6:8] not in (b"\x00\x00", b"\x40\x00")
    if protocol not in (b"\x06", b"\x11"):
        return frame
    return key + addresses + protocol + (b"" if fragment else ports)


def same(path_a, path_b, order="all"):
    sent, received = {}, {}
    for path, flows in ((path_a, sent), (path_b, received)):
        for frame in read_pcap(path):
            flows.setdefault(flow(frame) if order == "flows" else b"", []).append(frame)
    for key in [*sent, *(key for key in received if key not in sent)]:
        a, b = sent.get(key, []), received.get(key, [])
        which = f" of flow {key.hex()}" if key else ""
        for at, (x, y) in enumerate(zip(a, b)):
            if x != y:
                sys.exit(f"frame {at} of {len(a)} sent and {len(b)} received{which}: sent {len(x)} bytes {x[:64].hex()}, "
                         f"received {len(y)} bytes {y[:64].hex()}")
        if len(a) != len(b):
            sys.exit(f"{len(a)} frames sent, {len(b)} received{which}")
    print(f"{sum(map(len, sent.values()))} frames equal, in order" + (f" in {len(sent)} flows" if order == "flows" else ""))


def tags(text):
    if text == "none":
        return b""
    if "." in text:
        outer, inner = text.split(".")
        return tag(int(outer), tpid=0x88A8) + tag(int(inner))
    return tag(int(text))


def send_super(interface, destination, source, vids, size=PAYLOAD_BYTES):
    payload = filler(int(size), 99)
    tcp = struct.pack(">HHIIBBHHH", 4000, 4001, FIRST_SEQUENCE, 0, 0x50, 0x18, 65535, 0, 0)
    pseudo = bytes([10, 77, 0, 101, 10, 77, 0, 102]) + struct.pack(">HH", 6, len(tcp) + len(payload))
    tcp = tcp[:16] + struct.pack(">H", checksum(pseudo) ^ 0xFFFF) + tcp[18:]
    head = mac(destination) + mac(source) + tags(vids) + b"\x08\x00"
    frame = head + ip4(6, tcp + payload)
    transport = len(head) + 20
    vnet = struct.pack("<BBHHHH", 1, 1, transport + 20, SEGMENT_BYTES, transport, 16)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    s.bind((interface, 0))
    s.send(vnet + frame)
    print(f"{len(frame)} bytes")


def stream(path, vids, size=PAYLOAD_BYTES):
    size = int(size)
    wanted, got, pieces = filler(size, 99), bytearray(size), 0
    seen, kind = 0, tags(vids) + b"\x08\x00"
    network = 12 + len(kind)
    for frame in read_pcap(path):
        if frame[12:network] != kind or frame[network + 9] != 6:
            continue
        total = struct.unpack_from(">H", frame, network + 2)[0]
        at = struct.unpack_from(">I", frame, network + 24)[0] - FIRST_SEQUENCE
        data = frame[network + 40:network + total]
        got[at:at + len(data)] = data
        seen += len(data)
        pieces += 1
    if bytes(got) != wanted or seen != size:
        sys.exit(f"the super-frame did not arrive whole: {seen} of {size} bytes in {pieces} frames")
    print(f"{seen} bytes in {pieces} frame(s)")


def carrier(interface, seconds):
    end, before = time.monotonic() + float(seconds), None
    while time.monotonic() < end:
        with open(f"/sys/class/net/{interface}/carrier", encoding="ascii") as file:
            now = "up" if file.read().strip() == "1" else "down"
        if now != before:
            print(now, int(time.monotonic() * 1e6), flush=True)
            before = now
        time.sleep(0.001)


def notified(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(path)
    while True:
        print(s.recv(4096).decode(), flush=True)


def crc32c_of_byte(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRC32C = tuple(map(crc32c_of_byte, range(256)))


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def refuse(port, reason):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", int(port)))
    while True:
        data, sender = s.recvfrom(70000)
        if len(data) < 88 or data[0] != 0x4F or data[17] != 1:
            continue
        hello = data[16:88]
        instance, nonce = hello[32:40], hello[48:56]
        reply = bytearray(hello)
        reply[1], reply[15] = 5, int(reason)
        reply[4:8] = bytes([9, 9, 0, 0])
        reply[24:40] = filler(16, 3)
        reply[40:48], reply[48:56], reply[56:64] = instance, bytes(8), nonce
        head = data[:12]
        s.sendto(head + struct.pack(">I", crc32c(head + reply)) + reply, sender)


def spoof(interface, source, number):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    s.bind((interface, 0))
    for _ in range(int(number)):
        s.send(b"\xff" * 6 + mac(source) + b"\x88\xb5" + bytes(46))


SOL_UDP, UDP_SEGMENT, UDP_PORT, BURST = 17, 103, 5002, 20


def datagram(number):
    return struct.pack(">I", number) + filler(SEGMENT_BYTES - 4, number)


def udp_send(address, number):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(SOL_UDP, UDP_SEGMENT, SEGMENT_BYTES)
    s.connect((address, UDP_PORT))
    for burst in range(int(number)):
        s.send(b"".join(datagram(burst * BURST + i) for i in range(BURST)))
        time.sleep(0.001)


def udp_take(family, number):
    s = socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
    s.bind(("", UDP_PORT))
    s.settimeout(15)
    print("ready", flush=True)
    for wanted in range(int(number) * BURST):
        got = s.recv(70000)
        if got != datagram(wanted):
            sys.exit(f"datagram {wanted}: {len(got)} bytes {got[:16].hex()}")
    print(f"{int(number) * BURST} datagrams equal, in order")


def udp_reflect():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.bind(("::", UDP_PORT))
    print("ready", flush=True)
    while True:
        got, sender = s.recvfrom(70000)
        s.sendto(got, sender)


def comes_back(s, sent, before):
    while (got := s.recv(70000)) != sent:
        if got not in before:  # of those, a repeated one comes back twice
            sys.exit(f"changed on the way: {len(got)} bytes {got[:16].hex()}")


def udp_exchange(address, number):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.connect((address, UDP_PORT))
    s.settimeout(0.3)
    before, repeated = set(), 0
    for wanted in range(int(number)):
        sent = datagram(wanted)[:1100]
        for _ in range(20):
            s.send(sent)
            try:
                comes_back(s, sent, before)
                break
            except TimeoutError:
                repeated += 1
        else:
            sys.exit(f"datagram {wanted} does not come back")
        before.add(sent)
    print(f"{number} datagrams came back as they were, {repeated} repeated")


def count(path, destination):
    print(sum(frame[:6] == mac(destination) for frame in read_pcap(path)))


if __name__ == "__main__":
    {"make": make, "take": take, "send": send, "same": same, "super": send_super, "stream": stream, "count": count, "spoof": spoof,
     "carrier": carrier, "refuse": refuse, "notified": notified, "udp_send": udp_send, "udp_take": udp_take,
     "udp_reflect": udp_reflect, "udp_exchange": udp_exchange}[sys.argv[1]](*sys.argv[2:])
