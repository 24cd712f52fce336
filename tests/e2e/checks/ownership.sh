# shellcheck shell=bash
# NICs that one host has for itself, a machine that has NICs of two I/O units, and what a host reaches besides the LAN.

lan_nic_has() { [ "$(mac_of "$ns_iou" lan0)" = "$1" ]; }
lan_promiscuity_is() { ip -n "$ns_iou" -d link show lan0 | has "promiscuity $1 "; }
lan_receives() { in_ns "$ns_iou" bridge fdb show dev lan0 | has "$1"; }

# The card of the unit follows its owner: the address, the lists and promiscuous mode; and it is as before when that has left.
check_owner() {
  iou_options=(--exclusive --lan-mac follow --grant sniff)
  listen_at=0.0.0.0:7471
  topology_three || fail "the test hosts cannot be made"
  local own
  own=$(mac_of "$ns_iou" lan0)
  start_iou
  within "no promiscuous mode without an owner" 10000 lan_promiscuity_is 0
  start_host
  nic_up
  within "the card has the address of nic0" 10000 lan_nic_has "$(mac_of "$ns_host" nic0)"
  files_both_ways 1
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:66
  within "the card follows" 10000 lan_nic_has 02:00:00:00:00:66
  within "the LAN after that" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.5 10.77.0.2
  files_both_ways 1
  lan_promiscuity_is 0 || fail "the card is promiscuous: $(ip -n "$ns_iou" -d link show lan0)"

  # What the kernel of the host lists, the kernel of the unit lists for its card.
  in_ns "$ns_host" bridge fdb add 02:00:00:00:00:55 dev nic0 self || fail "no list at nic0"
  within "the list reaches the card" 10000 lan_receives 02:00:00:00:00:55
  in_ns "$ns_host" bridge fdb del 02:00:00:00:00:55 dev nic0 self
  within "and leaves it" 10000 lan_receives_no_more 02:00:00:00:00:55
  ip -n "$ns_host" link set nic0 promisc on
  within "promiscuous mode reaches the card" 10000 lan_promiscuity_is 1
  ip -n "$ns_host" link set nic0 promisc off
  within "and ends" 10000 lan_promiscuity_is 0

  # Another host may look, and gets it when the first has left.
  make_second
  in_ns "$ns_second" "$bin/splitnic" list "udp://$iou_address" --key-file "$work/second.key" --peer "$(public unit)" | has '^0 ' ||
    fail "list of a NIC that another host has"
  ping_all "$ns_host" 10.77.0.2 20
  start_second
  within "the other is refused by name" 10000 grep -qs "the host $host_name has it until it leaves" "$work/host2.log"
  ping_all "$ns_host" 10.77.0.2 20
  stop host TERM || fail "the host did not stop"
  second_nic_up 10.77.0.3
  within "the card has the address of the other" 10000 lan_nic_has "$(mac_of "$ns_second" nic0)"
  ping_all "$ns_second" 10.77.0.2 20
  stop host2 TERM || fail "the second host did not stop"
  within "the card has its address again" 10000 lan_nic_has "$own"

  # So it has when the unit stops.
  start_second
  second_nic_up 10.77.0.3
  within "once more that of the host" 10000 lan_nic_has "$(mac_of "$ns_second" nic0)"
  stop iou TERM || fail "the unit did not stop"
  equal "the address of the card" "$(mac_of "$ns_iou" lan0)" "$own"
}
lan_receives_no_more() { ! lan_receives "$1"; }

