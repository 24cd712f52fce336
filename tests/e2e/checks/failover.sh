# shellcheck shell=bash
# Two I/O units on one LAN, and a host that knows both: when the one in use is gone the next takes over, and back.

# shellcheck source=tests/e2e/checks/monitor.sh
. "$(dirname "${BASH_SOURCE[0]}")/monitor.sh"

first=udp://10.99.0.2:7471 second=udp://10.98.0.2:7471
mac=02:00:00:00:00:10

# start_unit NAME NS ADDRESS: the host may have its address at either, whoever has seen it on the LAN.
start_unit() {
  local identity=(--insecure-lab --grant "sniff,forge")
  local hosts=$work/hosts-$1.toml
  [ -e "$hosts" ] || hosts=$work/hosts.toml
  if [ "$links" = keyed ]; then identity=(--key-file "$work/$1.key" --hosts "$hosts"); fi
  start "$1" "$2" "$bin/splitnic-iou" --lan "$port:lan0" --listen "$3" --name "$1" --control "$work/$1.sock" "${identity[@]}" "${@:4}"
}
first_options=() next_options=()
start_first() { start_unit iou "$ns_iou" "$first" "${first_options[@]}"; }
start_next() { start_unit iou2 "$ns_iou2" "$second" "${next_options[@]}"; }

# bring_up_two OPTION...: of the host.
bring_up_two() {
  topology_three || fail "the test hosts cannot be made"
  ns_iou2=sn$$-g
  host_namespace "$ns_iou2" && veth_between "$ns_host" fab1 "$ns_iou2" fab0 && veth_between "$ns_iou2" lan0 "$ns_lan" lan1 ||
    fail "no second unit"
  ip -n "$ns_host" addr add 10.98.0.1/24 dev fab1
  ip -n "$ns_iou2" addr add 10.98.0.2/24 dev fab0
  silence_interface "$ns_iou2" lan0
  ip -n "$ns_lan" addr flush dev lan0
  ip -n "$ns_lan" link add br0 type bridge && ip -n "$ns_lan" link set lan0 master br0 && ip -n "$ns_lan" link set lan1 master br0 &&
    ip -n "$ns_lan" link set br0 up && ip -n "$ns_lan" addr add 10.77.0.2/24 dev br0 || fail "no LAN"
  local identity=(--insecure-lab)
  if [ "$links" = keyed ]; then
    make_keys iou iou2 office
    printf '[hosts.office]\nkey = "%s"\nmacs = ["%s"]\n' "$(public office)" "$mac" >"$work/hosts.toml"
    chmod 644 "$work/hosts.toml"
    identity=(--key-file "$work/office.key" --peer "$(public iou)" --peer "$(public iou2)")
  fi
  start_first
  start_next
  start host "$ns_host" "$bin/splitnic-host" --connect "$first" --connect "$second" --tap nic0 --mac "$mac" --name hosta \
    --control "$work/host.sock" "${identity[@]}" "$@"
  nic_up
}

