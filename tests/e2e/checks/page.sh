# shellcheck shell=bash
# The live page of both programs: as curl gets it, and in a browser while frames cross.

bring_up_with_page() {
  iou_options+=(--metrics 127.0.0.1:9477)
  host_options+=(--metrics '[::1]:9478')
  bring_up
}

# get NS URL [OPTIONS of curl]: the response with its head
get() { in_ns "$1" curl -sS -i --max-time 5 "${@:3}" "$2"; }
status_of() { get "$@" -o /dev/null -w '%{http_code}'; }

check_served() {
  bring_up_with_page
  local unit=http://127.0.0.1:9477 host='http://[::1]:9478' file header
  for file in '' page.css page.js view.js model.js state.json metrics; do
    get "$ns_iou" "$unit/$file" >"$work/response" || fail "no /$file"
    grep -q "^HTTP/1.1 200 OK" "$work/response" || fail "/$file: $(head -n 1 "$work/response")"
    for header in "Content-Security-Policy: default-src 'none'; script-src 'self'" "X-Content-Type-Options: nosniff" \
      "Cross-Origin-Resource-Policy: same-origin" "Cache-Control: no-store" "X-Frame-Options: DENY"; do
      grep -qF "$header" "$work/response" || fail "/$file without $header"
    done
  done
  # Every name that the page loads is one that is served, and none is elsewhere.
  get "$ns_iou" "$unit/" | grep -oE '(src|href)="[^"]*"' | grep -vE '"(page.css|page.js|#main|data:[^"]*)"' && fail "the page loads something else"
  in_ns "$ns_iou" curl -sS "$unit/state.json" >"$work/unit.json" && in_ns "$ns_host" curl -sS -g "$host/state.json" >"$work/host.json" ||
    fail "no state.json"
  ask iou show --json >"$work/show.json" && ask iou stats --json >"$work/stats.json" || fail "no show or stats"
  "$python" -c 'import json, sys
unit, host, show, stats = (json.load(open(path)) for path in sys.argv[1:])
peers = lambda one: [[peer[key] for key in ("name", "address", "state", "mac")] for peer in one["peers"]]
assert unit["show"]["role"] == "iou" and peers(unit["show"]) == peers(show) and unit["show"]["lan"] == show["lan"], unit["show"]
assert host["show"]["role"] == "host" and host["show"]["state"] == "up", host["show"]
assert all(value <= stats[name] for name, value in unit["stats"].items() if name != "metrics.drop.busy"), stats  # stats were taken later
assert len(unit["stats"]) > 100, unit["stats"]
names = ["lan.port.%s.%s" % (way, unit) for way in ("rx", "tx") for unit in ("bytes", "frames")]
names += ["host.hosta.iou.%s.ethernet_bytes" % way for way in ("from_host", "to_host")]
assert set(names) <= set(unit["stats"]), "the page needs " + str(names)
assert {"tap.rx.bytes", "tap.rx.frames", "tap.tx.bytes", "tap.tx.frames"} <= set(host["stats"]), host["stats"]
assert all(event["text"] and event["number"] for event in unit["events"]) and unit["events"], unit["events"]' \
    "$work/unit.json" "$work/host.json" "$work/show.json" "$work/stats.json" || fail "state.json"
  equal "POST" "$(status_of "$ns_iou" "$unit/" -X POST)" 405
  equal "another path" "$(status_of "$ns_iou" "$unit/../../etc/passwd" --path-as-is)" 404
  local name
  for name in evil.example 127.0.0.1.evil.example localhost.evil.example:9477 'localhost:x'; do
    equal "Host: $name" "$(status_of "$ns_iou" "$unit/state.json" -H "Host: $name")" 421
  done
  # curl sends one Host only.
  # shellcheck disable=SC2016
  in_ns "$ns_iou" bash -c 'exec 3<>/dev/tcp/127.0.0.1/9477 && printf "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n" >&3 &&
    cat <&3' | has "^HTTP/1.1 421" || fail "two Hosts"
  equal "no Host" "$(status_of "$ns_iou" "$unit/" -H Host: -0)" 200
  for name in localhost LOCALHOST:80 unit.localhost 127.0.0.1:1 '[::1]:9477' 192.0.2.1; do
    equal "Host: $name" "$(status_of "$ns_iou" "$unit/" -H "Host: $name")" 200
  done
  equal "Host of the host's page" "$(status_of "$ns_host" "$host/metrics" -g -H "Host: evil.example")" 421
}

check_browser() {
  bring_up_with_page
  in_ns "$ns_iou" "$python" -B "$e2e/page.py" http://127.0.0.1:9477/ "$ns_host" 10.77.0.2 "$work/browser" ${SPLITNIC_PICTURE:+"$SPLITNIC_PICTURE"} ||
    fail "the page in a browser"
}
