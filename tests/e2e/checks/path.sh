# shellcheck shell=bash
# The path between the programs carries less than their interfaces, or somebody reports that it does.

# make_stranger: $ns_stranger reaches the fabric's addresses of both, by a wire to each.
make_stranger() {
  local n=0 ns address
  ns_stranger=sn$$-s
  host_namespace "$ns_stranger" || fail "no namespace"
  for ns in "$ns_host" "$ns_iou"; do
    n=$((n + 1))
    veth_between "$ns_stranger" "to$n" "$ns" other0 || fail "no wire"
    ip -n "$ns_stranger" addr add "10.98.$n.9/24" dev "to$n"
    ip -n "$ns_stranger" addr add "fd98:$n::9/64" dev "to$n" nodad
    ip -n "$ns" addr add "10.98.$n.1/24" dev other0
    ip -n "$ns" addr add "fd98:$n::1/64" dev other0 nodad
    for address in "10.99.0.$n/32 via 10.98.$n.1" "fd99::$n/128 via fd98:$n::1"; do
      # shellcheck disable=SC2086
      ip -n "$ns_stranger" route add $address || fail "no route to $address"
    done
  done
}

# forged_reports HOST UNIT MTU: a stranger reports to both ends, all the time, that a path is as narrow as there can be.
# MTU is what the kernel makes of that for everybody else.
forged_reports() {
  local host=$1 unit=$2 forged=$3 port who
  make_stranger
  port=$(port_of_host)
  [ -n "$port" ] || fail "the host has no connected socket"
  start reports_to_unit "$ns_stranger" "$python" -B "$e2e/stranger.py" report "$unit" "${iou_address##*:}" "$host" "$port" 4
  start reports_to_host "$ns_stranger" "$python" -B "$e2e/stranger.py" report "$host" "$port" "$unit" "${iou_address##*:}" 4
  # The reports do reach the kernels.
  wait_until 10 takes_reports "$ns_iou" "$host" "$forged" || fail "the unit's kernel did not take the reports"
  wait_until 10 takes_reports "$ns_host" "$unit" "$forged" || fail "the host's kernel did not take the reports"
  begin_pings pings_to_host "$ns_lan" 10.77.0.1 -s 1400
  ping_all "$ns_host" 10.77.0.2 250 0.012 -s 1400
  end_pings pings_to_host
  for who in reports_to_unit reports_to_host; do
    wait_until 10 process_ended "${pid_of[$who]}" || fail "the stranger does not end"
    stop $who || fail "the stranger failed: $(cat "$work/$who.log")"
    echo "$who: $(cat "$work/$who.log")"
  done
  files_both_ways 4
  for who in host iou; do
    equal "paths narrowed and datagrams too long, at the $who" \
      "$(counters $who link.path_narrowed link.tx.drop.too_long)" "0 0"
  done
  equal "pairs made, frames lost to the LAN" "$(counters host host.pair.ups host.tx.lost)" "1 0"
  equal "frames lost to the host" "$(counter iou iou.to_host.lost)" 0
  # A host that starts while the kernel has the report begins with the whole length, too.
  stop host TERM
  start_host
  nic_up
  cells_are_whole
}

# takes_reports NS ADDRESS MTU
takes_reports() { in_ns "$1" ip route get "$2" | has -E "mtu (lock )?$3"; }

# The port that the host's socket of queue 0 sends from.
port_of_host() {
  in_ns "$ns_host" ss -Hun | awk -v to=":${iou_address##*:}" '{
    for (i = 2; i <= NF; i++) if (substr($i, length($i) - length(to) + 1) == to) { port = $(i - 1); sub(".*:", "", port); print port; exit }
  }'
}

# Both ends use cells as long as the interface carries, or --cell allows.
cells_are_whole() {
  local who
  for who in host iou; do
    ask $who show --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)["links"][0]["cell_bytes"]
assert found >= int(sys.argv[1]), found' "$(host_option --cell 1344)" || fail "the $who has short cells"
  done
}

check_forged_reports() {
  bring_up
  forged_reports 10.99.0.1 10.99.0.2 552
}

check_forged_reports_ipv6() {
  topology_ipv6
  iou_address='[fd99::2]:7471'
  start_iou && start_host
  nic_up
  forged_reports fd99::1 fd99::2 1280
}

# routed MTU [NEAR]: the host and the unit with a router each, whose wire between them carries packets of MTU bytes, and those to
# them of NEAR.
routed() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c
  ns_routers=("sn$$-r" "sn$$-q")
  local ns
  for ns in "$ns_host" "$ns_iou" "$ns_lan" "${ns_routers[@]}"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_host" fab0 "${ns_routers[0]}" near "${2:-1500}" && veth_between "${ns_routers[0]}" far "${ns_routers[1]}" far "$1" &&
    veth_between "${ns_routers[1]}" near "$ns_iou" fab0 "${2:-1500}" && veth_between "$ns_iou" lan0 "$ns_lan" lan0 || fail "no wires"
  silence_interface "$ns_iou" lan0
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  ip -n "$ns_host" addr add 10.99.0.1/24 dev fab0
  ip -n "$ns_iou" addr add 10.99.2.2/24 dev fab0
  ip -n "${ns_routers[0]}" addr add 10.99.0.254/24 dev near
  ip -n "${ns_routers[0]}" addr add 10.99.1.1/24 dev far
  ip -n "${ns_routers[1]}" addr add 10.99.1.2/24 dev far
  ip -n "${ns_routers[1]}" addr add 10.99.2.254/24 dev near
  ip -n "$ns_host" route add 10.99.2.0/24 via 10.99.0.254
  ip -n "$ns_iou" route add 10.99.0.0/24 via 10.99.2.254
  ip -n "${ns_routers[0]}" route add 10.99.2.0/24 via 10.99.1.2
  ip -n "${ns_routers[1]}" route add 10.99.0.0/24 via 10.99.1.1
  for ns in "${ns_routers[@]}"; do in_ns "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; done
  iou_address=10.99.2.2:7471
}

