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
  within "all obey the manager of sw2" 8000 managed_by 2 switch1 switch2 switch3
  within "all cables are up" 8000 ports_are switch1 up 3
  within "all cables are up" 8000 ports_are switch2 up 2
  within "the map has all cables" 4000 the_map_has cables up up up
  within "the map has all switches" 4000 the_map_has switches up up up
  within "the map has all end nodes" 4000 the_map_has nodes up up
  "$bin/splitnic" show topology --dot --control "$work/switch2.sock" | has '"switch sw1" -- "switch sw3"' || fail "no map"
  ! "$bin/splitnic" show topology --control "$work/switch1.sock" >"$work/map" 2>&1 &&
    has "the subnet manager in force is that of sw2" <"$work/map" || fail "sw1 has a map"
  start ping "$ns_host" ping -D -i 0.02 -W 1 10.77.0.2
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush
  within "TCP flows" 5000 moved_since "$(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes)"
  local before
  before=$(counter switch2 switch.tx.cell)
  ip -n "$ns_sw1" link set c13 down
  within "TCP flows by sw2" 15000 counts switch2 switch.tx.cell $((before + 3000))
  within "pings have replies" 15000 replies_since "$(replies)"
  within "the map has the cable as down" 2000 the_map_has cables down up up
  longest_gap
  running client || fail "the TCP connection did not survive"
  ip -n "$ns_sw1" link set c13 up
  within "the cable carries cells" 8000 ports_are switch1 up 3
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

# the_nodes_are WORD...: LID, state and program of each node in the map of the manager in sw2, in the order of the file.
the_nodes_are() {
  [ "$("$bin/splitnic" show topology --json --control "$work/switch2.sock" 2>/dev/null | "$python" -c 'import json, sys
print(*[str(one[key]).replace(" ", "_") for one in json.load(sys.stdin)["nodes"] for key in ("lid", "state", "program")])')" = "$*" ]
}

# logged NAME WORDS COUNT: the log of the program has these words at least so often.
logged() { [ "$(grep -c -- "$2" "$work/$1.log")" -ge "$3" ]; }

# Nobody has written LIDs of nodes: they come from the manager, by management cells, when it is there.
check_lids() {
  make_ring manager
  ring_switch 1
  ring_switch 3
  start_iou && start_host
  within "the host's port waits for its LID" 5000 logged host "the subnet manager is to give this port its LID" 1
  within "the unit's port waits for its LID" 5000 logged iou "the subnet manager is to give this port its LID" 1
  ! logged host "attached to port" 1 && ! logged iou "attached to port" 1 || fail "a port has a LID, and there is no manager"
  ring_switch 2 --manage=5
  nic_up
  within "the map has the nodes with LIDs and programs" 8000 the_nodes_are 4 up "$host_name" 5 up unit
  logged host "attached to port .* as LID 4$" 1 && logged iou "attached to port .* as LID 5$" 1 || fail "the nodes have other LIDs"
  [ "$(counter host path.smp)" -ge 2 ] && [ "$(counter iou path.smp)" -ge 2 ] || fail "the LIDs came otherwise than by SMP"
  start ping "$ns_host" ping -D -i 0.05 -W 1 10.77.0.2
  within "pings have replies" 15000 replies_since "$(replies)"
  # Without the manager those that have a LID keep it, and one that comes waits.
  stop switch2 KILL
  sleep 3  # after 2 s it is silent
  within "pings have replies" 15000 replies_since "$(replies)"
  stop iou KILL
  start_iou
  within "the unit's port waits for its LID" 5000 logged iou "the subnet manager is to give this port its LID" 1
  sleep 1
  ! logged iou "attached to port" 1 || fail "the unit has a LID, and there is no manager"
  ring_switch 2 --manage=5
  within "pings have replies" 15000 replies_since "$(replies)"
  # A switch that starts again has lost all LIDs.
  stop switch3 KILL
  ring_switch 3
  within "the unit's port waits for its LID once more" 5000 logged iou "the subnet manager is to give this port its LID" 2
  within "the unit's port has it once more" 15000 logged iou "attached to port .* as LID 5$" 2
  within "pings have replies" 15000 replies_since "$(replies)"
  within "the map has the nodes with LIDs and programs" 8000 the_nodes_are 4 up "$host_name" 5 up unit
}

# partition NAME ID NODE...
partition() {
  printf '[partitions.%s]\nid = %s\n' "$1" "$2"
  [ $# = 2 ] || printf 'members = [%s]\n' "$(printf '"%s", ' "${@:3}")"
}

# Who is in which partition is the manager's to set, and changes in a running subnet.
check_policy() {
  make_ring
  printf 'policy = "manager"\n' | cat - "$work/fabric.toml" >"$work/ring.toml"
  { cat "$work/ring.toml" && partition office 0x8001 hosta unit; } >"$work/fabric.toml"
  cp "$work/fabric.toml" "$work/together.toml"
  host_options=(--partition 0x8001) iou_options=(--partition 0x8001)
  ring_switch 1
  ring_switch 3
  start_iou && start_host
  within "the switch next to the host passes nothing without a policy" 5000 counts switch1 switch.drop.partition 1
  equal "policies without a manager" "$(counter switch1 subnet.policy)" 0
  ring_switch 2 --manage=5
  nic_up
  within "the LAN responds" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  local name
  for name in switch1 switch2 switch3; do equal "policies of $name" "$(counter "$name" subnet.policy)" 1; done
  # The manager's file counts, and no other.
  { cat "$work/ring.toml" && partition office 0x8001 unit && partition lab 0x8002 hosta; } >"$work/fabric.toml"
  equal "the reply of a switch without --manage" "$(ask switch1 reload)" \
    "$work/fabric.toml: lanes or partitions differ, and the subnet manager sets them: reload the switches with --manage"
  in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the reload of sw1 has changed something"
  equal "the reply of the manager" "$(ask switch2 reload)" "$work/fabric.toml: lanes or partitions have changed"
  within "sw1 has another policy" 1000 counts switch1 subnet.policy 2
  within "the host is cut off" 5000 lan_is_silent
  equal "policies of sw3" "$(counter switch3 subnet.policy)" 1
  cp "$work/together.toml" "$work/fabric.toml"
  kill -HUP "${pid_of[switch2]}"
  within "the LAN responds once more" 15000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  # Without a manager it stays; a switch that starts again waits for one.
  stop switch2 KILL
  sleep 3
  in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the policy has ended with the manager"
  stop switch1 KILL
  ring_switch 1
  within "sw1 passes nothing of the host" 10000 counts switch1 switch.drop.partition 1
  ring_switch 2 --manage=5
  within "the LAN responds after all" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
}
