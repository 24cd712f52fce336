# shellcheck shell=bash disable=SC2154 # variables of bench_head.sh and of the script that sources this
# The networks and programs of switches.sh; sourced after bench_head.sh. Needs $bin and $seconds.
#   make_networks; write_topologies     once
#   has_ovs                             is Open vSwitch installed?
#   measure_hop, measure_trip, measure_forward, measure_paths, measure_failover VARIANT FILE; take_down
# UDP, one queue, without keys but in the variants that are named keyed; cells have a payload CRC.
#   hop       $ns_host fab0 -- fab0 $ns_iou lan0 -- lan0 $ns_lan, or $ns_host s1 -- p1 sw1 p9 -- s1 $ns_iou
#   forward   $ns_from from0 -- m1 $ns_mid m2 -- to0 $ns_to; wire0 joins $ns_from and $ns_to
#   paths     $ns_host s1 -- p1 sw1, sw1 c12 - c12 sw2, sw1 c13 - c13 sw3, sw2 c24 - c24 sw4, sw3 c34 - c34 sw4, sw4 p9 -- s4 $ns_iou
#   pair      $ns_host s2 -- p1 sw2 p9 -- s2 $ns_iou, and the same by sw3

path_mbit=200                                             # of each spine, in each direction
path_limit=(burst 128kb limit 4mb)                        # a burst takes a whole batch of the fabric
frames_window=128 cells_window=4096 alone_window=1024     # in flight: the packet sockets of Open vSwitch keep few frames
ovs_schema=/usr/share/openvswitch/vswitch.ovsschema
programs=(host iou switch1 switch2 switch3 switch4 switch vswitchd ovsdb)
limited=("1 c12" "1 c13" "4 c24" "4 c34")                 # of leaves to spines: number of the switch, and interface
declare -A ns_sw=() public=()

wire() { # NS IF ADDRESS NS IF ADDRESS, or without addresses NS IF - NS IF -
  veth_between "$1" "$2" "$4" "$5" || return 1
  [ "$3" = - ] || { ip -n "$1" addr add "$3/24" dev "$2" && ip -n "$4" addr add "$6/24" dev "$5"; }
}

make_networks() {
  local i ns
  topology_three || return 1
  ns_from=sn$$-f ns_mid=sn$$-m ns_to=sn$$-t
  for i in 1 2 3 4; do ns_sw[$i]=sn$$-$i; done
  for ns in "$ns_from" "$ns_mid" "$ns_to" "${ns_sw[@]}"; do host_namespace "$ns" || return 1; done
  forget_tcp "$ns_host" "$ns_lan"
  wire "$ns_host" s1 10.96.1.1 "${ns_sw[1]}" p1 10.96.1.2 && wire "$ns_iou" s1 10.96.2.1 "${ns_sw[1]}" p9 10.96.2.2 &&
    wire "$ns_iou" s4 10.96.4.1 "${ns_sw[4]}" p9 10.96.4.2 &&
    wire "${ns_sw[1]}" c12 10.96.12.1 "${ns_sw[2]}" c12 10.96.12.2 && wire "${ns_sw[1]}" c13 10.96.13.1 "${ns_sw[3]}" c13 10.96.13.2 &&
    wire "${ns_sw[2]}" c24 10.96.24.1 "${ns_sw[4]}" c24 10.96.24.2 && wire "${ns_sw[3]}" c34 10.96.34.1 "${ns_sw[4]}" c34 10.96.34.2 &&
    wire "$ns_host" s2 10.96.21.1 "${ns_sw[2]}" p1 10.96.21.2 && wire "$ns_iou" s2 10.96.22.1 "${ns_sw[2]}" p9 10.96.22.2 &&
    wire "$ns_host" s3 10.96.31.1 "${ns_sw[3]}" p1 10.96.31.2 && wire "$ns_iou" s3 10.96.32.1 "${ns_sw[3]}" p9 10.96.32.2 &&
    wire "$ns_from" from0 10.96.5.1 "$ns_mid" m1 10.96.5.2 && wire "$ns_to" to0 10.96.6.1 "$ns_mid" m2 10.96.6.2 &&
    wire "$ns_from" wire0 - "$ns_to" wire0 - || return 1
  for ns in "$ns_from from0" "$ns_from wire0" "$ns_to to0" "$ns_to wire0" "$ns_mid m1" "$ns_mid m2"; do
    silence_interface "${ns% *}" "${ns#* }"
  done
}

