# shellcheck shell=bash
# Host and I/O unit, keyed hop by hop unless a check is about plain links, with one or two fabric switches between them, each in a separate network namespace:
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
  {
    [ "$1" = 1 ] || printf 'routing = "updown"\ncables = ["sw1:2 - sw2:1"]\n'
    entry switches.sw1 1 '' sw1
    [ "$1" = 1 ] || entry switches.sw2 2 '' sw2
    entry nodes.hosta 11 sw1:1 host
    entry nodes.unit 10 "sw$1:2" unit
  } >"$work/fabric.toml"
  next_to_host=sw1 next_to_unit=sw$1
  host_via=10.96.1.2:7500
  attach_at=udp://10.96.2.2:7502
}

# start_switch NUMBER COUNT
start_switch() {
  local second=udp://10.96.2.2:7502 first=udp://10.96.1.2:7500 ns=ns_sw$1 identity=(--insecure-lab)
  [ "$links" = plain ] || identity=(--key-file "$work/sw$1.key")
  [ "$1$2" != 12 ] || second=udp://10.96.3.1:7501
  [ "$1" != 2 ] || first=udp://10.96.3.1:7501,connect
  start "switch$1" "${!ns}" "${switch_through[@]}" "$bin/splitnic-switch" --port "$first" --port "$second" --topology "$work/fabric.toml" \
    --name "sw$1" --control "$work/switch$1.sock" "${identity[@]}" "${switch_options[@]}"
}
switch_options=() switch_through=()

switched() {
  make_switches "$1"
  local i
  for ((i = 1; i <= $1; i++)); do start_switch "$i" "$1"; done
  start_iou && start_host
  nic_up
}

# is_balanced SWITCH: what came in went out, was for the switch, or was dropped for a reason. Leaves $in, $out, $own and $dropped.
is_balanced() {
  read -r in out own dropped < <(ask "$1" stats --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)
print(found["switch.rx.cell"], found["switch.tx.cell"], found["switch.mgmt"],
      sum(n for name, n in found.items() if name.startswith("switch.drop.")))')
  [ "$in" = $((out + own + dropped)) ]
}

# A cell that waits in the switch is in none of the counters yet.
balance() {
  local in=0 out=0 own=0 dropped=0
  wait_until 10 is_balanced "$1" || fail "cells of $1: $in in, not $((out + own + dropped))"
  echo "$1: $in cells in, $out out, $own for itself, $dropped dropped$(ask "$1" stats | awk '/^switch.drop/ && $2 { printf ", %s %d", $1, $2 }')"
  [ "$in" -gt 1000 ] || fail "no traffic went through $1"
}

# traffic MIB SECONDS: pings, a file of that size from the LAN, and TCP to the LAN for so long.
traffic() {
  ping_all "$ns_host" 10.77.0.2 100
  make_blob "$1"
  serve_and_fetch "$ns_lan" "$ns_host" 10.77.0.2 "the file from the LAN"
  [ -n "${pid_of[server]:-}" ] || serve_iperf "$ns_lan" 10.77.0.2
  iperf -t "$2" -J >"$work/iperf.json" || fail "iperf3"
  "$python" -c 'import json, sys
print("iperf3: %.0f Mbit/s" % (json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e6))' <"$work/iperf.json"
}

drops_of() { ask "$1" stats | awk '/^switch.drop/ { n += $2 } END { print n + 0 }'; }

load=(traffic 32 2)  # of a round of lossless

