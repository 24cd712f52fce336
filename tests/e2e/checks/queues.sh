# shellcheck shell=bash
# Several queues: each is whole, and what one side lacks or one queue loses goes over the others.

reports() { grep -q "$2" "$work/$1.log"; }

pings_and_files() {
  ping_all "$ns_host" 10.77.0.2 100
  ping_all "$ns_lan" 10.77.0.1 100
  files_both_ways 4
}

# Flows of TCP, UDP and ICMP both ways, the last of a check: no address is left.
flows_both_ways() {
  pings_and_files
  quieten
  replay_both_ways
}

check_two() {
  iou_options=(--queues 2) host_options=(--queues 2)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  # Until then the other queue has handed over what it read.
  local handed
  handed=$(counter iou iou.handed.frames)
  flows_both_ways
  equal "pairs that ended" "$(counter host host.pair.downs)$(counter host host.queue.downs)$(counter iou iou.hosts.downs)" 000
  equal "RNR" "$(counter host fabric.tx.rnr)$(counter iou fabric.tx.rnr)" 00
  equal "frames handed over" "$(($(counter iou iou.handed.frames) - handed))" 0
}

# Frames that the other queues of the unit read reach the host by its only queue.
check_fewer_at_the_host() {
  iou_options=(--queues 4) host_options=(--queues 1)
  bring_up
  flows_both_ways
  equal "queues of the host" "$(queues_up host)" 0
  [ "$links$switches" != keyed0 ] || equal "rows of the host" "$(ask iou peers | grep -cF "$(public host)")" 1
  [ "$(counter iou iou.handed.frames)" -gt 100 ] || fail "no frame was handed to the host's queue"
  equal "frames dropped between queues" "$(counter iou lan.rx.drop.handed_full)$(counter iou lan.rx.drop.handed_gone)" 00
}

check_fewer_at_the_unit() {
  iou_options=(--queues 1) host_options=(--queues 4)
  bring_up
  flows_both_ways
  equal "queues of the host" "$(queues_up host)" 0
}

# The port of the second queue belongs to somebody else, who gets nothing of the host.
check_taken_port() {
  topology_three || fail "the test hosts cannot be made"
  start other "$ns_iou" "$python" -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7472))
print("bound", flush=True)
print(s.recvfrom(2000), flush=True)'
  wait_until 10 reports other bound || fail "the port cannot be taken"
  iou_options=(--queues 2) host_options=(--queues 2)
  start_iou && start_host
  nic_up
  reports iou "continuing with fewer queues" || fail "the unit does not report it"
  flows_both_ways
  equal "what came to the other program" "$(wc -l <"$work/other.log")" 1
  stop other
}

# The queues of a program whose link is up.
links_up() { ask "$1" show --json | "$python" -c 'import json, sys
print(*sorted(link.get("queue", 0) for link in json.load(sys.stdin)["links"] if link["state"] == "UP"))'; }
has_links() { [ "$(links_up host)" = "$1" ] && [ "$(links_up iou)" = "$1" ]; }

# The path of one queue is dead for a while: its flows move to the other one, and return.
check_dead_path() {
  iou_options=(--queues 2) host_options=(--queues 2)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host)"
  ip -n "$ns_host" rule add ipproto udp dport 7472 blackhole
  ip -n "$ns_iou" rule add ipproto udp sport 7472 blackhole
  wait_until 15 has_links 0 || fail "links that are up: $(links_up host) and $(links_up iou)"
  equal "queues of the host" "$(queues_up host)" 0
  pings_and_files
  ip -n "$ns_host" rule del ipproto udp dport 7472 blackhole
  ip -n "$ns_iou" rule del ipproto udp sport 7472 blackhole
  wait_until 15 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  flows_both_ways
  equal "interruptions of queue 0" "$(counter host host.pair.downs)$(counter iou iou.hosts.downs)" 00
}

# Milliseconds that all threads of the host were on a processor.
host_ran() { cat "/proc/${pid_of[host]}"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d", sum / 1000000 }'; }

# The unit comes back and refuses queue 0 for a while: the link of queue 1 is up, and it waits without a processor.
check_refused() {
  iou_options=(--queues 2) host_options=(--queues 2)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host)"
  stop iou KILL
  iou_options=(--queues 2 --mode send)
  start_iou
  wait_until 10 reports host "mode" || fail "the host is not refused"
  sleep 1
  local before
  before=$(host_ran)
  sleep 1
  echo "the host ran for $(($(host_ran) - before)) ms of a second"
  [ $(($(host_ran) - before)) -lt 300 ] || fail "the host does not sleep"
  stop iou TERM
  iou_options=(--queues 2)
  start_iou
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host)"
}

# A processor that does not exist leaves its queue unbound.
check_processors() {
  iou_options=(--queues 2 --cpus 0) host_options=(--queues 3 --cpus 1000,0)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host)"
  reports host "processor 1000" || fail "the host does not report the processor that does not exist"
  flows_both_ways
}

# The thread of queue 1 stands still for a while, at either side: no flow of queue 0 waits for it, and then all flows cross again.
check_blocked() {
  iou_options=(--queues 2) host_options=(--queues 2)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host)"
  local host who
  for host in $(seq 11 26); do ip -n "$ns_lan" addr add "10.77.0.$host/24" dev lan0; done
  within "all addresses of the LAN reply" 10000 replies_from_all 16
  for who in host iou; do
    start holder "$ns_host" "$python" -B "$e2e/hold_thread.py" "${pid_of[$who]}" queue-1
    wait_until 10 reports holder held || fail "queue 1 of $who cannot be held"
    ping_each 100
    echo "queue 1 of $who is held: $whole of 16 addresses lose nothing"
    [ "$whole" -ge 1 ] || fail "queue 0 waits for queue 1: $(tail -qn 3 "$work"/each.*)"
    [ "$whole" -le 15 ] || fail "no flow has queue 1"
    stop holder TERM || fail "queue 1 of $who is not let go"
    within "all of them again" 15000 replies_from_all 16
  done
  wait_until 15 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  equal "interruptions of queue 0" "$(counter host host.pair.downs)$(counter iou iou.hosts.downs)" 00
}
# ping_each COUNT: COUNT pings to each address at once, one each 20 ms, and some more, because ping gives up on the last replies soon.
# Leaves in $whole from how many all replies to the COUNT came.
ping_each() {
  local host pids=()
  for host in $(seq 11 26); do
    in_ns "$ns_host" ping -c $(($1 + 25)) -i 0.02 -W 1 "10.77.0.$host" >"$work/each.$host" 2>&1 &
    pids+=($!)
  done
  wait "${pids[@]}"
  whole=0
  for host in $(seq 11 26); do
    awk -v count="$1" -F 'icmp_seq=' '/ time=/ && $2 + 0 <= count && !seen[$2 + 0]++ { got++ } END { exit got != count }' "$work/each.$host" &&
      whole=$((whole + 1))
  done
}
replies_from_all() { ping_each 1; [ "$whole" = "$1" ]; }