write_topologies() {
  local who i keys=()
  for who in host unit sw; do
    public[$who]=$("$bin/splitnic" keygen --out "$work/$who.key") || return 1
    keys+=(-e "/^\[.*\.$who\]/a key = \"${public[$who]}\"")
  done
  write_nodes sw 1 host "sw:1" unit "sw:2" >"$work/hop.toml"
  write_nodes sw 1 from "sw:1" to "sw:2" >"$work/forward.toml"
  for i in 2 3; do write_nodes "sw$i" "$i" host "sw$i:1" unit "sw$i:2" >"$work/pair$i.toml"; done
  sed "${keys[@]}" "$work/hop.toml" >"$work/hop-keyed.toml"
  {
    printf 'routing = "updown"\ntables = "per_switch"\ncables = ["sw1:2 - sw2:1", "sw1:3 - sw3:1", "sw2:2 - sw4:2", "sw3:2 - sw4:3"]\n'
    for i in 1 2 3 4; do printf '[switches.sw%d]\nlid = %d\n' "$i" "$i"; done
    printf '[nodes.host]\nlid = 24\nlmc = 1\nat = "sw1:1"\n[nodes.unit]\nlid = 16\nlmc = 1\nat = "sw4:1"\n'
  } >"$work/spines.toml"
}

write_nodes() { # SWITCH LID NODE PORT NODE PORT
  printf '[switches.%s]\nlid = %d\n[nodes.%s]\nlid = 11\nat = "%s"\n[nodes.%s]\nlid = 12\nat = "%s"\n' "$@"
}

start_switch() { # NUMBER NAME TOPOLOGY OPTION...
  start "switch$1" "${ns_sw[$1]}" "$bin/splitnic-switch" --name "$2" --topology "$work/$3.toml" --control "$work/switch$1.sock" "${@:4}"
}

start_unit() { # OPTION...
  start iou "$ns_iou" "$bin/splitnic-iou" --lan packet:lan0 --name unit --control "$work/iou.sock" --queues 1 --payload-crc on "$@"
}

start_host() { # OPTION...: until it is up, with a way to the LAN.
  start host "$ns_host" "$bin/splitnic-host" --tap nic0 --name host --control "$work/host.sock" --queues 1 --payload-crc on "$@"
  wait_until 20 host_is_up "$work/host.sock" && nic0_replies "$ns_host" 10.77.0.1/24 10
}

measure_hop() { # VARIANT FILE
  local metrics=(tcp1 ping rtt)
  [[ $1 != *-busy ]] || metrics=(ping rtt)
  up_hop "$1" || { echo "$1: the host does not come up" >&2 && return 1; }
  compare_results "${metrics[@]}" >"$2"
}

up_hop() { # VARIANT
  local to=udp://10.99.0.2:7471 at=(--listen udp://10.99.0.2:7471) file=hop next=unit all=() ends=()
  local of_switch=(--insecure-lab) of_unit=(--insecure-lab) of_host=(--insecure-lab)
  [[ $1 != *-busy ]] || all+=(--busy-poll)
  [[ $1 != *-full* ]] || all+=(--link-profile full) ends+=(--cell 1024)
  [[ $1 != hop* ]] || to='udp://unit:1?via=10.96.1.2:7500' at=(--attach udp://10.96.2.2:7500) next=sw
  if [[ $1 == *-keyed ]]; then
    file=hop-keyed of_switch=(--key-file "$work/sw.key") of_host=(--key-file "$work/host.key" --peer "${public[$next]}")
    of_unit=(--key-file "$work/unit.key" --allow-key "${public[host]}")
    [ $next = unit ] || of_unit=(--key-file "$work/unit.key" --peer "${public[sw]}")
  fi
  [ $next = unit ] || start_switch 1 sw $file --port udp://10.96.1.2:7500 --port udp://10.96.2.2:7500 "${of_switch[@]}" "${all[@]}"
  start_unit "${at[@]}" "${of_unit[@]}" "${all[@]}" "${ends[@]}"
  start_host --connect "$to" "${of_host[@]}" "${all[@]}" "${ends[@]}"
}

# All of it in $ns_mid, so that cells take the loopback interface.
measure_trip() { # VARIANT FILE
  local options=(--by '10.96.5.2:7500,10.96.6.2:7500') of_switch=(--busy-poll)
  [[ $1 != *-full ]] || of_switch+=(--link-profile full)
  case "$1" in
    *-direct*) options=(--direct 10.96.5.2:7500) ;;
    *) start_forwarding_switch "${of_switch[@]}" ;;
  esac
  [[ $1 != *-full ]] || options+=(--full)
  measured ip netns exec "$ns_mid" "$bin/../tests/cell_trip_bench" --seconds "$seconds" "${options[@]}" >"$2"
}

