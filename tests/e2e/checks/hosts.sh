# shellcheck shell=bash
# Two hosts on one unit: apart from each other where it matters, and in reach of each other.

bring_up_two() {
  listen_at=0.0.0.0:7471
  bring_up
  make_second
  start_second_with 10.77.0.3
}

all_reach() {
  local pair
  for pair in "$ns_host 10.77.0.2" "$ns_second 10.77.0.2" "$ns_host 10.77.0.3" "$ns_second 10.77.0.1" \
    "$ns_lan 10.77.0.1" "$ns_lan 10.77.0.3"; do
    ping_all "${pair% *}" "${pair#* }" 50
  done
}

# show_peer NAME KEY
show_peer() {
  ask iou show --json | "$python" -c 'import json, sys
print([p for p in json.load(sys.stdin)["peers"] if p["name"] == sys.argv[1]][0][sys.argv[2]])' "$1" "$2"
}

check_two() {
  bring_up_two
  all_reach
  # Both at once, and to each other.
  mkdir -p "$work/www"
  head -c 32M /dev/urandom >"$work/www/blob"
  start_web_server "$ns_lan" "$work/www"
  wait_until 10 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  start fetch "$ns_second" curl -sS --max-time 60 -o "$work/second" http://10.77.0.2/blob
  in_ns "$ns_host" curl -sS --max-time 60 -o "$work/first" http://10.77.0.2/blob || fail "the first host's curl"
  wait_until 30 cmp -s "$work/second" "$work/www/blob" || fail "the second host's file"
  cmp -s "$work/first" "$work/www/blob" || fail "the first host's file"
  serve_iperf "$ns_second" 10.77.0.3 -1
  in_ns "$ns_host" iperf3 -c 10.77.0.3 -t 1 -f m | awk '/receiver/ {print "host to host: " $7 " " $8}'
  [ "$(counter iou iou.host_to_host)" -gt 100 ] || fail "the hosts did not reach each other inside the unit"
}

# What one does to its MAC, MTU, filter and link is its own; and it cannot take the other's address.
check_apart() {
  iou_options=(--grant sniff)
  bring_up_two
  local lan_mac lan_flags first_mac
  lan_mac=$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)
  lan_flags=$(in_ns "$ns_iou" cat /sys/class/net/lan0/flags)
  first_mac=$(in_ns "$ns_host" cat /sys/class/net/nic0/address)
  ip -n "$ns_second" link set nic0 address "$first_mac"
  wait_until 10 grep -q "refused the interface's MAC" "$work/host2.log" || fail "the other's address was not refused"
  ping_all "$ns_host" 10.77.0.2 20
  equal "the first host's address" "$(show_peer hosta mac)" "$first_mac"
  # Frames with a source that is not its own do not leave.
  in_ns "$ns_second" ping -q -c 5 -i 0.01 -W 0.1 10.77.0.2 >/dev/null && fail "the second host speaks as the first"
  wait_until 10 counts iou host.hostb.iou.from_host.drop.spoof 1 || fail "no spoofed frame was counted"
  ip -n "$ns_second" link set nic0 address 02:00:00:00:00:77
  wait_until 10 in_ns "$ns_second" ping -q -c 1 -W 0.5 10.77.0.2 >/dev/null || fail "the second host with its new address"
  ip -n "$ns_second" link set nic0 mtu 1000
  ip -n "$ns_second" link set nic0 promisc on
  wait_until 10 grep -q "host hostb has the MTU 1000" "$work/iou.log" || fail "the unit does not know the MTU of the second host"
  wait_until 10 grep -q "host hostb is in promiscuous mode" "$work/iou.log" || fail "the second host is not in promiscuous mode"
  all_reach
  ping_all "$ns_host" 10.77.0.2 3 0.012 -M do -s 1472
  ip -n "$ns_second" link set nic0 down
  sleep 0.2
  carrier_is "$ns_host" nic0 1 || fail "the first host's carrier"
  ping_all "$ns_host" 10.77.0.2 20  # when the second is down
  equal "the real NIC's address" "$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)" "$lan_mac"
  equal "the real NIC's flags" "$(in_ns "$ns_iou" cat /sys/class/net/lan0/flags)" "$lan_flags"
  equal "the real NIC's MTU" "$(in_ns "$ns_iou" cat /sys/class/net/lan0/mtu)" 1500
}

