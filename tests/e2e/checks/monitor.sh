# shellcheck shell=bash
# `splitnic monitor`: the events of unit and host while things happen to them. Other files of checks source this one to watch events.

declare -A seen=()  # how many lines of each monitor were there at its last `forget`

# watches WHO [OPTIONS]: its events, as JSON, from now on.
watches() {
  local who=$1
  shift
  start "monitor_$who" "$ns_iou" "$bin/splitnic" monitor --json --control "$work/$who.sock" "$@"
}

# watches_from_now WHO: the same, and returns once the monitor is connected, with what was before forgotten.
watches_from_now() {
  watches "$1" --past 1
  wait_until 10 test -s "$work/monitor_$1.log" || fail "the monitor of $1 gets nothing"
  forget "$1"
}

# new_events WHO: those that were not there at the last `forget`.
new_events() { tail -n "+$((${seen[$1]:-0} + 1))" "$work/monitor_$1.log" | grep '^{'; }

# has_event WHO EVENT ABOUT [WORDS]: an event that was not there at the last `forget` has this kind, is about a name that contains
# ABOUT, and its text has the words.
has_event() {
  new_events "$1" | "$python" -c 'import json, sys
wanted, about, words = sys.argv[1:]
for line in sys.stdin:
    event = json.loads(line)
    if event["event"] == wanted and about in event["about"] and words in event["text"]:
        sys.exit(0)
sys.exit(1)' "$2" "$3" "${4:-}"
}
forget() { seen[$1]=$(wc -l <"$work/monitor_$1.log"); }
comes() { wait_until 10 has_event "$@" || fail "no event '$2' about '$3' of $1: $(cat "$work/monitor_$1.log")"; }

# events_of WHO EVENT ABOUT: how many of those that were not there at the last `forget` have this kind and exactly this name.
events_of() {
  new_events "$1" | "$python" -c 'import json, sys
print(sum([event["event"], event["about"]] == sys.argv[1:] for event in map(json.loads, sys.stdin)))' "$2" "$3"
}
has_events() { [ "$(events_of "$1" "$2" "$3")" -ge "$4" ]; }
# comes_times WHO EVENT ABOUT COUNT: it comes that often, and not more often.
comes_times() {
  wait_until 10 has_events "$@" || fail "not $4 events '$2' about '$3' of $1: $(cat "$work/monitor_$1.log")"
  equal "events '$2' about '$3' of $1" "$(events_of "$1" "$2" "$3")" "$4"
}

check_events() {
  make_keys unit host second
  printf '[hosts.office]\nkey = "%s"\n' "$(public host)" >"$work/hosts.toml"
  iou_options=(--key-file "$work/unit.key" --hosts "$work/hosts.toml")
  topology_three || fail "the test hosts cannot be made"
  start_iou
  wait_up iou
  # The host may be there before the monitor is.
  watches iou --past 100
  start_host
  nic_up
  comes iou connected office "attached from"
  grep -q "splitnic-iou .* is up as unit.*: lends $port:lan0, listens at udp://$iou_address" "$work/iou.log" ||
    fail "no line of the start: $(cat "$work/iou.log")"
  watches host --past 100
  comes host connected "$iou_address" connected
  comes host carrier_on nic0
  # The cable of the LAN.
  forget iou && forget host
  ip -n "$ns_lan" link set lan0 down
  comes iou carrier_off lan0 && comes host carrier_off nic0
  ip -n "$ns_lan" link set lan0 up
  comes iou carrier_on lan0 && comes host carrier_on nic0
  # What the user of the host sets.
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:55
  comes host mac nic0 02:00:00:00:00:55 && comes iou mac office 02:00:00:00:00:55
  ip -n "$ns_host" link set nic0 mtu 1400
  comes host mtu nic0 1400 && comes iou mtu office 1400
  # What is refused.
  ip -n "$ns_host" link set nic0 address "$(in_ns "$ns_lan" cat /sys/class/net/lan0/address)"
  comes iou refused office "may not have the MAC address" && comes host refused nic0
  # The fabric is cut, and heals.
  forget iou && forget host
  ip -n "$ns_iou" link set fab0 down
  comes host link_down "$iou_address" "is gone" && comes iou link_down ""
  ip -n "$ns_iou" link set fab0 up
  comes host link_up "$iou_address" "is back after" && comes iou link_up "" "is up again"
  # The hosts file.
  ask iou reload >/dev/null || fail "reload"
  comes iou reloaded ""
  echo "colour" >>"$work/hosts.toml"
  ask iou reload 2>/dev/null && fail "a wrong hosts file is read"
  comes iou reload_failed ""
  # One end stops, and is started again: its monitor continues with what came before it was there.
  forget iou && forget host
  stop host TERM
  comes iou disconnected office && comes host stopping ""
  wait_until 10 grep -q "; waiting" "$work/monitor_host.log" || fail "the end of the host is not reported"
  start_host
  comes iou connected office && comes host connected "$iou_address"
  stop monitor_host INT || fail "the monitor does not stop"
  stop monitor_iou TERM || fail "the monitor does not stop"
}

# Every line of the log is an event, and for people it is one line.
check_text() {
  bring_up
  start watch "$ns_host" "$bin/splitnic" monitor --past 100000 --control "$work/host.sock"
  wait_until 10 grep -qE "^[0-9:.]{12} host connected $iou_address: connected to the I/O unit" "$work/watch.log" ||
    fail "no line for people: $(cat "$work/watch.log")"
  local line
  while read -r _ _ line; do
    wait_until 10 grep -qF -- "$line" "$work/watch.log" || fail "a line of the log is no event: $line"
  done < <(grep -E '^[0-9:.]{12} (info|warning|error) ' "$work/host.log")
  stop watch INT || fail "the monitor does not stop"
}

# As many as may watch do; the next is refused, and all else is served.
check_many() {
  bring_up
  local i
  for i in $(seq 16); do
    start "watch$i" "$ns_host" "$bin/splitnic" monitor --past 1 --control "$work/host.sock"
  done
  for i in $(seq 16); do
    wait_until 10 test -s "$work/watch$i.log" || fail "watcher $i gets nothing"
  done
  start late "$ns_host" "$bin/splitnic" monitor --control "$work/host.sock"
  wait_until 10 grep -q "16 clients watch this program already" "$work/late.log" || fail "no refusal: $(cat "$work/late.log")"
  ask host show | has "host hosta: up" || fail "nobody else is served"
  stop watch1 INT || fail "the monitor does not stop"
  ip -n "$ns_host" link set nic0 mtu 1400
  wait_until 10 grep -q "MTU is 1400" "$work/late.log" || fail "who waits does not get the room"
}
