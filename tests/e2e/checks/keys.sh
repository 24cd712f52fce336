# shellcheck shell=bash
# Keyed links as they are seen on the wire; strangers and wrong keys get nothing.

# bring_up, with all datagrams of the fabric recorded from before its first.
bring_up_recorded() {
  topology_three || fail "the test hosts cannot be made"
  start recorder "$ns_host" tshark -q -i fab0 -w "$work/fabric.pcapng" -f udp
  wait_until 30 test -s "$work/fabric.pcapng" || fail "tshark does not record"
  start_iou && start_host
  nic_up
}

# The recorder drops what it has not read when it is ended, so it has to have read the traffic of the check.
end_recording() {
  wait_until 30 have_payloads 51 || fail "no datagrams were recorded"
  sleep 0.5
  stop recorder INT 10
  have_payloads 51 || fail "the recording is not whole"
  echo "$(wc -l <"$work/payloads") datagrams: $(cut -c1-2 "$work/payloads" | sort | uniq -c | xargs)"
}

# have_payloads NUMBER: has the recorder written that many? Leaves all of them in $work/payloads.
have_payloads() {
  tshark -r "$work/fabric.pcapng" -Y udp -T fields -e udp.payload 2>/dev/null >"$work/payloads"
  [ "$(wc -l <"$work/payloads")" -ge "$1" ]
}

shows_key() {
  ask "$1" show --json | "$python" -c '
import json, sys
peer = json.load(sys.stdin)["peers"][0]
assert peer["keyed"] is True and peer["key"] == sys.argv[1], peer' "$(public "$2")" || fail "show --json of $1"
  ask "$1" show | has -F "$(public "$2")" || fail "show of $1"
}

sums_of_drops() {
  ask "$1" stats --json | "$python" -c 'import json, sys
found = json.load(sys.stdin)
print(sum(n for name, n in found.items() if name.startswith(("session.rx.drop.", "link.rx.drop."))))'
}

check_keyed() {
  local type who dropped
  keyed
  iou_options=(--queues "${1:-1}") host_options=(--queues "${1:-1}")
  bring_up_recorded
  for who in unit host; do
    equal "the public key of $who" "$("$bin/splitnic" pubkey "$work/$who.key")" "$(public $who)"
  done
  wait_until 10 has_queues "$(seq -s ' ' 0 $((${1:-1} - 1)))" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  # A host repeats an INITIATION while the unit is late, and drops the RESPONSE to the first.
  dropped="$(sums_of_drops host) $(sums_of_drops iou)"
  shows_key host unit
  shows_key iou host
  for who in host iou; do
    [ "$(awk '/^VmLck/ { print $2 }' "/proc/${pid_of[$who]}/status")" -ge 256 ] || fail "the keys of $who are not locked"
  done
  ping_all "$ns_host" 10.77.0.2 20 0.02 -p 73706c69746e6963
  [ "${2:-}" = short ] || files_both_ways 4
  end_recording
  cut -c1-2 "$work/payloads" | has -vE '^8[1-4]$' && fail "datagrams of other types: $(cut -c1-2 "$work/payloads" | sort | uniq -c)"
  has 73706c69746e6963 <"$work/payloads" && fail "what the ping sent can be read"
  # One of each per queue; an INITIATION from before the unit listened is repeated.
  for type in 81 82; do
    [ "$(grep -c "^$type" "$work/payloads")" -ge "${1:-1}" ] || fail "too few datagrams of type 0x$type"
  done
  equal "datagrams dropped" "$(sums_of_drops host) $(sums_of_drops iou)" "$dropped"
}

check_two_queues() { check_keyed 2 short; }