# Without rights: one wants the frames of all, the address of the LAN's machine and that of the NIC. It gets none of them,
# works on, and the other loses nothing.
check_rights() {
  bring_up_two
  all_reach
  local peer own
  peer=$(mac_of "$ns_lan" lan0) own=$(mac_of "$ns_second" nic0)
  begin_pings pinging "$ns_host" 10.77.0.2
  ip -n "$ns_second" link set nic0 promisc on
  wait_until 10 grep -q "does not permit promiscuous mode: .*--grant sniff,forge" "$work/host2.log" ||
    fail "promiscuous mode was not refused"
  all_reach
  ip -n "$ns_second" link set nic0 address "$peer"
  wait_until 10 grep -q "refused the interface's MAC.*a machine on the LAN has used it" "$work/host2.log" ||
    fail "the address of the LAN's machine was not refused"
  begin_taking "$ns_second" nic0 1000
  ping_all "$ns_host" 10.77.0.2 50
  stop taker INT
  equal "frames of the first host to the LAN, at the second" "$(taken_of "$peer")" 0
  equal "frames for the first host, at the second" "$(taken_of "$(mac_of "$ns_host" nic0)")" 0
  ip -n "$ns_second" link set nic0 address "$(in_ns "$ns_iou" cat /sys/class/net/lan0/address)"
  wait_until 10 grep -q "refused the interface's MAC.*that of the NIC itself.*--grant forge" "$work/host2.log" ||
    fail "the NIC's own address was not refused"
  equal "warnings about promiscuous mode" "$(grep -c "promiscuous mode" "$work/host2.log")" 1
  counts iou host.hostb.iou.from_host.refused_promiscuous 1 || fail "the refusal is not counted"
  counts iou host.hostb.iou.from_host.refused_address 2 || fail "the refused addresses are not counted"
  grep -q "host hostb may not have the MAC address $peer" "$work/iou.log" || fail "the unit does not name who was refused"
  end_pings pinging 150
  ip -n "$ns_second" link set nic0 address "$own"
  within "the second host with its own address" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.5 10.77.0.2
  equal "ends of the second host's connection" "$(counter iou iou.hosts.downs)" 0
}

# One floods the LAN with broadcasts: beyond its limit they reach nobody, and the other loses nothing.
check_storm() {
  bring_up_two
  all_reach
  local before
  before=$(counter iou lan.tx.frames)
  begin_pings pinging "$ns_host" 10.77.0.2
  wait_until 30 storm_is_counted || fail "the storm is not counted: $(counter iou host.hostb.iou.from_host.drop.storm)"
  end_pings pinging
  equal "frames of the first host that were dropped" "$(counter iou host.hosta.iou.from_host.drop.storm)" 0
  echo "to the LAN $(($(counter iou lan.tx.frames) - before)) frames, dropped $(counter iou iou.from_host.drop.storm)"
  within "the second host after its storm" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.5 10.77.0.2
}

# One storm after the other: nic0 drops what the second host has no time to read, and that never reaches the limit.
storm_is_counted() {
  in_ns "$ns_second" ping -q -b -c 40000 -l 40000 -W 0.1 10.77.0.255 >/dev/null
  counts iou host.hostb.iou.from_host.drop.storm 1000
}

# One is killed, stops and comes back under the other's traffic, which loses nothing.
check_one_ends() {
  bring_up_two
  begin_pings pinging "$ns_host" 10.77.0.2
  stop host2 KILL
  start_second
  sleep 0.4
  within "the second host after its kill" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.3 10.77.0.2
  stop host2 TERM || fail "the second host did not stop"
  sleep 0.4
  end_pings pinging
}

