# shellcheck shell=bash
# Whoever reaches the fabric's port, and a log that nobody reads: neither stops the traffic of the host that is attached,
# and a keyed unit does not reply to who has no keys.

# ping_through: 60 pings in 3 s, all of which get a reply.
ping_through() { ping_all "$ns_host" 10.77.0.2 60 0.05; }

start_stranger() {
  start stranger "$ns_host" "$python" -B "$e2e/stranger.py" flap "${iou_address%:*}" "${iou_address##*:}" 3
}

# A link that goes down and up thousands of times: at most ten lines per second about it, and one that counts the rest.
check_log_flood() {
  local began seconds lines
  plain
  bring_up
  began=$(milliseconds)
  # A source is replied to 400 times per second, if it gets the processor.
  for _ in 1 2 3; do
    start_stranger
    ping_through
    wait_until 30 process_ended "${pid_of[stranger]}" || fail "the stranger does not end"
    stop stranger || fail "the stranger failed: $(cat "$work/stranger.log")"
    echo "links that went down and up: $(cat "$work/stranger.log")"
    if counts iou link.down 400 && counts iou log.drop.limit 300; then break; fi
  done
  counts iou link.down 400 || fail "the stranger took the link down $(counter iou link.down) times only"
  seconds=$((($(milliseconds) - began) / 1000 + 2))
  lines=$(grep -c "link to host .* is up again" "$work/iou.log")
  echo "$lines lines in at most $seconds s, $(counter iou log.drop.limit) left out"
  [ "$lines" -gt 0 ] && [ "$lines" -le $((10 * seconds)) ] || fail "$lines lines in $seconds s"
  counts iou log.drop.limit 300 || fail "the lines that were left out are not counted"
  grep -q "and [0-9]* more like: link to host" "$work/iou.log" || fail "no line counts those that were left out"
}

# The log is a full pipe from the start.
check_unread_log() {
  plain
  topology_three || fail "the test hosts cannot be made"
  start iou "$ns_iou" "$python" -B "$e2e/stranger.py" unread "$bin/splitnic-iou" --lan "$port:lan0" \
    --listen "udp://$iou_address" --insecure-lab --name unit --control "$work/iou.sock"
  start_host
  nic_up
  start_stranger
  ping_through
  counts iou log.drop.blocked 1 || fail "lines that were not written are not counted"
}

# flood_under_pings COUNT SECONDS: from the second host.
flood_under_pings() {
  start flood "$ns_second" "$python" -B "$e2e/stranger.py" flood "${iou_address%:*}" "${iou_address##*:}" "$@"
  ping_through
  wait_until $((4 * $2 + 20)) process_ended "${pid_of[flood]}" || fail "the flood does not end"
  stop flood || fail "the stranger failed: $(cat "$work/flood.log")"
  cat "$work/flood.log"
}

# dropped_by_session: how many datagrams the unit has dropped before any key was used.
dropped_by_session() {
  ask iou stats --json | "$python" -c 'import json, sys
print(sum(n for name, n in json.load(sys.stdin).items() if name.startswith("session.rx.drop.")))'
}

