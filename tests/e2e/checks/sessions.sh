# shellcheck shell=bash
# Keyed sessions in what happens to them: the host moves, keys are replaced under load, the path is bad or hostile.

# longest_gap SINCE: without a reply in $work/pinging.log from then on, in ms.
longest_gap() {
  awk -v last="$1" -F '[][]' '/bytes from/ && $2 > last { if ($2 - last > gap) gap = $2 - last; last = $2 }
    END { printf "%d", gap * 1000 }' "$work/pinging.log"
}

replies_since() { awk -v since="$1" -F '[][]' '/bytes from/ && $2 > since { count++ } END { print count + 0 }' "$work/pinging.log"; }
has_replies_since() { [ "$(replies_since "$1")" -ge "$2" ]; }

# Bytes that the LAN and nic0 have received.
received() { in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes; }
received_by_host() { in_ns "$ns_host" cat /sys/class/net/nic0/statistics/rx_bytes; }
# More than what was on the way then.
flow_since() { [ $(($(received) - $1)) -gt 10000000 ] && [ $(($(received_by_host) - $2)) -gt 10000000 ]; }

# move_to OLD NEW: the host's address on the fabric, under load, and TCP flows on, as fast as the processors permit. Leaves the
# longest time without a reply in $gap.
move_to() {
  local began roamed
  sleep 0.3
  roamed=$(counter iou session.roamed)
  began=$(date +%s.%N)
  ip -n "$ns_host" addr del "$1" dev fab0 && ip -n "$ns_host" addr add "$2" dev fab0 "${@:3}" || fail "no new address"
  within "TCP flows both ways after the move" 15000 flow_since "$(received)" "$(received_by_host)"
  wait_until 10 has_replies_since "$began" 20 || fail "no reply after the move to $2"
  gap=$(longest_gap "$began")
  echo "moved to $2: $gap ms without a reply"
  # Each queue moves with its next datagram.
  counts iou session.roamed $((roamed + 1)) || fail "the unit does not count that the host has moved"
}

begin_load() {
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush --bidir
  start pinging "$ns_host" ping -D -i 0.012 10.77.0.2
}

# The connections are the same as before: nothing was set up again.
stayed_up() {
  running client || fail "the TCP connection did not survive"
  equal "pairs that ended" "$(counter host host.pair.downs)$(counter host host.queue.downs)$(counter iou iou.hosts.downs)" 000
  equal "frames lost" "$(counter host host.tx.lost)$(counter iou iou.to_host.lost)" 00
}

# Without keys the host has to begin its link once more, from the new address.
check_moves_plain() {
  plain
  bring_up
  local last=1
  gaps_within "the host moves to another address" 1000 5000 move_plainly
}
move_plainly() {
  last=$((last + 2))
  pings_begin
  ip -n "$ns_host" addr flush dev fab0 && ip -n "$ns_host" addr add 10.99.0.$last/24 dev fab0 || fail "no new address"
  wait_until 10 comes_from 10.99.0.$last || fail "the unit has another address: $(ask iou show)"
  pings_end "the move to 10.99.0.$last"
}
comes_from() { ask iou show --json | has -F "\"$1:"; }

# solicit_quickly ipv4|ipv6: the unit's system asks for the MAC of a new address once more after 0.1 s. By default that is 1 s, more
# than a link waits: a question that is lost on a busy machine would end it.
solicit_quickly() {
  local ns
  for ns in "$ns_host" "$ns_iou"; do
    in_ns "$ns" sysctl -qw "net.$1.neigh.fab0.retrans_time_ms=100" || fail "sysctl"
  done
}

check_moves() {
  keyed
  bring_up
  solicit_quickly ipv4
  begin_load
  local last=1
  gaps_within "the host moves to another address under load" 1000 5000 move_on
  move_to "10.99.0.$last/24" 10.99.0.77/24
  stayed_up
  ask iou peers | has "10\.99\.0\.77:" || fail "peers does not list the new address: $(ask iou peers)"
}

move_on() {
  move_to "10.99.0.$last/24" "10.99.0.$((last + 2))/24"
  last=$((last + 2))
}

check_moves_ipv6() {
  keyed
  topology_ipv6
  iou_address='[fd99::2]:7471'
  start_iou && start_host
  nic_up
  solicit_quickly ipv6
  begin_load
  local last=1
  gaps_within "the host moves to another IPv6 address under load" 1000 5000 move_on_ipv6
  stayed_up
}
move_on_ipv6() {
  move_to "fd99::$last/64" "fd99::$((last + 2))/64" nodad
  last=$((last + 2))
}

# session_drops WHO: what was dropped for which reason.
session_drops() {
  ask "$1" stats --json | "$python" -c 'import json, sys
print(*(f"{name} {n}" for name, n in json.load(sys.stdin).items() if name.startswith("session.rx.drop.") and n))'
}

# A handshake is repeated when its RESPONSE is late, which is dropped then: that is no record.
record_drops() {
  ask "$1" stats --json | "$python" -c 'import json, sys
print(*(f"{name} {n}" for name, n in json.load(sys.stdin).items()
        if name.startswith("session.rx.drop.") and name != "session.rx.drop.handshake" and n))'
}

has_counted() { [ "$(counter "$1" "$2")" -gt "$3" ]; }
has_rekeyed() { has_counted host session.rekeyed "$1" && has_counted iou session.rekeyed "$2"; }