# --max-hosts and --allow: a host too many, or one not named, is refused, and the other continues.
check_refused() {
  topology_three || fail "the test hosts cannot be made"
  start_iou --max-hosts 1 --allow 10.99.0.0/24 --allow 10.98.0.7
  start_host
  nic_up
  make_second
  start_second
  wait_until 10 counts iou iou.allow.drop.address 2 || fail "the unit does not count whom it does not allow"
  is_up host2 && fail "an address that is not allowed was admitted"
  ip -n "$ns_second" addr flush dev fab0
  ip -n "$ns_second" addr add 10.98.0.7/24 dev fab0
  ip -n "$ns_second" route add 10.99.0.0/24 via 10.98.0.2
  stop host2 TERM
  start_second
  wait_until 10 grep -qs -- --max-hosts "$work/host2.log" || fail "the second host does not mention --max-hosts"
  is_up host2 && fail "one host more than --max-hosts was admitted"
  ping_all "$ns_host" 10.77.0.2 20
  stop host TERM
  within "the second host after the first has left" 10000 is_up host2
}

# start_second_with ADDRESS [OPTIONS]
start_second_with() {
  start_second "${@:2}"
  second_nic_up "$1"
}

# page_is NAMESPACE TEXT
page_is() { [ "$(in_ns "$1" curl -sS --max-time 5 http://10.77.0.2/page)" = "$2" ]; }

# groups_from NS IF NUMBER: NUMBER of the 3 multicast frames that leave there arrive to the second host.
groups_from() {
  begin_taking "$ns_second" nic0 1000
  ip -n "$1" route replace 239.0.0.0/8 dev "$2"
  in_ns "$1" ping -q -c 3 -i 0.01 -W 0.1 239.1.2.3 >/dev/null
  if [ "$3" -gt 0 ]; then wait_until 10 has_taken 01:00:5e:01:02:03 "$3"; fi
  sleep 0.3  # for those that should not come
  stop taker INT
  equal "multicast frames from $1 at the host of NIC 1" "$(taken_of 01:00:5e:01:02:03)" "$3"
}

check_two_nics() {
  listen_at=0.0.0.0:7471
  topology_three || fail "the test hosts cannot be made"
  make_second
  make_second_lan
  start_iou --lan "$port:lan1"
  start_host
  nic_up

  # One that is not there: reported in one line, and requested again.
  start_second --nic 2
  wait_until 10 grep -qs "there is no NIC 2: the I/O unit has 2 NICs, --nic 0 to --nic 1" "$work/host2.log" ||
    fail "NIC 2 was not refused in one clear line"
  wait_until 10 refused_again || fail "the second host did not ask again"
  is_up host2 && fail "a NIC that is not there is up"
  stop host2 TERM || fail "the refused host did not stop"
  # At the other: both LANs have the same addresses, so what mixes them shows.
  start_second_with 10.77.0.1 --nic 1

  local nic
  for nic in 0 1; do mkdir -p "$work/www$nic" && echo "LAN $nic" >"$work/www$nic/page"; done
  start web0 "$ns_lan" "$python" -m http.server -d "$work/www0" 80
  start web1 "$ns_lan1" "$python" -m http.server -d "$work/www1" 80
  within "the page of LAN 0" 20000 page_is "$ns_host" "LAN 0"
  within "the page of LAN 1" 20000 page_is "$ns_second" "LAN 1"
  ping_all "$ns_second" 10.77.0.2 50
  ping_all "$ns_host" 10.77.0.2 50

  # What is for everybody stays on its LAN.
  groups_from "$ns_host" nic0 0
  groups_from "$ns_lan" lan0 0
  groups_from "$ns_lan1" lan1 3
  equal "frames between the hosts inside the unit" "$(counter iou iou.host_to_host)" 0
  [ "$(counter iou lan1.tx.frames)" -gt 50 ] || fail "lan1.tx.frames: $(counter iou lan1.tx.frames)"

  # show has both, with the hosts on them, and each link is its own.
  equal "the first LAN" "$(lan_of iou 0 port)" "$port:lan0"
  equal "the second LAN" "$(lan_of iou 1 port)" "$port:lan1"
  equal "the NIC of the first host" "$(show_peer hosta nic)" 0
  equal "the NIC of the second host" "$(show_peer hostb nic)" 1
  ip -n "$ns_lan1" link set lan1 down
  within "the second host without carrier" 10000 carrier_is "$ns_second" nic0 0
  carrier_is "$ns_host" nic0 1 || fail "the first host's carrier"
  equal "the link of LAN 1" "$(lan_of iou 1 link)" down
  equal "the link of LAN 0" "$(lan_of iou 0 link)" up

  # Through the LANs they meet, once somebody joins these.
  stop web1
  ip -n "$ns_lan1" link set lan1 netns "$ns_lan" || fail "LAN 1 cannot be moved"
  ip -n "$ns_lan" link add br0 type bridge mcast_snooping 0
  silence_interface "$ns_lan" br0
  for nic in 0 1; do
    ip -n "$ns_lan" addr flush dev "lan$nic"
    ip -n "$ns_lan" link set "lan$nic" master br0 up
  done
  ip -n "$ns_lan" link set br0 up
  ip -n "$ns_second" addr flush dev nic0
  ip -n "$ns_second" addr add 10.77.0.3/24 dev nic0
  within "the hosts reach each other through the joined LANs" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.5 10.77.0.3
  equal "frames between the hosts inside the unit" "$(counter iou iou.host_to_host)" 0
}

