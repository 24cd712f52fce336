# shellcheck shell=bash
# A host of the unit that has a good key and keeps to nothing: the other host loses nothing by it.

check_host() {
  local seconds=6 sum drop began
  [ "$long" = 1 ] && seconds=60
  keyed
  listen_at=0.0.0.0:7471
  bring_up
  make_second
  began=$(milliseconds)
  start hostile "$ns_second" "$python" -B "$e2e/hostile.py" "${iou_address%:*}" "${iou_address##*:}" "$work/second.key" \
    "$(public unit)" "$(public host)" $seconds 1
  wait_until 30 grep -qs attached "$work/hostile.log" || fail "the hostile host is not attached: $(cat "$work/hostile.log")"
  counts iou session.established 2 || fail "the hostile host has no session"
  ping_all "$ns_host" 10.77.0.2 200
  ping_all "$ns_lan" 10.77.0.1 200
  files_both_ways 8
  while running hostile && [ $(($(milliseconds) - began)) -lt $((1000 * seconds + 30000)) ]; do ping_all "$ns_host" 10.77.0.2 50 0.012; done
  stop hostile || fail "the hostile host failed: $(cat "$work/hostile.log")"
  tail -n 1 "$work/hostile.log"
  equal "pairs of the other host that ended" "$(counter host host.pair.downs)$(counter host host.queue.downs)" 00
  equal "frames of the other host that were lost" "$(counters host host.tx.lost host.rx.drop.ended)" "0 0"
  equal "frames to the other host that were lost" "$(counters iou host.hosta.iou.to_host.lost)" 0
  # It was heard, in each way.
  for drop in session.rx.drop.{tag,replay,index,stamp} link.rx.drop.{crc,init,identity}; do
    counts iou "$drop" 1 || fail "$drop: 0"
  done
  sum=$(wc -l <"$work/iou.log")
  echo "$sum lines of the log"
  [ "$sum" -le $((50 * (($(milliseconds) - began) / 1000 + 2))) ] || fail "$sum lines of the log"
  ask iou peers
}
