# shellcheck shell=bash
# Two hosts at sw1 and an I/O unit at sw4, below the spines sw2 and sw3, all over shared memory, hosts and unit each in a separate
# network namespace:
#   $ns_host -- port 1 of sw1, $ns_second -- port 2, sw1:3 - sw2:1, sw1:4 - sw3:1, sw2:2 - sw4:2, sw3:2 - sw4:3, port 1 of sw4 -- $ns_iou

# Where the ends of a link meet: by shared memory, or with over_udp by UDP.
declare -A udp_of=([h1]=10.99.0.2:7501 [h2]=127.0.0.1:7502 [unit]=127.0.0.1:7504 [c12]=127.0.0.1:7512 [c13]=127.0.0.1:7513
  [c24]=127.0.0.1:7524 [c34]=127.0.0.1:7534)
over_udp=0
place() { if [ $over_udp = 1 ]; then echo "udp://${udp_of[$1]}"; else echo "shm://$1"; fi; }

# spine_switch NUMBER [OPTION...]
spine_switch() {
  local i=$1 ports
  shift
  case $i in
    1) ports=("$(place h1)" "$(place h2)" "$(place c12)" "$(place c13)") ;;
    2) ports=("$(place c12),connect" "$(place c24)") ;;
    3) ports=("$(place c13),connect" "$(place c34)") ;;
    4) ports=("$(place unit)" "$(place c24),connect" "$(place c34),connect") ;;
  esac
  start "switch$i" "$ns_iou" "$bin/splitnic-switch" "${ports[@]/#/--port=}" --topology "$work/fabric.toml" --name "sw$i" \
    --control "$work/switch$i.sock" "$@"
}

# write_spines TABLES LMC [LMC]: the unit has 2^LMC LIDs, and the first host as many as the second number gives it.
write_spines() {
  local i
  {
    printf 'routing = "updown"\ntables = "%s"\ncables = ["sw1:3 - sw2:1", "sw1:4 - sw3:1", "sw2:2 - sw4:2", "sw3:2 - sw4:3"]\n' "$1"
    for i in 1 2 3 4; do printf '[switches.sw%d]\nlid = %d\n' "$i" "$i"; done
    printf '[nodes.hosta]\nlid = 24\nlmc = %d\nat = "sw1:1"\n[nodes.hostb]\nlid = 12\nat = "sw1:2"\n' "${3:-0}"
    printf '[nodes.unit]\nlid = 16\nlmc = %d\nat = "sw4:1"\n' "$2"
  } >"$work/fabric.toml"
}

# make_spines TABLES
make_spines() {
  plain
  topology_three || fail "the test hosts cannot be made"
  make_second
  local i
  write_spines "$1" 0
  spine_switch 1 --manage
  for i in 2 3 4; do spine_switch "$i"; done
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --attach shm://unit --name unit --control "$work/iou.sock"
  start host "$ns_host" "$bin/splitnic-host" --connect 'shm://unit?via=h1' --tap nic0 --name hosta --control "$work/host.sock"
  start host2 "$ns_second" "$bin/splitnic-host" --connect 'shm://unit?via=h2' --tap nic0 --name hostb --control "$work/host2.sock"
  nic_up
  second_nic_up 10.77.0.3
}

# by_spines: both hosts send to the LAN. Leaves the cells that sw1 sent to sw2 meanwhile in $to_2, and those to sw3 in $to_3.
by_spines() {
  local before_2 before_3
  before_2=$(counter switch1 switch.port3.tx.cell)
  before_3=$(counter switch1 switch.port4.tx.cell)
  in_ns "$ns_host" ping -q -c 200 -i 0.01 10.77.0.2 >/dev/null || fail "the LAN does not respond to the first host"
  in_ns "$ns_second" ping -q -c 200 -i 0.01 10.77.0.2 >/dev/null || fail "the LAN does not respond to the second host"
  to_2=$(($(counter switch1 switch.port3.tx.cell) - before_2))
  to_3=$(($(counter switch1 switch.port4.tx.cell) - before_3))
  echo "cells from sw1: $to_2 by sw2, $to_3 by sw3"
}

# The same topology with both kinds of tables.
check_per_input() {
  local to_2 to_3
  make_spines per_input
  by_spines
  [ "$to_2" -gt 200 ] && [ "$to_3" -gt 200 ] || fail "the hosts have one way"
  # A spine dies, and both hosts use the other one.
  stop switch2 KILL
  within "the second host reaches the LAN" 10000 in_ns "$ns_second" ping -q -c 1 -W 1 10.77.0.2
  within "the first host reaches the LAN" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  spine_switch 2
}

