# shellcheck shell=bash
# --metrics of both programs, read as Prometheus does, and clients that do their worst.

metrics_of() {
  case $1 in
    iou) in_ns "$ns_iou" curl -sS --max-time 5 http://127.0.0.1:9477/metrics ;;
    host) curl -sS --max-time 5 --unix-socket "$work/host.metrics" http://localhost/metrics ;;
  esac
}

bring_up_with_metrics() {
  iou_options+=(--metrics 127.0.0.1:9477)
  host_options+=(--metrics "unix:$work/host.metrics")
  bring_up
}

check_scrape() {
  bring_up_with_metrics
  local who before after
  for who in iou host; do
    metrics_of $who >"$work/$who.metrics.txt" || fail "no metrics of $who"
    "$python" -B "$e2e/metrics.py" complete "$work/$who.metrics.txt" <(ask $who stats --json) || fail "metrics of $who"
    if command -v promtool >/dev/null; then promtool check metrics <"$work/$who.metrics.txt" >&2 || fail "promtool and $who"; fi
  done
  before=$("$python" -B "$e2e/metrics.py" value "$work/iou.metrics.txt" splitnic_host_iou_from_host_frames_total host=hosta)
  ping_all "$ns_host" 10.77.0.2 50
  metrics_of iou >"$work/iou.metrics.txt"
  after=$("$python" -B "$e2e/metrics.py" value "$work/iou.metrics.txt" splitnic_host_iou_from_host_frames_total host=hosta)
  [ "$after" -ge $((before + 50)) ] || fail "50 pings: from $before to $after frames"
  "$python" -B "$e2e/metrics.py" dashboard "$e2e/../../packaging/grafana/splitnic.json" "$work/iou.metrics.txt" "$work/host.metrics.txt" ||
    fail "the dashboard"
  [ "$(stat -c %a "$work/host.metrics")" = 600 ] || getent group splitnic >/dev/null || fail "mode $(stat -c %a "$work/host.metrics")"
  ! in_ns "$ns_iou" ss -Hltn | grep -v 127.0.0.1:9477 | has . || fail "another port is open"
  refuses 2 "--metrics-remote" "$bin/splitnic-iou" --lan lan0 --metrics 0.0.0.0:9477 --insecure-lab
  refuses 2 "--metrics" "$bin/splitnic-host" --connect shm://e2e --metrics 9477
  refuses 1 "listening for metrics" ip netns exec "$ns_iou" "$bin/splitnic-iou" --lan "file:,$work/o.pcap" --listen shm://other \
    --control "$work/other.sock" --metrics 127.0.0.1:9477
}

# median_round_trip: of 150 pings, in microseconds. None may be lost, which the kernel counts: ping gives up on the last replies
# after twice its longest round trip.
median_round_trip() {
  local before
  before=$(echo_replies "$ns_host")
  in_ns "$ns_host" ping -c 150 -i 0.012 -W 2 10.77.0.2 | sed -n 's,.* time=\([0-9.]*\) ms$,\1,p' >"$work/round_trips"
  wait_until 10 has_replies "$ns_host" $((before + 150)) || fail "pings are lost: $(($(echo_replies "$ns_host") - before)) of 150 came back"
  sort -n "$work/round_trips" | awk '{ at[NR] = $1 } END { printf "%d\n", at[int((NR + 1) / 2)] * 1000 }'
}

# dropped_clients NUMBER: has the unit closed that many clients of metrics for want of room?
dropped_clients() {
  local dropped
  metrics_of iou >"$work/iou.metrics.txt"
  dropped=$("$python" -B "$e2e/metrics.py" value "$work/iou.metrics.txt" splitnic_metrics_drop_total cause=busy)
  [ "${dropped:-0}" -ge "$1" ]
}

# 1000 clients that send nothing, garbage, half a request or one after the other, while frames cross. The attack takes processor
# time, and so does other work on the machine, so the best of five rounds counts: a snapshot for each request makes all longer.
check_hostile() {
  bring_up_with_metrics
  local quiet best=1000000 now rounds=0
  quiet=$(median_round_trip) || exit 1
  start clients "$ns_iou" "$python" -B "$e2e/metrics.py" attack 127.0.0.1 9477 1000
  wait_until 20 grep -q attacking "$work/clients.log" || fail "no clients: $(cat "$work/clients.log")"
  local before after
  before=$(counter iou lan.rx.frames)
  while [ $rounds -lt 5 ] && [ "$best" -gt $((4 * quiet + 1000)) ]; do
    now=$(median_round_trip) || exit 1
    rounds=$((rounds + 1))
    [ "$now" -ge "$best" ] || best=$now
  done
  after=$(counter iou lan.rx.frames)
  [ "$after" -ge $((before + 150 * rounds)) ] || fail "the counters stand still"
  wait_until 10 dropped_clients 1000  # a few have come where the machine is busy
  running clients || fail "the attack has ended: $(cat "$work/clients.log")"
  stop clients TERM 5
  within "metrics after the attack" 15000 metrics_of iou
  # Other work on the machine may have begun meanwhile.
  now=$(median_round_trip) || exit 1
  [ "$now" -le "$quiet" ] || quiet=$now
  echo "median of the round trips: $best us in the attack (round $rounds), $quiet us without"
  [ "$best" -le $((4 * quiet + 1000)) ] || fail "the attack delays frames: $best us, $quiet us without"
  dropped_clients 1000 || fail "the attack did not reach the unit: $(grep metrics_drop "$work/iou.metrics.txt")"
  metrics_of iou | has '^splitnic_up 1$' || fail "not served after the attack"
  in_ns "$ns_iou" curl -sS --max-time 5 http://127.0.0.1:9477/state.json | has '"state":"up"' || fail "no state after the attack"
}