# Each end has another library: the bytes are the same.
check_libraries() {
  keyed
  host_options=(--aead openssl)
  bring_up
  ping_all "$ns_host" 10.77.0.2 20
  ask host show | has '^links are keyed, by OpenSSL$' || fail "show: $(ask host show)"
  grep -q "links are keyed, by OpenSSL;" "$work/host.log" || fail "the log: $(cat "$work/host.log")"
  local other
  other=$(ask iou show --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["aead"])')
  echo "host OpenSSL, unit $other"
  [ "$other" != OpenSSL ] || fail "the unit is built without libipsec-mb"
  stop host TERM && stop iou TERM || fail "they do not stop"
  iou_options=(--aead openssl) host_options=(--aead ipsec-mb)
  start_iou
  start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 20
  ask host show --json | has '"aead":"libipsec-mb"' || fail "show: $(ask host show --json)"
}

check_with_psk() {
  keyed
  make_keys psk
  iou_options=(--psk-file "$work/psk.key") host_options=(--psk-file "$work/psk.key")
  bring_up
  ping_all "$ns_host" 10.77.0.2 20
  stop host TERM
  host_options=()
  start_host
  wait_until 15 grep -q "no reply" "$work/host.log" || fail "without the pre-shared key: no line in the log"
  grep -qF "give both ends the same --psk-file" "$work/host.log" || fail "the log does not name the pre-shared key"
  ! is_up host || fail "up without the pre-shared key"
}

# The key of the host is not known there; the host has a wrong key of the unit; the unit has no keys at all.
check_wrong() {
  topology_three || fail "the test hosts cannot be made"
  keyed
  make_keys unit other
  iou_options=(--key-file "$work/unit.key" --allow-key "$(public other)")
  start_iou
  wait_up iou  # otherwise the first line of the host is about a port without a listener
  start_host
  wait_until 15 grep -q "keys that are not known there" "$work/host.log" || fail "no line in the log"
  [ "$(counter iou session.rx.drop.unknown_key)" -gt 0 ] || fail "the unit does not count the key"
  equal "lines of the unit about that key" "$(grep -cF "$(public host)" "$work/iou.log")" 1
  grep -F "$(public host)" "$work/iou.log" | has "add the key to the hosts file (or --allow-key)" || fail "no advice in the log"
  equal "replies" "$(counter iou session.tx.response) $(counter iou session.tx.cookie)" "0 0"
  ! carrier_is "$ns_host" nic0 1 || fail "a carrier without a session"
  stop host TERM
  start_host --key-file "$work/host.key" --peer "$(public other)"
  wait_until 15 counts iou session.rx.drop.mac 1 || fail "the unit does not count a wrong mac1"
  ! is_up host || fail "up with the wrong key of the unit"
  stop host TERM
  # A host without keys is a stranger.
  plain
  start_host
  wait_until 15 counts iou session.rx.drop.format 1 || fail "the unit does not count a HELLO without keys"
  ! is_up host || fail "up without keys"
  equal "bytes that the host got" "$(counter host link.rx.bytes)" 0
}

# One line for each refusal.
check_refused() {
  topology_three || fail "the test hosts cannot be made"
  make_keys host unit other
  local host=(ip netns exec "$ns_host" "$bin/splitnic-host" --control "$work/o.sock" --connect "udp://$iou_address")
  (umask 077 && echo short >"$work/short.key")
  chmod 640 "$work/other.key"
  ln -s "$work/host.key" "$work/link.key"
  local words status
  while IFS='|' read -r status words options; do
    # shellcheck disable=SC2086
    refuses "$status" "$words" "${host[@]}" $options
  done <<TABLE
1|chmod 600|--key-file $work/other.key --peer $(public unit)
1|symbolic link|--key-file $work/link.key --peer $(public unit)
1|No such file|--key-file $work/none.key --peer $(public unit)
1|does not hold one key|--key-file $work/short.key --peer $(public unit)
1|own|--key-file $work/host.key --peer $(public host)
2|--peer is missing|--key-file $work/host.key
2|--key-file is missing|--peer $(public unit)
2|not a public key|--key-file $work/host.key --peer abc
2|--key-file|
TABLE
}
