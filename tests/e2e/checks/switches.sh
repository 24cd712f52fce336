# shellcheck shell=bash
# Host and I/O unit with one or two fabric switches between them, each in a separate network namespace:
#   $ns_host fab0 -- port 1 of sw1 (-- port 2 of sw1 -- port 1 of sw2) -- fab0 $ns_iou lan0 -- lan0 $ns_lan

# make_switches COUNT: namespaces, wires and the topology file.
make_switches() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c ns_sw1=sn$$-s ns_sw2=sn$$-t
  local ns last=$ns_sw1
  for ns in "$ns_host" "$ns_iou" "$ns_lan" "$ns_sw1" "$ns_sw2"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_host" fab0 "$ns_sw1" p1 || fail "no wire"
  ip -n "$ns_host" addr add 10.96.1.1/24 dev fab0
  ip -n "$ns_sw1" addr add 10.96.1.2/24 dev p1
  if [ "$1" = 2 ]; then
    last=$ns_sw2
    veth_between "$ns_sw1" p2 "$ns_sw2" p1 || fail "no wire"
    ip -n "$ns_sw1" addr add 10.96.3.1/24 dev p2
    ip -n "$ns_sw2" addr add 10.96.3.2/24 dev p1
  fi
  veth_between "$last" p9 "$ns_iou" fab0 && veth_between "$ns_iou" lan0 "$ns_lan" lan0 || fail "no wire"
  ip -n "$last" addr add 10.96.2.2/24 dev p9
  ip -n "$ns_iou" addr add 10.96.2.1/24 dev fab0
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  silence_interface "$ns_iou" lan0
  local switches=$1
  {
    [ "$switches" = 1 ] || echo 'cables = ["sw1:2 - sw2:1"]'
    printf '[switches.sw%s]\nlid = %s\n' 1 1
    [ "$switches" = 1 ] || printf '[switches.sw%s]\nlid = %s\n' 2 2
    printf '[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.unit]\nlid = 10\nat = "sw%s:2"\n' "$switches"
  } >"$work/fabric.toml"
  iou_address='unit:1?via=10.96.1.2:7500'
  attach_at=udp://10.96.2.2:7502
}

# start_switch NUMBER COUNT
start_switch() {
  local second=udp://10.96.2.2:7502 first=udp://10.96.1.2:7500 ns=ns_sw$1
  [ "$1$2" != 12 ] || second=udp://10.96.3.1:7501
  [ "$1" != 2 ] || first=udp://10.96.3.1:7501,connect
  start "switch$1" "${!ns}" "$bin/splitnic-switch" --port "$first" --port "$second" --topology "$work/fabric.toml" \
    --name "sw$1" --control "$work/switch$1.sock" --insecure-lab
}

switched() {
  plain
  make_switches "$1"
  local i
  for ((i = 1; i <= $1; i++)); do start_switch "$i" "$1"; done
  start_iou && start_host
  nic_up
}

# The counters of a switch: what came in went out, was for the switch, or was dropped for a reason.
balance() {
  local in out own dropped
  read -r in out own dropped < <(ask "$1" stats --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)
print(found["switch.rx.cell"], found["switch.tx.cell"], found["switch.mgmt"],
      sum(n for name, n in found.items() if name.startswith("switch.drop.")))')
  echo "$1: $in cells in, $out out, $own for itself, $dropped dropped$(ask "$1" stats | awk '/^switch.drop/ && $2 { printf ", %s %d", $1, $2 }')"
  [ "$in" -gt 1000 ] || fail "no traffic went through $1"
  equal "cells of $1" "$in" $((out + own + dropped))
}

traffic() {
  ping_all "$ns_host" 10.77.0.2 100
  mkdir -p "$work/www"
  head -c 32M /dev/urandom >"$work/www/blob"
  start_web_server "$ns_lan" "$work/www"
  wait_until 5 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  in_ns "$ns_host" curl -sS --max-time 60 -o "$work/got" http://10.77.0.2/blob || fail "curl"
  equal "hash of the file" "$(sha256sum <"$work/got")" "$(sha256sum <"$work/www/blob")"
  stop nginx
  serve_iperf "$ns_lan" 10.77.0.2
  in_ns "$ns_host" iperf3 -c 10.77.0.2 -t 2 -J >"$work/iperf.json" || fail "iperf3"
  "$python" -c 'import json, sys
print("iperf3: %.0f Mbit/s" % (json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e6))' <"$work/iperf.json"
}