# states: of the units of the host, in their order.
states() { ask host show --json | "$python" -c 'import json, sys
print(*(peer["state"] for peer in json.load(sys.stdin)["peers"]))'; }
states_are() { [ "$(states)" = "$1" ]; }
reply() { in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null; }

# Frames of the LAN for another address that the filter of nic0 lists.
gets_listed() {
  ip -n "$ns_lan" neigh replace 10.77.0.55 lladdr 02:00:00:00:00:99 dev br0
  begin_taking "$ns_host" nic0 1000
  in_ns "$ns_lan" ping -q -c 5 -i 0.01 -W 0.1 10.77.0.55 >/dev/null
  wait_until 3 has_taken 02:00:00:00:00:99 5
  local got=$?
  stop taker INT
  return $got
}

# The list of nic0 does not have VLAN 20. Settings are on their way to a unit for a moment.
drops_other_vlan() {
  send_tagged 20 lan1
  wait_until 3 counts iou2 lan.rx.drop.vlan 5
}

check_killed() {
  bring_up_two --failback 1
  within "the other unit is on standby" 20000 states_are "up standby"
  ip -n "$ns_host" link set nic0 mtu 1400
  ask host vlan nic0 add 10 || fail "no VLAN"
  ask host filter nic0 add 02:00:00:00:00:99 || fail "no filter"
  local index
  index=$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)
  local announced
  announced=$(counter host host.tx.announced)
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -b 200M
  watches_from_now host
  kill_in_use
  comes_times host moved "${second#udp://}" 1
  wait_until 20 counts host host.tx.announced $((announced + 1)) || fail "the LAN is not notified of the new way to nic0"
  wait_until 20 gets_listed || fail "the next unit does not have the filter: $(ask host filter nic0)"
  equal "interface" "$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)" "$index"
  equal "MTU" "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" 1400
  equal "address" "$(mac_of "$ns_host" nic0)" "$mac"
  wait_until 20 drops_other_vlan || fail "the next unit does not have the list of VLANs"
  [ "$(counter host host.unit.moves)" -ge 1 ] || fail "the move is not counted"
  come_back
  comes_times host standby "${first#udp://}" 1
  comes_times host moved "${first#udp://}" 1
  stop monitor_host INT || fail "the monitor does not stop"
  gaps_within "kill -9 of the unit in use, under iperf3" 1000 5000 kill_and_come_back
  running client || fail "the TCP connection did not survive"
}
kill_in_use() {
  pings_begin
  stop iou KILL
  within "the next unit takes over" 20000 states_are "down up"
  pings_end "kill -9 of the unit in use"
}
come_back() {
  pings_begin
  start_first
  within "back at the preferred unit" 20000 states_are "up standby"
  pings_within "failback" 5000
}
kill_and_come_back() {
  kill_in_use
  local taken=$gap
  come_back
  gap=$taken
}

# It stays with the next unit, until the settings that it has read again allow it to go back.
check_never() {
  echo 'failback = "never"' >"$work/host.toml"
  bring_up_two --config "$work/host.toml"
  within "the other unit is on standby" 20000 states_are "up standby"
  stop iou KILL
  within "the next unit takes over" 20000 states_are "down up"
  start_first
  within "the preferred unit is on standby" 20000 states_are "standby up"
  sleep 2
  equal "states, of a host that never goes back" "$(states)" "standby up"
  echo 'failback = 0' >"$work/host.toml"
  ask host reload || fail "the settings are not read again"
  within "back at the preferred unit" 20000 states_are "up standby"
}

check_both_gone() {
  bring_up_two --failback 1
  within "the other unit is on standby" 20000 states_are "up standby"
  stop iou KILL
  stop iou2 KILL
  within "no carrier" 20000 carrier_is "$ns_host" nic0 0
  start_next
  within "traffic by the one that is back" 20000 reply
  equal "states" "$(states)" "down up"
}

