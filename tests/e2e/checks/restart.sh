# shellcheck shell=bash
# kill -9 of either side under traffic. Recovery times are printed: from the restart to the first ping that gets a reply. Of three
# rounds or more half have 2 s at most, and the best one has no more than 1 s, which is the goal [F-46]: other work on the machine makes
# any round longer, the start of a program too. None may have more than 5 s. nic0 loses its neighbours with its carrier, so ARP has
# its part in it; ask_often keeps that short.

bound=5000 most=2000 goal=1000
rounds=5 cycles=4  # as many cycles as there are orders, or more
[ "$long" = 1 ] && rounds=20 cycles=20

# first_reply WHAT COMMAND...: runs it, a restart, and reports how long after its beginning the first ping gets a reply.
# One is sent every 10 ms, all the time.
first_reply() {
  local what=$1 began took=""
  shift
  began=$(date +%s.%N)
  "$@"
  wait_until 10 has_reply "$began" || fail "$what: no ping gets a reply"
  [ "$took" -le "$bound" ] || fail "$what: the first ping gets its reply after $took ms, not within $bound ms"
  results[$what]+=" $took"
}

# has_reply SINCE: has a ping got a reply since then? Leaves in $took how many milliseconds later the first was.
has_reply() {
  took=$(awk -v began="$1" -F '[][]' '/bytes from/ && $2 > began {printf "%d", ($2 - began) * 1000; exit}' "$work/pinging.log")
  [ -n "$took" ]
}

print_results() {
  local what took
  for what in "${!results[@]}"; do
    echo "$what, first reply after ms:${results[$what]}"
    mapfile -t took < <(tr ' ' '\n' <<<"${results[$what]# }" | sort -n)
    [ ${#took[@]} -ge 3 ] || continue
    [ "${took[0]}" -le $goal ] || fail "$what: never a reply within $goal ms"
    [ "${took[$(((${#took[@]} - 1) / 2))]}" -le $most ] || fail "$what: seldom a reply within $most ms"
  done
}

# Traffic that must survive; nic0 must stay the same interface.
begin_traffic() {
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 600 -i 1 --forceflush
  start pinging "$ns_host" ping -D -i 0.012 10.77.0.2
  declare -gA results=()
  index=$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)
  addresses=$(ip -n "$ns_host" -o addr show dev nic0 | sort)
}

received() { in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/rx_bytes; }
moved_since() { [ $(($(received) - $1)) -gt 3000000 ]; }

still_flowing() {
  running client || fail "the TCP connection did not survive"
  within "TCP flows again" 15000 moved_since "$(received)"
  equal "the index of nic0" "$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)" "$index"
  equal "the addresses of nic0" "$(ip -n "$ns_host" -o addr show dev nic0 | sort)" "$addresses"
}

# under_traffic TIMES COMMAND: runs it that often, with the number of the round.
under_traffic() {
  bring_up
  begin_traffic
  local round
  for ((round = 0; round < $1; round++)); do "$2" $round; done
  print_results
}

pause() { sleep 0.$((RANDOM % 9 + 1)); }

kill_host() {
  pause
  stop host KILL
  in_ns "$ns_host" ip link show nic0 >/dev/null || fail "nic0 is gone with the host module"
  pause
  first_reply "host killed and restarted" start_host
  still_flowing
}
check_host() { under_traffic $rounds kill_host; }

kill_iou() {
  pause
  stop iou KILL
  within "carrier down after the I/O unit was killed" 10000 carrier_is "$ns_host" nic0 0
  first_reply "I/O unit killed and restarted" start_iou
  still_flowing
}
check_iou() { under_traffic $rounds kill_iou; }

# The same without a pause: the other is back before anybody noticed.
kill_at_once() {
  sleep 0.5
  stop iou KILL
  first_reply "I/O unit killed and restarted" start_iou
  still_flowing
  stop host KILL
  first_reply "host killed and restarted" start_host
  still_flowing
}
check_iou_at_once() { under_traffic $((rounds < 9 ? 3 : rounds / 3)) kill_at_once; }

# both KILLED FIRST SECOND PAUSE: the other one is killed after KILLED; counted from the start of the second.
both() {
  local killed_last=host
  [ "$1" = host ] && killed_last=iou
  stop "$1" KILL
  stop $killed_last KILL
  "start_$2"
  sleep "$4"
  first_reply "both killed, $1 first, $3 started $4 s after $2" "start_$3"
  still_flowing
}

# Each order of the starts with each order of the kills, and both at once.
kill_both() {
  case $(($1 % 4)) in
    0) both host iou host 0.7 ;;
    1) both iou host iou 0.7 ;;
    2) both host host iou 0 ;;
    3) both iou iou host 0 ;;
  esac
}
check_both() { under_traffic $cycles kill_both; }

# restart_cleanly WHO: as `systemctl restart` and an upgrade do it.
restart_cleanly() {
  pings_begin
  stop "$1" TERM || fail "$1 did not stop cleanly"
  "start_$1"
  pings_end "clean restart of $1"
}
restart_host() { restart_cleanly host; }
# The carrier of nic0 stays, and its neighbours with it, if the unit is back within the 500 ms that the host waits.
restart_iou() {
  local losses
  losses=$(in_ns "$ns_host" cat /sys/class/net/nic0/carrier_down_count)
  restart_cleanly iou
  [ "$gap" -gt 500 ] || equal "losses of the carrier" "$(in_ns "$ns_host" cat /sys/class/net/nic0/carrier_down_count)" "$losses"
}