measure_forward() { # VARIANT FILE
  local window=$frames_window options=(--frames 'from0,to0') forwarder=''
  case "$1" in
    wire) options=(--frames 'wire0,wire0') ;;
    bridge) up_bridge || return 1 ;;
    bridge-2) up_bridge && options+=(--senders 2) || return 1 ;;
    ovs) up_ovs || return 1 && forwarder=vswitchd ;;
    cells*)
      window=$cells_window options=(--cells '10.96.5.2:7500,10.96.6.2:7500') forwarder=switch
      up_forwarding_switch "$1"
      ;;
  esac
  case "$1" in
    cells-alone) window=$alone_window options+=(--batch 1) ;;
    cells-full) options+=(--full) ;;
  esac
  measured "$python" "$bench/switches_measure.py" forward --bench "$bin/../tests/forward_bench" --in "$ns_mid" --window "$window" \
    --seconds "$seconds" ${forwarder:+--pid "${pid_of[$forwarder]}"} -- --netns "$ns_from,$ns_to" "${options[@]}" >"$2"
}

up_bridge() {
  ip -n "$ns_mid" link add br0 type bridge && silence_interface "$ns_mid" br0 && ip -n "$ns_mid" link set m1 master br0 &&
    ip -n "$ns_mid" link set m2 master br0 && ip -n "$ns_mid" link set br0 up
}

has_ovs() {
  local one
  for one in ovsdb-tool ovsdb-server ovs-vswitchd ovs-vsctl; do command -v "$one" >/dev/null || return 1; done
  [ -e $ovs_schema ]
}

# Everything of it is in $work/ovs: the programs of the system have their own database, sockets and folders.
up_ovs() {
  export OVS_RUNDIR=$work/ovs OVS_DBDIR=$work/ovs OVS_LOGDIR=$work/ovs OVS_SYSCONFDIR=$work/ovs
  mkdir -p "$work/ovs" && ovsdb-tool create "$work/ovs/conf.db" $ovs_schema || return 1
  start ovsdb "$ns_mid" ovsdb-server "$work/ovs/conf.db" "--remote=punix:$work/ovs/db.sock" "--unixctl=$work/ovs/ovsdb.ctl"
  wait_until 5 test -S "$work/ovs/db.sock" && set_ovs --no-wait init || return 1
  start vswitchd "$ns_mid" ovs-vswitchd "unix:$work/ovs/db.sock" "--unixctl=$work/ovs/vswitchd.ctl"
  set_ovs add-br br0 -- set bridge br0 datapath_type=netdev -- add-port br0 m1 -- add-port br0 m2
}

set_ovs() { ovs-vsctl --timeout=10 "--db=unix:$work/ovs/db.sock" "$@"; }

up_forwarding_switch() { # VARIANT
  local profile=speed
  [ "$1" != cells-full ] || profile=full
  start_forwarding_switch --link-profile $profile
}

start_forwarding_switch() { # OPTION...
  start switch "$ns_mid" "$bin/splitnic-switch" --name sw --topology "$work/forward.toml" --control "$work/switch.sock" --insecure-lab \
    --port udp://10.96.5.2:7500 --port udp://10.96.6.2:7500 "$@"
}

