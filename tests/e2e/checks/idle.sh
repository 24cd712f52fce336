# shellcheck shell=bash
# --idle-release: an idle host gives the memory of its pools back, and its peer does not notice.

resident_kib() { awk '/^Rss:/ {print $2}' "/proc/${pid_of[host]}/smaps_rollup"; }
fallen() { [ $(($1 - $(resident_kib))) -ge "$2" ]; }
# As the unit knows them.
host_pools() {
  ask iou show --json | "$python" -c '
import json, sys
print(sorted((p["ref"], p["elements"], p["size"]) for p in json.load(sys.stdin)["pools"]))'
}

check_release() {
  host_options=(--idle-release 2)
  bring_up
  serve_iperf "$ns_lan" 10.77.0.2
  # Both ways, so that elements of both sizes are touched: frames of data, frames of acknowledgements.
  in_ns "$ns_host" iperf3 -c 10.77.0.2 -t 2 -R >/dev/null || fail "no traffic to the host"
  in_ns "$ns_host" iperf3 -c 10.77.0.2 -t 2 >/dev/null || fail "no traffic to the LAN"
  local busy idle elements=$((1024 * 2 + 64 * 64)) given pools
  busy=$(resident_kib)
  pools=$(host_pools)
  given=$(counter host host.idle.given_back)
  within "memory falls by four fifths of the pools" 15000 fallen "$busy" $((elements * 8 / 10))
  idle=$(resident_kib)
  echo "resident: $busy KiB busy, $idle KiB idle; pools have $elements KiB"
  [ "$(counter host host.idle.given_back)" -gt "$given" ] || fail "nothing is counted"
  in_ns "$ns_lan" ping -q -c 1 -W 2 10.77.0.1 >/dev/null || fail "the first frame afterwards did not arrive"
  in_ns "$ns_host" iperf3 -c 10.77.0.2 -t 1 -R >/dev/null || fail "no traffic afterwards"
  equal "the host's pools, as the unit knows them" "$(host_pools)" "$pools"
  equal "connections that ended" "$(counter host host.pair.downs)" 0
}
