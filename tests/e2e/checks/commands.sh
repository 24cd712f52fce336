# shellcheck shell=bash
# The programs as people use them: what they print, how they stop, how they refuse.

valid_json() { "$python" -c 'import json, sys; json.load(sys.stdin)'; }

check_show() {
  bring_up
  local who queues
  queues=$(queues_of host)
  wait_until 20 has_queues "$(seq -s ' ' 0 $((queues - 1)))" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  for who in host iou; do
    ask "$who" show --json | "$python" -c '
import json, sys
shown = json.load(sys.stdin)
assert shown["role"] == sys.argv[1] and shown["state"] == "up" and shown["name"], shown
peer = shown["peers"][0]
for key in ("name", "address", "state", "mode", "mac"):
    assert peer[key], (key, peer)
assert peer["mode"] == "rdma" and peer["state"] == "up", peer
for pool in shown["pools"]:
    assert pool["elements"] >= pool["available"] >= 0 and pool["size"] > 0 and "ref" in pool, pool
    assert sum(pool["states"].values()) == pool["elements"], pool
assert len(shown["pools"]) >= 2
queues, cell_bytes = int(sys.argv[2]), int(sys.argv[3])
assert sorted((c.get("queue", 0), c["channel"]) for c in shown["channels"]) == [
    (queue, channel) for queue in range(queues) for channel in (0, 1)], shown["channels"]
for channel in shown["channels"]:
    assert channel["service"] == "RC" and channel["state"] == "RTS", channel
    assert channel["qpn"] > 0 and channel["peer_qpn"] > 0, channel
assert shown["links"][0]["state"] == "UP" and shown["links"][0]["cell_bytes"] == cell_bytes, shown["links"]
lan = shown["lan"][0]
assert lan["link"] == "up" and lan["mtu"] == 1500 and lan["port"], lan
assert 0 <= peer["since_seconds"] < 600 and 0 <= peer["last_heard_milliseconds"] < 60000 and "last_error" not in peer, peer
assert ("listen" in shown) == (sys.argv[1] == "iou"), shown.get("listen")
' "$who" "$queues" "$(host_option --cell 1364)" || fail "show --json of $who"
    ask "$who" show | has up || fail "show of $who"
    ask "$who" stats --json | "$python" -c '
import json, sys
for name, value in json.load(sys.stdin).items():
    assert isinstance(value, int) and value >= 0 and "." in name, (name, value)' || fail "stats --json of $who"
    ask "$who" stats | has '[a-z]\.[a-z]' || fail "stats of $who"
    wait_until 20 pings_twenty "$who" || fail "ping of $who"
    grep -qi median "$work/ping.txt" || fail "ping of $who: $(cat "$work/ping.txt")"
  done
  cat "$work/ping.txt"
}

# An echo has three tries of half a second: a program that stands still for longer does not reply.
pings_twenty() { ask "$1" ping --count 20 >"$work/ping.txt"; }

