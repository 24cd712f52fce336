# shellcheck shell=bash
# A capture of a keyed link becomes one that the dissector reads, with the key log of one end.

script=$e2e/../../tools/wireshark/splitnic.lua

pings_in() {
  tshark -X "lua_script:$script" -r "$1" -Y icmp -T fields -E "aggregator=," -e icmp.type 2>>"$work/tshark.log" | tr , '\n' | grep -cE '^(0|8)$'
}
bad_in() { tshark -X "lua_script:$script" -r "$1" -Y splitnic.bad 2>>"$work/tshark.log" | grep -c .; }
# of NAME: the count that decrypt printed.
of() { sed -n "s/^$1: //p" "$work/decrypt.out"; }

# tshark reads packets some time after they were on the wire, and none after SIGINT.
has_captured_all() {
  "$bin/splitnic" decrypt "$work/wire.pcapng" "$work/so_far.plain" --key-log "$work/host.keys" >"$work/decrypt.out" 2>&1
  [ "$(pings_in "$work/so_far.plain")" -ge 80 ]
}

# The host's capture, and one of the wire. The host is killed, and has other keys and one channel then.
check_pings() {
  host_options=(--queues 1 --capture "$work/host.pcapng" --key-log "$work/host.keys") iou_options=(--queues 1)
  topology_three || fail "the test hosts cannot be made"
  start wire "$ns_host" tshark -q -B 32 -i fab0 -w "$work/wire.pcapng" -f "udp port 7471"
  wait_until 30 test -s "$work/wire.pcapng" || fail "tshark does not capture"
  start_iou && start_host
  nic_up
  grep -q "whoever reads $work/host.keys" "$work/host.log" || fail "the log does not warn"
  equal "mode of the key log" "$(stat -c %a "$work/host.keys")" 600
  ping_all "$ns_host" 10.77.0.2 20 0.01 -s 3000
  stop host KILL
  host_options+=(--channels 1)
  start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 20 0.01 -s 3000
  stop host TERM 10 || fail "the host did not stop cleanly"
  wait_until 60 has_captured_all || fail "tshark has not captured 80 pings and replies: $(cat "$work/decrypt.out")"
  stop wire INT
  equal "pings before" "$(pings_in "$work/wire.pcapng")" 0
  local name
  for name in wire host; do
    "$bin/splitnic" decrypt "$work/$name.pcapng" "$work/$name.plain" --key-log "$work/host.keys" >"$work/decrypt.out" || fail "decrypt $name"
    echo "$name: $(tr '\n' ';' <"$work/decrypt.out")"
    [ "$(of "records opened")" -ge 80 ] || fail "few records were opened"
    equal "records that no key opens" "$(of "records that no key opens")" 0
    equal "records without a key" "$(of "records without a key in the log")" 0
    equal "mode of the result" "$(stat -c %a "$work/$name.plain")" 600
    equal "datagrams that are bad" "$(bad_in "$work/$name.plain")" 0
  done
  [ "$(pings_in "$work/wire.plain")" -ge 80 ] || fail "of 80 pings and replies $(pings_in "$work/wire.plain") are decoded"
  [ "$(pings_in "$work/host.plain")" -ge 40 ] || fail "of 40 pings and replies $(pings_in "$work/host.plain") are decoded"
  ! grep -q Lua "$work/tshark.log" || fail "the dissector has an error"
  refuse_wrong_logs
}

refuse_wrong_logs() {
  local wire=$work/wire.pcapng
  echo "RECORD 00000000 $(printf '%064d' 0)" >"$work/other.keys"
  chmod 644 "$work/other.keys"
  refuses 1 "chmod 600" "$bin/splitnic" decrypt "$wire" "$work/x" --key-log "$work/other.keys"
  chmod 600 "$work/other.keys"
  refuses 1 "was opened" "$bin/splitnic" decrypt "$wire" "$work/x" --key-log "$work/other.keys"
  echo garbage >>"$work/other.keys"
  refuses 1 "line 2" "$bin/splitnic" decrypt "$wire" "$work/x" --key-log "$work/other.keys"
  refuses 2 "OUT is the capture" "$bin/splitnic" decrypt "$wire" "$wire" --key-log "$work/host.keys"
  chmod 640 "$work/host.keys"
  refuses 1 "chmod 600" ip netns exec "$ns_host" "$bin/splitnic-host" --connect "$(endpoint "$iou_address")" --tap nic9 \
    --key-file "$work/host.key" --peer "$(public unit)" --key-log "$work/host.keys" --control "$work/x.sock"
  refuses 2 "--key-file is missing" "$bin/splitnic-host" --connect shm://x --key-log "$work/x.keys"
}