# lossless SWITCH...: rounds of load, in one of which none of these switches drops a cell, whatever the cause. A host that comes before
# the unit has sent its first INIT to a port without a link, which the switch dropped before that. A program that gets no
# processor for 100 ms is a receiver that takes too little (S000-45), which one of three rounds without such a pause shows.
lossless() {
  local name dropped
  local -A before
  for _ in 1 2 3; do
    for name in "$@"; do before[$name]=$(drops_of "$name"); done
    "${load[@]}"
    dropped=0
    for name in "$@"; do
      balance "$name"
      dropped=$((dropped + $(drops_of "$name") - before[$name]))
    done
    [ $dropped != 0 ] || return 0
    echo "cells that were dropped under traffic: $dropped"
  done
  fail "the switches dropped cells in each of three rounds"
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

# repeated: the cells that host and unit have sent once more.
repeated() { echo $(($(counter host fabric.rc.retransmit) + $(counter iou fabric.rc.retransmit))); }

# Credits on each hop. What is damaged on the way to the first switch is sent once more there, and no cell is from end to end. A
# receiver that takes less than 256 KiB for each 100 ms that it makes a lane wait loses cells (S000-45): on a busy machine a program
# that has to wait for a processor is one, so these do not wait.
check_full() {
  local -r at_once=(nice -n -20)
  iou_through=("${at_once[@]}") host_through=("${at_once[@]}") switch_through=("${at_once[@]}")
  iou_options=(--link-profile full) host_options=(--link-profile full) switch_options=(--link-profile full)
  make_switches 2
  start relay "$ns_host" "${at_once[@]}" "$python" -B "$e2e/relay.py" 7999 "${host_via%:*}" "${host_via##*:}" 1 corrupt=1
  wait_until 10 grep -qs ready "$work/relay.log" || fail "no relay"
  host_via=127.0.0.1:7999
  start_switch 1 2
  start_switch 2 2
  start_iou && start_host
  nic_up
  equal "lanes of the host" "$(ask host show --json | "$python" -c 'import json, sys
print(json.load(sys.stdin)["links"][0]["lanes"])')" 4
  local name resent again
  # A program that gets no processor for longer than a timeout repeats cells that are only late. A hop that does not repair
  # what is damaged has thousands repeated each time.
  for _ in {1..8}; do
    again=$(repeated)
    lossless switch1 switch2
    again=$(($(repeated) - again))
    echo "$again cells were repeated from end to end"
    [ "$again" != 0 ] || break
  done
  [ "$again" = 0 ] || fail "a hop repairs what is damaged there, but cells were repeated from end to end in each of eight rounds"
  for name in "host hop.link" "switch1 link"; do
    resent=$(counter "${name% *}" "${name#* }.full.tx.resend")
    echo "${name% *}: $resent flits again"
    [ "$resent" -gt 0 ] || fail "${name% *} has sent no flit again"
  done
}

# have_payloads HOP NUMBER: has the recorder written that many of the hop? Leaves those of both hops in $work/payloads.
have_payloads() {
  tshark -r "$work/hops.pcapng" -Y udp -T fields -e frame.interface_id -e udp.payload 2>/dev/null >"$work/payloads"
  [ "$(awk -v hop="$1" '$1 == hop' "$work/payloads" | wc -l)" -ge "$2" ]
}

# records_of HOP: nothing but records of sessions passed there, 0 to the host, 1 to the other switch.
records_of() {
  awk -v hop="$1" '$1 == hop { print $2 }' "$work/payloads" >"$work/payloads-$1"
  echo "hop $1: $(wc -l <"$work/payloads-$1") datagrams: $(cut -c1-2 "$work/payloads-$1" | sort | uniq -c | xargs)"
  [ "$(wc -l <"$work/payloads-$1")" -gt 50 ] || fail "no datagrams were recorded"
  cut -c1-2 "$work/payloads-$1" | has -vE '^8[1-4]$' && fail "datagrams of other types on hop $1"
  has 73706c69746e6963 <"$work/payloads-$1" && fail "what the ping sent can be read on hop $1"
  return 0
}

# Hop by hop all is sealed, and the CRC over the payload stays: a tag ends at each switch, where cells are open.
check_sealed() {
  make_switches 2
  start recorder "$ns_sw1" dumpcap -q -f udp -i p1 -i p2 -w "$work/hops.pcapng"
  wait_until 30 test -s "$work/hops.pcapng" || fail "dumpcap does not record"
  iou_options=(--payload-crc off) host_options=(--payload-crc off)
  start_switch 1 2
  start_switch 2 2
  start_iou && start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 40 0.02 -p 73706c69746e6963
  # The recorder drops what it has not read when it is ended.
  wait_until 30 have_payloads 0 51 && wait_until 30 have_payloads 1 51 || fail "no datagrams were recorded"
  sleep 0.3
  stop recorder INT 10
  have_payloads 0 51 || fail "the recording is not whole"
  records_of 0
  records_of 1
  local who
  for who in host iou; do
    ask $who show --json | "$python" -c 'import json, sys
states = [link["payload_crc"] for link in json.load(sys.stdin)["links"]]
sys.exit(states != ["on"])' || fail "the payload CRC of $who is not on: $(ask $who show)"
  done
  for who in host sw2; do ask switch1 show | has -F "$(public $who)" || fail "no key of $who: $(ask switch1 show)"; done
  for who in host switch1; do equal "strange datagrams at $who" "$(counter "$who" session.rx.drop.format)" 0; done
}

# no_reply WHAT COUNTER: the switch counts what the host sends, and the host gets nothing.
no_reply() {
  within "the switch counts $1" 10000 counts switch1 "$2" 1
  equal "replies" "$(counters switch1 session.tx.response session.tx.cookie)" "0 0"
  equal "bytes that the host got" "$(counter host hop.link.rx.bytes)" 0
  ! is_up host || fail "up with $1"
  stop host TERM
}

# A port is for the key that the topology file has there, and for no other of the file.
check_wrong() {
  make_switches 1
  make_keys other
  # The unit is not there: each reply of the switch would be to the host.
  start_switch 1 1
  start_host --key-file "$work/other.key" --peer "$(public sw1)"
  wait_until 15 grep -q "topology file have our key" "$work/host.log" || fail "no line in the log"
  no_reply "a key that is in no file" session.rx.drop.unknown_key
  stop switch1 TERM
  start_switch 1 1
  start_host --key-file "$work/unit.key" --peer "$(public sw1)"
  no_reply "the key of another port" session.rx.drop.unknown_key
  start_host --key-file "$work/host.key" --peer "$(public other)"
  no_reply "a wrong key of the switch" session.rx.drop.mac
  links=plain start_host
  no_reply "no key" session.rx.drop.format
  start_iou
  start_host
  nic_up
}

# The hosts file of a unit behind a keyed switch knows a host by the LID of its port.
check_rights() {
  make_switches 1
  make_keys unit host
  hosts_have() {
    printf '[hosts.%s]\nlid = %s\nmacs = ["02:00:00:00:77:01"]\nmac_count = 0\n' "$1" "$2" >"$work/new.toml"
    mv "$work/new.toml" "$work/hosts.toml"
  }
  hosts_have office 11
  iou_options=(--hosts "$work/hosts.toml")
  host_options=(--mac 02:00:00:00:77:01)
  start_switch 1 1
  start_iou && start_host
  nic_up
  ask iou peers | has -E "^office .*up" || fail "no line for office: $(ask iou peers)"
  ip -n "$ns_host" link set nic0 address 02:00:00:00:77:02
  within "another address is refused" 10000 counts iou host.office.iou.from_host.refused_address 1
  ip -n "$ns_host" link set nic0 address 02:00:00:00:77:01
  hosts_have lab 12
  ask iou reload || fail "no reload"
  within "the host is disconnected" 10000 grep -q "not in the hosts file any more" "$work/iou.log"
  within "and refused" 10000 grep -q "not in the hosts file of the I/O unit" "$work/host.log"
  hosts_have branch 11
  ask iou reload || fail "no reload"
  within "it is known again" 10000 reply_of_lan
  ask iou peers | has -E "^branch .*up" || fail "no line for branch: $(ask iou peers)"
}
reply_of_lan() { in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2; }

both_attached() { ask iou peers | has -E "^a .*up" && ask iou peers | has -E "^c .*up"; }

# Unit b is in two partitions, host a in one of them and host c, a limited member, in the other.
check_partitions() {
  make_switches 1
  ns_second=sn$$-e
  host_namespace "$ns_second" && veth_between "$ns_second" fab0 "$ns_sw1" p3 || fail "no second host"
  ip -n "$ns_second" addr add 10.96.4.1/24 dev fab0
  ip -n "$ns_sw1" addr add 10.96.4.2/24 dev p3
  make_keys host second unit
  {
    entry nodes.hostc 12 sw1:3 second
    printf '[partitions.office]\nid = 0x8001\nmembers = ["hosta", "unit"]\n'
    printf '[partitions.lab]\nid = 0x8002\nmembers = ["unit"]\nlimited = ["hostc"]\n'
  } >>"$work/fabric.toml"
  printf '[hosts.a]\nlid = 11\nsl = 1\n[hosts.c]\nlid = 12\npartition = [0x8002]\nsl = 2\n' >"$work/hosts.toml"
  start switch1 "$ns_sw1" "$bin/splitnic-switch" --port udp://10.96.1.2:7500 --port udp://10.96.2.2:7502 --port udp://10.96.4.2:7504 \
    --topology "$work/fabric.toml" --name sw1 --control "$work/switch1.sock" --key-file "$work/sw1.key"
  iou_options=(--partition 0x8001 --partition 0x8002 --hosts "$work/hosts.toml")
  start_iou
  # Host a also names c, which is no unit and in no partition with it: nothing of that arrives there.
  start_host --partition 0x8001 --sl 5 --connect 'udp://hostc:1?via=10.96.1.2:7500' --peer "$(public sw1)"
  second_via=10.96.4.2:7504 next_to_second=sw1 second_name=hostc start_second --partition 0x0002
  nic_up
  wait_up host2
  within "both are attached" 10000 both_attached
  ip -n "$ns_second" addr add 10.77.0.3/24 dev nic0 && ip -n "$ns_second" link set nic0 up || fail "nic0 of c cannot be set up"
  local ns
  for ns in "$ns_host" "$ns_second"; do within "the LAN responds to $ns" 10000 in_ns "$ns" ping -q -c 3 -i 0.05 -W 0.3 10.77.0.2; done
  within "what a sends to c is dropped" 10000 counts switch1 switch.drop.partition 1
  equal "control cells of a at c" "$(counter host2 path.rx.drop.partition)" 0
  # Data from a on the lane of level 5, to a and c on those of the hosts file, channel 0 on lane 3.
  local lane
  for lane in 1 2 3 15; do within "cells on lane $lane" 10000 counts switch1 "switch.lane$lane.tx.cell" 2; done
  # A host that states a partition which is not its own does not get beyond its port.
  stop host TERM
  local before
  before=$(counter switch1 switch.drop.partition)
  start_host --partition 0x8002
  within "cells in a partition of others are dropped" 10000 counts switch1 switch.drop.partition $((before + 2))
  ! is_up host || fail "up in a partition of others"
  within "the other host is up" 10000 is_up host2
}

# The switch's table has lane 0 for all levels, and cells keep the lanes that their senders chose: 2 for frames, 3 for channel 0.
check_pinned() {
  make_switches 1
  sed -i -e '1i pin_vl = true' -e '/^\[switches.sw1\]/a lanes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]' "$work/fabric.toml"
  start_switch 1 1
  iou_options=(--sl 2)
  start_iou && start_host --sl 2
  nic_up
  ping_all "$ns_host" 10.77.0.2 20
  local lane
  for lane in 2 3; do within "cells on lane $lane" 10000 counts switch1 "switch.lane$lane.tx.cell" 2; done
  equal "cells on the lane of the table" "$(counter switch1 switch.lane0.tx.cell)" 0
}

# A node that stops gives its port back at once, also to somebody else.
check_replaced() {
  plain
  switched 1
  stop host TERM
  within "the port is free" 10000 grep -q "port 1 (hosta): .* is down: the peer stopped" "$work/switch1.log"
  host_name=another
  start_host
  within "another host at the same port" 10000 is_up host
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
    within "carrier down after switch $which was killed" 10000 carrier_is "$ns_host" nic0 0
    start_switch "$which" 2
    within "carrier after its restart" 10000 carrier_is "$ns_host" nic0 1
    within "TCP flows again" 15000 moved_since "$(in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes)"
    running client || fail "the TCP connection did not survive"
  done
}

check_shm() {
  plain
  topology_three || fail "the test hosts cannot be made"
  fabric=shm
  printf 'routing = "fattree"\n[switches.sw1]\nlid = 1\n[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.unit]\nlid = 10\nat = "sw1:2"\n' \
    >"$work/fabric.toml"
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
  plain  # what it starts
  topology_three || fail "the test hosts cannot be made"
  local file=$work/fabric.toml
  local run=(ip netns exec "$ns_iou" "$bin/splitnic-switch" --topology "$file" --control "$work/s.sock" --insecure-lab)
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 1\nat = "sw1:1"\n' >"$file"
  refuses 1 "line 4, column 7: [nodes.a] lid: 1 is taken in line 2" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  printf 'routing = "%s"\ncables = ["sw1:2 - sw2:2"]\n[switches]\nsw1.lid = 1\nsw2.lid = 2\n[nodes]\na = {lid = 3, at = "sw1:1"}\n%s' \
    fattree 'b = {lid = 4, at = "sw2:1"}' >"$file"
  refuses 1 "line 1, column 11: routing: not a fat tree: sw1 and sw2 both have nodes" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  printf 'routing = "layered"\n[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 2\nat = "sw1:1"\n' >"$file"
  refuses 1 'which needs lanes with credits: start all of the subnet with --link-profile full' "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 2\nat = "sw1:2"\n' >"$file"
  refuses 1 "--port: a is at port 2" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500
  refuses 1 "there is no [switches.other]" "${run[@]}" --name other --port udp://127.0.0.1:7500
  printf '[switches.sw1]\nlid = 1\n[nodes.b]\nlid = 3\nat = "sw1:2"\n' >"$work/second.toml"
  refuses 1 "$file has no prefix, and a router needs it" "${run[@]}" --name sw1 --topology "$work/second.toml" --port udp://127.0.0.1:7500
  refuses 2 "all udp:// or all shm://" "${run[@]}" --name sw1 --port udp://127.0.0.1:7500 --port shm://x
  refuses 2 "--insecure-lab" "$bin/splitnic-switch" --topology "$file" --port udp://127.0.0.1:7500
  # Keys: of the file and of the options.
  make_keys sw1 unit other
  run=(ip netns exec "$ns_iou" "$bin/splitnic-switch" --topology "$file" --control "$work/s.sock" --name sw1 --port udp://127.0.0.1:7500)
  keyed_file() { # KEY_OF_SWITCH KEY_OF_NODE
    printf '[switches.sw1]\nlid = 1\nkey = "%s"\n[nodes.a]\nlid = 2\nat = "sw1:1"\n%s\n' "$1" "$2" >"$file"
  }
  keyed_file "$(public sw1)" "key = \"$(public unit)\""
  refuses 1 "--key-file is missing: a is at port 1" "${run[@]}" --insecure-lab
  refuses 1 "--key-file: its public key is $(public other), and [switches.sw1]" "${run[@]}" --key-file "$work/other.key"
  chmod o+w "$file"
  refuses 1 "chmod go-w" "${run[@]}" --key-file "$work/sw1.key"
  chmod o-w "$file"
  keyed_file "$(public sw1)" ""
  refuses 1 "a is at port 1 in $file without a key" "${run[@]}" --key-file "$work/sw1.key"
  keyed_file "$(public sw1)" "key = \"$(public sw1)\""
  refuses 1 "line 7, column 7: [nodes.a] key: it is taken in line 3" "${run[@]}" --key-file "$work/sw1.key"
  refuses 2 "--peer is missing" "$bin/splitnic-iou" --lan tap:x --attach udp://127.0.0.1:7500 --key-file "$work/unit.key"
  refuses 2 "does not prove the LIDs of hosts" "$bin/splitnic-iou" --lan tap:x --attach udp://127.0.0.1:7500 --insecure-lab --hosts x
  # A name that the subnet does not have is one line of the host's log, and so is a host that names no node at all.
  printf '[switches.sw1]\nlid = 1\n[nodes.a]\nlid = 2\nat = "sw1:1"\n[nodes.b]\nlid = 3\nat = "sw1:2"\n' >"$file"
  start switch1 "$ns_iou" "$bin/splitnic-switch" --port udp://10.99.0.2:7500 --port udp://10.99.0.2:7501 --topology "$file" \
    --name sw1 --control "$work/switch1.sock" --insecure-lab
  iou_address='nobody:1?via=10.99.0.2:7500'
  start_host
  within "the log names it" 10000 grep -q "cannot resolve node 'nobody'" "$work/host.log"
  stop host TERM
  iou_address=10.99.0.2:7501
  start_host
  within "the switch refuses a connection with itself" 10000 grep -q "this is a fabric switch" "$work/host.log"
}
