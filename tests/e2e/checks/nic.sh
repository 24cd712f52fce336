# shellcheck shell=bash
# The NIC at the I/O unit from the host's side: `splitnic ethtool` and `splitnic vlan`, each compared with what the kernel or
# the unit itself has.

# shellcheck source=tests/e2e/checks/monitor.sh
. "$(dirname "${BASH_SOURCE[0]}")/monitor.sh"

nic() { ask host ethtool nic0 "$@"; }
vlan() { ask host vlan nic0 "$@"; }
# row NAME [OPTIONS]: the value of that row.
row() {
  local name=$1
  shift
  nic "$@" | sed -n "s/^[[:space:]]*$name: //p"
}
row_is() { [ "$(row "$1" "${@:3}")" = "$2" ]; }

# in_form_of_ethtool OPTION: the names of its rows, compared with those that ethtool prints of the LAN NIC.
names_of() { sed -e 's/^\(.* for\) .*:$/\1:/' -e 's/:.*//'; }
in_form_of_ethtool() { equal "rows of $1" "$(nic "$1" | names_of)" "$(in_ns "$ns_iou" ethtool "$1" lan0 | names_of)"; }
# channels SECTION: the queues in that section of `ethtool -l`.
channels() { nic -l | awk -v section="$1" '/:$/ { at = $1 } at == section && $1 == "Combined:" { print $2 }'; }
channels_are() { [ "$(channels Current)" = "$1" ]; }

check_link() {
  bring_up
  equal "speed" "$(row Speed)" "$(in_ns "$ns_iou" ethtool lan0 | sed -n 's/^[[:space:]]*Speed: //p')"
  equal "duplex" "$(row Duplex)" Full
  equal "link" "$(row "Link detected")" yes
  equal "address" "$(row "Address at the I\/O unit")" "$(in_ns "$ns_host" cat /sys/class/net/nic0/address)"
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:55
  within "the address at the unit" 10000 row_is "Address at the I\/O unit" 02:00:00:00:00:55
  equal "address of the card" "$(row "Permanent address" -P)" "$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)"
  ip -n "$ns_lan" link set lan0 down
  within "no link" 10000 row_is "Link detected" no
  nic -i | has "firmware-version: splitnic-iou .*, protocol 1 of 1" || fail "-i: $(nic -i)"
  nic -i | has -xF "bus-info: $(way_of "$host_via")" || fail "-i: $(nic -i)"
  nic -i | has -x "supports-statistics: yes" || fail "-i: $(nic -i)"
  in_form_of_ethtool -i
  nic --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)
assert found["link-detected"] is False and found["duplex"] == "Full", found' || fail "ethtool --json"
}

check_channels() {
  iou_options=(--queues 3) host_options=(--queues 2)
  bring_up
  within "two queues" 10000 channels_are 2
  equal "queues of the unit" "$(channels Pre-set)" 3
  in_form_of_ethtool -l
}

# ring SECTION NAME: of `ethtool -g`, which has two sections.
ring() { nic -g | awk -v section="$1" -v name="$2:" '/:$/ { at = $1 } at == section && $1 == name { print $2 }'; }
elements_of() {
  ask host show --json | "$python" -c 'import json, sys
print(sum(p["elements"] for p in json.load(sys.stdin)["pools"] if p["side"] == sys.argv[1]))' "$1"
}

# Against the pools that both ends have, before and after one has ended.
check_rings() {
  iou_options=(--queues 2) host_options=(--queues 2 --pool 512x2048 --pool 64x65536)
  bring_up
  within "two queues" 10000 channels_are 2
  nic -g | sed -n 1p | has -x "Ring parameters for nic0:" || fail "-g: $(nic -g)"
  equal "RX at most" "$(ring Pre-set RX)" 576
  # Queue 1 has its pools a moment after its channels.
  wait_until 10 rings_are_pools || fail "-g: $(nic -g); pools: $(elements_of own) own, $(elements_of peer) of the peer"
  equal "RX" "$(ring Current RX)" 576
  [ "$(ring Current TX)" -le "$(ring Pre-set TX)" ] || fail "-g: $(nic -g)"
  equal "JSON" "$(nic -g --json)" "{\"rx-max\":576,\"tx-max\":$(ring Pre-set TX),\"rx\":576,\"tx\":$(ring Current TX)}"
  ask host flush "$(own_pool)" || fail "flush"
  within "a shorter ring" 10000 ring_is_shorter
  equal "RX at most" "$(ring Pre-set RX)" 576
}
rings_are_pools() { [ "$(ring Current RX)" = "$(elements_of own)" ] && [ "$(ring Current TX)" = "$(elements_of peer)" ]; }
own_pool() {
  ask host show --json | "$python" -c 'import json, sys
print(next(p["ref"] for p in json.load(sys.stdin)["pools"] if p["side"] == "own" and p["queue"] == 0 and p["size"] == 2048))'
}
ring_is_shorter() { [ "$(ring Current RX)" -lt 576 ] && [ "$(ring Current RX)" = "$(elements_of own)" ]; }