refused_again() { [ "$(counter iou iou.hosts.refused_nic)" -ge 2 ]; }

# lan_of WHO NUMBER KEY
lan_of() {
  ask "$1" show --json | "$python" -c 'import json, sys
print(json.load(sys.stdin)["lan"][int(sys.argv[1])][sys.argv[2]])' "$2" "$3"
}

# A loop: two hosts have joined their nic0 by bridges and a cable. What the LAN has sent goes back to it from none of them, unless
# they may forge; their own broadcasts, and then all, go round, as many as the limit for storms lets by. Frames to an address that nobody has are
# bounded by frames_per_second only. The unit serves on. [L-35]
join_hosts() {
  local ns
  veth_between "$ns_host" cable "$ns_second" cable || fail "no cable"
  for ns in "$ns_host" "$ns_second"; do
    silence_interface "$ns" cable
    ip -n "$ns" addr flush dev nic0
    ip_commands "$ns" "link add br0 type bridge mcast_snooping 0" "link set nic0 master br0" "link set cable master br0" \
      "link set br0 up" || fail "no bridge"
    silence_interface "$ns" br0
  done
}
broadcasts() { in_ns "$ns_lan" ping -q -b -c "$1" -i 0.004 -W 0.1 10.77.0.255 >/dev/null; }

# goes_round: no more than each host may send goes round, and where the loop is cut nobody has lost his way.
goes_round() {
  local before began sent most
  began=$(milliseconds) before=$(counter iou lan.tx.frames)
  sleep 1
  within "a reply of the unit in the loop" 10000 replies iou
  sent=$(($(counter iou lan.tx.frames) - before)) most=$((20000 + ($(milliseconds) - began) * 20))
  [ $sent -le $most ] || fail "$sent frames went to the LAN, more than $most"
  echo "to the LAN: $sent frames in a second or two; dropped: $(counters iou iou.from_host.drop.spoof iou.from_host.drop.storm)"
  ip -n "$ns_host" link del cable
  ip -n "$ns_host" addr add 10.77.0.1/24 dev br0
  within "the LAN after the loop was cut" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.5 10.77.0.2
}

check_loop() {
  bring_up_two
  join_hosts
  broadcasts 200
  wait_until 10 counts iou iou.from_host.drop.spoof 380 || fail "dropped: $(counter iou iou.from_host.drop.spoof)"
  goes_round
}

check_loop_of_forgers() {
  iou_options=(--grant forge --grant sniff)
  bring_up_two
  join_hosts
  broadcasts 1000
  wait_until 10 counts iou iou.from_host.drop.storm 1 || fail "no storm: $(ask iou stats | grep from_host)"
  goes_round
  equal "forged frames that were dropped" "$(counter iou iou.from_host.drop.spoof)" 0
}
replies() { ask "$1" show >/dev/null; }
