# shellcheck shell=bash
# The command of splitnic that measures the fabric, between two test hosts with a wire: each service and operation that a user
# may name.

address=udp://10.99.0.2:7471

# at_wire COMMAND WORDS...: the command at the end that measures.
at_wire() { ip netns exec "$ns_host" "$bin/splitnic" "bench" "$@" --peer "$address" --insecure-lab; }

# measured WORDS...: its rows as JSON, in $rows. An unacknowledged service measures nothing if the other end gets no processor for
# these 0.2 s: then once more.
measured() {
  for _ in 1 2 3 4 5; do
    rows=$(at_wire "$@" --json --seconds 0.2 2>"$work/measured.err") || fail "$*: $(cat "$work/measured.err")"
    [[ $rows =~ \"(messages|one_way_p50_ns)\":0[,}] ]] || return 0
  done
}

# refused_here STATUS TEXT WORDS...
refused_here() { refuses "$1" "$2" ip netns exec "$ns_host" "$bin/splitnic" "bench" "${@:3}" --peer "$address" --insecure-lab; }

# listening: an end that serves, and that replies.
listening() {
  topology_three || fail "the test hosts cannot be made"
  start listener "$ns_iou" "$bin/splitnic" "bench" --listen "$address" --insecure-lab
  wait_until 20 at_wire write --size 64 --seconds 0.001 >/dev/null 2>&1 || fail "nobody serves"
}

# row_has NAME=VALUE...: the only row has these, and messages and round trips were measured.
row_has() {
  "$python" -c 'import json, sys
row = json.loads(sys.argv[1])
assert row["messages"] > 0 and row["one_way_p50_ns"] > 0, row
for word in sys.argv[2:]:
    name, value = word.split("=")
    assert str(row[name]) == value, (name, row)
print(*(f"{name}={row[name]}" for name in ("service", "queue_pairs", "op", "bytes", "messages", "lost")))' "$rows" "$@" ||
    fail "the row is $rows"
}

# Two processes per measurement. An unacknowledged service may lose messages on a busy machine.
check_measured() {
  listening
  local service op
  for op in write send; do
    for service in rc uc ud rd stream; do
      measured $op --service $service --size 64
      row_has service=$service op=$op bytes=64 queue_pairs=1
    done
  done
  for service in rc rd stream; do
    measured read --service $service --size 64
    row_has service=$service op=read bytes=64 queue_pairs=1 lost=0
  done
  for service in uc ud; do
    refused_here 2 "has no read: measure it with --service rc, rd or stream" read --service $service
  done
  for service in rc rd; do
    measured read --service $service --size 67 --pieces 4
    row_has service=$service op=read bytes=67 pieces=4 lost=0
    measured fetchop --service $service
    row_has service=$service op=fetchop bytes=8 queue_pairs=1 lost=0
  done
  for service in uc ud stream; do
    refused_here 2 "has no fetchop: measure it with --service rc or rd" fetchop --service $service
  done
  for op in write send read; do
    measured $op --service rd --qps 4 --size 64
    row_has service=rd op=$op bytes=64 queue_pairs=4 lost=0
  done
  measured fetchop --service rd --qps 4
  row_has service=rd op=fetchop bytes=8 queue_pairs=4 lost=0
  refused_here 2 "--qps needs --service rd" write --service ud --qps 4
  refused_here 2 "is not rc, uc, ud, rd or stream" write --service xx
  stop listener TERM || fail "the end that serves did not stop cleanly"
}

# No other program is there: both queue pairs are of one adapter.
check_loopback() {
  topology_three || fail "the test hosts cannot be made"
  local op size
  for op in write send read fetchop; do
    [ $op = fetchop ] && size=8 || size=5000
    rows=$(ip netns exec "$ns_host" "$bin/splitnic" "bench" $op --loopback --size $size --json --seconds 0.2 2>"$work/measured.err") ||
      fail "$op: $(cat "$work/measured.err")"
    row_has carrier=loopback service=rc op=$op bytes=$size lost=0
  done
  refused_here 2 "one of --peer, --listen and --loopback is needed" write --loopback
}

# A message of UD, and a write and a read of RD, is one cell, which the wire with its MTU of 1500 bounds; a Send of RD and one of UC have several.
check_sizes() {
  listening
  local service op
  local pair
  for pair in "ud write" "ud send" "rd write" "rd read"; do
    service=${pair% *} op=${pair#* }
    measured $op --service $service --size 1364
    row_has service=$service op=$op bytes=1364
    refused_here 1 "one cell, of at most 1364 bytes on this path" $op --service $service --size 1365
  done
  for service in ud rd; do
    measured write --service $service
    row_has service=$service bytes=64
  done
  for service in uc rd stream; do
    measured send --service $service --size 5000
    row_has service=$service bytes=5000
  done
  measured send --service rd --qps 4 --size 65536
  row_has service=rd queue_pairs=4 bytes=65536
  at_wire write --service rd --qps 4 --size 64 --seconds 0.1 >"$work/table" || fail "no table"
  equal "the head of the table" "$(awk 'NR == 1 { print $3, $4, $5, $6 }' "$work/table")" "op service qps bytes"
  equal "its row" "$(awk 'NR == 2 { print $3, $4, $5, $6 }' "$work/table")" "write rd 4 64"
  stop listener TERM || fail "the end that serves did not stop cleanly"
}