check_per_switch() {
  local to_2 to_3
  make_spines per_switch
  by_spines
  # Subnet management has a few cells for each spine.
  [ $((to_2 < to_3 ? to_2 : to_3)) -lt 100 ] && [ $((to_2 + to_3)) -gt 400 ] || fail "the hosts do not have one way"
}

# host_by_path PATH VIA: the host starts, and connects to the LID of the unit that has this path.
host_by_path() {
  start host "$ns_host" "$bin/splitnic-host" --connect "udp://unit:1?via=$2&path=$1" --tap nic0 --name hosta --insecure-lab \
    --control "$work/host.sock"
  nic_up
}

# way_of SWITCH PORT PORT: which of its ports has sent the cells of a ping; the other one has sent few. Leaves it in $way.
way_of() {
  local a b before_a before_b
  before_a=$(counter "$1" "switch.port$2.tx.cell") before_b=$(counter "$1" "switch.port$3.tx.cell")
  in_ns "$ns_host" ping -q -c 150 -i 0.01 10.77.0.2 >/dev/null || fail "the LAN does not respond"
  a=$(($(counter "$1" "switch.port$2.tx.cell") - before_a)) b=$(($(counter "$1" "switch.port$3.tx.cell") - before_b))
  echo "cells from $1: $a by port $2, $b by port $3"
  [ $((a < b ? a : b)) -lt 100 ] && [ $((a + b)) -gt 150 ] || fail "the cells have no way, or two"
  way=$((a > b ? $2 : $3))
}

# The unit has two LIDs at one port. The ways to them lead by one spine each, and the way back by one of these, so with one of the
# two a path is not the same in both directions; it loses datagrams, too. In the end the spine of a LID dies, and the manager leads
# that LID by the other one.
check_paths() {
  local way back path i name first="" uneven=0 direct=${udp_of[h1]} relayed=127.0.0.1:7999
  over_udp=1
  plain
  topology_three || fail "the test hosts cannot be made"
  write_spines per_switch 1
  spine_switch 1 --insecure-lab --manage
  for i in 2 3 4; do spine_switch "$i" --insecure-lab; done
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --attach "$(place unit)" --name unit --insecure-lab --control "$work/iou.sock"
  start relay "$ns_host" "$python" -B "$e2e/relay.py" "${relayed##*:}" "${direct%:*}" "${direct##*:}" 1 loss=1
  wait_until 10 grep -qs ready "$work/relay.log" || fail "no relay"
  start host "$ns_host" "$bin/splitnic-host" --connect "udp://unit:1?via=$direct&path=2" --tap nic0 --name hosta --insecure-lab
  wait_until 10 grep -qs "cannot resolve node 'unit+2'" "$work/host.log" || fail "a third LID"
  stop host
  for path in 0 1; do
    host_by_path "$path" "$direct"
    ask host show | has "unit+\{0,1\}$([ "$path" = 0 ] || echo "$path") via" || fail "no path $path: $(ask host show)"
    way_of switch4 2 3
    back=$way
    way_of switch1 3 4
    echo "path $path: there by port $way of sw1, back by port $back of sw4"
    [ "$way" != "$first" ] || fail "both LIDs have one way"
    first=$way
    stop host
    # Port 3 of sw1 and port 2 of sw4 are cables of one spine.
    [ "$way" != $((back + 1)) ] || continue
    uneven=$((uneven + 1))
    host_by_path "$path" "$relayed"
    files_both_ways 8
    for name in host iou; do
      echo "$name: $(counter "$name" fabric.rx.acks) ACKs, $(counter "$name" fabric.rc.retransmit) cells again"
      counts "$name" fabric.rx.acks 100 && counts "$name" fabric.rc.retransmit 1 || fail "nothing was lost and repeated"
    done
    stop host
  done
  equal "paths that are not the same both ways" "$uneven" 1
  host_by_path 1 "$direct"
  stop "switch$((first - 1))" KILL
  within "the LAN by the other spine" 10000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  spine_switch "$((first - 1))" --insecure-lab
}

# The cells that sw1 and sw4 have sent to the spines sw2 and sw3 so far.
to_spines() {
  echo "$(counter switch1 switch.port3.tx.cell) $(counter switch1 switch.port4.tx.cell)" \
    "$(counter switch4 switch.port2.tx.cell) $(counter switch4 switch.port3.tx.cell)"
}

