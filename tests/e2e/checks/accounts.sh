# shellcheck shell=bash
# Exact accounting: what went in at one edge came out at the other, or was dropped under a name. The kernel's own
# counts of both interfaces are the witness.

statistic() { in_ns "$1" cat "/sys/class/net/$2/statistics/$3"; }

# read_counts NAME: into NAME.host, NAME.unit and NAME.kernel. They are of one moment only when nothing moves.
read_counts() {
  ask host stats --json >"$work/$1.host" && ask iou stats --json >"$work/$1.unit" &&
    printf '{"nic0.tx":%d,"nic0.rx":%d,"peer.tx":%d,"peer.rx":%d}' \
      "$(statistic "$ns_host" nic0 tx_packets)" "$(statistic "$ns_host" nic0 rx_packets)" \
      "$(statistic "$ns_lan" lan0 tx_packets)" "$(statistic "$ns_lan" lan0 rx_packets)" >"$work/$1.kernel"
}

accounts() { "$python" "$e2e/accounts.py" "$@"; }

# at_rest NAME COMMAND...: does nothing move? Then two readings 0.3 s apart are equal, and NAME is both of them. A cell may
# wait longer than that for its retransmission, so the command must succeed too, which finds what is on its way.
at_rest() {
  local name=$1 earlier
  shift
  read_counts "$name" && earlier=$(accounts changing "$work/$name") || return 1
  sleep 0.3
  read_counts "$name" && [ "$(accounts changing "$work/$name")" = "$earlier" ] && "$@" >"$work/accounts.log"
}

no_more_connections() {
  wait_until 20 no_connection || fail "a connection does not end: $(in_ns "$ns_lan" ss -Htn)"
}

# balances [STAYED]: host or unit, if the other was restarted.
balances() {
  no_more_connections
  wait_until 20 at_rest after accounts account "$work/before" "$work/after" "$@" || fail "the counts do not balance"
  cat "$work/accounts.log"
}

# difference FILE COUNTER
difference() {
  "$python" -c 'import json, sys
old, new = (json.load(open(sys.argv[1] + "/" + w + "." + sys.argv[2])) for w in ("before", "after"))
print(new[sys.argv[3]] - old.get(sys.argv[3], 0))' "$work" "$1" "$2"
}

begin_accounts() {
  bring_up
  silence_interface "$ns_lan" lan0
  # No traffic without a request: neither side forgets the other.
  ip -n "$ns_host" neigh replace 10.77.0.2 lladdr "$(mac_of "$ns_lan" lan0)" dev nic0
  ip -n "$ns_lan" neigh replace 10.77.0.1 lladdr "$(mac_of "$ns_host" nic0)" dev lan0
  ip -n "$ns_lan" neigh replace 10.77.0.55 lladdr 02:00:00:00:00:99 dev lan0
  serve_iperf "$ns_lan" 10.77.0.2
  no_more_connections
  wait_until 20 at_rest before accounts arrived "$work/before" || fail "the counters do not come to rest"
}

check_balance() {
  begin_accounts
  in_ns "$ns_host" ping -q -c 100 -i 0.002 10.77.0.2 >/dev/null || fail "ping"
  in_ns "$ns_lan" ping -q -c 40 -i 0.002 -W 0.1 10.77.0.55 >/dev/null
  in_ns "$ns_host" "$python" "$e2e/tool.py" spoof nic0 02:00:00:00:00:98 30
  iperf -t 1 >/dev/null || fail "iperf3"
  iperf -t 1 -R >/dev/null || fail "iperf3 -R"
  iperf -t 1 -u -b 200M -l 1400 >/dev/null || fail "iperf3 -u"
  balances
  equal "frames with another's source" "$(difference unit iou.from_host.drop.spoof)" 30
  equal "frames for nobody here" "$(difference unit lan.rx.drop.no_host)" 40
  # The I/O unit counts for this host what the host counts.
  local of_unit of_host lost
  of_unit=$(difference unit host.hosta.iou.from_host.frames) of_host=$(difference host host.tx.frames) lost=$(difference host host.tx.lost)
  [ "$of_unit" -le "$of_host" ] && [ "$of_unit" -ge $((of_host - lost)) ] ||
    fail "the host's own count: $of_unit, not $of_host, of which $lost were on their way at the end of a pair"
}

