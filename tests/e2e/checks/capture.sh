# shellcheck shell=bash
# `splitnic capture`: the frames of nic0 and of the LAN, from the running programs.

# captures NAME WHO OPTIONS...: `splitnic capture start` in the background; returns once it runs.
captures() {
  local name=$1 who=$2
  shift 2
  start "$name" "$ns_host" "$bin/splitnic" capture start --control "$work/$who.sock" "$@"
  wait_until 20 grep -q "capturing on" "$work/$name.log" || fail "no capture: $(cat "$work/$name.log")"
}
# fields FILE FIELD...: of each frame, as tshark prints them.
fields() {
  local file=$1 options=() field
  shift
  for field in "$@"; do options+=(-e "$field"); done
  tshark -n -r "$file" -T fields "${options[@]}" 2>"$work/tshark.err" || fail "tshark: $(cat "$work/tshark.err")"
}
# echoes FILE DIRECTION TYPE: how many echo requests (8) or replies (0) to or from nic0 crossed in this direction.
echoes() { tshark -n -r "$1" -Y "frame.packet_flags_direction == $2 && icmp.type == $3" 2>/dev/null | wc -l; }
has_echoes() { [ "$(echoes "$@")" -ge 5 ]; }
ping_five() { in_ns "$ns_host" ping -q -c 5 -i 0.05 10.77.0.2 >/dev/null || fail "no reply"; }

# Both ends, at one time; the frames in it are for the dissectors of Wireshark as any others.
check_files() {
  bring_up
  refuses 1 "none of the NICs of this I/O unit: lan0" "$bin/splitnic" capture start eth7 -w "$work/x" --control "$work/iou.sock"
  refuses 1 "the interface of this program is nic0" "$bin/splitnic" capture start eth7 -w "$work/x" --control "$work/host.sock"
  captures nic host nic0 -w "$work/nic.pcapng"
  captures lan iou -w "$work/lan.pcapng"
  equal "mode of the file" "$(stat -c %a "$work/nic.pcapng")" 600
  ping_five
  wait_until 20 has_echoes "$work/nic.pcapng" 1 0 || fail "no replies in the capture of nic0"
  equal "requests that nic0 sent" "$(echoes "$work/nic.pcapng" 2 8)" 5
  equal "replies that nic0 received" "$(echoes "$work/nic.pcapng" 1 0)" 5
  wait_until 20 has_echoes "$work/lan.pcapng" 1 0 || fail "no replies in the capture of the LAN"
  equal "requests that the LAN NIC sent" "$(echoes "$work/lan.pcapng" 2 8)" 5
  refuses 1 "a capture runs already" "$bin/splitnic" capture start -w "$work/x" --control "$work/host.sock"
  # One is ended by another command, the other is interrupted.
  ask host capture stop || fail "capture stop"
  wait_until 20 grep -q "frames captured, 0 lost" "$work/nic.log" || fail "no end: $(cat "$work/nic.log")"
  stop lan INT || fail "the capture does not stop"
  grep -q "frames captured, 0 lost" "$work/lan.log" || fail "no end: $(cat "$work/lan.log")"
  fields "$work/nic.pcapng" frame.interface_name | sort -u | has -x nic0 || fail "no name of the interface"
  fields "$work/lan.pcapng" frame.interface_name | sort -u | has -x lan0 || fail "no name of the LAN NIC"
  refuses 1 "no capture runs here" "$bin/splitnic" capture stop --control "$work/host.sock"
  local frames
  frames=$(sed -n 's/.*: \([0-9]*\) frames captured.*/\1/p' "$work/nic.log")
  equal "frames in the file" "$(fields "$work/nic.pcapng" frame.number | wc -l)" "$frames"
  equal "frames by the counter" "$(counter host capture.frames)" "$frames"
  # The next one is a new one: the file has nothing of before.
  captures again host nic0 -w "$work/nic.pcapng" --count 3 --snap 60
  ping_five
  wait_until 20 grep -q "3 frames captured" "$work/again.log" || fail "--count: $(cat "$work/again.log")"
  equal "--count and --snap" "$(fields "$work/nic.pcapng" frame.cap_len | awk '$1 <= 60' | wc -l)" 3
  refuses 1 "No such file" "$bin/splitnic" capture start -w "$work/none/x" --control "$work/host.sock"
}

