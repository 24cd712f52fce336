# shellcheck shell=bash
# The conformance suite against the I/O unit and the switch: every case passes, and the reports hold what was printed.

# conforms COUNT OPTIONS...: runs the suite in the host's namespace; nothing fails, and COUNT cases pass at least.
conforms() {
  local began passed wanted=$1
  shift
  began=$(milliseconds)
  in_ns "$ns_host" timeout 240 "$bin/splitnic" conform --timeout 2 "$@" --junit "$work/conform.xml" \
    --json "$work/conform.json" --html "$work/conform.html" >"$work/conform.log" 2>&1 ||
    fail "the target does not conform: $(grep -E -A3 '^(FAIL|WEDGED|REJECTED)' "$work/conform.log")"
  tail -n 1 "$work/conform.log"
  echo "in $(($(milliseconds) - began)) ms"
  passed=$(grep -c '^PASS ' "$work/conform.log")
  [ "$passed" -ge "$wanted" ] || fail "only $passed cases have run"
  ! grep -q '^REJECTED ' "$work/conform.log" || fail "cases that the target rejected"
  "$python" - "$work" "$passed" <<'END' || fail "the reports do not hold what was printed"
import json, sys, xml.etree.ElementTree as tree
work, passed = sys.argv[1], int(sys.argv[2])
found = json.load(open(f"{work}/conform.json", encoding="utf-8"))
assert found["passed"] == passed and found["failed"] == found["wedged"] == 0, found["passed"]
suite = tree.parse(f"{work}/conform.xml").getroot()
assert int(suite.get("tests")) == len(suite.findall("testcase")) == len(found["cases"])
END
  page_is_good ${picture:+"$picture"} || fail "the page is not as it should be"
}

# page_is_good [PICTURE]: in Chromium too
page_is_good() { "$python" -B "$e2e/../conformance/report_check.py" "$work/conform.html" "$work/conform.json" "$@"; }

# What page_is_good finds in the page of a run that was good.
page_check_finds_faults() {
  local line
  cp "$work/conform.html" "$work/good.html"
  sed -i 's/ size [0-9]* lsn/ size 1 lsn/' "$work/conform.html"
  line=$(page_is_good 2>&1) && fail "wrong fields are not found"
  [[ $line == *"are not those of"* ]] || fail "wrong fields: $line"
  sed 's/<svg viewBox/<svg display="none" viewBox/' "$work/good.html" >"$work/conform.html"
  line=$(page_is_good 2>&1) && fail "diagrams that nobody sees are not found"
  [[ $line == *"a click on a case shows no diagram"* ]] || fail "no diagrams: $line"
  line=$(PATH=/nonexistent page_is_good 2>&1) && fail "a page that no browser has shown is good"
  [[ $line == *"is not installed, so the page is not checked"* ]] || fail "no browser: $line"
}

# Its socket is there before its ports are read, and the suite waits two seconds for the first reply.
replies_to_questions() { ask "$1" show >/dev/null 2>&1; }

# SPLITNIC_PICTURE=docs/conformance-report makes the pictures of docs/conformance.md.
check_unkeyed() {
  local picture=${SPLITNIC_PICTURE:-}
  plain
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1)
  start_iou
  wait_until 20 replies_to_questions iou || fail "the unit does not start"
  conforms 325 --as host --target "udp://$iou_address" --insecure-lab
}

# Of the full profile: flits and what is above them. All of the cases run in one process (tests/conformance).
check_full_profile() {
  plain
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1 --link-profile full)
  start_iou
  wait_until 20 replies_to_questions iou || fail "the unit does not start"
  conforms 45 --as host --target "udp://$iou_address" --insecure-lab --select lane --select rc --select frame
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
  wait_until 20 replies_to_questions iou || fail "the unit does not start"
  conforms 360 --as host --target "udp://$iou_address" --peer "$(public unit)" "${hosts[@]}"
}

# All hosts of the suite are one user here, which the unit accepts twice per second: some groups only.
check_shared_memory() {
  fabric=shm
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1)
  start_iou
  wait_until 20 replies_to_questions iou || fail "the unit does not start"
  printf '# case and reason\nlink.idle  waits for 0.7 s\n' >"$work/skips"
  conforms 60 --as host --target shm://e2e --select link --select flit --select loss --select frame --skip "$work/skips"
  grep -q '^SKIP *link.idle ' "$work/conform.log" || fail "the skip file is not obeyed"
}

