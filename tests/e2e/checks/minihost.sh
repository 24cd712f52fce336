# shellcheck shell=bash
# The host that was written in Python from docs/protocol alone attaches to the unit, and passes what a host passes.

# has_come_up TIMES
has_come_up() { [ "$(grep -cs "^minihost: up" "$work/mini.log")" -ge "$1" ]; }

start_mini() {
  local keys=()
  [ "$links" = plain ] || keys=(--key-file "$work/host.key" --peer "$(public unit)")
  start mini "$ns_host" "$python" -B "$e2e/../conformance/minihost/minihost.py" --connect "$iou_address" --tap nic0 \
    --mac 02:00:00:00:00:aa "${keys[@]}"
  wait_until 10 has_come_up 1 || fail "it does not attach"
}

check_attaches() {
  iou_options=(--queues 1)
  topology_three || fail "the test hosts cannot be made"
  start_iou
  start_mini
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0
  wait_until 5 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond"
  ping_all "$ns_host" 10.77.0.2 200 0.012
  ping_all "$ns_lan" 10.77.0.1 200 0.012
  ping_all "$ns_host" 10.77.0.2 50 0.02 -s 1472
  # A page from a server of the LAN, and one of the host.
  files_both_ways 1
  # Nothing that it sent was refused.
  for name in msg.drop.{short,align,function,version,too_long,role,pool,range,state,context} fabric.drop.access fabric.cell.drop.format \
    fabric.mgmt.drop.format link.rx.drop.init fabric.tx.naks; do
    equal "$name" "$(counter iou "$name")" 0
  done
  # The unit ends and begins again: it attaches to the new process.
  stop iou TERM 2 || fail "the unit did not stop cleanly"
  start_iou
  wait_until 15 has_come_up 2 || fail "it does not attach to a unit that was restarted"
  ping_all "$ns_host" 10.77.0.2 100 0.012
  stop mini || fail "the host failed: $(cat "$work/mini.log")"
  cat "$work/mini.log"
}
