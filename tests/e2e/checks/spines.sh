# shellcheck shell=bash
# Two hosts at sw1 and an I/O unit at sw4, below the spines sw2 and sw3, all over shared memory, hosts and unit each in a separate
# network namespace:
#   $ns_host -- port 1 of sw1, $ns_second -- port 2, sw1:3 - sw2:1, sw1:4 - sw3:1, sw2:2 - sw4:2, sw3:2 - sw4:3, port 1 of sw4 -- $ns_iou

# spine_switch NUMBER [OPTION...]
spine_switch() {
  local i=$1 ports
  shift
  case $i in
    1) ports=(h1 h2 c12 c13) ;;
    2) ports=(c12,connect c24) ;;
    3) ports=(c13,connect c34) ;;
    4) ports=(unit c24,connect c34,connect) ;;
  esac
  start "switch$i" "$ns_iou" "$bin/splitnic-switch" "${ports[@]/#/--port=shm://}" --topology "$work/fabric.toml" --name "sw$i" \
    --control "$work/switch$i.sock" "$@"
}

# make_spines TABLES
make_spines() {
  plain
  topology_three || fail "the test hosts cannot be made"
  make_second
  local i
  {
    printf 'routing = "updown"\ntables = "%s"\ncables = ["sw1:3 - sw2:1", "sw1:4 - sw3:1", "sw2:2 - sw4:2", "sw3:2 - sw4:3"]\n' "$1"
    for i in 1 2 3 4; do printf '[switches.sw%d]\nlid = %d\n' "$i" "$i"; done
    printf '[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.hostb]\nlid = 12\nat = "sw1:2"\n[nodes.unit]\nlid = 10\nat = "sw4:1"\n'
  } >"$work/fabric.toml"
  spine_switch 1 --manage
  for i in 2 3 4; do spine_switch "$i"; done
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --attach shm://unit --name unit --control "$work/iou.sock"
  start host "$ns_host" "$bin/splitnic-host" --connect 'shm://unit?via=h1' --tap nic0 --name hosta --control "$work/host.sock"
  start host2 "$ns_second" "$bin/splitnic-host" --connect 'shm://unit?via=h2' --tap nic0 --name hostb --control "$work/host2.sock"
  nic_up
  second_nic_up 10.77.0.3
}

# by_spines: both hosts send to the LAN. Leaves the cells that sw1 sent to sw2 meanwhile in $to_2, and those to sw3 in $to_3.
by_spines() {
  local before_2 before_3
  before_2=$(counter switch1 switch.port3.tx.cell)
  before_3=$(counter switch1 switch.port4.tx.cell)
  in_ns "$ns_host" ping -q -c 200 -i 0.01 10.77.0.2 >/dev/null || fail "the LAN does not respond to the first host"
  in_ns "$ns_second" ping -q -c 200 -i 0.01 10.77.0.2 >/dev/null || fail "the LAN does not respond to the second host"
  to_2=$(($(counter switch1 switch.port3.tx.cell) - before_2))
  to_3=$(($(counter switch1 switch.port4.tx.cell) - before_3))
  echo "cells from sw1: $to_2 by sw2, $to_3 by sw3"
}

# The same topology with both kinds of tables.
check_per_input() {
  local to_2 to_3
  make_spines per_input
  by_spines
  [ "$to_2" -gt 200 ] && [ "$to_3" -gt 200 ] || fail "the hosts have one way"
  # A spine dies, and both hosts use the other one.
  stop switch2 KILL
  within "the second host reaches the LAN" 10000 in_ns "$ns_second" ping -q -c 1 -W 1 10.77.0.2
  within "the first host reaches the LAN" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  spine_switch 2
}

check_per_switch() {
  local to_2 to_3
  make_spines per_switch
  by_spines
  # Subnet management has a few cells for each spine.
  [ $((to_2 < to_3 ? to_2 : to_3)) -lt 100 ] && [ $((to_2 + to_3)) -gt 400 ] || fail "the hosts do not have one way"
}