# `show --verbose` of both ends: what they have agreed and set, the same at both, and as their counters and others have it.
check_verbose() {
  iou_options=(--queues 2) host_options=(--queues 2 --mtu 1400)
  bring_up
  wait_until 20 uses_queues 2 || fail "queues in use: $(ask host show -v)"
  ask host ethtool nic0 -K uso off || fail "ethtool -K"
  ask host vlan nic0 add 7 || fail "vlan add"
  ping_all "$ns_host" 10.77.0.2 20
  local who
  for who in host iou; do
    ask "$who" show --verbose --json | "$python" -c '
import json, sys
who, process, socket = sys.argv[1:4]
shown = json.load(sys.stdin)
of = shown["details"]
assert of["process"] == int(process) and of["control_socket"] == socket and of["queues"] == 2, of
assert 0 <= of["runs_for_seconds"] < 600 and of["message_protocol"] == 1, of
peer = shown["peers"][0]
nic = peer["details"]
assert nic["mtu"] == 1400 and nic["vlans"] == "7" and nic["coalescing"] == "off", nic
assert nic["offloads"].split()[:1] == ["tx-checksumming"] and "udp" not in nic["offloads"], nic
assert peer["program"].startswith("splitnic-" + ("iou " if who == "host" else "host ")), peer
for link in shown["links"]:
    assert link["details"]["profile"] == "speed" and link["details"]["narrowed"] is False, link
    assert link["details"]["datagram_bytes"] > link["cell_bytes"], link
assert all(value > 0 for value in shown["counters"].values()) and shown["counters"]["link.tx.bytes"] > 0, shown["counters"]
if who == "iou":
    assert 0 < peer["memory_bytes"] <= peer["memory_bytes_max"] and nic["rights"] and nic["nic_started"] is True, peer
    assert peer["counters"]["iou.from_host.frames"] >= 20 and not any(n.startswith("host.") for n in shown["counters"]), peer
else:
    assert nic["queues_used"] == 2 and nic["address_of_the_card"], nic
' "$who" "${pid_of[$who]}" "$work/$who.sock" || fail "show --verbose --json of $who: $(ask "$who" show --verbose --json)"
    ask "$who" show -v | has '^COUNTER ' || fail "show -v of $who"
    ask "$who" show | has -E 'COUNTER|offloads' && fail "show of $who has details without --verbose"
    ask "$who" show --json | has details && fail "show --json of $who has details without --verbose"
  done
  ask iou show -v | has '^peer hosta:$' || fail "no block: $(ask iou show -v)"
  if [ "$links" != plain ]; then
    ask iou show -v | has '^  keys agreed before: ' || fail "no age of keys: $(ask iou show -v)"
  fi
  # A host without its unit: why, and when next.
  stop iou KILL
  wait_until 20 verbose_reports_silence || fail "no reason: $(ask host show -v)"
}
uses_queues() { ask host show --verbose --json | "$python" -c "import json, sys
sys.exit(json.load(sys.stdin)['peers'][0]['details']['queues_used'] != $1)"; }
verbose_reports_silence() { ask host show -v | has '^  last error: .*nothing heard from the peer'; }

# These repeat what pings_twenty does.
pings_as_json() {
  ask host ping --json --count 4 | "$python" -c 'import json, sys
ping = json.load(sys.stdin)
times = sorted(ping["round_trip_ns"])
assert ping["sent"] == ping["replied"] == len(times) == 4, ping
assert [ping["min_ns"], ping["median_ns"], ping["max_ns"]] == [times[0], times[1], times[3]], ping'
}
# Leaves in $took how long three of them took.
pings_at_interval() {
  local began
  began=$(milliseconds)
  ask host ping --interval 1 --count 3 >"$work/ping.txt" || return 1
  took=$(($(milliseconds) - began))
  tail -n 1 "$work/ping.txt" | has "^3 sent, 3 replied"
}

# Round trips as JSON, and one per second, also while there is nobody.
check_ping() {
  bring_up
  wait_until 20 pings_as_json || fail "ping --json"
  local took
  wait_until 20 pings_at_interval || fail "ping --interval: $(cat "$work/ping.txt")"
  [ "$took" -ge 2000 ] || fail "no interval: $(cat "$work/ping.txt")"
  grep -cE '^[123]: [0-9.]+ us$' "$work/ping.txt" | has -x 3 || fail "no line for each: $(cat "$work/ping.txt")"
  tail -n 1 "$work/ping.txt" | has "^3 sent, 3 replied, min .* median .* max" || fail "no summary: $(cat "$work/ping.txt")"
  stop iou KILL
  local status=0
  ask host ping --interval 1 --count 2 --json >"$work/ping.txt" || status=$?
  equal "status without a reply" "$status" 1
  has -xF '{"sent":2,"replied":0,"round_trip_ns":[]}' <"$work/ping.txt" || fail "without a reply: $(cat "$work/ping.txt")"
}

# refused STATUS WORDS COMMAND...: exactly one line that holds WORDS, and the exit status.
refused() {
  local status=$1 words=$2 got=0
  shift 2
  timeout 20 "$@" >"$work/refused.out" 2>"$work/refused.err" </dev/null || got=$?
  [ "$got" = "$status" ] || fail "status $got, not $status, of $*: $(cat "$work/refused.err")"
  [ "$(wc -l <"$work/refused.err")" = 1 ] || fail "not one line of $*: $(cat "$work/refused.err")"
  grep -qi -- "$words" "$work/refused.err" || fail "no word of '$words': $(cat "$work/refused.err")"
  echo "$(cat "$work/refused.err")"
}

check_errors() {
  bring_up
  start holder "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --listen shm://held --control "$work/held.sock"
  wait_until 20 test -S "$work/splitnic-held" || fail "no unit on shared memory"
  local iou host
  iou=(ip netns exec "$ns_iou" "$bin/splitnic-iou" --control "$work/other.sock" --name other)
  host=(ip netns exec "$ns_host" "$bin/splitnic-host" --control "$work/other.sock" --name other)
  refused 1 "in use" "${iou[@]}" --lan "$port:lan0" --listen "udp://$iou_address" --insecure-lab
  refused 1 "held by another" "${host[@]}" --connect "udp://$iou_address" --tap nic0 --insecure-lab
  ip -n "$ns_host" link add other0 type bridge
  refused 1 "not ours" "${host[@]}" --connect "udp://$iou_address" --tap other0 --insecure-lab
  refused 2 "insecure-lab" "${host[@]}" --connect "udp://$iou_address" --tap nic1
  refused 2 "insecure-lab" "${iou[@]}" --lan "$port:lan0" --listen udp://0.0.0.0:7471
  refused 2 "insecure-lab" "${iou[@]}" --lan "$port:lan0" --listen udp://127.0.0.1:7471
  refused 2 "" "${host[@]}" --tap nic1
  refused 2 "" "${iou[@]}" --lan ""
  refused 2 "netns: the value is empty" "${host[@]}" --connect "udp://$iou_address" --tap nic1 --insecure-lab --netns ""
  refused 2 "capture start -w -" "${host[@]}" --connect "udp://$iou_address" --tap nic1 --insecure-lab --capture -
  refused 1 "in use" "${iou[@]}" --lan "$port:lan0" --listen shm://held
  refused 1 "another program listens on $work/iou.sock: .* another instance name" ip netns exec "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" \
    --listen udp://127.0.0.1:7999 --insecure-lab --control "$work/iou.sock"
  refused 1 "capture" "${iou[@]}" --lan "file:$work/none.pcap,$work/out.pcap" --listen udp://127.0.0.1:7999 \
    --insecure-lab
  refused 2 "address block" "${iou[@]}" --lan "$port:lan0" --listen udp://127.0.0.1:7999 --insecure-lab \
    --allow 10.0.0.0/33
  refused 1 "the socket /proc/x/y: No such file or directory: make it before, or choose another --metrics" "${iou[@]}" --lan "$port:lan0" \
    --listen udp://127.0.0.1:7999 --insecure-lab --metrics unix:/proc/x/y
  refused 1 "the socket /proc/x/y: .* choose another --name .* or --control" ip netns exec "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" \
    --listen udp://127.0.0.1:7999 --insecure-lab --control /proc/x/y
  refused 1 "$work is not a network namespace: give a name that ip netns lists" "${host[@]}" --connect "udp://$iou_address" --tap nic1 \
    --insecure-lab --netns "$work"
  refused 1 "route" "${host[@]}" --connect "udp://$iou_address" --tap fab0 --insecure-lab
  wait_until 20 in_ns "$ns_host" ping -q -c 3 -i 0.05 -W 1 10.77.0.2 >/dev/null || fail "a refused program disturbed the running ones"
}

# Without privilege: one line that names what is needed.
check_unprivileged() {
  topology_three || fail "the test hosts cannot be made"
  chmod 777 "$work"
  local as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
  refused 1 "not permitted" ip netns exec "$ns_iou" "${as_nobody[@]}" "$bin/splitnic-iou" --control "$work/n.sock" \
    --lan "$port:lan0" --listen udp://127.0.0.1:7471 --insecure-lab
  refused 1 "not permitted" ip netns exec "$ns_host" "${as_nobody[@]}" "$bin/splitnic-host" --control "$work/n.sock" \
    --connect udp://127.0.0.1:7471 --tap nic0 --insecure-lab
}

# A file of settings that this user may not read.
check_private_file() {
  local as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all) program
  chmod 755 "$work"
  echo 'mtu = 1400' >"$work/host.toml"
  chmod 600 "$work/host.toml"
  for program in host iou switch; do
    refused 2 "config: $work/host.toml: Permission denied: make it readable for the user of this program" \
      "${as_nobody[@]}" "$bin/splitnic-$program" --config "$work/host.toml"
  done
}

