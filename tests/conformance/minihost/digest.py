"""The digest of the settings of a NIC (cfgutil.md, Digest)."""
import hashlib
import struct

_FLAGS = ("promiscuous", "all_multicast", "no_unicast", "no_multicast", "no_broadcast")


def digest(state):
    raw = state.get("mac", bytes(6))
    raw += bytes([sum(1 << bit for bit, name in enumerate(_FLAGS) if state.get(name))])
    for name in ("unicast", "multicast"):
        macs = sorted(state.get(name, []))
        raw += struct.pack(">I", len(macs)) + b"".join(macs)
    vlans = sorted(state.get("vlans", []))
    raw += struct.pack(">I%dH" % len(vlans), len(vlans), *vlans)
    raw += struct.pack(">HIQ", state.get("pvid", 0), state.get("mtu", 0), state.get("offloads", 0))
    names = ("queues", "microseconds", "frames", "bytes", "adaptive")
    if any(state.get(name) for name in names + ("priorities", "code_points")):
        raw += struct.pack(">IIIIB", *(state.get(name, 0) for name in names))
        raw += state.get("priorities") or b"\xff" * 8
        raw += state.get("code_points") or b"\xff" * 64
    return hashlib.sha256(raw).digest()
