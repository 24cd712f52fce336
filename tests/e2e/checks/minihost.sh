# shellcheck shell=bash
# The host that was written in Python from docs/protocol alone attaches to the unit, and passes what a host passes; and the conformance
# suite against it. SPLITNIC_FOREIGN_HOST is the command line of another host that takes the same options, and
# SPLITNIC_FOREIGN_HOST_EXPECTED the file of the cases that it does not pass.

foreign_host=("$python" -B "$e2e/../conformance/minihost/minihost.py")
[ -z "${SPLITNIC_FOREIGN_HOST:-}" ] || read -ra foreign_host <<<"$SPLITNIC_FOREIGN_HOST"
expected_verdicts=${SPLITNIC_FOREIGN_HOST_EXPECTED:-$e2e/../conformance/minihost_expected.txt}

# has_come_up TIMES
has_come_up() { [ "$(grep -cs "^minihost: up" "$work/mini.log")" -ge "$1" ]; }

start_mini() {
  local keys=()
  [ "$links" = plain ] || keys=(--key-file "$work/host.key" --peer "$(public unit)")
  start mini "$ns_host" "${foreign_host[@]}" --connect "$iou_address" --tap nic0 \
    --mac 02:00:00:00:00:aa "${keys[@]}"
  wait_until 20 has_come_up 1 || fail "it does not attach"
}

check_attaches() {
  iou_options=(--queues 1)
  topology_three || fail "the test hosts cannot be made"
  start_iou
  start_mini
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0
  wait_until 10 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond"
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
  stop iou TERM || fail "the unit did not stop cleanly"
  start_iou
  wait_until 15 has_come_up 2 || fail "it does not attach to a unit that was restarted"
  wait_until 10 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond to a unit that was restarted"
  ping_all "$ns_host" 10.77.0.2 100 0.012
  stop mini TERM 10 || fail "the host failed: $(cat "$work/mini.log")"
  cat "$work/mini.log"
}

# Again and again, because a case may end it; $work/mini.log has a line for each start.
start_in_a_loop() {
  # shellcheck disable=SC2016
  start mini "$ns_host" bash -c 'trap "kill \$host; wait \$host; exit 0" TERM
    while sleep 0.1; do echo "started"; "$@" & host=$!; wait $host; done' loop "${foreign_host[@]}" --connect "$iou_address" --tap nic0 \
    --mac 02:00:00:00:00:aa --mtu 1400 "$@"
}

# All cases with SPLITNIC_LONG=1, in one to three minutes; a few groups otherwise.
check_suite() {
  local keys=() suite=(--insecure-lab) chosen=() began
  if [ "$links" = keyed ]; then
    make_keys unit host
    keys=(--key-file "$work/host.key" --peer "$(public unit)") suite=(--key-file "$work/unit.key" --peer "$(public host)")
  fi
  [ "$long" = 1 ] || chosen=(--select link --select pool --select variant --select key)
  topology_three || fail "the test hosts cannot be made"
  start_in_a_loop "${keys[@]}"
  wait_until 10 in_ns "$ns_host" test -e /sys/class/net/nic0 || fail "it made no nic0"
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0
  began=$(milliseconds)
  # What is FAIL is compared with the list, so the exit status is not.
  in_ns "$ns_iou" timeout 500 "$bin/splitnic" conform --as iou --listen "udp://$iou_address" --timeout 6 "${suite[@]}" "${chosen[@]}" \
    --json "$work/conform.json" >"$work/conform.log" 2>&1
  "$bin/splitnic" conform --list --as iou >"$work/cases" || fail "it lists no cases"
  "$python" -B "$e2e/../conformance/expected_verdicts.py" "$work/conform.json" "$expected_verdicts" "$links" "$work/cases" || fail "not what is expected"
  grep '^states' "$work/conform.log"
  echo "$links, in $(($(milliseconds) - began)) ms, $(grep -c '^started' "$work/mini.log") starts"
  stop mini TERM 10 || fail "it does not stop"
}

# With credits, lanes and retry on the link.
check_suite_full() {
  export MINIHOST_PROFILE=full
  expected_verdicts=${SPLITNIC_FOREIGN_HOST_EXPECTED:-$e2e/../conformance/minihost_full_expected.txt}
  check_suite
}