# `help`, and with the name of a command as --help of that.
check_help() {
  local command
  equal "splitnic help" "$("$bin/splitnic" help)" "$("$bin/splitnic" --help)"
  for command in show "show topology" "capture start" pubkey; do
    # shellcheck disable=SC2086 # words
    equal "help of $command" "$("$bin/splitnic" help $command)" "$("$bin/splitnic" $command --help)"
    # shellcheck disable=SC2086
    "$bin/splitnic" help $command | has -- --help || fail "no help of $command"
  done
  refused 2 "unknown command 'shwo'" "$bin/splitnic" help shwo
}

gone() { ! ip -n "$ns_host" link show nic0 >/dev/null 2>&1; }

# stopped NAME SIGNAL: as asked, no socket left. How long it took is in the array $stops; check_stop has the bound.
stopped() {
  local name=$1 signal=$2 began pid=${pid_of[$1]} status=0
  began=$(milliseconds)
  unset "pid_of[$name]"
  kill "-$signal" "$pid"
  wait "$pid" || status=$?
  local took=$(($(milliseconds) - began))
  echo "$name ended by $signal: $took ms, status $status"
  equal "exit status of $name" "$status" 0
  stops+=("$took")
  [ ! -e "$work/$name.sock" ] || fail "$name left its control socket"
}

