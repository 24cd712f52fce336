# shellcheck shell=bash
# What is set on nic0 reaches the LAN side, and what happens on the LAN shows on nic0.

# show WHO PATH: one value of `splitnic show --json`, e.g. peers.0.mac
show() {
  ask "$1" show --json | "$python" -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key) if key.isdigit() else key]
print(value)' "$2"
}
shows() { [ "$(show "$1" "$2")" = "$3" ]; }

check_carrier() {
  bring_up
  local round
  for round in 1 2; do
    ip -n "$ns_lan" link set lan0 down
    within "nic0 without carrier" 10000 carrier_is "$ns_host" nic0 0
    equal "the link that the unit shows" "$(show iou lan.0.link)" down
    ip -n "$ns_host" link show nic0 | has NO-CARRIER || fail "nic0 does not show NO-CARRIER"
    ip -n "$ns_lan" link set lan0 up
    within "nic0 with carrier again" 10000 carrier_is "$ns_host" nic0 1
    within "the LAN responds again" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  done
  # Set up and down while the LAN has no carrier: it stays down, and comes with the LAN.
  ip -n "$ns_host" link set nic0 down
  ip -n "$ns_lan" link set lan0 down
  within "the host knows that the LAN is down" 10000 shows host lan.0.link down
  ip -n "$ns_host" link set nic0 up
  sleep 0.3
  carrier_is "$ns_host" nic0 0 || fail "nic0 has carrier without the LAN"
  ip -n "$ns_lan" link set lan0 up
  within "nic0 with carrier after both were down" 10000 carrier_is "$ns_host" nic0 1
}

# How long after the LAN's wire nic0 has and has not carrier. Goal 100 ms, printed; asserted is five times that.
changes() { [ "$(grep -c . "$work/$1.log" 2>/dev/null)" -ge "$2" ]; }

check_carrier_delay() {
  bring_up
  start wire "$ns_iou" "$python" "$e2e/tool.py" carrier lan0 30
  start nic "$ns_host" "$python" "$e2e/tool.py" carrier nic0 30
  wait_until 10 changes wire 1 && wait_until 10 changes nic 1 || fail "nobody looks at the carriers"
  local changed=1 way
  for way in down up down up down up; do
    changed=$((changed + 1))
    ip -n "$ns_lan" link set lan0 $way
    wait_until 10 changes nic $changed || fail "nic0 does not notice that the LAN went $way"
    wait_until 10 changes wire $changed || fail "the wire's own change was not seen"
    sleep 0.1
  done
  stop wire && stop nic
  paste -d ' ' "$work/wire.log" "$work/nic.log" | tail -n +2 | tee "$work/delays" |
    awk '{printf "nic0 %s %.1f ms after the wire\n", $3, ($4 - $2) / 1000}'
  awk '$1 != $3 || $4 - $2 > 500000 {bad = 1} END {exit bad || NR != 6}' "$work/delays" || fail "nic0 follows late, or otherwise"
}

replied_by() {
  in_ns "$ns_lan" ping -q -c 1 -W 0.3 10.77.0.1 >/dev/null && ip -n "$ns_lan" neigh show 10.77.0.1 | has "lladdr $1"
}

check_mac() {
  iou_options=(--grant forge)  # for --mac nic
  bring_up
  local lan_mac
  lan_mac=$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:55
  within "the unit knows the new address" 10000 shows iou peers.0.mac 02:00:00:00:00:55
  ip -n "$ns_lan" neigh flush all
  within "the LAN sees the new address" 10000 replied_by 02:00:00:00:00:55
  ask host set mac 02:00:00:00:00:66 || fail "set mac"
  within "the unit knows the address of set mac" 10000 shows iou peers.0.mac 02:00:00:00:00:66
  ip -n "$ns_lan" neigh flush all
  within "the LAN sees the address of set mac" 10000 replied_by 02:00:00:00:00:66
  equal "the real NIC's address" "$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)" "$lan_mac"
  # It survives a restart of either side.
  stop iou KILL
  start_iou
  within "the address after the unit's restart" 10000 shows iou peers.0.mac 02:00:00:00:00:66
  stop host KILL
  start_host
  within "the address after the host's restart" 10000 replied_by 02:00:00:00:00:66
  # --mac nic: the LAN NIC's own.
  stop host TERM
  start_host --mac nic
  nic_up
  equal "--mac nic" "$(in_ns "$ns_host" cat /sys/class/net/nic0/address)" "$lan_mac"
}