# of_unit NAME: the counter of this host in the unit's own account.
of_unit() { counter iou "host.hosta.$1"; }

# The two accounts may be read while a frame of the LAN's own arrives: then they are read once more.
agree() {
  local name
  nic -S >"$work/stats.txt" || return
  for name in iou.to_host.frames iou.to_host.bytes iou.from_host.frames iou.from_host.bytes iou.to_host.unicast \
    iou.from_host.ethernet_bytes iou.from_host.size.127; do
    [ "$(sed -n "s/^ *$name: //p" "$work/stats.txt")" = "$(of_unit "$name")" ] || return
    [ "$(of_unit "$name")" -gt 0 ] || return
  done
}

# kernel_counts NS IF DIRECTION: packets, as the kernel of the machine with that interface counts them.
kernel_counts() { in_ns "$1" cat "/sys/class/net/$2/statistics/$3_packets"; }

# Of one exchange the NIC counts what the kernels count at both ends: at the card of the LAN, and at nic0.
counts_as_the_kernels() {
  local at=("$ns_iou lan0 rx" "$ns_iou lan0 tx" "$ns_host nic0 rx" "$ns_host nic0 tx") before=() after=() one to from
  for one in "${at[@]}"; do
    # shellcheck disable=SC2086
    before+=("$(kernel_counts $one)")
  done
  to=$(row iou.to_host.frames -S basic) from=$(row iou.from_host.frames -S basic)
  in_ns "$ns_host" ping -q -c 200 -i 0.005 -s 700 10.77.0.2 >/dev/null || return
  for one in "${at[@]}"; do
    # shellcheck disable=SC2086
    after+=("$(kernel_counts $one)")
  done
  to=$(($(row iou.to_host.frames -S basic) - to)) from=$(($(row iou.from_host.frames -S basic) - from))
  exchange="NIC $to and $from, card $((after[0] - before[0])) and $((after[1] - before[1])), nic0 $((after[2] - before[2])) and $((after[3] - before[3]))"
  [ $to -ge 200 ] && [ $from -ge 200 ] && [ $to = $((after[0] - before[0])) ] && [ $from = $((after[1] - before[1])) ] &&
    [ $to = $((after[2] - before[2])) ] && [ $from = $((after[3] - before[3])) ]
}

check_statistics() {
  host_options=(--queues 2)
  bring_up
  # A frame of the LAN's own may arrive in between: then it is tried once more.
  wait_until 40 counts_as_the_kernels || fail "the kernels count otherwise: $exchange"
  echo "frames to the host and from it, in one exchange: $exchange"
  files_both_ways 4
  ping_all "$ns_host" 10.77.0.2 50
  wait_until 20 agree || fail "the unit counts otherwise: $(cat "$work/stats.txt"; ask iou stats | grep host.hosta)"
  grep -q "pool.ours.elements: " "$work/stats.txt" || fail "no pools: $(cat "$work/stats.txt")"
  nic -S drops | has "iou.from_host.drop.spoof: 0" || fail "-S drops: $(nic -S drops)"
  nic -S drops | has "iou.to_host.frames" && fail "-S drops has more than drops"
  local own before
  own=$(of_unit iou.to_host.frames) before=$(row iou.to_host.frames -S basic)
  nic --clear-statistics basic || fail "--clear-statistics"
  [ "$(row iou.to_host.frames -S basic)" -lt "$before" ] || fail "not cleared"
  [ "$(of_unit iou.to_host.frames)" -ge "$own" ] || fail "the unit's own counters were cleared"
  [ "$(row iou.to_host.unicast -S rmon)" -gt 50 ] || fail "another group was cleared"
  refuses 1 "no statistics of the group 'colour'" "$bin/splitnic" ethtool nic0 -S colour --control "$work/host.sock"
}

feature_of_nic0() { in_ns "$ns_host" ethtool -k nic0 | sed -nE "s/^[[:space:]]*$1: (on|off).*/\1/p"; }
split_frames() { counter iou iou.to_host.split; }
feature_is() { [ "$(row "$1" -k)" = "$2" ] && [ "$(feature_of_nic0 "$1")" = "$2" ]; }

# Without TSO the host sends none, and gets none of what the unit reads from its card.
check_features() {
  bring_up
  feature_is tx-tcp-segmentation on || fail "-k: $(nic -k)"
  local before
  files_both_ways 4
  equal "frames that were split for the host" "$(split_frames)" 0
  nic -K tso off tso6 off || fail "-K"
  feature_is tx-tcp-segmentation off || fail "-k: $(nic -k)"
  files_both_ways 4
  [ "$(split_frames)" -gt 0 ] || fail "the host still gets super-frames"
  equal "frames of the host with what is off" "$(counter iou iou.from_host.drop.vnet)" 0
  # Another unit gets it too.
  stop iou KILL
  start_iou
  nic_up
  wait_until 10 feature_is tx-tcp-segmentation off || fail "-k after a restart of the unit: $(nic -k)"
  files_both_ways 4
  [ "$(split_frames)" -gt 0 ] || fail "the host gets super-frames after a restart of the unit"
  nic -K tso on tso6 on || fail "-K on"
  feature_is tx-tcp-segmentation on || fail "-k: $(nic -k)"
  before=$(split_frames)
  files_both_ways 4
  equal "frames that were split for the host" "$(split_frames)" "$before"
  refuses 2 "none of tx, tso, tso6 and uso" "$bin/splitnic" ethtool nic0 -K colour off --control "$work/host.sock"
}

# passes VLAN, drops VLAN: five of its frames, of the LAN, reach the host; are dropped for it.
passes() {
  local before
  before=$(of_unit iou.to_host.tagged)
  send_tagged "$1"
  wait_until 10 tagged_are $((before + 5)) || fail "VLAN $1 does not pass"
}
tagged_are() { [ "$(of_unit iou.to_host.tagged)" -ge "$1" ]; }
drops() {
  local before
  before=$(counter iou lan.rx.drop.vlan)
  send_tagged "$1"
  wait_until 10 counts iou lan.rx.drop.vlan $((before + 5)) || fail "VLAN $1 passes"
}

check_vlans() {
  host_options=(--queues 2)
  bring_up
  vlan | has "Listed: all" || fail "vlan: $(vlan)"
  passes 20
  vlan add 10 || fail "vlan add"
  vlan | has "Listed: 10" || fail "vlan: $(vlan)"
  passes 10
  drops 20
  # A unit that has restarted gets the list again.
  stop iou KILL
  start_iou
  nic_up
  passes 10
  drops 20
  vlan add 20 || fail "vlan add"
  passes 20
  # An empty list passes everything.
  vlan del 10 && vlan del 20 || fail "vlan del"
  passes 30
  # An access port: untagged frames of the host leave with the tag, and those of the LAN are of another VLAN.
  vlan pvid 20 || fail "vlan pvid"
  vlan | has "Access VLAN: 20" || fail "vlan: $(vlan)"
  local before
  before=$(counter iou lan.rx.drop.vlan)
  begin_taking "$ns_lan" lan0 1000
  in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2 >/dev/null && fail "an untagged frame of the LAN reaches VLAN 20"
  in_ns "$ns_lan" ping -q -c 1 -W 0.3 10.77.0.1 >/dev/null
  wait_until 10 counts iou lan.rx.drop.vlan $((before + 1)) || fail "untagged frames of the LAN are not dropped"
  wait_until 10 has_taken_tag || fail "no frame of the host left with the tag"
  stop taker INT
  vlan pvid 0 || fail "vlan pvid 0"
  within "untagged frames are untagged" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
  refuses 2 "from 0 to 4094" "$bin/splitnic" vlan nic0 add 4095 --control "$work/host.sock"
}

has_taken_tag() { LC_ALL=C grep -qaP '\x81\x00\x00\x14' "$work/taken.pcap"; }

# The unit does not permit a VLAN that the rights do not list.
check_vlan_refused() {
  make_keys unit host
  printf '[hosts.office]\nkey = "%s"\nvlans = [10]\n' "$(public host)" >"$work/hosts.toml"
  iou_options=(--key-file "$work/unit.key" --hosts "$work/hosts.toml")
  topology_three || fail "the test hosts cannot be made"
  start_iou && start_host
  wait_up host
  within "VLAN 10 is permitted" 10000 vlan add 10
  refuses 1 "does not permit VLAN_ADD" "$bin/splitnic" vlan nic0 add 20 --control "$work/host.sock"
  vlan | has "Listed: 10$" || fail "vlan: $(vlan)"
  [ "$(counter iou iou.from_host.refused_vlan)" -gt 0 ] || fail "the refusal is not counted"
}

# The unit has the values of a new NIC for a moment, and then those of before: its events show both, and those that a host sets
# without RESET are none.
check_reset() {
  bring_up
  vlan add 10 || fail "vlan add"
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:55
  within "the address at the unit" 10000 row_is "Address at the I\/O unit" 02:00:00:00:00:55
  watches_from_now iou
  ip -n "$ns_host" link set nic0 mtu 1400
  comes iou mtu "$host_name" "MTU 1400"
  forget iou
  nic --reset || fail "--reset"
  comes iou mtu "$host_name" "MTU 1500"
  comes iou mac "$host_name" 02:00:00:00:00:55
  comes iou mtu "$host_name" "MTU 1400"
  comes_times iou mtu "$host_name" 2
  comes_times iou mac "$host_name" 1
  within "the address at the unit after the reset" 10000 row_is "Address at the I\/O unit" 02:00:00:00:00:55
  within "untagged frames after the reset" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
  passes 10
  drops 20
  equal "connections" "$(counter host host.pair.ups)" 1
}

# nic0 shows the speed of the card. Port tap: its speed is what a user sets.
speed_of() { in_ns "$1" cat "/sys/class/net/$2/$3" 2>/dev/null; }
speed_is() { [ "$(speed_of "$ns_host" nic0 speed)" = "$1" ] && [ "$(speed_of "$ns_host" nic0 duplex)" = "$2" ]; }

check_speed() {
  bring_up
  in_ns "$ns_iou" ethtool -s tap0 speed 2500 duplex half autoneg off || fail "tap0 takes no speed"
  ip -n "$ns_iou" link set tap0 down && ip -n "$ns_iou" link set tap0 up
  within "nic0 has the speed of the card" 10000 speed_is 2500 half
  in_ns "$ns_iou" ethtool -s tap0 speed 1000 duplex full autoneg off || fail "tap0 takes no speed"
  ip -n "$ns_iou" link set tap0 down && ip -n "$ns_iou" link set tap0 up
  stop host KILL
  start_host
  nic_up
  within "nic0 has the speed at the start" 10000 speed_is 1000 full
}

# What cannot be carried out gets one line.
check_refusals() {
  topology_three || fail "the test hosts cannot be made"
  start_host
  wait_until 10 replies_to_show host || fail "the host does not reply"
  refuses 1 "not connected" "$bin/splitnic" ethtool nic0 --control "$work/host.sock"
  refuses 1 "the interface of this program is nic0, not nic7" "$bin/splitnic" ethtool nic7 --control "$work/host.sock"
  refuses 2 "add ID, del ID or pvid ID" "$bin/splitnic" vlan nic0 colour 7 --control "$work/host.sock"
  refuses 2 "one word too many" "$bin/splitnic" ethtool nic0 -i 7 --control "$work/host.sock"
  start_iou
  wait_until 10 replies_to_show iou || fail "the unit does not reply"
  refuses 1 "ethtool, vlan, filter, qos and list are for the host" "$bin/splitnic" ethtool lan0 --control "$work/iou.sock"
}
replies_to_show() { ask "$1" show >/dev/null 2>&1; }

queues_are() { [ "$(queues_up host)" = "$1" ]; }

check_set_channels() {
  iou_options=(--queues 2) host_options=(--queues 2)
  bring_up
  within "two queues" 10000 queues_are "0 1"
  refuses 1 "the I/O unit has 2 queues" "$bin/splitnic" ethtool nic0 -L combined 3 --control "$work/host.sock"
  nic -L combined 1 || fail "-L combined 1"
  within "one queue" 10000 has_queues 0
  equal "channels" "$(channels Current)" 1
  ping_all "$ns_host" 10.77.0.2 50
  equal "the pair of queue 0" "$(counter host host.pair.downs)" 0
  # A unit that has restarted gets the number again.
  stop iou KILL
  start_iou
  nic_up
  wait_until 10 has_queues 0 || fail "queues after a restart: $(queues_up host) and $(queues_up iou)"
  sleep 0.3
  has_queues 0 || fail "queues after a restart: $(queues_up host) and $(queues_up iou)"
  nic -L combined 2 || fail "-L combined 2"
  within "two queues again" 10000 has_queues "0 1"
  ping_all "$ns_lan" 10.77.0.1 50
}

# The shortest round trip of 5 from the LAN's machine, in microseconds.
# round_trip RANK: that of this rank among 9, the shortest is 1, in us.
round_trip() {
  in_ns "$ns_host" ping -c 9 -i 0.06 10.77.0.2 | sed -n 's,.* time=\([0-9.]*\) ms$,\1,p' | awk '{printf "%d\n", $1 * 1000}' | sort -n | sed -n "$1p"
}

check_coalescing() {
  bring_up
  equal "without coalescing" "$(row rx-usecs -c)" 0
  nic -C rx-usecs 20000 || fail "-C rx-usecs"
  local waiting alone=""
  # A frame of ARP just before a reply takes the reply along: that makes one shorter, and not most of them.
  waiting=$(round_trip 5)
  [ "$waiting" -ge 20000 ] || fail "a reply waits for $waiting us, not 20000"
  nic -C adaptive-rx on || fail "-C adaptive-rx"
  # Other work of the machine makes any round trip longer, and a reply that waits makes all of them so.
  wait_until 15 comes_soon || fail "a reply that comes alone waits for $alone us"
  echo "round trip: $waiting us with rx-usecs 20000, $alone us at least with adaptive-rx"
  nic -C adaptive-rx off rx-frames 1 || fail "-C rx-frames"
  wait_until 15 comes_soon || fail "one frame is not enough"
  nic -c | has "rx-usecs: 20000" || fail "-c: $(nic -c)"
  nic -c --json | has '"adaptive-rx":"off","rx-usecs":20000,"rx-frames":1,"rx-bytes":0' || fail "-c: $(nic -c --json)"
  refuses 2 "from 0 to 100000" "$bin/splitnic" ethtool nic0 -C rx-usecs 100001 --control "$work/host.sock"
}

# comes_soon: has a reply come before the 20 ms were over? Leaves the shortest round trip in $alone.
comes_soon() {
  alone=$(round_trip 1)
  [ -n "$alone" ] && [ "$alone" -lt 15000 ]
}

lane_1() { counter switch1 switch.lane1.tx.cell; }
lane_1_has() { [ "$(lane_1)" -ge "$1" ]; }

# Behind a switch: what the map names takes the lane of its level there, in both directions.
check_qos() {
  bring_up
  ping_all "$ns_host" 10.77.0.2 20
  local before named
  before=$(lane_1)
  ask host qos nic0 set dscp 46 1 || fail "qos set"
  within "the connection with that level" 10000 in_force
  ping_all "$ns_host" 10.77.0.2 20
  equal "cells of other frames on lane 1" "$(lane_1)" "$before"
  in_ns "$ns_host" ping -q -c 20 -i 0.01 -Q 0xb8 10.77.0.2 >/dev/null || fail "a ping with DSCP 46"
  wait_until 10 lane_1_has $((before + 40)) || fail "20 requests and 20 replies are $(($(lane_1) - before)) cells on lane 1"
  named=$(($(lane_1) - before))
  echo "cells on lane 1: $named for 20 requests with DSCP 46 and their replies"
  carrier_is "$ns_host" nic0 1 || fail "nic0 has lost its carrier"
  ask host qos nic0 set pcp 5 1 || fail "qos set pcp"
  within "the connection with a priority" 10000 priority_in_force
  before=$(lane_1)
  pass_both_ways 4
  equal "cells of another priority on lane 1" "$(lane_1)" "$before"
  pass_both_ways 5
  wait_until 10 lane_1_has $((before + 40)) || fail "20 frames each way with priority 5 are $(($(lane_1) - before)) cells on lane 1"
  named=$(($(lane_1) - before))
  echo "cells on lane 1: $named for 20 frames each way with priority 5"
  refuses 1 "3 different levels" "$bin/splitnic" qos nic0 set pcp 1 1 pcp 2 2 pcp 3 5 pcp 4 6 --control "$work/host.sock"
  ask host qos nic0 clear || fail "qos clear"
  within "the connection without levels" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 -Q 0xb8 10.77.0.2
  ask host qos nic0 | has "Levels: none" || fail "qos: $(ask host qos nic0)"
}
in_force() { ask host qos nic0 | has "dscp 46: 1$"; }
priority_in_force() { ask host qos nic0 | has "pcp 5: 1$"; }

# pass_both_ways PRIORITY: 20 frames each way with a tag of VLAN 7 and that 802.1p priority.
pass_both_ways() {
  local to_lan to_host tag=$(($1 << 13 | 7))
  to_lan=$(of_unit iou.from_host.tagged) to_host=$(of_unit iou.to_host.tagged)
  tagged_frames 20 "$tag" "$ns_host" nic0 "$(mac_of "$ns_lan" lan0)"
  tagged_frames 20 "$tag" "$ns_lan" lan0 "$(mac_of "$ns_host" nic0)"
  wait_until 10 have_passed $((to_lan + 20)) $((to_host + 20)) || fail "frames with priority $1 do not pass"
}
have_passed() { [ "$(of_unit iou.from_host.tagged)" -ge "$1" ] && [ "$(of_unit iou.to_host.tagged)" -ge "$2" ]; }

# list_unit OPTION...: `splitnic list` from the host's machine, on which no host runs.
list_unit() { in_ns "$ns_host" "$bin/splitnic" list "udp://$iou_address" "$@"; }

# Before there is a host: by the rights of the key, and nothing of it is left at the unit.
check_list_before() {
  topology_three || fail "the test hosts cannot be made"
  make_second_lan
  make_keys unit host
  printf '[hosts.office]\nkey = "%s"\nnic = [1]\n' "$(public host)" >"$work/hosts.toml"
  start_iou --key-file "$work/unit.key" --lan "$port:lan1" --hosts "$work/hosts.toml"
  list_unit --key-file "$work/host.key" --peer "$(public unit)" >"$work/list" || fail "list of the unit"
  equal "the NICs for this key" "$(awk 'NR > 1 { print $1, $2, $3, $4 }' "$work/list")" \
    "1 up 1500 $(in_ns "$ns_iou" cat /sys/class/net/lan1/address)"
  wait_until 10 counts iou iou.hosts.downs 1 || fail "the short session stays: $(ask iou show)"
  make_keys stranger
  refuses 1 "does its --allow-key name our key" ip netns exec "$ns_host" "$bin/splitnic" list "udp://$iou_address" --key-file "$work/stranger.key" --peer "$(public unit)"
  equal "hosts that were attached" "$(counter iou iou.hosts.ups)" 1
}

# The same without keys, also by name, and over shared memory.
check_list_plain() {
  plain
  topology_three || fail "the test hosts cannot be made"
  make_second_lan
  start_iou --lan "$port:lan1" --listen shm://two
  list_unit --insecure-lab --json | "$python" -c 'import json, sys
nics = json.load(sys.stdin)["nics"]
assert [(n["number"], n["in_use"]) for n in nics] == [(0, False), (1, False)], nics' || fail "list --json"
  in_ns "$ns_host" "$bin/splitnic" list "${iou_address%:*}" --insecure-lab | has '^1 ' || fail "list of an address in short"
  "$bin/splitnic" list shm://two | has '^1 ' || fail "list over shared memory"
  stop iou TERM
  refuses 1 "is splitnic-iou running there" ip netns exec "$ns_host" "$bin/splitnic" list "udp://$iou_address" --insecure-lab
}

check_list() {
  topology_three || fail "the test hosts cannot be made"
  make_second_lan
  ip -n "$ns_iou" link set lan1 mtu 1400
  start_iou --lan "$port:lan1" && start_host
  nic_up
  ask host list nic0 | tee "$work/list" | has "^0  *up  *1500 .* yes$" || fail "NIC 0: $(cat "$work/list")"
  has "^1  *up  *1400 *$(in_ns "$ns_iou" cat /sys/class/net/lan1/address) .* no$" <"$work/list" || fail "NIC 1: $(cat "$work/list")"
  ask host list --json | "$python" -c 'import json, sys
nics = json.load(sys.stdin)["nics"]
assert [(n["number"], n["mtu"], n["in_use"]) for n in nics] == [(0, 1500, True), (1, 1400, False)], nics' || fail "list --json"
  refuses 1 "list are for the host" "$bin/splitnic" list --control "$work/iou.sock"
  # Both ends show the versions of both.
  local program
  program=$("$bin/splitnic-iou" --version)
  ask host show | has "runs splitnic-host " || fail "show: $(ask host show)"
  equal "the unit's program" "$(ask host show --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["peers"][0]["program"])')" "$program"
  ask iou show | has "splitnic-host [0-9]" || fail "show of the unit: $(ask iou show)"
}