check_stop() {
  local stops=()
  bring_up
  serve_iperf "$ns_lan" 10.77.0.2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t 60
  wait_until 20 counts iou iou.from_host.bytes $(($(counter iou iou.from_host.bytes) + 3000000)) || fail "no traffic"
  stopped host TERM
  gone || fail "nic0 is still there after SIGTERM"
  wait_until 20 no_peers || fail "the unit still has the host"
  start_host --keep-tap
  nic_up
  stopped host INT
  gone && fail "--keep-tap did not keep nic0"
  carrier_is "$ns_host" nic0 0 || fail "a nic0 that nobody serves has carrier"
  start_host
  nic_up
  stopped iou TERM
  within "carrier lost after the unit stopped" 20000 carrier_is "$ns_host" nic0 0
  stopped host TERM
  gone || fail "the adopted nic0 is still there after SIGTERM"
  stopped_soon
}
# Of the stops: other work holds the kernel's lock of all interfaces for some of them, and the processors.
stopped_soon() {
  mapfile -t stops < <(printf '%s\n' "${stops[@]}" | sort -n)
  [ "${stops[0]}" -le 1000 ] && [ "${stops[-1]}" -le 10000 ] || fail "ms until the end: ${stops[*]}"
}
no_peers() { ask iou show --json | "$python" -c 'import json, sys; sys.exit(len(json.load(sys.stdin)["peers"]))'; }

# `show` of the host when its unit is gone, and when it is back. [B-09] [B-22]
shows() { ask host show --json | "$python" -c "import json, sys
shown = json.load(sys.stdin)
peer, lan = shown['peers'][0], shown['lan'][0]
sys.exit(not ($1))"; }
shows_next_attempt() { ask host show | has "next attempt in"; }
check_gone() {
  bring_up
  wait_until 20 shows "lan['link'] == 'up' and peer['state'] == 'up'" || fail "up: $(ask host show)"
  stop iou KILL
  within "the host shows that the unit is gone" 20000 shows "peer['state'] == 'down' and lan['link'] == 'down' and peer['last_error']"
  ask host show | has "nothing heard from the peer" || fail "no reason: $(ask host show)"
  wait_until 20 shows "0 <= peer['next_attempt_milliseconds'] <= 5000" || fail "no next attempt: $(ask host show --json)"
  wait_until 20 shows_next_attempt || fail "no next attempt: $(ask host show)"
  wait_until 20 shows "peer['since_seconds'] >= 1 and peer['last_heard_milliseconds'] >= 2000" || fail "since: $(ask host show --json)"
  start_iou
  nic_up
  wait_until 20 shows "peer['state'] == 'up' and lan['link'] == 'up' and 'last_error' not in peer and 'next_attempt_milliseconds' not in peer" || fail "back: $(ask host show)"
}

# Before anybody is connected both respond, and SIGTERM ends them at once.
check_alone() {
  local stops=()
  topology_three || fail "the test hosts cannot be made"
  for _ in 1 2 3 4; do
    start_host
    wait_until 20 test -S "$work/host.sock" || fail "no control socket"
    ask host show --json | has '"connecting"' || fail "show of a lonely host"
    stopped host TERM
    start_iou
    wait_until 20 test -S "$work/iou.sock" || fail "no control socket"
    wait_until 20 is_up iou || fail "a unit that serves is not up: $(ask iou show)"
    ask iou show --json | valid_json || fail "show of a lonely unit"
    ask iou show | has "^iou .*: up$" || fail "show of a lonely unit: $(ask iou show)"
    stopped iou TERM
    [ "$(best_of_stops)" -gt 1000 ] || break
  done
  stopped_soon
}
best_of_stops() { printf '%s\n' "${stops[@]}" | sort -n | sed -n 1p; }

# ends_without NS IF WHO: its interface is deleted under it: one line, and status 1.
ends_without() {
  ip -n "$1" link del "$2"
  wait_until 20 process_ended "${pid_of[$3]}" || fail "$3 runs on without $2"
  local status=0
  wait "${pid_of[$3]}" || status=$?
  unset "pid_of[$3]"
  equal "exit status" "$status" 1
  grep -q "$2 was deleted" "$work/$3.log" || fail "not reported: $(cat "$work/$3.log")"
}

check_deleted() {
  bring_up
  ends_without "$ns_host" nic0 host
  wait_until 20 no_peers || fail "the unit still has the host"
}

# A TAP is the unit's own, and does not come back.
check_lan_deleted() {
  bring_up
  ends_without "$ns_iou" tap0 iou
}
