# shellcheck shell=bash
# Three fabric switches in a ring, keyed, two of them with a subnet manager, each in a separate network namespace:
#   $ns_host fab0 -- port 1 of sw1, port 1 of sw3 -- fab0 $ns_iou lan0 -- lan0 $ns_lan
#   cables: sw1:2 - sw3:2 (c13), sw1:3 - sw2:1 (c12), sw2:2 - sw3:3 (c23)

# shellcheck source=tests/e2e/checks/switches.sh
. "$(dirname "${BASH_SOURCE[0]}")/switches.sh"

# cable A B: a wire between the namespaces of two switches.
cable() {
  local a=ns_sw$1 b=ns_sw$2
  veth_between "${!a}" "c$1$2" "${!b}" "c$1$2" || fail "no wire"
  ip -n "${!a}" addr add "10.96.$1$2.1/24" dev "c$1$2"
  ip -n "${!b}" addr add "10.96.$1$2.2/24" dev "c$1$2"
}

# make_ring [manager]: the manager gives the nodes their LIDs.
make_ring() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c ns_sw1=sn$$-s ns_sw2=sn$$-t ns_sw3=sn$$-u
  local ns
  for ns in "$ns_host" "$ns_iou" "$ns_lan" "$ns_sw1" "$ns_sw2" "$ns_sw3"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_host" fab0 "$ns_sw1" p1 && veth_between "$ns_sw3" p9 "$ns_iou" fab0 &&
    veth_between "$ns_iou" lan0 "$ns_lan" lan0 || fail "no wire"
  ip -n "$ns_host" addr add 10.96.1.1/24 dev fab0
  ip -n "$ns_sw1" addr add 10.96.1.2/24 dev p1
  ip -n "$ns_sw3" addr add 10.96.2.2/24 dev p9
  ip -n "$ns_iou" addr add 10.96.2.1/24 dev fab0
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  silence_interface "$ns_iou" lan0
  cable 1 3
  cable 1 2
  cable 2 3
  {
    [ -z "${1:-}" ] || echo "lids = \"$1\""
    echo 'cables = ["sw1:2 - sw3:2", "sw1:3 - sw2:1", "sw2:2 - sw3:3"]'
    entry switches.sw1 1 '' sw1
    entry switches.sw2 2 '' sw2
    entry switches.sw3 3 '' sw3
    entry nodes.hosta "$([ -n "${1:-}" ] || echo 11)" sw1:1 host
    entry nodes.unit "$([ -n "${1:-}" ] || echo 10)" sw3:1 unit
  } >"$work/fabric.toml"
  next_to_host=sw1 next_to_unit=sw3
  iou_address='unit:1?via=10.96.1.2:7500'
  attach_at=udp://10.96.2.2:7502
}

# ring_switch NUMBER [OPTION...]
ring_switch() {
  local i=$1 ns=ns_sw$1
  local -a ports
  shift
  case $i in
    1) ports=(udp://10.96.1.2:7500 udp://10.96.13.1:7513 udp://10.96.12.1:7512) ;;
    2) ports=(udp://10.96.12.1:7512,connect udp://10.96.23.1:7523) ;;
    3) ports=(udp://10.96.2.2:7502 udp://10.96.13.1:7513,connect udp://10.96.23.1:7523,connect) ;;
  esac
  start "switch$i" "${!ns}" "$bin/splitnic-switch" "${ports[@]/#/--port=}" --topology "$work/fabric.toml" --name "sw$i" \
    --control "$work/switch$i.sock" --key-file "$work/sw$i.key" "$@"
}

# managed_by NUMBER SWITCH...: do these switches obey the manager of that number?
managed_by() {
  local number=$1 name
  shift
  for name in "$@"; do ask "$name" show 2>/dev/null | has "^subnet manager: sw$number (LID $number), priority" || return 1; done
}