# start_tested_switch ROLE NAME PORTS OPTIONS...: with the topology that the suite requires, and the namespaces of a host and a unit.
start_tested_switch() {
  local at=${iou_address%:*} ports=() number role=$1 name=$2 count=$3
  shift 3
  tested=
  for number in $(seq "$count"); do
    ports+=(--port "udp://$at:$((7500 + number))")
    tested+=${tested:+,}udp://$at:$((7500 + number))
  done
  "$bin/splitnic" conform --as "$role" --target "$tested" --print-topology "${suite_keys[@]}" >"$work/fabric.toml" ||
    fail "no topology"
  start switch "$ns_iou" "$bin/splitnic-switch" --name "$name" --topology "$work/fabric.toml" "${ports[@]}" \
    --control "$work/switch.sock" "$@"
  wait_until 20 replies_to_questions switch || fail "the switch does not start"
}

check_switch() {
  plain
  topology_three || fail "the test hosts cannot be made"
  suite_keys=()
  start_tested_switch switch switch 4 --insecure-lab
  conforms 78 --as switch --target "$tested" --insecure-lab
  page_check_finds_faults
}

check_keyed_switch() {
  keyed
  topology_three || fail "the test hosts cannot be made"
  make_keys sw north east south cable
  suite_keys=(--peer "$(public sw)" --key-file "$work/north.key" --key-file "$work/east.key" --key-file "$work/south.key"
    --key-file "$work/cable.key")
  start_tested_switch switch switch 4 --key-file "$work/sw.key"
  conforms 79 --as switch --target "$tested" "${suite_keys[@]}"
}

# A case of each kind, which takes a few seconds: all of them run in one process (tests/conformance).
check_manager() {
  keyed
  topology_three || fail "the test hosts cannot be made"
  make_keys sw east west node
  suite_keys=(--peer "$(public sw)" --key-file "$work/east.key" --key-file "$work/west.key" --key-file "$work/node.key")
  start_tested_switch manager manager 3 --manage=100 --key-file "$work/sw.key"
  local name chosen=()
  for name in manager.{each_switch,cable_down,cable_back,held_port,clear_before_set,other_way,refused_by_far,handover} \
    agent.{passes_on,source_3,from_a_node,held,trap}; do
    chosen+=(--select "$name")
  done
  conforms 13 --as manager --target "$tested" "${suite_keys[@]}" "${chosen[@]}"
  # Of the edges in the list of the specification these cases pass sweeps, tables that are read and set in both stages, and a refusal.
  "$python" - "$work/conform.json" "$e2e/../../docs/protocol/states.json" <<'END' || fail "the states of the manager are not reported"
import json, sys
report, listed = ([table for table in json.load(open(name, encoding="utf-8"))[key] if table[called] == "subnet manager"][0]
                  for name, key, called in ((sys.argv[1], "states", "table"), (sys.argv[2], "tables", "name")))
passed = {"due", "trap", "obeyed", "reported", "unknown", "read_set", "sweep_clear", "sweep_set", "clear_set", "set", "sweep_refused"}
key = lambda edge: (edge["from"], edge["event"], edge["to"])
missing = {key(edge) for edge in report["not_reached"]}
edges = {edge["id"]: key(edge) for edge in listed["edges"] if edge["manager"] is True}
assert report["edges"] == len(edges), (report["edges"], len(edges))
print("edges of the manager:", report["reached"], "of", len(edges), *sorted(i for i in edges if edges[i] not in missing))
assert not [i for i in passed if edges[i] in missing], [i for i in passed if edges[i] in missing]
END
}

# Ctrl-C: the reports have what is known, and why the rest is skipped.
check_interrupted() {
  plain
  topology_three || fail "the test hosts cannot be made"
  iou_options=(--queues 1)
  start_iou
  wait_until 20 replies_to_questions iou || fail "the unit does not start"
  start conform "$ns_host" "$bin/splitnic" conform --timeout 2 --as host --target "udp://$iou_address" --insecure-lab --json "$work/conform.json"
  local suite=${pid_of[conform]} status=0
  wait_until 20 grep -qs '^PASS ' "$work/conform.log" || fail "no case has run"
  kill -INT "$suite"
  wait "$suite" || status=$?
  unset "pid_of[conform]"
  equal "exit status" "$status" 1
  grep -q "splitnic: interrupted: " "$work/conform.log" || fail "the interruption is not reported"
  "$python" - "$work/conform.json" <<'END' || fail "the report does not have what was run"
import json, sys
cases = json.load(open(sys.argv[1], encoding="utf-8"))["cases"]
skipped = sum(case.get("reason") == "the run was interrupted" for case in cases)
passed = sum(case["verdict"] == "PASS" for case in cases)
print(passed, "passed,", skipped, "skipped")
assert passed > 0 and skipped > 200
END
}