# A pipe: tshark sees frames as they cross, and when it ends, so does the capture, though no frame comes.
check_pipe() {
  bring_up
  start pipe "$ns_host" sh -c "'$bin/splitnic' capture start nic0 -w - --control '$work/host.sock' 2>'$work/client.err' |
    tshark -n -l -r - -Y icmp -c 100 2>/dev/null"
  wait_until 20 grep -qs "capturing on nic0" "$work/client.err" || fail "no capture: $(cat "$work/client.err")"
  ping_five
  wait_until 30 grep -q "Echo (ping) reply" "$work/pipe.log" || fail "tshark sees nothing: $(cat "$work/pipe.log")"
  ask host capture stop
  wait_until 20 pipe_has_ended || fail "the pipe continues"
  start head "$ns_host" sh -c "'$bin/splitnic' capture start nic0 -w - --control '$work/host.sock' 2>'$work/head.err' | head -c 4 >/dev/null"
  within "a capture whose reader is gone ends" 20000 head_has_ended
  grep -q "capturing on nic0" "$work/head.err" || fail "no capture: $(cat "$work/head.err")"
  within "another one can begin" 30000 captures_three
}
pipe_has_ended() { process_ended "${pid_of[pipe]}"; }
head_has_ended() { process_ended "${pid_of[head]}"; }

# A ring has the newest frames, in files of the size.
check_ring() {
  bring_up
  captures ring host nic0 -w "$work/ring" --ring 3,1M
  local file
  serve_iperf "$ns_lan" 10.77.0.2
  wait_until 60 fills_ring || fail "the ring has no third file"
  ask host capture stop || fail "capture stop"
  wait_until 20 grep -q "frames captured" "$work/ring.log" || fail "no end: $(cat "$work/ring.log")"
  equal "files" "$(cd "$work" && ls ring.[0-9]* | paste -sd' ')" "ring.1 ring.2 ring.3"
  for file in "$work"/ring.[123]; do
    [ "$(stat -c %s "$file")" -le 1048576 ] || fail "$file is too long"
    fields "$file" frame.number | has . || fail "$file has no frames"
  done
}

fills_ring() { iperf -t 1 -b 200M >/dev/null && test -e "$work/ring.3"; }

# Who captures and does not read loses frames, which are counted; the traffic loses none.
check_slow() {
  bring_up
  captures slow host nic0 -w "$work/slow.pcapng"
  serve_iperf "$ns_lan" 10.77.0.2
  kill -STOP "${pid_of[slow]}"
  wait_until 60 fills_capture || fail "nothing is counted"
  ping_all "$ns_host" 10.77.0.2 20
  kill -CONT "${pid_of[slow]}"
  ask host capture stop || fail "capture stop"
  wait_until 20 grep -q "frames captured" "$work/slow.log" || fail "no end: $(cat "$work/slow.log")"
  sed -n 's/.*: \([0-9]* frames captured.*\)/\1/p' "$work/slow.log"
  capinfos -c -M "$work/slow.pcapng" >/dev/null || fail "the file is not whole"
  equal "lost, as counted at both ends" "$(sed -n 's/.* \([0-9]*\) lost$/\1/p' "$work/slow.log")" "$(counter host capture.drop.full)"
  # One that is killed leaves nothing behind.
  captures killed host nic0 -w "$work/killed.pcapng"
  stop killed KILL
  within "another one can begin" 30000 captures_three
}
fills_capture() { iperf -t 1 >/dev/null && counts host capture.drop.full 1; }
captures_three() {
  local status=0
  start capture_pings "$ns_host" ping -q -i 0.05 10.77.0.2
  timeout 10 "$bin/splitnic" capture start nic0 -w "$work/x" --count 3 --control "$work/host.sock" 2>/dev/null || status=$?
  stop capture_pings INT
  return $status
}