# A stranger gets no reply of any kind, takes no memory and hardly a line of the log, whatever it sends.
check_flood() {
  local seconds=3 count=100000 before after lines packets began took drop arrived
  [ "$long" = 1 ] && seconds=60 count=10000000
  keyed
  listen_at=0.0.0.0:7471
  small_pages
  bring_up
  make_second
  silence_interface "$ns_second" fab0
  silence_interface "$ns_iou" fab1
  ip -n "$ns_second" neigh replace 10.98.0.2 lladdr "$(mac_of "$ns_iou" fab1)" dev fab0
  ip -n "$ns_iou" neigh replace 10.98.0.1 lladdr "$(mac_of "$ns_second" fab0)" dev fab1
  # What is needed once. A machine with other work needs more, as more waits at one time.
  ping_all "$ns_host" 10.77.0.2 200
  flood_under_pings $((count / 2)) "$seconds"
  arrived=$(dropped_by_session)
  lines=$(wc -l <"$work/iou.log")
  packets=$(in_ns "$ns_second" cat /sys/class/net/fab0/statistics/rx_packets)
  began=$(milliseconds)
  # About 5 bytes per datagram. What a datagram leaves behind shows each time, and what waits at one time not.
  for _ in 1 2 3; do
    before=$(resident_kib iou)
    flood_under_pings $count "$seconds"
    after=$(resident_kib iou)
    echo "resident: $before KiB before, $after KiB after"
    [ $((after - before)) -gt 512 ] || break
  done
  took=$(($(milliseconds) - began))
  # The socket has no room for all when the unit gets little of the processor.
  arrived=$(($(dropped_by_session) - arrived))
  echo "the unit dropped $arrived of them"
  [ $arrived -ge $((count / 2)) ] || fail "only $arrived of $count datagrams arrived: too little is shown"
  grep -q ", 0 replies" "$work/flood.log" || fail "a stranger got replies"
  equal "packets from the unit" "$(in_ns "$ns_second" cat /sys/class/net/fab0/statistics/rx_packets)" "$packets"
  echo "$(($(wc -l <"$work/iou.log") - lines)) lines"
  [ $((after - before)) -le 512 ] || fail "the unit's memory grew by $((after - before)) KiB"
  [ $(($(wc -l <"$work/iou.log") - lines)) -le $((10 * (took / 1000 + 1))) ] || fail "too many lines: $(tail -n 5 "$work/iou.log")"
  for drop in format mac index; do
    counts iou session.rx.drop.$drop $((count / 50)) || fail "session.rx.drop.$drop: $(counter iou session.rx.drop.$drop)"
  done
  equal "replies" "$(counters iou session.tx.cookie session.rx.drop.handshake)" "0 0"
}

# end_initiations: they got cookies, of fewer bytes than they had, and nothing else.
end_initiations() {
  local sent received
  stop initiations TERM 60 || fail "the stranger failed: $(cat "$work/initiations.log")"
  cat "$work/initiations.log"
  grep -q ", 0 other replies," "$work/initiations.log" || fail "a stranger got another reply than cookies"
  read -r sent received < <(sed -E 's/.* ([0-9]+) bytes sent, ([0-9]+) bytes received/\1 \2/' "$work/initiations.log")
  [ "$received" -gt 0 ] || fail "no cookie came"
  [ "$received" -le "$sent" ] || fail "$received bytes for $sent"
}

# Who knows the public key of the unit gets cookies for initiations, and nothing else. The host that is attached keeps its
# traffic, and a new one comes in, while cookies are required.
check_handshakes() {
  local before after lines cookies count=6000 forge
  [ "$long" = 1 ] && count=1000000
  keyed
  listen_at=0.0.0.0:7471
  small_pages
  bring_up
  make_second
  ip -n "$ns_second" route add local 10.200.0.0/16 dev lo
  ip -n "$ns_iou" route add 10.200.0.0/16 via 10.98.0.1
  # COUNT SECONDS
  forge=("$python" -B "$e2e/stranger.py" initiations "${iou_address%:*}" "${iou_address##*:}" "$(public unit)" 10.200.0.0)
  in_ns "$ns_second" "${forge[@]}" 2000 0.2  # what is needed once, for this and for pings
  ping_all "$ns_host" 10.77.0.2 200
  before=$(resident_kib iou)
  lines=$(wc -l <"$work/iou.log")
  start initiations "$ns_second" "${forge[@]}" $count 2
  ping_through
  wait_until 60 process_ended "${pid_of[initiations]}" || fail "the initiations do not end"
  end_initiations
  echo "resident: $before KiB before, $(resident_kib iou) KiB after $count initiations"
  [ $(($(resident_kib iou) - before)) -le 512 ] || fail "the unit's memory grew by $(($(resident_kib iou) - before)) KiB"
  # More per second than key agreements, and fewer than cookies, of which the host needs one: docs/protocol/session.md.
  cookies=$(counter iou session.tx.cookie)
  start initiations "$ns_second" "${forge[@]}" 60000 75
  wait_until 20 counts iou session.tx.cookie $((cookies + 100)) || fail "no cookies are required"
  stop host
  start_host
  nic_up
  running initiations || fail "the initiations have ended early"
  end_initiations
  ping_all "$ns_host" 10.77.0.2 50
  after=$(resident_kib iou)
  echo "resident: $before KiB before, $after KiB after; $(($(wc -l <"$work/iou.log") - lines)) lines"
  [ $((after - before)) -le 1024 ] || fail "the unit's memory grew by $((after - before)) KiB"
  [ $(($(wc -l <"$work/iou.log") - lines)) -le 60 ] || fail "too many lines: $(tail -n 5 "$work/iou.log")"
}
