# shellcheck shell=bash
# What the log has of stops, of hosts that are left out and of a path that is not there.

warnings_of() { grep -cE ' (warning|error) ' "$work/$1.log"; }
has_line() { grep -qF -- "$2" "$work/$1.log"; }
log_has() { wait_until "${3:-5}" has_line "$1" "$2" || fail "no '$2' in the log of $1"; }

# A program that stops is no fault at the other end; one that is killed is.
check_stops() {
  bring_up
  local before
  before=$(warnings_of host)
  stop iou TERM
  log_has host "the I/O unit $iou_address stopped"
  equal "warnings of the host" "$(warnings_of host)" "$before"
  ! has_line host "is gone" || fail "a stop reads as a fault"
  start_iou
  nic_up
  before=$(warnings_of iou)
  stop host TERM
  wait_until 10 grep -qE "host 10\.99\.0\.1:[0-9]+ stopped" "$work/iou.log" || fail "no line of the stop"
  ! has_line host "closed here" && ! has_line host "closed by this host" ||
    fail "the own stop reads as a fault: $(grep closed "$work/host.log")"
  equal "warnings of the unit" "$(warnings_of iou)" "$before"
  start_host
  nic_up
  stop iou KILL
  log_has host "the I/O unit $iou_address is gone: nothing heard from the peer"
  # The kernel there reports that nobody listens, but not too often.
  wait_until 10 shows_refused || fail "show has no reason: $(ask host show)"
  start_iou
  nic_up
}

shows_refused() { ask host show | has "nothing heard from the peer; sending to it fails: Connection refused"; }

# A host that --allow leaves out: a line at the unit, however often the host tries.
check_left_out() {
  iou_options=(--allow 10.55.0.0/24)
  topology_three || fail "the test hosts cannot be made"
  start_iou
  start_host
  wait_until 20 counts iou iou.allow.drop.address 3 || fail "the unit does not count the address"
  equal "lines" "$(grep -c "gets no reply: --allow does not name its address" "$work/iou.log")" 1
  grep "gets no reply" "$work/iou.log" | has "a host at 10\.99\.0\.1:" || fail "no address: $(grep "no reply" "$work/iou.log")"
}

# The route to the unit goes while the host is connected.
check_no_route() {
  bring_up
  ip -n "$ns_host" route add unreachable 10.99.0.2/32
  log_has host "the I/O unit $iou_address is gone: nothing heard from the peer; sending to it fails: No route to host" 10
  ask host show | has "No route to host" || fail "show has no reason: $(ask host show)"
  ip -n "$ns_host" route del unreachable 10.99.0.2/32
  within "the LAN responds again" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
  ! ask host show | has "No route to host" || fail "show still has it"
}

# At the level debug both ends report what they try: addresses, names, connections, and each request about the NIC with its status.
check_debug() {
  host_options=(--log-level debug)
  iou_options=(--log-level debug)
  bring_up
  log_has host " debug looks for the I/O unit at $iou_address"
  log_has host " debug requests a connection of $iou_address"
  log_has host " debug tap:nic0: INIT_NIC: OK"
  log_has iou " debug host $host_name: INIT_NIC: OK"
  ask host set mtu 1400 || fail "the MTU is not set"
  log_has host " debug tap:nic0: SET_MTU: OK"
  ask host ethtool nic0 -S rmon >/dev/null || fail "no statistics"
  log_has host " debug a command asks for "
}