start_spine_switch() { # NUMBER
  local ports
  case "$1" in
    1) ports=(10.96.1.2:7500 10.96.12.1:7512 10.96.13.1:7513) ;;
    2) ports=('10.96.12.1:7512,connect' 10.96.24.1:7524) ;;
    3) ports=('10.96.13.1:7513,connect' 10.96.34.1:7534) ;;
    4) ports=(10.96.4.2:7500 '10.96.24.1:7524,connect' '10.96.34.1:7534,connect') ;;
  esac
  start_switch "$1" "sw$1" spines --insecure-lab "${ports[@]/#/--port=udp://}"
}

# Each end needs a moment to know the LIDs of the other.
up_spines() { # PATH
  local i
  for i in 1 2 3 4; do start_spine_switch "$i"; done
  start_unit --attach udp://10.96.4.2:7500 --insecure-lab
  start_host --connect "udp://unit:1?via=10.96.1.2:7500&path=$1" --insecure-lab && sleep 2
}

measure_paths() { # VARIANT FILE
  local path=0 one
  [ "$1" = one-path ] || path=all
  up_spines $path || { echo "$1: the host does not come up" >&2 && return 1; }
  for one in "${limited[@]}"; do
    tc -n "${ns_sw[${one% *}]}" qdisc add dev "${one#* }" root tbf rate "${path_mbit}mbit" "${path_limit[@]}" || return 1
  done
  compare_results tcp1 tcp4 >"$2"
}

start_pair_switch() { # NUMBER
  start_switch "$1" "sw$1" "pair$1" --insecure-lab --port "udp://10.96.${1}1.2:7500" --port "udp://10.96.${1}2.2:7500"
}

up_pair() {
  start_pair_switch 2
  start_pair_switch 3
  start_unit --attach udp://10.96.22.2:7500 --attach udp://10.96.32.2:7500 --insecure-lab
  start_host --connect 'udp://unit:1?via=10.96.21.2:7500' --connect 'udp://unit:1?via=10.96.31.2:7500' --failback never --insecure-lab &&
    wait_until 10 pair_is_whole
}

# states_of_ways: of the ways of the host to the unit, in the order of --connect.
states_of_ways() {
  "$bin/splitnic" show --json --control "$work/host.sock" 2>/dev/null | "$python" -c 'import json, sys
print(*(peer["state"] for peer in json.load(sys.stdin)["peers"]))' 2>/dev/null
}
pair_is_whole() { [[ $(states_of_ways) =~ ^(up standby|standby up)$ ]]; }
switch_in_use() { if [[ $(states_of_ways) == up* ]]; then echo 2; else echo 3; fi; }

# Both of its cables are up.
spine_is_back() { # NUMBER
  grep -qs "sw1): .* is up" "$work/switch$1.log" && grep -qs "sw4): .* is up" "$work/switch$1.log"
}

measure_failover() { # VARIANT FILE
  local kill victim
  if [ "$1" = pair ]; then up_pair; else up_spines all; fi || { echo "$1: the host does not come up" >&2 && return 1; }
  for kill in 1 2; do
    victim=$((kill + 1))
    [ "$1" != pair ] || victim=$(switch_in_use)
    measured "$python" "$bench/switches_measure.py" gap --host "$ns_host" --lan "$ns_lan" --pid "${pid_of[switch$victim]}" \
      --metric "gap_${kill}_ms" >>"$2" || return 1
    stop "switch$victim" KILL
    if [ "$1" = pair ]; then
      start_pair_switch "$victim"
      wait_until 15 pair_is_whole || return 1
    else
      start_spine_switch "$victim"
      wait_until 15 spine_is_back "$victim" || return 1
      sleep 2  # a path that was silent is tried after up to 800 ms
    fi
  done
}

take_down() {
  local name one
  for name in "${programs[@]}"; do
    stop "$name" TERM 3
    rm -f "$work/$name.log"
  done
  for one in "${limited[@]}"; do tc -n "${ns_sw[${one% *}]}" qdisc del dev "${one#* }" root 2>/dev/null; done
  ip -n "$ns_mid" link del br0 2>/dev/null
  rm -rf "$work/ovs"
  ip -n "$ns_lan" neigh flush dev lan0  # it knows nic0 of the variant before
}
