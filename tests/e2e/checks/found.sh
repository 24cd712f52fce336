# shellcheck shell=bash
# --announce and --connect any: a host finds its unit on the local network by multicast DNS.

reply() { in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null; }
log_has() { grep -q "$2" "$work/$1.log"; }
looked_for_at() { ask host show --json | has -F "$1"; }

start_finding_host() {
  identity_of host
  start host "$ns_host" "$bin/splitnic-host" --connect any --tap nic0 "${identity[@]}" --name "$host_name" --control "$work/host.sock" "$@"
}

# A unit whose key the host does not know, on the same wire.
start_stranger() {
  make_keys stranger
  start iou_stranger "$ns_iou" "$bin/splitnic-iou" --lan "file:,$work/stranger.pcap" --listen udp://0.0.0.0:7481 --announce \
    --key-file "$work/stranger.key" --allow-key "$(public host)" --name stranger --control "$work/iou_stranger.sock"
}

# What no responder sends, and a unit with the right hash at an address where nobody is: 3 rounds.
send_nonsense() {
  in_ns "$ns_iou" "$python" "$(dirname "${BASH_SOURCE[0]}")/../mdns_nonsense.py" 10.99.0.2 "$(key_hash unit)" "$@" || fail "nothing was sent"
}
kill_announcer() { kill -KILL "$(pgrep -P "${pid_of[iou]}" -x splitnic-mdns)" || fail "no process announces the unit"; }
key_hash() { public "$1" | base64 -d | sha256sum | cut -c1-32; }

check_finds() {
  topology_three || fail "the test hosts cannot be made"
  keyed
  make_keys unit host second
  listen_at=0.0.0.0:7471
  start_stranger
  start_finding_host
  wait_until 20 log_has host "waiting for that to change" || fail "the host does not wait: $(cat "$work/host.log")"
  sleep 1.5  # the stranger is announced by then
  start_iou --announce
  within "the unit is found" 20000 is_up host
  nic_up
  looked_for_at 10.99.0.2:7471 || fail "another unit: $(ask host show)"
  equal "attempts at the stranger" "$(counter iou_stranger session.rx.initiation)" 0
  local addresses
  addresses=$(counter host host.unit.addresses)
  send_nonsense 300
  wait_until 20 reply || fail "no traffic after nonsense"
  equal "moves for nonsense" "$(counter host host.unit.addresses)" "$addresses"
  # It goes, and comes at another address. Its last packet, which takes the announcement back, does not get out, as when the power
  # fails: what the host knows of it stays, with the addresses where nobody is; each of these costs one to four seconds.
  kill_announcer
  stop iou TERM
  ip -n "$ns_iou" addr del 10.99.0.2/24 dev fab0 && ip -n "$ns_iou" addr add 10.99.0.8/24 dev fab0 || fail "no other address"
  start_iou --announce
  within "found at another address" 30000 looked_for_at 10.99.0.8:7471
  within "traffic by it" 30000 reply
  equal "attempts at the stranger" "$(counter iou_stranger session.rx.initiation)" 0
}

check_refused() {
  make_keys unit host
  refuses 2 "--connect any: give --key-file" "$bin/splitnic-host" --connect any --insecure-lab
  refuses 2 "--announce: --key-file is missing" "$bin/splitnic-iou" --lan lan0 --announce --insecure-lab
  refuses 2 "--announce: there is no udp://" "$bin/splitnic-iou" --lan lan0 --announce --listen shm://x --key-file "$work/unit.key" \
    --allow-key "$(public host)"
}
