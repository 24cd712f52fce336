"""The digest of GET_STATE (docs/protocol/cfgutil.md#digest)."""
import hashlib

from codec import put

FLAGS = ("promiscuous", "all_multicast", "no_unicast", "no_multicast", "no_broadcast")

DELIVERY = (("queues", 4), ("microseconds", 4), ("frames", 4), ("bytes", 4), ("adaptive", 1))
LEVELS = (("priorities", 8), ("code_points", 64))


def covered(state):
    """The bytes that the digest covers. Addresses are hexadecimal text; what is missing is empty or 0."""
    flags = sum(1 << bit for bit, name in enumerate(FLAGS) if state.get(name))

    def listed(entries):
        return put(len(entries), 4) + b"".join(sorted(entries))

    delivery = b"".join(put(int(state.get(name, 0)), width) for name, width in DELIVERY)
    levels = b"".join(bytes.fromhex(state.get(name, "ff" * width)) for name, width in LEVELS)
    is_default = not any(delivery) and levels == b"\xff" * len(levels)

    return (bytes.fromhex(state.get("mac", "00" * 6)) + put(flags, 1) +
            listed([bytes.fromhex(mac) for mac in state.get("unicast", [])]) +
            listed([bytes.fromhex(mac) for mac in state.get("multicast", [])]) +
            listed([put(vlan, 2) for vlan in state.get("vlans", [])]) + put(state.get("pvid", 0), 2) +
            put(state.get("mtu", 0), 4) + put(int(state.get("offloads", "0x0"), 16), 8) +
            (b"" if is_default else delivery + levels))


def digest(state):
    return hashlib.sha256(covered(state)).digest()
