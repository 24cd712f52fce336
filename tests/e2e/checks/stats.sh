# shellcheck shell=bash
# Counters by pattern, as rates and over a restart; and the programs of a machine, shown together and by name.

check_patterns() {
  bring_up
  ask host stats 'tap.*' | grep -v '^tap\.' && fail "a pattern lets others pass"
  ask host stats 'tap.*' | has '^tap.rx.frames [0-9]*$' || fail "no tap.rx.frames"
  ask host stats drop | grep -v drop && fail "a part of a name lets others pass"
  ask host stats --nonzero | grep ' 0$' && fail "--nonzero prints a 0"
  ask host stats --json --nonzero 'tap.*' | "$python" -c 'import json, sys
found = json.load(sys.stdin)
assert found and all(name.startswith("tap.") and value > 0 for name, value in found.items()), found' || fail "--json with a pattern"
  begin_pings pinger "$ns_host" 10.77.0.2
  # Frames that waited while a program had no processor are counted later, so one of several samples has to be right.
  local rate=""
  wait_until 30 rate_is_right || fail "83 pings per second are $rate/s"
  wait_until 30 rates_of_host_are_right || fail "show --rate of the host: $(cat "$work/rates")"
  wait_until 30 rates_of_unit_are_right || fail "show --rate: $(cat "$work/rates")"
  stop pinger INT || true
}
rate_is_right() {
  rate=$(ask host stats --rate --interval 2 tap.rx.frames | sed -n 's|^tap.rx.frames \([0-9]*\).*/s$|\1|p')
  [ "${rate:-0}" -ge 25 ] && [ "$rate" -le 110 ]
}
rates_of_host_are_right() {
  ask host show --rate --json >"$work/rates" || fail "show --rate of the host"
  "$python" -c 'import json, sys
row, = json.load(sys.stdin)["rates"]["rows"]
is_right = row["name"] == "tap" and 25 < row["in_frames"] < 110 and 25 * 500 < row["in_bits"] < 110 * 900
sys.exit(not is_right)' <"$work/rates"
}
rates_of_unit_are_right() {
  ask iou show --rate >"$work/rates" || fail "show --rate of the unit"
  has '^lan  *[0-9.]* kbit/s  *[0-9.]*  *[0-9.]* kbit/s' <"$work/rates" && has '^host hosta  *[0-9.]* kbit/s' <"$work/rates"
}

# A restart of the program ends no watch.
prints() { [ "$(grep -c "^tap.tx.frames" "$work/watch.log")" -ge "$1" ]; }
check_watch() {
  bring_up
  start watch "$ns_host" "$bin/splitnic" stats --watch --rate tap.tx.frames --control "$work/host.sock"
  wait_until 10 prints 2 || fail "no rates: $(cat "$work/watch.log")"
  stop host TERM
  wait_until 10 grep -q "; waiting" "$work/watch.log" || fail "the end of the program is not noticed: $(cat "$work/watch.log")"
  start_host
  wait_up host
  local before
  before=$(grep -c "^tap.tx.frames" "$work/watch.log")
  wait_until 10 prints $((before + 2)) || fail "the watch does not continue: $(cat "$work/watch.log")"
  stop watch INT || fail "the watch does not stop"
}

# here COMMAND...: as where the sockets of this check are those in /run/splitnic.
# shellcheck disable=SC2016 # for that shell
here() {
  unshare -m --propagation private sh -c 'mount -t tmpfs none /run && mkdir /run/splitnic && mount --bind "$0" /run/splitnic && exec "$@"' \
    "$work/run" "$bin/splitnic" "$@"
}

# One program that refuses is named on stderr, and the others are shown.
refusing_is_named() {
  start refusing "$ns_host" "$python" -c 'import socket, struct, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
message = bytes([8, 3, 18, 4]) + b"busy"
while True:
    client, _ = listener.accept()
    client.recv(4096)
    client.sendall(struct.pack(">I", len(message)) + message)
    client.close()' "$work/run/refusing.sock"
  wait_until 10 grep -q listening "$work/refusing.log" || fail "no program that refuses"
  local option
  for option in --json --verbose --rate; do
    here show $option >"$work/show.txt" 2>"$work/refused.err" && fail "show $option: exit status 0"
    equal "show $option: stderr" "$(cat "$work/refused.err")" "splitnic: /run/splitnic/refusing.sock: busy"
    has hosta <"$work/show.txt" && has unit <"$work/show.txt" || fail "show $option: $(cat "$work/show.txt")"
  done
  stop refusing KILL
  rm "$work/run/refusing.sock"
}

check_several() {
  bring_up
  mkdir "$work/run"
  ln "$work/iou.sock" "$work/run/unit.sock"
  ln "$work/host.sock" "$work/run/lab-nic0.sock"
  "$python" -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$work/run/dead.sock"
  here show >"$work/show.txt" || fail "show: $(cat "$work/show.txt")"
  grep -q "^host hosta: up" "$work/show.txt" && grep -q "^iou unit: up" "$work/show.txt" || fail "show: $(cat "$work/show.txt")"
  equal "objects" "$(here show -j | "$python" -c 'import json, sys
print(*sorted(json.loads(line)["role"] for line in sys.stdin))')" "host iou"
  refusing_is_named
  here show lab-nic0 | has "^host hosta" || fail "show NODE"
  here show --control unit | has "^iou unit" || fail "--control NODE"
  here ethtool nic0 | has "Link detected: yes" || fail "the host is not found by its interface"
  here stats >/dev/null 2>"$work/refused.err" && fail "stats of one of several programs"
  grep -q "several control sockets" "$work/refused.err" || fail "no word of several: $(cat "$work/refused.err")"
  rm "$work/run/unit.sock"
  here stats | has "^tap.rx.frames" || fail "a socket of a program that was killed counts"
}
