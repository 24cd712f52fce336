# shellcheck shell=bash
# Two hosts and a unit at the same switches, each in a separate network namespace, keyed:
#   $ns_host p1 -- port 1 of sw1, $ns_second p1 -- port 2, $ns_iou p1 -- port 3 (and a hostile node at port 4); the same at sw2 by p2

# make_shared COUNT: of switches, which know the same nodes.
make_shared() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c ns_second=sn$$-e ns_sw1=sn$$-s ns_sw2=sn$$-t
  local number port ns sw nodes=("$ns_host" "$ns_second" "$ns_iou")
  for ns in "${nodes[@]}" "$ns_lan" "$ns_sw1" "$ns_sw2"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_iou" lan0 "$ns_lan" lan0 && ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0 || fail "no LAN"
  silence_interface "$ns_iou" lan0
  for ((number = 1; number <= $1; number++)); do
    sw=ns_sw$number
    for port in 1 2 3; do
      ns=${nodes[port - 1]}
      veth_between "$ns" "p$number" "${!sw}" "p$port" || fail "no wire"
      ip -n "$ns" addr add "10.96.$number$port.1/24" dev "p$number"
      ip -n "${!sw}" addr add "10.96.$number$port.2/24" dev "p$port"
    done
    {
      entry "switches.sw$number" "$number" "" "sw$number"
      entry nodes.hosta 11 "sw$number:1" host
      entry nodes.hostb 12 "sw$number:2" second
      entry nodes.unit 10 "sw$number:3" unit
      entry nodes.stranger 13 "sw$number:4" stranger
    } >"$work/fabric$number.toml"
    start_shared "$number"
  done
}

start_shared() {
  local sw=ns_sw$1 port ports=()
  for port in 1 2 3; do ports+=(--port "udp://10.96.$1$port.2:7500"); done
  start "switch$1" "${!sw}" "$bin/splitnic-switch" --name "sw$1" --topology "$work/fabric$1.toml" --key-file "$work/sw$1.key" \
    --control "$work/switch$1.sock" "${ports[@]}" --port udp://127.0.0.1:7500
}

# start_shared_program NAME NS OPTION ADDRESS PORT COMMAND...: attached to all switches, the first of which it prefers. ADDRESS
# has %s for that of the switch.
start_shared_program() {
  local number ns=$2 option=$3 address=$4 port=$5 ways=()
  for ((number = 1; number <= count; number++)); do
    ways+=("$option" "${address/\%s/10.96.$number$port.2:7500}" --peer "$(public "sw$number")")
  done
  start "$1" "$ns" "${@:6}" "${ways[@]}" --control "$work/$1.sock"
}

# bring_up_shared COUNT: all of them, with nic0 of the hosts up as 10.77.0.1 and 10.77.0.3.
bring_up_shared() {
  local count=$1 who ns
  make_shared "$count"
  start_shared_program iou "$ns_iou" --attach udp://%s 3 "$bin/splitnic-iou" --lan "$port:lan0" --name unit --key-file "$work/unit.key"
  start_shared_program host "$ns_host" --connect 'udp://unit:1?via=%s' 1 "$bin/splitnic-host" --tap nic0 --name hosta \
    --key-file "$work/host.key" --failback never
  start_shared_program host2 "$ns_second" --connect 'udp://unit:1?via=%s' 2 "$bin/splitnic-host" --tap nic0 --name hostb \
    --key-file "$work/second.key" --failback never
  nic_up
  wait_up host2
  silence_interface "$ns_second" nic0
  ip -n "$ns_second" addr add 10.77.0.3/24 dev nic0 && ip -n "$ns_second" link set nic0 up || fail "nic0 cannot be set up"
  ask_often "$ns_second" nic0
  wait_until 10 in_ns "$ns_second" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond to the second host"
}

# serve_both: iperf3 on the LAN, with a port for each host.
serve_both() {
  local server
  start server "$ns_lan" iperf3 -s --forceflush -B 10.77.0.2
  start server2 "$ns_lan" iperf3 -s --forceflush -B 10.77.0.2 -p 5202
  for server in server server2; do wait_until 10 grep -qs listening "$work/$server.log" || fail "iperf3 does not listen"; done
}

received() { in_ns "$1" cat /sys/class/net/nic0/statistics/rx_bytes; }

