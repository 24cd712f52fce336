# shellcheck shell=bash
# The CRC over the payload of cells: left out between programs of one machine, and nowhere else unless both ends ask for it.

# payload_crc_is WHO STATE: of every link, in both forms of show.
payload_crc_is() {
  ask "$1" show --json | "$python" -c 'import json, sys
states = [link["payload_crc"] for link in json.load(sys.stdin)["links"]]
sys.exit(not states or any(state != sys.argv[1] for state in states))' "$2" &&
    ask "$1" show | has "  $2\$"
}

# Of both programs; a link of another queue may come later.
both_are() {
  local who
  for who in host iou; do within "payload CRC of $who: $1" 10000 payload_crc_is $who "$1"; done
}

traffic() {
  ping_all "$ns_host" 10.77.0.2 50
  files_both_ways 8
  equal "cells with a wrong CRC" "$(counter host fabric.cell.drop.crc)$(counter iou fabric.cell.drop.crc)" 00
}

start_both() {
  start_iou && start_host
  nic_up
}

stop_both() {
  stop host TERM
  stop iou TERM
}

check_same_machine() {
  plain
  iou_options=(--payload-crc auto) host_options=(--payload-crc auto)
  bring_up
  both_are "off (same machine)"
  traffic
  local file
  file=/dev/shm/splitnic_key.$(id -u)
  equal "mode, owner and length of $file" "$(stat -c '%a %u %s' "$file")" "600 $(id -u) 16"
  # The file stays, so a restarted program proves the same.
  stop iou KILL
  start_iou
  within "replies after the restart" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  both_are "off (same machine)"
  traffic
}

# The tag of each datagram covers every byte; the stricter end decides here too.
check_keyed() {
  iou_options=(--payload-crc auto) host_options=(--payload-crc auto)
  bring_up
  both_are "off (sealed)"
  traffic
  stop host TERM
  host_options=(--payload-crc on)
  start_host
  nic_up
  both_are on
  traffic
}

# The stricter end decides, whichever it is; the other mode comes with the next start.
check_one_end_on() {
  plain
  iou_options=(--payload-crc auto) host_options=(--payload-crc on)
  bring_up
  both_are on
  traffic
  stop host TERM
  host_options=(--payload-crc off)
  start_host
  nic_up
  both_are "off (same machine)"
  traffic
  stop_both
  iou_options=(--payload-crc on) host_options=(--payload-crc off)
  start_both
  both_are on
  traffic
}

# The unit's interface is a bridge, which may have a wire among its ports.
check_other_interface() {
  plain
  iou_options=(--payload-crc auto) host_options=(--payload-crc auto)
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_iou" link add fabbr type bridge &&
    ip -n "$ns_iou" addr del 10.99.0.2/24 dev fab0 &&
    ip -n "$ns_iou" link set fab0 master fabbr &&
    ip -n "$ns_iou" addr add 10.99.0.2/24 dev fabbr &&
    ip -n "$ns_iou" link set fabbr up || fail "no bridge"
  start_both
  both_are on
  traffic
  # Two ends with `off` do not look at interfaces.
  stop_both
  iou_options=(--payload-crc off) host_options=(--payload-crc off)
  start_both
  both_are "off (same machine)"
  traffic
}

# The host with another /dev/shm has another key, as it has on another machine.
start_host_elsewhere() { # OPTION...
  local identity
  identity_of host "$@"
  start host "$ns_host" unshare -m sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' sh \
    "$bin/splitnic-host" --connect "$(endpoint "$iou_address")" --tap nic0 "${identity[@]}" \
    --name hosta --control "$work/host.sock" "$@"
  nic_up
}

check_other_machine() {
  plain
  iou_options=(--payload-crc auto) host_options=(--payload-crc auto)
  bring_up
  both_are "off (same machine)"
  local mode
  for mode in auto off; do
    stop host TERM
    start_host_elsewhere --payload-crc $mode
    both_are on
  done
  traffic
  stop iou TERM
  iou_options=(--payload-crc off)
  start_iou
  within "replies from the restarted unit" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  both_are "off (at both ends)"
  traffic
}