held_by_iou() {
  echo "$(find "/proc/${pid_of[iou]}/fd" -mindepth 1 | wc -l) descriptors, $(find "/proc/${pid_of[iou]}/task" -mindepth 1 -maxdepth 1 | wc -l) threads"
}
# The unit closes the connection of who has asked it something when its control thread notices the end, which may take it a while.
held_at_rest() {
  local held before="" same=0
  while [ $same -lt 5 ]; do
    held=$(held_by_iou)
    if [ "$held" = "$before" ]; then same=$((same + 1)); else same=0; fi
    before=$held
    sleep 0.3
  done
  echo "$held"
}
holds() { [ "$(held_by_iou)" = "$1" ]; }
# again ROUNDS: a host comes, the unit is asked about it, and it is killed or, every second time, stops.
again() {
  local round
  for ((round = 0; round < $1; ++round)); do
    start_host
    nic_up
    ask iou show >/dev/null && ask iou stats >/dev/null || fail "the unit does not respond"
    if [ $((round % 2)) = 0 ]; then stop host KILL; else stop host TERM; fi
  done
  wait_until 10 no_host_is_there || fail "the unit does not forget the host"
}
no_host_is_there() { [ "$(ask iou show --json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["peers"]))')" = 0 ]; }

# Hosts that come and go leave nothing in the unit.
check_again() {
  local count=12 before held
  [ "$long" = 1 ] && count=1000
  topology_three || fail "the test hosts cannot be made"
  small_pages
  start_iou
  again 6
  before=$(resident_kib iou)
  held=$(held_at_rest)
  again $count
  # Once it may need more, when a host is there for the first time before its former process is gone; what is left behind grows each time.
  if [ $(($(resident_kib iou) - before)) -gt 1024 ]; then
    echo "unit: $before KiB resident; after $count hosts $(resident_kib iou) KiB"
    before=$(resident_kib iou)
    again $count
  fi
  echo "unit: $held, $before KiB resident; after $count hosts $(held_at_rest), $(resident_kib iou) KiB"
  wait_until 15 holds "$held" || fail "the unit holds $(held_by_iou), not $held"
  [ $(($(resident_kib iou) - before)) -le 1024 ] || fail "the unit's memory grew by $(($(resident_kib iou) - before)) KiB"
}

# A TAP that no program holds has no carrier, so with --keep-tap ARP has its part in a restart of the host; with a service manager that
# keeps the descriptor it has not (checks/installed.sh).
check_clean() {
  host_options+=(--keep-tap)
  bring_up
  index=$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)
  addresses=$(ip -n "$ns_host" -o addr show dev nic0 | sort)
  gaps_within "clean restarts of the host" 500 5000 restart_host
  ask_as_usual "$ns_host" nic0
  gaps_within "clean restarts of the I/O unit" 500 5000 restart_iou
  equal "the index of nic0" "$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)" "$index"
  equal "the addresses of nic0" "$(ip -n "$ns_host" -o addr show dev nic0 | sort)" "$addresses"
}

# A side stands still, shorter and longer than its link lives, with frames on the way. What comes then is whole.
check_paused() {
  bring_up
  make_blob 64
  start_web_server "$ns_lan" "$work/www"
  wait_until 10 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  local who queues
  queues=$(queues_up iou)
  for who in host iou; do pause_of_300_ms "$who"; done
  for who in host iou; do
    start fetch "$ns_host" curl -sS --max-time 120 --limit-rate 50M -o "$work/fetched" http://10.77.0.2/blob
    wait_until 10 test -s "$work/fetched" || fail "no file begins"
    stands_still "$who" 3
    within "the LAN after 3 s of $who" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
    wait_until 60 cmp -s "$work/fetched" "$work/www/blob" || fail "the file over the pause of $who"
    stop fetch
    rm "$work/fetched"
  done
  stop nginx
  grep -q "nothing heard" "$work/host.log" && grep -q "nothing heard" "$work/iou.log" || fail "a pause was shorter than a link lives"
  # TCP itself gives such a connection up, or waits for a minute more: a new one it is.
  for who in host iou; do
    [ "$long" = 1 ] || break
    stands_still "$who" 62
    within "the LAN after a minute of $who" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
    files_both_ways 4
  done
  wait_until 15 has_queues "$queues" || fail "queues that are up: $(queues_up host) and $(queues_up iou), not $queues"
}
# stands_still WHO SECONDS: leaves in $stood how many milliseconds it was, at most.
stands_still() {
  local began
  began=$(milliseconds)
  kill -STOP "${pid_of[$1]}" && sleep "$2" && kill -CONT "${pid_of[$1]}"
  stood=$(($(milliseconds) - began))
}

# pause_of_300_ms WHO: no ping is lost, and no link ends. Where this script had to wait for a processor meanwhile, the pause was another
# one, and is made once more.
pause_of_300_ms() {
  local before stood
  for _ in 1 2 3 4 5; do
    before=$(silences)
    begin_pings pinging "$ns_host" 10.77.0.2
    stands_still "$1" 0.3
    if [ "$stood" -le 600 ]; then
      end_pings pinging
      [ "$(silences)" = "$before" ] || fail "300 ms are too long for a link: $(grep -h "nothing heard" "$work/host.log" "$work/iou.log")"
      return
    fi
    stop pinging INT || true
    within "the LAN after $stood ms of $1" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
  done
  fail "each pause of $1 was longer than 600 ms"
}
silences() { cat "$work/host.log" "$work/iou.log" | grep -c "nothing heard"; }