# More than can be carried: what is lost has a name. A host that stands still while more frames come than its ring at the
# unit holds makes this so on any machine.
check_overload() {
  host_options=(--pool 2x2048)
  begin_accounts
  local way
  for way in "-l 64 -R" "-l 64" "-l 1400 -R"; do
    # shellcheck disable=SC2086
    iperf -t 1 -u -b 0 $way >/dev/null || fail "iperf3 $way"
    # What is on its way still would be the first datagram of the next run for iperf3, which then waits for its sender in vain.
    balances >/dev/null
  done
  kill -STOP "${pid_of[host]}"
  in_ns "$ns_lan" ping -q -c 4000 -l 4000 -W 0.1 -s 1400 10.77.0.1 >/dev/null
  kill -CONT "${pid_of[host]}"
  balances
  local name count sum=0
  for name in lan.port.rx.drop.kernel lan.rx.drop.host_full lan.port.tx.drop.queue; do
    count=$(difference unit $name)
    echo "$name: $count"
    sum=$((sum + count))
  done
  [ $sum -gt 0 ] || fail "everything was carried: nothing is shown"
}

# Neither side has room for a super-frame: the counts of what was split balance too.
check_split() {
  iou_options=(--pool 256x2048) host_options=(--pool 256x2048)
  begin_accounts
  iperf -t 1 >/dev/null || fail "iperf3"
  iperf -t 1 -R >/dev/null || fail "iperf3 -R"
  balances
  local from_host from_lan
  from_host=$(difference host tap.rx.split)
  from_lan=$(($(difference unit lan.port.rx.split) + $(difference unit iou.to_host.split)))
  echo "additional frames by splitting: $from_host of the host's, $from_lan of the LAN's"
  [ "$from_host" -gt 0 ] && [ "$from_lan" -gt 0 ] || fail "no frame was split on one of the ways"
}

# A pool that is soon full: some frames are on their way when a pair ends, and others wait.
begin_ending() { # [OPTION...]
  iou_options=(--pool 16x2048 "$@") host_options=(--pool 16x2048 "$@")
  begin_accounts
}

# Long pings both ways, all the time that the command takes, which begins when both have replies.
under_pings() {
  local at_host at_lan
  at_host=$(echo_replies "$ns_host") at_lan=$(echo_replies "$ns_lan")
  start to_lan "$ns_host" ping -q -i 0.002 -s 1400 10.77.0.2
  start to_host "$ns_lan" ping -q -i 0.002 -s 1400 10.77.0.1
  wait_until 20 has_replies "$ns_host" $((at_host + 20)) && wait_until 20 has_replies "$ns_lan" $((at_lan + 20)) || fail "no replies to pings"
  "$@"
  wait_until 20 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond after the restart"
  sleep 0.2
  stop to_lan INT
  stop to_host INT
}

# in_flight FILE COUNTER...: what a pair took along at its end is counted under each of these names.
in_flight() {
  local file=$1 name count
  shift
  for name in "$@"; do
    count=$(difference "$file" "$name")
    echo "$name: $count"
    [ "$count" -gt 0 ] || fail "the pair ended without a frame for $name: nothing is shown"
  done
}

# restarted WHO: killed, away for a while, started again.
restarted() {
  stop "$1" KILL
  sleep 0.3
  "start_$1"
}

# killed WHO OTHER COUNTER...: WHO is killed under pings, at most three times, until OTHER has counted frames under each
# of these names: on a busy machine the pings may come too slowly for a frame to wait.
killed() {
  local who=$1 other=$2 name is_shown
  shift 2
  for _ in 1 2 3; do
    under_pings restarted "$who"
    balances "$other"
    is_shown=1
    for name in "$@"; do [ "$(difference "$other" "$name")" -gt 0 ] || is_shown=; done
    [ -z "$is_shown" ] || break
  done
  in_flight "$other" "$@"
}

check_host_killed() {
  begin_ending
  killed host unit lan.rx.drop.ended iou.to_host.lost
}

check_iou_killed() {
  begin_ending
  killed iou host host.tx.drop.ended host.tx.lost
}

# Both processes stay, and the pair does not: the unit ends it, while the host acknowledges nothing, and the host connects again.
# Frames that come from the LAN once the host stands still are on their way, or wait behind some that are.
evict() {
  local pairs came
  pairs=$(counter host host.pair.ups)
  kill -STOP "${pid_of[host]}"
  came=$(counter iou lan.rx.frames)
  wait_until 20 counts iou lan.rx.frames $((came + 2)) || fail "no frames for the host"
  ask iou evict "$host_name" || fail "the host is not evicted"
  kill -CONT "${pid_of[host]}"
  within "a new pair" 20000 counts host host.pair.ups $((pairs + 1))
}

check_pair_ended() {
  local lost
  begin_ending
  for _ in 1 2 3; do
    under_pings evict
    balances
    lost=$(($(difference host host.tx.lost) + $(difference unit iou.to_host.lost)))
    [ $lost = 0 ] || break
  done
  [ $lost -gt 0 ] || fail "the pair ended without a frame on its way: nothing is shown"
}