check_moved() {
  bring_up_two --failback 1
  within "the other unit is on standby" 20000 states_are "up standby"
  wait_until 20 grep -q "the I/O unit ${second#udp://} is on standby" "$work/host.log"
  equal "lines of the other unit at the start" "$(grep -c "the I/O unit ${second#udp://} is on standby" "$work/host.log")" 1
  watches_from_now host
  rounds=0
  gaps_within "planned moves" 100 5000 move_and_back
  wait_until 20 reply || fail "no traffic"
  refuses 1 "is none of the I/O units" "$bin/splitnic" move shm://x --control "$work/host.sock"
  stop iou2 TERM
  within "the other one is gone" 20000 states_are "up down"
  refuses 1 "does not respond" "$bin/splitnic" move 2 --control "$work/host.sock"
  # All moves until now are events, and so is the other unit when it is back; the next move shows that no more are on their way.
  start_next
  comes host standby "${second#udp://}"
  ask host move 2 || fail "the host does not move to the unit that is back"
  comes_times host moved "${second#udp://}" $((rounds + 1))
  comes_times host moved "${first#udp://}" "$rounds"
  comes_times host standby "${second#udp://}" 1
}

move_and_back() {
  rounds=$((rounds + 1))
  pings_begin
  ask host move 2 || fail "the host does not move"
  within "moved" 20000 states_are "standby up"
  ask host move "$first" || fail "the host does not move back"
  within "moved back" 20000 states_are "up standby"
  pings_end "a planned move, and back"
}

# What the next unit does not permit is not lost: the first one has it again, and the next one what it does permit.
check_settings() {
  first_options=(--queues 2)
  bring_up_two --failback never --queues 2
  stop iou2 TERM
  printf '[hosts.office]\nkey = "%s"\nmacs = ["%s"]\nvlans = [0, 20]\n' "$(public office)" "$mac" >"$work/hosts-iou2.toml"
  chmod 644 "$work/hosts-iou2.toml"
  next_options=(--queues 1)
  start_next
  within "the other unit is on standby" 20000 states_are "up standby"
  ask host vlan nic0 add 10 && ask host vlan nic0 add 20 || fail "no VLAN"
  ask host filter nic0 add 02:00:00:00:00:99 && ask host filter nic0 multicast listed || fail "no filter"
  ask host ethtool nic0 -L combined 2 || fail "no number of queues"
  ask host ethtool nic0 -C rx-usecs 70 rx-frames 9 || fail "no coalescing"
  ask host ethtool nic0 -K tso off || fail "no offloads"
  ask host qos nic0 set dscp 46 1 || fail "no service level"
  local before common
  wait_until 20 has_all_settings || fail "the unit does not have all settings: $(settings_at iou)"
  before=$(settings_at iou) common=$(settings_at iou vlans queues)
  ask host move 2 || fail "the host does not move"
  within "moved" 20000 states_are "standby up"
  within "VLAN 10 is refused" 20000 eval 'ask host vlan nic0 | has "Refused: 10$"'
  next_has_vlan() { ask host vlan nic0 | has "Listed: 20$"; }
  wait_until 20 next_has_vlan || fail "VLANs at the next unit: $(ask host vlan nic0)"
  next_has_queue() { ask host ethtool nic0 -l | has "Combined:.*1"; }
  wait_until 20 next_has_queue || fail "queues at the next unit: $(ask host ethtool nic0 -l)"
  next_has_settings() { [ "$(settings_at iou2 vlans queues)" = "$common" ]; }
  wait_until 20 next_has_settings ||
    fail "settings at the next unit but for VLANs and queues: $(settings_at iou2 vlans queues), not $common"
  sleep 2
  states_are "standby up" || fail "it went back, with --failback never"
  ask host move 1 || fail "the host does not move back"
  within "moved back" 20000 states_are "up standby"
  settings_are_back() { [ "$(settings_at iou)" = "$before" ]; }
  within "the settings of before" 20000 settings_are_back
  equal "refusals in the log" "$(grep -c "refused VLAN 10" "$work/host.log")" 1
}
# For the service levels the host connects once more, and then sets one after the other.
has_all_settings() {
  local now
  now=$(settings_at iou)
  [[ $now == *'"vlans"'* && $now == *'"service_levels"'* && $now == *'"filter": "1 more'* ]] && sleep 0.3 && [ "$(settings_at iou)" = "$now" ]
}
# settings_at UNIT [WITHOUT...]: of the host, as the unit has them; nothing while it is not attached there.
settings_at() { ask "$1" show --verbose --json | "$python" -c 'import json, sys
no_settings = ["keys_agreed_before_seconds", "frames_waiting", "rights", "partition"]
for peer in json.load(sys.stdin)["peers"]:
    print(json.dumps({key: value for key, value in peer["details"].items() if key not in no_settings + sys.argv[1:]}, sort_keys=True))' "${@:2}"; }

# Two addresses of one unit are one unit.
check_twice() {
  plain
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_iou" addr add 10.99.0.3/24 dev fab0
  listen_at=0.0.0.0:7471
  host_options=(--connect udp://10.99.0.3:7471)
  start_iou
  start_host
  within "one is left out" 20000 states_are "up not used"
  nic_up
}