# Another card takes the place of the owner's: it gets the address and the lists, and keeps no address of the card before.
check_owner_of_another() {
  iou_options=(--exclusive --lan-mac follow)
  topology_three || fail "the test hosts cannot be made"
  start_iou
  start_host
  nic_up
  within "the card has the address of nic0" 10000 lan_nic_has "$(mac_of "$ns_host" nic0)"
  in_ns "$ns_host" bridge fdb add 02:00:00:00:00:55 dev nic0 self || fail "no list at nic0"
  within "the list reaches the card" 10000 lan_receives 02:00:00:00:00:55
  ip -n "$ns_iou" link del lan0
  within "no carrier" 10000 carrier_is "$ns_host" nic0 0
  local own
  veth_between "$ns_iou" other0 "$ns_lan" lan0 && silence_interface "$ns_iou" other0 || fail "no other card"
  own=$(mac_of "$ns_iou" other0)
  ip -n "$ns_iou" link set other0 down && ip -n "$ns_iou" link set other0 name lan0 && ip -n "$ns_iou" link set lan0 up || fail "no other lan0"
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  within "the other card has the address of nic0" 10000 lan_nic_has "$(mac_of "$ns_host" nic0)"
  within "and the list" 10000 lan_receives 02:00:00:00:00:55
  in_ns "$ns_host" bridge fdb del 02:00:00:00:00:55 dev nic0 self
  within "which follows" 10000 lan_receives_no_more 02:00:00:00:00:55
  lan_promiscuity_is 0 || fail "the card is promiscuous: $(ip -n "$ns_iou" -d link show lan0)"
  within "the LAN through it" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.5 10.77.0.2
  stop iou TERM || fail "the unit did not stop"
  equal "the address of the other card" "$(mac_of "$ns_iou" lan0)" "$own"
}

# One machine with nic0 of one unit and nic1 of another, at the same time.
check_two_units() {
  topology_three || fail "the test hosts cannot be made"
  make_second_lan
  ip -n "$ns_lan1" addr replace 10.78.0.2/24 dev lan1
  ip -n "$ns_lan1" addr del 10.77.0.2/24 dev lan1
  start_iou
  start_host
  nic_up
  make_keys unit2 hosta2
  start iou2 "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan1" --listen udp://10.99.0.2:7571 --key-file "$work/unit2.key" \
    --allow-key "$(public hosta2)" --exclusive --name unit2 --control "$work/iou2.sock"
  start host3 "$ns_host" "$bin/splitnic-host" --connect udp://10.99.0.2:7571 --tap nic1 --key-file "$work/hosta2.key" \
    --peer "$(public unit2)" --name hosta2 --control "$work/host3.sock"
  wait_up host3
  silence_interface "$ns_host" nic1
  ip -n "$ns_host" addr replace 10.78.0.1/24 dev nic1 && ip -n "$ns_host" link set nic1 up
  wait_until 10 carrier_is "$ns_host" nic1 1 || fail "nic1 has no carrier"
  mkdir -p "$work/www0" "$work/www1" && echo "LAN 0" >"$work/www0/page" && echo "LAN 1" >"$work/www1/page"
  start web0 "$ns_lan" "$python" -m http.server -d "$work/www0" 80
  start web1 "$ns_lan1" "$python" -m http.server -d "$work/www1" 80
  within "the page of the first unit's LAN" 20000 page_at 10.77.0.2 "LAN 0"
  within "the page of the second unit's LAN" 20000 page_at 10.78.0.2 "LAN 1"
  ping_all "$ns_host" 10.77.0.2 20
  ping_all "$ns_host" 10.78.0.2 20
  # One of them ends; the other has lost nothing.
  begin_pings pinging "$ns_host" 10.77.0.2
  stop iou2 KILL
  within "nic1 without carrier" 10000 carrier_is "$ns_host" nic1 0
  carrier_is "$ns_host" nic0 1 || fail "nic0 lost its carrier"
  end_pings pinging 0
}
page_at() { [ "$(in_ns "$ns_host" curl -sS --max-time 5 "http://$1/page")" = "$2" ]; }

# A TAP and a bridge: a program on the unit's machine, and a device at another port of the bridge.
check_own_stack() {
  bring_up
  local ns_guest=sn$$-g
  host_namespace "$ns_guest" && veth_between "$ns_iou" guest0 "$ns_guest" eth0 || fail "no guest"
  silence_interface "$ns_iou" guest0
  ip -n "$ns_iou" link set guest0 master br0
  ip -n "$ns_guest" addr add 10.77.0.10/24 dev eth0
  ip -n "$ns_iou" addr add 10.77.0.9/24 dev br0
  mkdir -p "$work/www0" && echo "the unit" >"$work/www0/page"
  start web0 "$ns_iou" "$python" -m http.server -d "$work/www0" 80
  within "the page of the unit's machine" 20000 page_at 10.77.0.9 "the unit"
  within "its guest" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.5 10.77.0.10
  ping_all "$ns_host" 10.77.0.9 20
  ping_all "$ns_host" 10.77.0.10 20
  ping_all "$ns_host" 10.77.0.2 20
  ping_all "$ns_iou" 10.77.0.1 20
}