# Pings both ways and a TCP connection, none of which loses anything while keys are replaced: because the host hears nothing
# for 400 ms, which the relay sees to, and in the long form by age, after 120 s.
check_rekey() {
  local rate=30M
  keyed
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1) host_options=(--queues 1)
  start_iou
  if [ "$long" = 1 ]; then
    rate=300M
  else
    start_relay silence=0.45
    iou_address=127.0.0.1:7999
  fi
  start_host
  nic_up
  serve_iperf "$ns_lan" 10.77.0.2
  # So much that records are on their way at any time, and not as much as would make a queue drop pings.
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush --bidir -b $rate
  begin_pings to_lan "$ns_host" 10.77.0.2
  begin_pings to_host "$ns_lan" 10.77.0.1
  if [ "$long" = 1 ]; then
    sleep 125
    has_rekeyed 0 0 || fail "no new keys after 125 s"
  else
    wait_until 20 has_rekeyed 5 5 || fail "no new keys"
  fi
  sleep 0.3
  running client || fail "the TCP connection did not survive"
  stop client INT
  end_pings to_lan
  end_pings to_host
  echo "new keys: $(counters iou session.rekeyed)"
  equal "records dropped" "$(record_drops host)$(record_drops iou)" ""
  equal "pairs that ended" "$(counter host host.pair.downs)$(counter iou iou.hosts.downs)" 00
  equal "frames lost" "$(counter host host.tx.lost)$(counter iou iou.to_host.lost)" 00
}

# start_relay PART=PERCENT...: in the host's namespace, at 127.0.0.1:7999, towards the unit.
start_relay() {
  start relay "$ns_host" "$python" -B "$e2e/relay.py" 7999 "${iou_address%:*}" "${iou_address##*:}" 1 "$@"
  wait_until 10 grep -qs ready "$work/relay.log" || fail "no relay"
}

# With one socket of the relay for each host, and one address for all: the unit sees them as a flood, and sends cookies.
handshakes=50

# agrees NUMBER: are that many hosts known to the unit by good records?
agrees() { [ "$(counter iou session.established)" -ge "$1" ]; }

# bad_path PART=PERCENT...: 50 hosts at once, each with its own key, over a path that is as bad as that.
bad_path() {
  local number allowed=() names=() began
  keyed
  topology_three || fail "the test hosts cannot be made"
  mapfile -t names < <(seq -f h%g $handshakes)
  make_keys unit "${names[@]}"
  for number in "${names[@]}"; do allowed+=(--allow-key "$(public "$number")"); done
  iou_options=(--key-file "$work/unit.key" --max-hosts 64 --queues 1 "${allowed[@]}")
  start_iou
  wait_up iou
  start_relay "$@"
  began=$(milliseconds)
  for number in "${names[@]}"; do
    start "$number" "$ns_host" "$bin/splitnic-host" --connect udp://127.0.0.1:7999 --tap "file:,$work/$number.pcap" --queues 1 \
      --name "$number" --control "$work/$number.sock" --key-file "$work/$number.key" --peer "$(public unit)" --pool 4x2048
  done
  wait_until 60 agrees $handshakes || fail "$(counter iou session.established) of $handshakes handshakes"
  echo "$handshakes of $handshakes handshakes after $(($(milliseconds) - began)) ms"
  equal "handshakes" "$(counter iou session.established)" $handshakes
  echo "dropped by the unit: $(session_drops iou)"
  end_all "${names[@]}"
  stop relay TERM 10 || fail "the relay failed: $(cat "$work/relay.log")"
  tail -n 1 "$work/relay.log"
}

# relayed WHAT: how often the relay, which has ended, did that to a datagram.
relayed() { tail -n 1 "$work/relay.log" | sed -n "s/.*\b$1 \([0-9]*\).*/\1/p"; }

# end_all NAME...: all at once.
end_all() {
  local name pids=()
  for name in "$@"; do
    running "$name" || fail "$name ended unexpectedly"
    pids+=("${pid_of[$name]}")
  done
  kill -TERM "${pids[@]}"
  for name in "$@"; do
    wait "${pid_of[$name]}" || fail "$name did not stop cleanly: $(cat "$work/$name.log")"
    unset "pid_of[$name]"
  done
}

check_loss() {
  bad_path loss=30
  [ "$(relayed loss)" -gt 10 ] || fail "nothing was lost: nothing is shown"
}

check_corruption() {
  bad_path corrupt=30
  [ -n "$(session_drops iou)" ] || fail "nothing was dropped: nothing is shown"
}

# A man in the middle changes, repeats and returns what passes, and speaks without keys: nothing of it is accepted, and nothing
# is lost.
check_middle() {
  keyed
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1) host_options=(--queues 1)
  start_iou
  start_relay corrupt=2 repeat=20 reflect=10 stranger=10
  local of_unit=$iou_address
  iou_address=127.0.0.1:7999
  start_host
  nic_up
  iou_address=$of_unit
  ping_all "$ns_host" 10.77.0.2 200
  ping_all "$ns_lan" 10.77.0.1 200
  files_both_ways 1
  local who drop
  for who in host iou; do
    for drop in tag replay format; do
      counts $who session.rx.drop.$drop 1 || fail "$who: session.rx.drop.$drop: $(counter $who session.rx.drop.$drop)"
    done
    ask $who show --json | "$python" -c '
import json, sys
peers = json.load(sys.stdin)["peers"]
assert len(peers) == 1 and peers[0]["keyed"] is True, peers' || fail "$who has another peer, or one without keys"
    equal "what reached the link of $who" "$(counters $who link.rx.drop.crc link.rx.drop.peer)" "0 0"
  done
  equal "pairs that ended" "$(counter host host.pair.downs)$(counter iou iou.hosts.downs)" 00
}