# narrow_middle MTU: from now on.
narrow_middle() {
  local ns
  for ns in "${ns_routers[@]}"; do ip -n "$ns" link set far mtu "$1"; done
}

long_ping() { in_ns "$1" ping -q -c 1 -W 0.3 -s 1472 "$2"; }

# The path is narrow from the start, and becomes narrower: both are found, and TCP crosses. How soon they are found,
# tests/unit/fabric_emul/link/path_probe_test.cc shows without other work on the machine.
through_routers() {
  local began
  iou_options=(--cell 1364) host_options=(--cell 1364)  # smaller ones may fit all the same
  start_iou && start_host
  began=$(milliseconds)
  nic_up
  within "long frames to the LAN" 15000 long_ping "$ns_host" 10.77.0.2
  within "long frames to the host" 15000 long_ping "$ns_lan" 10.77.0.1
  echo "after $(($(milliseconds) - began)) ms in all"
  counts host link.path_narrowed 1 || fail "the host did not notice"
  counts iou link.path_narrowed 1 || fail "the unit did not notice"
  [ "$(counter host host.pair.ups)" -le 3 ] || fail "$(counter host host.pair.ups) pairs"
  files_both_ways 4
  throughput 1
  narrow_middle 1000
  in_ns "$ns_host" ping -q -i 0.05 -s 1472 -w 2 10.77.0.2 >/dev/null
  within "long frames after it has become narrower" 15000 long_ping "$ns_host" 10.77.0.2
  within "long frames to the host after it has become narrower" 15000 long_ping "$ns_lan" 10.77.0.1
  files_both_ways 4
}

check_routers() {
  routed 1300
  through_routers
  kernel_has_report || fail "no router reported anything: nothing is shown"
}

check_silent_routers() {
  local ns
  routed 1300
  for ns in "${ns_routers[@]}"; do ip -n "$ns" rule add ipproto icmp blackhole || fail "the routers report"; done
  through_routers
  ! kernel_has_report || fail "a router reported: nothing is shown"
}

# From 9000 to 1280 and back in mid-flow, and nobody reports it: what is in flight arrives, in fragments, and then the host makes a
# connection whose cells pass whole.
check_narrows_in_mid_flow() {
  local ns who
  iou_options=(--queues 1) host_options=(--queues 1)  # each queue has a path
  routed 9000 9000
  for ns in "${ns_routers[@]}"; do ip -n "$ns" rule add ipproto icmp blackhole || fail "the routers report"; done
  start_iou && start_host
  nic_up
  ask host show --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)["links"][0]["cell_bytes"]
assert found >= 8800, found' || fail "short cells"
  make_blob 288
  start_web_server "$ns_lan" "$work/www"
  wait_until 10 in_ns "$ns_host" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  pings_begin
  start client "$ns_host" curl -s --limit-rate 12M -o "$work/fetched" http://10.77.0.2/blob
  start long_pings "$ns_host" ping -q -i 0.05 -s 1400 10.77.0.2
  sleep 0.7
  narrow_middle 1280
  for who in host iou; do wait_until 15 counts $who link.path_narrowed 1 || fail "the $who does not notice"; done
  running client || fail "the file was there before the path narrowed"
  wait_until 15 has_short_cells || fail "no connection with shorter cells: $(ask host show)"
  narrow_middle 9000
  # Found within 1.5 s, and the rest is the time until a retransmission: 2 s on a machine without other work, which
  # tests/sim/faults_sim_test.cc shows.
  pings_within "from 9000 to 1280 and back" 10000
  running client || fail "the file was there before the path was wide again"
  wait "${pid_of[client]}" || fail "the file did not arrive"
  unset "pid_of[client]"
  stop long_pings INT
  equal "the file" "$(hash_of "$work/fetched")" "$wanted"
  for who in host iou; do counts $who link.tx.fragment 10 || fail "the $who sent no fragments"; done
  equal "frames of the host that were lost" "$(counters host host.tx.lost host.tx.drop.ended)" "0 0"
  equal "frames to the host that were lost" "$(counter iou iou.to_host.lost)" 0
}
has_short_cells() { [ "$(counter host host.pair.ups)" -ge 2 ] && ask host show --json | "$python" -c 'import json, sys
assert json.load(sys.stdin)["links"][0]["cell_bytes"] < 1200'; }

# The host's kernel has a path MTU that a router reported.
kernel_has_report() { [[ "$(in_ns "$ns_host" ip route get 10.99.2.2)" == *" mtu "* ]]; }

check_routers_full_profile() {
  iou_options=(--link-profile full) host_options=(--link-profile full)
  routed 1300
  start_iou && start_host
  nic_up
  within "long frames" 15000 long_ping "$ns_host" 10.77.0.2
  files_both_ways 4
  counts host link.path_narrowed 1 || fail "the host did not notice"
}