# splitnic set ends with status 1 and the reason, and a refused address stays visible until the unit takes it.
check_refused() {
  bring_up
  local lan_mac own
  lan_mac=$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)
  own=$(in_ns "$ns_host" cat /sys/class/net/nic0/address)
  refuses 1 "refused the interface's MAC address: it is that of the NIC itself" "$bin/splitnic" set mac "$lan_mac" --control "$work/host.sock"
  ask host show | has "unit: the I/O unit refused the interface's MAC address" || fail "show has nothing about it: $(ask host show)"
  ask host show --json | has '"last_error":"the I/O unit refused' || fail "show --json has nothing about it"
  ask host doctor >"$work/doctor.txt"
  has "^wrong mac: .*refused the interface's MAC address" <"$work/doctor.txt" || fail "doctor has nothing about it: $(cat "$work/doctor.txt")"
  ask host set mac "$own" || fail "the address that the unit has taken before"
  ! ask host show | has "refused" || fail "show has a refusal that is over"
  refuses 1 "has an MTU of 1500" "$bin/splitnic" set mtu 9000 --control "$work/host.sock"
  refuses 1 "does not permit promiscuous mode" "$bin/splitnic" set filter promisc --control "$work/host.sock"
  ask host set filter normal || fail "the filter"
}

check_mtu() {
  bring_up 1500 4000
  ip -n "$ns_host" link set nic0 mtu 4000 || fail "nic0 takes no MTU of 4000"
  within "a ping of 4000 bytes" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 -M do -s 3972 10.77.0.2
  # More than the LAN has: it is brought down to what it has.
  ip -n "$ns_host" link set nic0 mtu 9000 2>/dev/null
  within "no more than the LAN's MTU" 10000 mtu_is 4000
  ask host set mtu 1400 || fail "set mtu"
  within "set mtu" 10000 mtu_is 1400
  # The LAN's MTU sinks: so does nic0's.
  ip -n "$ns_lan" link set lan0 mtu 1300
  ip -n "$ns_iou" link set lan0 mtu 1300
  within "the LAN's smaller MTU shows" 10000 mtu_is 1300
  within "the LAN responds" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 -M do -s 1272 10.77.0.2
  equal "MTU in show" "$(show host lan.0.mtu)" 1300
  # And rises again, up to what the user set.
  ip -n "$ns_lan" link set lan0 mtu 4000
  ip -n "$ns_iou" link set lan0 mtu 4000
  within "the LAN's larger MTU shows" 10000 mtu_is 1400
}
mtu_is() { [ "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" = "$1" ]; }

# --lan-mtu follow: the host's MTU becomes the NIC's.
check_mtu_follow() {
  topology_three 1500 9000 || fail "the test hosts cannot be made"
  ip -n "$ns_iou" link set lan0 mtu 1500
  start_iou --lan-mtu follow
  start_host
  nic_up
  ip -n "$ns_host" link set nic0 mtu 5000
  within "the LAN NIC follows" 10000 lan_mtu_is 5000
  within "a ping of 5000 bytes" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 -M do -s 4972 10.77.0.2
  # Super-frames with segments of that size pass on every queue: each file is another flow.
  ip -n "$ns_lan" link set lan0 mtu 5000
  local file
  for file in 1 2 3 4; do files_both_ways $file; done
  equal "frames of the host that were refused" "$(counter iou iou.from_host.drop.vnet)" 0
}
lan_mtu_is() { [ "$(in_ns "$ns_iou" cat /sys/class/net/lan0/mtu)" = "$1" ]; }

# strangers_are NUMBER: NUMBER of the 5 frames for others arrive at nic0. Leaves the number in $strangers.
strangers_are() {
  begin_taking "$ns_host" nic0 1000
  in_ns "$ns_lan" ping -q -c 5 -i 0.01 -W 0.1 10.77.0.55 >/dev/null
  if [ "$1" -gt 0 ]; then wait_until 3 has_taken 02:00:00:00:00:99 "$1"; fi
  # This one always arrives. It leaves behind the others, and so it comes when they would have come.
  in_ns "$ns_lan" ping -q -c 1 -W 5 10.77.0.1 >/dev/null
  sleep 0.1
  stop taker INT
  strangers=$(taken_of 02:00:00:00:00:99)
  [ "$strangers" = "$1" ]
}

# A setting of nic0 is on its way to the I/O unit for a moment.
soon_strangers_are() { wait_until 20 strangers_are "$2" || fail "frames for others, $1: $strangers, not $2"; }

check_promisc() {
  iou_options=(--grant sniff)
  bring_up
  ip -n "$ns_lan" neigh add 10.77.0.55 lladdr 02:00:00:00:00:99 dev lan0
  strangers_are 0 || fail "frames for others, not promiscuous: $strangers, not 0"
  ip -n "$ns_host" link set nic0 promisc on
  soon_strangers_are "promiscuous" 5
  ip -n "$ns_host" link set nic0 promisc off
  soon_strangers_are "not promiscuous again" 0
  ask host set filter promisc || fail "set filter promisc"
  soon_strangers_are "after set filter promisc" 5
  ask host set filter normal || fail "set filter normal"
  soon_strangers_are "after set filter normal" 0
  ask host set link down || fail "set link down"
  within "set link down" 10000 carrier_is "$ns_host" nic0 0
  ask host show --json | has '"link":"down"' || fail "show of a link that is set down: $(ask host show)"
  in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2 >/dev/null && fail "frames pass over a link that is set down"
  ask host set link up || fail "set link up"
  within "set link up" 10000 carrier_is "$ns_host" nic0 1
  within "frames after set link up" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
}