# Both at once: ping and iperf3; the cells of a third node in the name of others reach nobody; a host that is stopped does not
# stop the other.
check_two_hosts() {
  bring_up_shared 1
  local ns
  serve_both
  start stranger "$ns_sw1" "$python" -B "$e2e/hostile_node.py" 127.0.0.1 7500 "$work/stranger.key" "$(public sw1)" 60 1 10 11 12 1
  wait_until 30 grep -qs attached "$work/stranger.log" || fail "the hostile node is not attached: $(cat "$work/stranger.log")"
  # From the LAN: what waits for the one that is stopped waits in the switch.
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -R --forceflush
  start client2 "$ns_second" iperf3 -c 10.77.0.2 -p 5202 -t 600 -R --forceflush
  for ns in "$ns_host" "$ns_second"; do
    wait_until 10 has_received "$ns" 1000000 || fail "no traffic to $ns"
    ping_under_load "$ns" 10.77.0.2 50
  done
  equal "frames lost in the fabric" "$(counter host host.tx.lost)$(counter host2 host.tx.lost)$(counter iou iou.to_host.lost)" 000
  # Other work of the machine takes from either second: if one round is not enough, all rounds count together.
  local both=0 alone=0 round
  for round in 1 2 3; do
    both=$((both + $(received_in 1)))
    kill -STOP "${pid_of[host]}"
    alone=$((alone + $(received_in 2)))
    kill -CONT "${pid_of[host]}"
    both=$((both + $(received_in 1)))
    echo "the other host received $both bytes in $((2 * round)) s, and $alone while one was stopped"
    [ "$alone" -lt $((both / 2)) ] || break
  done
  [ "$alone" -ge $((both / 2)) ] || fail "a host that is stopped took more than half of the other's throughput"
  within "the one that was stopped is back" 15000 has_received "$ns_host" $(($(received "$ns_host") + 1000000))
  running client2 || fail "the connection of the other host ended"
  stop stranger
  local sources cells
  read -r sources cells < <(counters switch1 switch.drop.source switch.port4.rx.cell)
  echo "$cells cells in the name of others, $sources dropped for that"
  [ "$cells" -gt 100 ] || fail "the hostile node sent little"
  equal "cells in the name of others that passed" $((cells - sources)) 0
  equal "connections of the other host that ended" "$(counter host2 host.pair.downs)" 0
  equal "cells at the unit that were not for it" "$(counters iou path.rx.drop.lid path.rx.drop.cell path.rx.drop.peer)" "0 0 0"
}
# ping_under_load NS ADDRESS COUNT: most have replies. TCP at full rate overflows the LAN interface of the unit, which drops pings too.
ping_under_load() {
  local out got
  out=$(in_ns "$1" ping -q -c "$3" -f -W 2 "$2") || true
  got=$(sed -n 's/.* transmitted, \([0-9]*\) received.*/\1/p' <<<"$out")
  echo "$2: $got of $3 pings had a reply, under load"
  [ "${got:-0}" -ge $(($3 * 8 / 10)) ] || fail "$got of $3 pings had a reply"
}
# received_in SECONDS: by the second host.
received_in() {
  local before
  before=$(received "$ns_second")
  sleep "$1"
  echo $(($(received "$ns_second") - before))
}
has_received() { [ "$(received "$1")" -ge "$2" ]; }