drops_of() { ask "$1" stats | awk '/^switch.drop/ { n += $2 } END { print n + 0 }'; }

# lossless SWITCH...: traffic, in which none of these switches drops a cell, whatever the cause. A host that comes before
# the unit has sent its first INIT to a port without a link, which the switch dropped before that.
lossless() {
  local name
  local -A before
  for name in "$@"; do before[$name]=$(drops_of "$name"); done
  traffic
  for name in "$@"; do
    balance "$name"
    equal "cells that $name dropped under traffic" "$(($(drops_of "$name") - before[$name]))" 0
  done
}

check_one() {
  switched 1
  lossless switch1
  ask switch1 show | has "^unit .* up .* 10" || fail "no line for the unit: $(ask switch1 show)"
}

check_two() {
  switched 2
  lossless switch1 switch2
}

moved_since() { [ $(($(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes) - $1)) -gt 3000000 ]; }

# A TCP connection survives each kill of a switch, and nic0 stays.
check_killed() {
  switched 2
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush
  local round which
  for round in 1 2 1; do
    which=$round
    sleep 0.7
    stop "switch$which" KILL
    within "carrier down after switch $which was killed" 2000 carrier_is "$ns_host" nic0 0
    start_switch "$which" 2
    within "carrier after its restart" 5000 carrier_is "$ns_host" nic0 1
    within "TCP flows again" 15000 moved_since "$(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes)"
    running client || fail "the TCP connection did not survive"
  done
}

check_shm() {
  plain
  topology_three || fail "the test hosts cannot be made"
  fabric=shm
  printf '[switches.sw1]\nlid = 1\n[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.unit]\nlid = 10\nat = "sw1:2"\n' >"$work/fabric.toml"
  start switch1 "$ns_iou" "$bin/splitnic-switch" --port shm://one --port shm://two --topology "$work/fabric.toml" --name sw1 \
    --control "$work/switch1.sock"
  attach_at=shm://two
  shm_address='unit?via=one'
  start_iou && start_host
  nic_up
  lossless switch1
}

# What is refused, and the one line for it.
check_refused() {
  plain
  topology_three || fail "the test hosts cannot be made"
  local file=$work/fabric.toml
  local run=(ip netns exec "$ns_iou" "$bin/splitnic-switch" --topology "$file" --control "$work/s.sock" --insecure-lab)
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 1\nat = "sw1:1"\n' >"$file"
  refuses 1 "line 4, column 7: [nodes.a] lid: 1 is taken in line 2" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 2\nat = "sw1:2"\n' >"$file"
  refuses 1 "--port: a is at port 2" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  refuses 1 "there is no [switches.other]" "${run[@]}" --name other --port udp://127.0.0.1:7500
  refuses 2 "all udp:// or all shm://" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500 --port shm://x
  refuses 2 "--insecure-lab" "$bin/splitnic-switch" --topology "$file" --port udp://127.0.0.1:7500
  refuses 2 "no keys in this release" "$bin/splitnic-host" --connect 'udp://unit:1?via=127.0.0.1:7500' \
    --key-file x --peer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
  # A name that the subnet does not have is one line of the host's log, and so is a host that names no node at all.
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 2\nat = "sw1:1"\n[nodes.b]\nlid = 3\nat = "sw1:2"\n' >"$file"
  start switch1 "$ns_iou" "$bin/splitnic-switch" --port udp://10.99.0.2:7500 --port udp://10.99.0.2:7501 --topology "$file" \
    --name sw1 --control "$work/switch1.sock" --insecure-lab
  iou_address='nobody:1?via=10.99.0.2:7500'
  start_host
  within "the log names it" 3000 grep -q "knows no node 'nobody'" "$work/host.log"
  stop host TERM
  iou_address=10.99.0.2:7501
  start_host
  within "the switch refuses a connection with itself" 3000 grep -q "this is a fabric switch" "$work/host.log"
}