# The host uses both LIDs of the unit at once, and the unit both of the host. The spines die in turn, in mid-transfer, and no
# manager leads around it: the connection, its queue pairs and a file continue by the other one.
check_all_paths() {
  local i before after
  over_udp=1
  plain
  topology_three || fail "the test hosts cannot be made"
  write_spines per_switch 1 1
  for i in 1 2 3 4; do spine_switch "$i" --insecure-lab; done
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --attach "$(place unit)" --name unit --insecure-lab --control "$work/iou.sock"
  host_by_path all "${udp_of[h1]}"
  read -ra before <<<"$(to_spines)"
  files_both_ways 16
  read -ra after <<<"$(to_spines)"
  for i in 0 1 2 3; do
    echo "cells to a spine: $((after[i] - before[i]))"
    [ $((after[i] - before[i])) -gt 1000 ] || fail "a spine was not used"
  done
  start_web_server "$ns_lan" "$work/www"
  make_blob 32
  wait_until 10 in_ns "$ns_host" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  dead=3
  median_gap_within "a spine dies under a file" 5 200 5000 next_spine_dies
  equal "connections that the host made" "$(grep -c "connected to the I/O unit" "$work/host.log")" 1
  equal "hosts that attached" "$(grep -c "host hosta attached" "$work/iou.log")" 1
}

next_spine_dies() {
  dead=$((5 - dead))
  pings_begin
  start client "$ns_host" curl -s --limit-rate 8M -o "$work/fetched" http://10.77.0.2/blob
  wait_until 10 test -s "$work/fetched" || fail "no file begins"
  stop "switch$dead" KILL
  running client || fail "the file was there before the spine died"
  pings_end "spine $dead dies"
  wait "${pid_of[client]}" || fail "the file did not arrive"
  unset "pid_of[client]"
  equal "the file" "$(hash_of "$work/fetched")" "$wanted"
  rm "$work/fetched"
  spine_switch "$dead" --insecure-lab
  local leaf
  for leaf in sw1 sw4; do
    wait_until 10 grep -qs "$leaf): .* is up" "$work/switch$dead.log" || fail "the spine does not come back"
  done
  sleep 2  # a path that was silent is tried once more within 0.8 s
}

# Lanes in two layers: the spines have higher LIDs than the leaves, so all that crosses one goes up after it has gone down, and the
# spine sends it on the next layer. Full profile, in which each lane has its credits.
check_layered() {
  local i spine on_first on_second all
  over_udp=1
  plain
  topology_three || fail "the test hosts cannot be made"
  write_spines per_switch 0
  sed -i 's/^routing = .*/routing = "layered"/; /switches.sw2/{n;s/.*/lid = 5/}; /switches.sw3/{n;s/.*/lid = 6/}' "$work/fabric.toml"
  for i in 1 2 3 4; do spine_switch "$i" --insecure-lab --link-profile full; done
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --attach "$(place unit)" --name unit --insecure-lab --link-profile full \
    --control "$work/iou.sock"
  start host "$ns_host" "$bin/splitnic-host" --connect "udp://unit:1?via=${udp_of[h1]}" --tap nic0 --name hosta --insecure-lab \
    --link-profile full --control "$work/host.sock"
  nic_up
  no_cell_is_dropped
  # By lane, of the leaves and of the spines: layer 0 has the lanes 0 and 2, layer 1 the lanes 1 and 3.
  for i in 1 2 3 4; do
    echo "sw$i: $(counters "switch$i" switch.lane0.tx.cell switch.lane1.tx.cell switch.lane2.tx.cell switch.lane3.tx.cell | xargs)"
  done
  all=0
  for spine in switch2 switch3; do
    on_first=$(($(counter $spine switch.lane0.tx.cell) + $(counter $spine switch.lane2.tx.cell)))
    on_second=$(($(counter $spine switch.lane1.tx.cell) + $(counter $spine switch.lane3.tx.cell)))
    equal "cells that $spine left on the first layer" "$on_first" 0
    all=$((all + on_second))
  done
  [ $all -gt 1000 ] || fail "nothing crossed the spines"
  for i in 1 4; do
    [ "$(counter "switch$i" switch.lane0.tx.cell)" -gt 1000 ] || fail "a leaf sends nothing on the first layer"
  done
}
# The leaves drop no cell for want of room. A program that gets no processor for 100 ms is a receiver that takes too little (S000-45),
# which one of three rounds without such a pause shows.
no_cell_is_dropped() {
  local before
  for _ in 1 2 3; do
    before="$(counter switch1 switch.drop.stalled) $(counter switch4 switch.drop.stalled)"
    files_both_ways 8
    [ "$(counter switch1 switch.drop.stalled) $(counter switch4 switch.drop.stalled)" != "$before" ] || return 0
  done
  fail "the leaves dropped cells for want of room in each of three rounds"
}
