# shellcheck shell=bash
# The conformance suite against the I/O unit: every case passes, and the reports hold what was printed.

# conforms COUNT OPTIONS...: runs the suite in the host's namespace; nothing fails, and COUNT cases pass at least.
conforms() {
  local began passed wanted=$1
  shift
  began=$(milliseconds)
  in_ns "$ns_host" timeout 120 "$bin/splitnic" conform --as host "$@" --junit "$work/conform.xml" \
    --json "$work/conform.json" --html "$work/conform.html" >"$work/conform.log" 2>&1 ||
    fail "the unit does not conform: $(grep -E -A3 '^(FAIL|WEDGED|REJECTED)' "$work/conform.log")"
  tail -n 1 "$work/conform.log"
  echo "in $(($(milliseconds) - began)) ms"
  passed=$(grep -c '^PASS ' "$work/conform.log")
  [ "$passed" -ge "$wanted" ] || fail "only $passed cases have run"
  ! grep -q '^REJECTED ' "$work/conform.log" || fail "cases that the unit rejected"
  "$python" - "$work" "$passed" <<'END' || fail "the reports do not hold what was printed"
import json, re, sys, xml.etree.ElementTree as tree
work, passed = sys.argv[1], int(sys.argv[2])
found = json.load(open(f"{work}/conform.json", encoding="utf-8"))
assert found["passed"] == passed and found["failed"] == found["wedged"] == 0, found["passed"]
suite = tree.parse(f"{work}/conform.xml").getroot()
assert int(suite.get("tests")) == len(suite.findall("testcase")) == len(found["cases"])
page = open(f"{work}/conform.html", encoding="utf-8").read()
assert page.count("<svg ") >= passed and page.count("<details id=") == len(found["cases"])
assert not re.search(r'(?:src|href)\s*=|@import|url\(', page), "an external asset"
END
}

check_unkeyed() {
  plain
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1)
  start_iou
  wait_until 5 test -S "$work/iou.sock" || fail "the unit does not start"
  conforms 320 --target "udp://$iou_address" --insecure-lab
}

# As eight hosts: a unit accepts a host twice per second.
check_keyed() {
  keyed
  topology_three || fail "the test hosts cannot be made"
  local name hosts=() options=()
  for name in conform{1..8}; do
    make_keys "$name"
    options+=(--allow-key "$(public "$name")")
    hosts+=(--key-file "$work/$name.key")
  done
  iou_options=(--queues 1 "${options[@]}")
  start_iou
  wait_until 5 test -S "$work/iou.sock" || fail "the unit does not start"
  conforms 350 --target "udp://$iou_address" --peer "$(public unit)" "${hosts[@]}"
}

# All hosts of the suite are one user here, which the unit accepts twice per second: some groups only.
check_shared_memory() {
  fabric=shm
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1)
  start_iou
  wait_until 5 test -S "$work/iou.sock" || fail "the unit does not start"
  printf '# case and reason\nlink.idle  waits for 0.7 s\n' >"$work/skips"
  conforms 60 --target shm://e2e --select link --select flit --select loss --select frame --skip "$work/skips"
  grep -q '^SKIP *link.idle ' "$work/conform.log" || fail "the skip file is not obeyed"
}