# ports_are SWITCH STATE NUMBER: does the switch have this many ports in this state?
ports_are() {
  [ "$(ask "$1" show --json | "$python" -c 'import json, sys
print(sum(peer["state"] == sys.argv[1] for peer in json.load(sys.stdin)["peers"]))' "$2")" = "$3" ]
}

replies_since() { [ "$(grep -c "time=" "$work/ping.log")" -gt $(($1 + 20)) ]; }
replies() { grep -c "time=" "$work/ping.log"; }

# longest_gap: prints the longest time between two replies, of the pings so far.
longest_gap() {
  "$python" -c 'import re, sys
at = [float(t) for t in re.findall(r"^\[([0-9.]+)\].*time=", sys.stdin.read(), re.M)]
print("longest time without a reply: %.0f ms" % (1000 * max(b - a for a, b in zip(at, at[1:]))))' <"$work/ping.log"
}

# the_map_has KIND STATE...: the states of the nodes or cables in the map of the manager in sw2, in the order of the file.
the_map_has() {
  local kind=$1
  shift
  [ "$("$bin/splitnic" show topology --json --control "$work/switch2.sock" | "$python" -c 'import json, sys
print(*[one["state"] for one in json.load(sys.stdin)[sys.argv[1]]])' "$kind")" = "$*" ]
}

check_ring() {
  make_ring
  ring_switch 1
  ring_switch 2 --manage=5
  ring_switch 3 --manage
  start_iou && start_host
  nic_up
  within "all obey the manager of sw2" 15000 managed_by 2 switch1 switch2 switch3
  within "all cables are up" 15000 ports_are switch1 up 3
  within "all cables are up" 15000 ports_are switch2 up 2
  within "the map has all cables" 10000 the_map_has cables up up up
  within "the map has all switches" 10000 the_map_has switches up up up
  within "the map has all end nodes" 10000 the_map_has nodes up up
  "$bin/splitnic" show topology --dot --control "$work/switch2.sock" | has '"switch sw1" -- "switch sw3"' || fail "no map"
  ! "$bin/splitnic" show topology --control "$work/switch1.sock" >"$work/map" 2>&1 &&
    has "the subnet manager in force is that of sw2" <"$work/map" || fail "sw1 has a map"
  start ping "$ns_host" ping -D -i 0.02 -W 1 10.77.0.2
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush
  within "TCP flows" 10000 moved_since "$(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes)"
  local before
  before=$(counter switch2 switch.tx.cell)
  ip -n "$ns_sw1" link set c13 down
  within "TCP flows by sw2" 15000 counts switch2 switch.tx.cell $((before + 3000))
  within "pings have replies" 15000 replies_since "$(replies)"
  within "the map has the cable as down" 10000 the_map_has cables down up up
  longest_gap
  running client || fail "the TCP connection did not survive"
  ip -n "$ns_sw1" link set c13 up
  within "the cable carries cells" 15000 ports_are switch1 up 3
  # Its manager dies; the cables of the new process carry cells when the tables are right.
  stop switch2 KILL
  within "all obey the manager of sw3" 10000 managed_by 3 switch1 switch3
  within "pings have replies" 15000 replies_since "$(replies)"
  ring_switch 2 --manage=5
  within "all obey the manager of sw2 again" 10000 managed_by 2 switch1 switch2 switch3
  within "all cables are up" 10000 ports_are switch1 up 3
  within "TCP flows" 15000 moved_since "$(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes)"
  running client || fail "the TCP connection did not survive"
  longest_gap
}

# the_nodes_are WORD...: LID, state and program of each node in the map of the manager in sw2, by LID.
the_nodes_are() {
  [ "$("$bin/splitnic" show topology --json --control "$work/switch2.sock" 2>/dev/null | "$python" -c 'import json, sys
nodes = sorted(json.load(sys.stdin)["nodes"], key=lambda one: one["lid"])
print(*[str(one[key]).replace(" ", "_") for one in nodes for key in ("lid", "state", "program")])')" = "$*" ]
}

# logged NAME WORDS COUNT: the log of the program has these words at least so often.
logged() { [ "$(grep -c -- "$2" "$work/$1.log")" -ge "$3" ]; }

# make_more_nodes: another host next to the first one, and another unit, with a separate LAN, next to the first one:
#   $ns_second fab0 -- port 4 of sw1, port 4 of sw3 -- fab0 $ns_iou2 lan0 -- lan0 $ns_lan2
make_more_nodes() {
  ns_second=sn$$-e ns_iou2=sn$$-g ns_lan2=sn$$-f
  local ns
  for ns in "$ns_second" "$ns_iou2" "$ns_lan2"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_second" fab0 "$ns_sw1" p4 && veth_between "$ns_sw3" p4 "$ns_iou2" fab0 &&
    veth_between "$ns_iou2" lan0 "$ns_lan2" lan0 || fail "no wire"
  ip -n "$ns_second" addr add 10.96.4.1/24 dev fab0
  ip -n "$ns_sw1" addr add 10.96.4.2/24 dev p4
  ip -n "$ns_sw3" addr add 10.96.5.2/24 dev p4
  ip -n "$ns_iou2" addr add 10.96.5.1/24 dev fab0
  ip -n "$ns_lan2" addr add 10.77.0.2/24 dev lan0
  silence_interface "$ns_iou2" lan0
  { entry nodes.hostb '' sw1:4 second && entry nodes.unit2 '' sw3:4 unit2; } >>"$work/fabric.toml"
}
first_switch() { ring_switch 1 --port udp://10.96.4.2:7504; }
last_switch() { ring_switch 3 --port udp://10.96.5.2:7505; }

start_more_nodes() {
  start iou2 "$ns_iou2" "$bin/splitnic-iou" --lan "$port:lan0" --attach udp://10.96.5.2:7505 --name unit2 \
    --key-file "$work/unit2.key" --peer "$(public sw3)" --control "$work/iou2.sock"
  iou_address='unit2:1?via=10.96.4.2:7504' next_to_second=sw1 start_second
}

# waits_for_lid NAME COUNT: it has waited this often, and has had a LID one time less.
waits_for_lid() {
  within "the port of $1 waits for its LID" 10000 logged "$1" "the subnet manager is to give this port its LID" "$2"
  ! logged "$1" "attached to port" "$2" || fail "$1 has a LID, and there is no manager"
}

# Of each node by its program: the LIDs are in the order of the names, behind those of the switches.
declare -A lid_of=([host]=4 [host2]=5 [iou]=6 [iou2]=7)
has_lid() { logged "$1" "attached to port .* as LID ${lid_of[$1]}$" "$2"; }
all_are_in_the_map() {
  within "the map has the nodes with LIDs and programs" 15000 \
    the_nodes_are 4 up "$host_name" 5 up "$second_name" 6 up unit 7 up unit2
}
other_lan_responds() { in_ns "$ns_second" ping -q -c 1 -W 1 10.77.0.2; }

# Nobody has written LIDs of nodes: they come from the manager, by management cells, when it is there.
check_lids() {
  make_ring manager
  make_more_nodes
  first_switch
  last_switch
  start_iou && start_host
  start_more_nodes
  local name
  for name in host host2 iou iou2; do waits_for_lid $name 1; done
  ring_switch 2 --manage=5
  nic_up
  second_nic_up 10.77.0.3
  within "the LAN of the other unit responds to the other host" 10000 other_lan_responds
  all_are_in_the_map
  for name in host host2 iou iou2; do
    has_lid $name 1 || fail "$name has another LID"
    counts $name path.smp 2 || fail "the LID of $name came otherwise than by SMP"
  done
  start ping "$ns_host" ping -D -i 0.05 -W 1 10.77.0.2
  within "pings have replies" 15000 replies_since "$(replies)"
  # Without the manager those that have a LID keep it, and one that comes waits.
  stop switch2 KILL
  sleep 3  # after 2 s it is silent
  within "pings have replies" 15000 replies_since "$(replies)"
  wait_until 10 other_lan_responds >/dev/null || fail "the other LAN does not respond without the manager"
  stop iou KILL
  start_iou
  waits_for_lid iou 1
  sleep 1
  ! logged iou "attached to port" 1 || fail "the unit has a LID, and there is no manager"
  ring_switch 2 --manage=5
  within "pings have replies" 15000 replies_since "$(replies)"
  # A switch that starts again has lost all LIDs.
  stop switch3 KILL
  last_switch
  for name in iou iou2; do
    within "the port of $name waits for its LID once more" 10000 logged $name "the subnet manager is to give this port its LID" 2
    within "the port of $name has it once more" 15000 has_lid $name 2
  done
  within "pings have replies" 15000 replies_since "$(replies)"
  within "the LAN of the other unit responds to the other host" 15000 other_lan_responds
  all_are_in_the_map
}

# partition NAME ID NODE...
partition() {
  printf '[partitions.%s]\nid = %s\n' "$1" "$2"
  [ $# = 2 ] || printf 'members = [%s]\n' "$(printf '"%s", ' "${@:3}")"
}

# pings_by SWITCH USED UNUSED: 20 pings and their replies leave the switch on the one lane, and nothing on the other one.
pings_by() {
  local used unused
  read -r used unused < <(counters "$1" "switch.lane$2.tx.cell" "switch.lane$3.tx.cell")
  ping_all "$ns_host" 10.77.0.2 20
  used=$(($(counter "$1" "switch.lane$2.tx.cell") - used))
  echo "cells of $1 on lane $2: $used for 20 pings and their replies"
  [ $used -ge 40 ] || fail "$1 forwards $used cells on lane $2 for 20 pings and their replies"
  equal "cells of $1 on lane $3" "$(counter "$1" "switch.lane$3.tx.cell")" "$unused"
}

# Who is in which partition, and which lane a service level has at a switch, is the manager's to set, and changes in a running subnet.
check_policy() {
  make_ring
  printf 'policy = "manager"\n' | cat - "$work/fabric.toml" >"$work/ring.toml"
  { cat "$work/ring.toml" && partition office 0x8001 hosta unit; } >"$work/fabric.toml"
  cp "$work/fabric.toml" "$work/together.toml"
  host_options=(--partition 0x8001) iou_options=(--partition 0x8001)
  ring_switch 1
  ring_switch 3
  start_iou && start_host
  within "the switch next to the host passes nothing without a policy" 10000 counts switch1 switch.drop.partition 1
  equal "policies without a manager" "$(counter switch1 subnet.policy)" 0
  ring_switch 2 --manage=5
  nic_up
  within "the LAN responds" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  local name
  for name in switch1 switch2 switch3; do
    wait_until 10 counts "$name" subnet.policy 1 || fail "$name has no policy"
    equal "policies of $name" "$(counter "$name" subnet.policy)" 1
  done
  for name in switch1 switch3; do pings_by $name 0 2; done
  # The manager's file counts, and no other.
  { cat "$work/ring.toml" && partition office 0x8001 unit && partition lab 0x8002 hosta; } >"$work/fabric.toml"
  equal "the reply of a switch without --manage" "$(ask switch1 reload)" \
    "$work/fabric.toml: lanes or partitions differ, and the subnet manager sets them: reload the switches with --manage"
  ping_all "$ns_host" 10.77.0.2 5  # the reload of sw1 has changed nothing
  equal "the reply of the manager" "$(ask switch2 reload)" "$work/fabric.toml: lanes or partitions have changed"
  within "sw1 has another policy" 10000 counts switch1 subnet.policy 2
  within "the host is cut off" 10000 lan_is_silent
  equal "policies of sw3" "$(counter switch3 subnet.policy)" 1
  # One reload has both: the partition is as before, and level 0, that of frames, has another lane at sw1.
  sed '/^\[switches.sw1\]/a lanes = [2, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]' "$work/together.toml" >"$work/fabric.toml"
  kill -HUP "${pid_of[switch2]}"
  within "the LAN responds once more" 15000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  equal "policies of sw3" "$(counter switch3 subnet.policy)" 1
  pings_by switch1 2 0
  pings_by switch3 0 2
  # Without a manager it stays; a switch that starts again waits for one.
  stop switch2 KILL
  sleep 3
  ping_all "$ns_host" 10.77.0.2 5  # the policy has not ended with the manager
  stop switch1 KILL
  ring_switch 1
  within "sw1 passes nothing of the host" 10000 counts switch1 switch.drop.partition 1
  ring_switch 2 --manage=5
  within "the LAN responds after all" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  pings_by switch1 2 0
}