# take_group [COMMAND...]: takes three frames to the group from nic0, those until the command has ended at least.
take_group() {
  begin_taking "$ns_host" nic0 100
  in_ns "$ns_lan" ping -q -I lan0 -c 3 -i 0.01 -W 0.1 224.0.0.77 >/dev/null
  "$@"
  in_ns "$ns_lan" ping -q -c 1 -W 5 10.77.0.1 >/dev/null
  sleep 0.1
  stop taker INT
}
# The frames to a group may cross by another queue than the ping behind them.
group_arrives() {
  take_group wait_until 3 has_taken 01:00:5e:00:00:4d 3
  [ "$(taken_of 01:00:5e:00:00:4d)" -ge 3 ]
}
no_group_arrives() {
  take_group
  [ "$(taken_of 01:00:5e:00:00:4d)" = 0 ]
}

# The lists of the host's kernel for nic0, without the right to promiscuous mode: `bridge fdb`, `ip maddr`, a macvlan.
check_lists() {
  bring_up
  ip -n "$ns_lan" neigh add 10.77.0.55 lladdr 02:00:00:00:00:99 dev lan0
  strangers_are 0 || fail "frames for others: $strangers"
  in_ns "$ns_host" bridge fdb add 02:00:00:00:00:99 dev nic0 self || fail "bridge fdb add"
  soon_strangers_are "listed by the kernel" 5
  ask host filter nic0 | has "Unicast of the interface: 02:00:00:00:00:99" || fail "filter: $(ask host filter nic0)"
  in_ns "$ns_host" bridge fdb del 02:00:00:00:00:99 dev nic0 self || fail "bridge fdb del"
  soon_strangers_are "not listed" 0
  local pod=sn$$-p
  host_namespace "$pod" && ip -n "$ns_host" link add link nic0 name mv0 netns "$pod" type macvlan mode bridge || fail "no macvlan"
  ip -n "$pod" addr add 10.77.0.9/24 dev mv0 && ip -n "$pod" link set mv0 up || fail "the macvlan cannot be set up"
  wait_until 10 in_ns "$ns_lan" ping -q -c 1 -W 0.3 10.77.0.9 >/dev/null || fail "the macvlan is not reached: $(ask host filter nic0)"
  grep "does not permit promiscuous mode" "$work/host.log" && fail "promiscuous mode was requested for a macvlan"
  ip -n "$pod" link del mv0
  ask host filter nic0 multicast listed || fail "filter multicast listed"
  in_ns "$ns_host" ip maddr add 01:00:5e:00:00:4d dev nic0 || fail "ip maddr add"
  wait_until 20 group_arrives || fail "a group that the kernel lists does not arrive: $(ask host filter nic0)"
  in_ns "$ns_host" ip maddr del 01:00:5e:00:00:4d dev nic0
  wait_until 20 no_group_arrives || fail "a group that the kernel lists no more arrives"
}

# An address that no interface has and a list of groups, without promiscuous mode.
check_filter() {
  bring_up
  ip -n "$ns_lan" neigh add 10.77.0.55 lladdr 02:00:00:00:00:99 dev lan0
  strangers_are 0 || fail "frames for others: $strangers"
  ask host filter nic0 add 02:00:00:00:00:99 || fail "filter add"
  soon_strangers_are "listed" 5
  ask host filter nic0 | has "Unicast: 02:00:00:00:00:99" || fail "filter: $(ask host filter nic0)"
  stop iou KILL
  start_iou
  nic_up
  soon_strangers_are "listed, at another unit" 5
  ask host filter nic0 del 02:00:00:00:00:99 || fail "filter del"
  soon_strangers_are "not listed" 0
  group_arrives || fail "a group does not arrive"
  ask host filter nic0 multicast listed || fail "filter multicast listed"
  no_group_arrives || fail "a group that is not listed arrives"
  ask host filter nic0 add 01:00:5e:00:00:4d || fail "filter add of a group"
  group_arrives || fail "a listed group does not arrive"
  refuses 1 "does not permit SET_FILTER" "$bin/splitnic" filter nic0 add "$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)" --control "$work/host.sock"
  refuses 2 "no address of one NIC" "$bin/splitnic" filter nic0 add ff:ff:ff:ff:ff:ff --control "$work/host.sock"
}
