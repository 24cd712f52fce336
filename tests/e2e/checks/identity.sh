# shellcheck shell=bash
# Two hosts of one identity, as two machines are that were copied from one image: without keys, the same machine-id and --name.

# start_copy: $ns_second has what the host has.
second_name=hosta
start_copy() { start_second; }
log_has() { grep -q "$2" "$work/$1.log"; }

# The host that is connected keeps its traffic; the copy is refused, and both ends report it.
check_copy() {
  plain
  bring_up
  make_second
  start_copy
  ping_all "$ns_host" 10.77.0.2 120 0.05
  within "the copy reports why" 10000 log_has host2 "another program of our identity is connected"
  local second='10.98.0.1:[0-9]*' first='10.99.0.1:'
  [ "$switches" = 0 ] || second='LID 12 via [^ ]*' first='LID 11 via '
  within "the unit names both" 10000 log_has iou "a second host at $second is refused: it has the identity of hosta at $first"
  is_up host || fail "the host that was first is not up"
  is_up host2 && fail "the copy is up"
  equal "connections of the host that was first" "$(counter host host.pair.ups)" 1
  wait_until 20 counts iou iou.hosts.refused_duplicate 4 || fail "the refusals are not counted"
  [ "$(grep -c "a second host" "$work/iou.log")" = 1 ] || fail "not one line: $(grep "a second host" "$work/iou.log")"
  # When the first one stops, the copy is admitted: at once, as tests/unit/fabric_emul/link/identity_test.cc shows.
  stop host TERM
  within "the copy is admitted" 10000 is_up host2
}

# The same with keys: two machines with one key file. The unit distinguishes them by their addresses.
check_copy_of_the_key() {
  keyed
  bring_up
  make_second
  start_second --key-file "$work/host.key" --peer "$(public unit)"
  ping_all "$ns_host" 10.77.0.2 120 0.05
  within "the unit names both" 10000 log_has iou "a second host at 10.98.0.1:[0-9]* has the key of hosta at 10.99.0.1:"
  within "the copy has a reason" 10000 log_has host2 "a key that another machine uses"
  is_up host || fail "the host that was first is not up"
  is_up host2 && fail "the copy is up"
  equal "connections of the host that was first" "$(counter host host.pair.ups)" 1
  equal "new keys of the host" "$(counters "host" session.established session.rekeyed)" "$(queues_of host) 0"
  wait_until 20 counts iou session.rx.drop.second 4 || fail "the refusals are not counted"
  [ "$(grep -c "a second host" "$work/iou.log")" = 1 ] || fail "not one line: $(grep "a second host" "$work/iou.log")"
  stop host KILL
  within "the copy is admitted when the host is silent" 10000 is_up host2
}

# Started again under the same name, from another port: the process before it is known to be dead soon.
check_restart() {
  plain
  bring_up
  local round
  for round in 1 2 3; do
    stop host KILL
    start_host
    within "up after kill -9" 10000 is_up host
  done
  log_has host "another program of our identity" && fail "a restart is reported as a duplicate"
  log_has iou "a second host" && fail "a restart is reported as a duplicate"
  true
}

# With a state folder each, as the packaged units have them, both are admitted.
check_state_folders() {
  plain
  mkdir "$work/state1" "$work/state2"
  topology_three && make_second || fail "the test hosts cannot be made"
  start_iou
  STATE_DIRECTORY=$work/state1 start_host
  nic_up
  STATE_DIRECTORY=$work/state2 start_copy
  wait_up host2
  is_up host || fail "the host that was first is not up"
  [ "$(mac_of "$ns_host" nic0)" != "$(mac_of "$ns_second" nic0)" ] || fail "both have one MAC address"
  local mac
  mac=$(mac_of "$ns_host" nic0)
  equal "mode of the file" "$(stat -c %a "$work/state1/identity")" 600
  stop host TERM
  STATE_DIRECTORY=$work/state1 start_host
  wait_up host
  equal "the address at the next start" "$(mac_of "$ns_host" nic0)" "$mac"
}

# The path of the host is cut, the copy takes its place, and stops: the host is notified that its connection is over.
check_notified() {
  plain
  bring_up
  make_second
  ping_all "$ns_host" 10.77.0.2 1
  ip -n "$ns_host" link set fab0 down
  start_copy
  within "the copy is admitted when the host is silent" 10000 is_up host2
  stop host2 TERM
  ip -n "$ns_host" link set fab0 up
  within "the host is notified" 10000 is_notified
  within "traffic of the host whose connection was dropped" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
}
# A first ping may cross by queue 1, which a copy that has stopped early has not taken: the host is notified where it sends on queue 0.
is_notified() {
  in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
  log_has host "the peer disconnected"
}
