# shellcheck shell=bash
# Whoever reaches the fabric's port, and a log that nobody reads: neither stops the traffic of the host that is attached.

# ping_through: 60 pings in 3 s, all of which get a reply.
ping_through() {
  in_ns "$ns_host" ping -q -c 60 -i 0.05 -W 2 10.77.0.2 >"$work/ping.txt" || fail "pings are lost: $(cat "$work/ping.txt")"
}

start_stranger() {
  start stranger "$ns_host" "$python" -B "$e2e/stranger.py" flap "${iou_address%:*}" "${iou_address##*:}" 3
}

# A link that goes down and up thousands of times: at most ten lines per second about it, and one that counts the rest.
check_log_flood() {
  local began seconds lines
  plain
  bring_up
  began=$(milliseconds)
  start_stranger
  ping_through
  wait_until 10 process_ended "${pid_of[stranger]}" || fail "the stranger does not end"
  stop stranger || fail "the stranger failed"
  echo "links that went down and up: $(cat "$work/stranger.log")"
  counts iou link.down 1000 || fail "the stranger took the link down $(counter iou link.down) times only"
  seconds=$((($(milliseconds) - began) / 1000 + 2))
  lines=$(grep -c "link to host .* is down" "$work/iou.log")
  echo "$lines lines in at most $seconds s, $(counter iou log.drop.limit) left out"
  [ "$lines" -le $((10 * seconds)) ] || fail "$lines lines in $seconds s"
  counts iou log.drop.limit 900 || fail "the lines that were left out are not counted"
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