# states: of the ways of a host to the unit, in their order.
states() { ask "$1" show --json | "$python" -c 'import json, sys
print(*(peer["state"] for peer in json.load(sys.stdin)["peers"]))'; }
states_are() { [ "$(states "$1")" = "$2" ]; }
# A busy machine may keep a path silent for so long that a host uses the other one.
both_are_up() { states_are "$1" "up standby" || states_are "$1" "standby up"; }

# gap_begin NS, gap_end NS WHAT: a ping every 10 ms, and the longest time without a reply.
gap_begin() {
  local before
  before=$(echo_replies "$1")
  start "pinger-$1" "$1" ping -D -i 0.01 -W 1 10.77.0.2
  wait_until 10 has_replies "$1" $((before + 10)) || fail "no replies"
}
gap_end() {
  wait_until 10 has_replies "$1" $(($(echo_replies "$1") + 10)) || fail "no replies"
  stop "pinger-$1" INT
  sed -n 's/^\[\([0-9.]*\)\] .* icmp_seq=.* time=.*/\1/p' "$work/pinger-$1.log" |
    awk -v what="$2" 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { printf "%s: %d ms without a reply\n", what, gap * 1000 }'
}

replies() { in_ns "$1" ping -q -c 1 -W 0.3 10.77.0.2; }

# begin_iperf: one of each host to the LAN, until end_iperf. There is room for other traffic.
begin_iperf() {
  serve_both
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -b 50M --forceflush
  start client2 "$ns_second" iperf3 -c 10.77.0.2 -p 5202 -t 600 -b 50M --forceflush
}

# acknowledged NS: bytes of its connections to iperf3 that the LAN has acknowledged. A connection that is made later counts from 0.
acknowledged() {
  in_ns "$1" ss -Htin 'dport = :5201 or dport = :5202' | grep -o 'bytes_acked:[0-9]*' | awk -F: '{ n += $2 } END { print n + 0 }'
}
has_acknowledged() { [ "$(acknowledged "$1")" -ge "$2" ]; }

# iperf_continues WHEN: the connections of both hosts carry more, and they are those of before.
declare -A acknowledged_before=()
iperf_continues() {
  local name ns now
  for name in client client2; do
    ns=$ns_host
    [ $name = client ] || ns=$ns_second
    now=$(acknowledged "$ns")
    [ "$now" -ge "${acknowledged_before[$name]:-0}" ] || fail "iperf3 of $ns has another connection $1"
    within "iperf3 of $ns has moved another MB $1" 15000 has_acknowledged "$ns" $((now + 1000000))
    running $name || fail "iperf3 of $ns ended: $(tail -n 3 "$work/$name.log")"
    acknowledged_before[$name]=$(acknowledged "$ns")
  done
}

# end_iperf: it ends by the interrupt, after which its status is 1, and by nothing else. Its server learns of that over the
# connection that the client has had since its start.
end_iperf() {
  local name
  for name in client client2; do
    running $name || fail "iperf3 ended: $(tail -n 3 "$work/$name.log")"
    stop $name INT 10 || true
    grep -q "interrupt - the client has terminated" "$work/$name.log" || fail "the end of iperf3: $(tail -n 3 "$work/$name.log")"
    equal "errors of iperf3" "$(grep -c "error" "$work/$name.log")" 0
    sed -n "s/.*\(0\.00-.* sender\)$/$name: \1/p" "$work/$name.log"
  done
  for name in server server2; do
    wait_until 10 grep -q "the client has terminated" "$work/$name.log" || fail "the server of iperf3: $(tail -n 3 "$work/$name.log")"
  done
}

# Two switches between two hosts and a unit: the link in use is cut, the switch in use is killed, and both come back, under
# an iperf3 and a file of each host, one TCP connection each.
check_redundant() {
  bring_up_shared 2
  local ns who
  for who in host host2; do within "both paths of $who are up" 10000 both_are_up "$who"; done
  mkdir -p "$work/www"
  head -c 16M /dev/urandom >"$work/www/blob"
  start_web_server "$ns_lan" "$work/www"
  wait_until 10 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  for ns in "$ns_host" "$ns_second"; do
    start "curl-$ns" "$ns" curl -sS --max-time 60 --limit-rate 2500K -o "$work/got-$ns" http://10.77.0.2/blob
  done
  begin_iperf
  iperf_continues "before anything is cut"
  gap_begin "$ns_host"
  ip -n "$ns_sw1" link set p1 down
  within "the host moves to the other switch" 10000 states_are host "down up"
  within "traffic by the other switch" 10000 replies "$ns_host"
  gap_end "$ns_host" "the link in use was cut"
  iperf_continues "after the link was cut"
  ip -n "$ns_sw1" link set p1 up
  within "the first path is back" 10000 both_are_up host
  gap_begin "$ns_host"
  stop switch2 KILL
  within "the host moves back" 10000 states_are host "up down"
  within "traffic by the first switch" 10000 replies "$ns_host"
  gap_end "$ns_host" "the switch in use was killed"
  iperf_continues "after the switch was killed"
  start_shared 2
  for who in host host2; do within "both paths of $who are back" 10000 both_are_up "$who"; done
  iperf_continues "after both came back"
  end_iperf
  for ns in "$ns_host" "$ns_second"; do
    wait_until 30 process_ended "${pid_of[curl-$ns]}" || fail "curl did not end"
    stop "curl-$ns" || fail "curl: $(cat "$work/curl-$ns.log")"
    equal "hash of the file" "$(sha256sum <"$work/got-$ns")" "$(sha256sum <"$work/www/blob")"
  done
  counts host host.unit.moves 2 || fail "moves that were counted: $(counter host host.unit.moves)"
  equal "hosts of the unit" "$(ask iou show --json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["peers"]))')" 2
}

# in_use: the number of the switch by which the host reaches the unit.
in_use() { if [[ $(states host) == up* ]]; then echo 1; else echo 2; fi; }
has_moved_from() { [ "$(in_use)" != "$1" ] && [[ " $(states host) " == *" up "* ]]; }

switch_in_use_dies() {
  local used
  used=$(in_use)
  pings_begin
  stop "switch$used" KILL
  within "the host leaves switch $used" 10000 has_moved_from "$used"
  pings_end "switch $used was killed"
  start_shared "$used"
  within "both paths are back" 15000 both_are_up host
}

# Each switch that is in use is killed, under pings. Probes show it, and not the keep-alives that are missing: on a busy machine either may
# be first, and one time of ten is enough.
check_probed() {
  bring_up_shared 2
  within "both paths are up" 10000 both_are_up host
  gaps_within "the switch in use is killed" 2000 5000 switch_in_use_dies
  local rounds=3
  until counts host host.unit.silences 1 || [ $rounds = 10 ]; do
    switch_in_use_dies
    rounds=$((rounds + 1))
  done
  echo "probes, silences, pauses, moves: $(counters host host.unit.probes host.unit.silences host.unit.pauses host.unit.moves | xargs)"
  counts host host.unit.silences 1 || fail "no path was left because it did not reply to probes"
  grep -q "does not reply to probes, and .* does" "$work/host.log" || fail "no line in the log"
}
