# shellcheck shell=bash
# Without keys and without a state folder a host is known by a keyed hash of /etc/machine-id, which itself stays on the machine.

# start_on_machine ID: the host has this machine-id, in its own view of the file system, and no state folder.
start_on_machine() {
  echo "$1" >"$work/machine-id"
  mkdir -p "$work/empty"
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" env --unset=STATE_DIRECTORY unshare --mount sh -c \
    'mount --bind "$1" /etc/machine-id && mount --bind "$2" /var/lib && shift 2 && exec "$@"' sh "$work/machine-id" "$work/empty" \
    "$bin/splitnic-host" --connect "udp://$iou_address" --tap nic0 --insecure-lab --name "$host_name" --control "$work/host.sock"
}

# identity: the EUI-64 that the unit has of the host, and the address of nic0.
identity() {
  ask iou show --json --verbose | "$python" -c 'import json, sys
print(*{link["details"]["peer_node"] for link in json.load(sys.stdin)["links"] if link["state"] == "UP"})'
  mac_of "$ns_host" nic0
}

# identity_on_machine ID: leaves in $found the identity of a host that is started there, and ends the host.
identity_on_machine() {
  begin_taking "$ns_iou" fab0 100000
  start_on_machine "$1"
  nic_up
  found=$(identity)
  stays_here "$1" "${found%%[[:space:]]*}"
  stop taker INT
  stop host TERM || fail "the host does not stop"
}

# stays_here ID EUI64: what the host has sent holds its EUI-64, but neither half of the machine-id, as bytes or as text, and neither
# program shows one. The EUI-64 follows from the hash of the machine-id for this application, which machine-id(5) asks for.
stays_here() {
  { ask host show --json --verbose && ask iou show --json --verbose && cat "$work/host.log" "$work/iou.log"; } >"$work/shown"
  "$python" - "$1" "$2" "$host_name" "$work/taken.pcap" "$work/shown" <<'PYTHON' || fail "the identity of the host"
import hashlib, hmac, pathlib, sys

machine, node, name, taken, shown = sys.argv[1:]
application = bytes.fromhex("3c8e51d07a944b1f9e260db765f1c842")
keyed = lambda key, data: bytearray(hmac.digest(key, data, hashlib.sha256)[:16])
of_machine = keyed(bytes.fromhex(machine), application)
of_machine[6] = of_machine[6] & 0x0F | 0x40
of_machine[8] = of_machine[8] & 0x3F | 0x80
expected = int.from_bytes(keyed(of_machine, b"eui64/host/" + name.encode())[:8], "big") | 1
assert node == f"{expected:016x}", f"the EUI-64 is {node}, not {expected:016x}"
sent = pathlib.Path(taken).read_bytes()
assert bytes.fromhex(node) in sent, "the EUI-64 was not taken from the wire"
for half in machine[:16], machine[16:]:
    assert bytes.fromhex(half) not in sent, "the machine-id is on the wire"
    assert half.encode() not in sent, "the text of the machine-id is on the wire"
    assert half not in pathlib.Path(shown).read_text(), "the programs show the machine-id"
PYTHON
}

check_id() {
  plain
  topology_three || fail "the test hosts cannot be made"
  start_iou
  local found first
  identity_on_machine 6a1d0c5be2f7493887b40e93cd512fa6
  first=$found
  identity_on_machine 6a1d0c5be2f7493887b40e93cd512fa7
  [ "${found%%[[:space:]]*}" != "${first%%[[:space:]]*}" ] || fail "two machines have the EUI-64 ${found%%[[:space:]]*}"
  [ "${found##*[[:space:]]}" != "${first##*[[:space:]]}" ] || fail "two machines have the MAC address ${found##*[[:space:]]}"
  identity_on_machine 6a1d0c5be2f7493887b40e93cd512fa6
  equal "the identity at the next start" "$found" "$first"
}
