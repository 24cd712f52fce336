# shellcheck shell=bash
# The conformance suite as an I/O unit, against the host: every case passes. Some groups over each carrier; all of them run in
# conformance_tests.

# conforms COUNT OPTIONS...: starts the host, and runs the suite where its I/O unit would be. Nothing fails, and COUNT cases pass.
conforms() {
  local began wanted=$1
  shift
  topology_three || fail "the test hosts cannot be made"
  start_host
  wait_until 20 in_ns "$ns_host" test -e /sys/class/net/nic0 || fail "the host made no nic0"
  silence_interface "$ns_host" nic0
  # An address to announce: the frames that the host sends for it are looked at.
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up || fail "no address"
  began=$(milliseconds)
  in_ns "$ns_iou" timeout 240 "$bin/splitnic" conform --as iou --listen "$(endpoint "$iou_address")" --timeout 2 "$@" \
    --json "$work/conform.json" --html "$work/conform.html" >"$work/conform.log" 2>&1 ||
    fail "the host does not conform: $(grep -E -A3 '^(FAIL|WEDGED|REJECTED)' "$work/conform.log")"
  tail -n 1 "$work/conform.log"
  echo "in $(($(milliseconds) - began)) ms"
  "$python" - "$work" "$wanted" <<'END' || fail "the report does not hold what was printed"
import json, sys
work, wanted = sys.argv[1], int(sys.argv[2])
found = json.load(open(f"{work}/conform.json", encoding="utf-8"))
printed = open(f"{work}/conform.log", encoding="utf-8").read()
assert found["passed"] == printed.count("\nPASS ") + printed.startswith("PASS ") >= wanted, found["passed"]
assert found["failed"] == found["wedged"] == found["rejected"] == 0
skipped = [case["reason"] for case in found["cases"] if case["verdict"] == "SKIP"]
assert all(reason.startswith("for links") or "profile" in reason or "this CRC" in reason or "more blocks" in reason for reason in skipped), skipped
END
  # The host is free for another unit, and has not ended.
  stop host || fail "the host failed"
}

check_unkeyed() {
  plain
  conforms 25 --insecure-lab --select flit --select frame --select 'link.b*' --select link.silence --select link.another_instance \
    --select 'cm.d*'
}

check_full_profile() {
  plain
  host_options=(--link-profile full)
  conforms 20 --insecure-lab --select lane --select frame
}

check_keyed() {
  keyed
  make_keys unit host
  conforms 20 --key-file "$work/unit.key" --peer "$(public host)" --select key --select frame
}

check_shared_memory() {
  fabric=shm
  conforms 15 --select loss --select frame
}
