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

# The memory handles that the unit's RDMA writes name, on a plain link, while COMMAND runs, one per line.
keys_during() {
  begin_taking "$ns_host" fab0 100000
  "$@" >/dev/null || fail "no traffic: $*"
  stop taker INT 20 || fail "the cells were not taken"  # it takes all that waits
  # The connection of iperf and its first frames use elements of both sizes.
  tshark -X "lua_script:$e2e/../../tools/wireshark/splitnic.lua" -r "$work/taken.pcap" -c 300 \
    -Y 'udp.srcport == 7471 && splitnic.cell.op == 0x02' -T fields -E aggregator=, -e splitnic.cell.mh 2>"$work/tshark.log" |
    tr , '\n' | sort -u | sed '/^$/d'
}

check_release() {
  plain
  # Each queue has its keys, and a connection takes any queue.
  iou_options=(--queues 1) host_options=(--idle-release 5 --queues 1)
  bring_up
  serve_iperf "$ns_lan" 10.77.0.2
  # Both ways, so that elements of both sizes are touched: frames of data, frames of acknowledgements.
  iperf -t 2 -R >/dev/null || fail "no traffic to the host"
  iperf -t 2 >/dev/null || fail "no traffic to the LAN"
  local busy idle elements=$((1024 * 2 + 64 * 64)) given pools keys later
  busy=$(resident_kib)
  given=$(counter host host.idle.released)
  # The host may be idle for long before these cells have been looked at.
  keys=$(keys_during iperf -t 1 -R)
  [ -n "$keys" ] || fail "no key was seen"
  pools=$(host_pools)
  within "memory falls by four fifths of the pools" 15000 fallen "$busy" $((elements * 8 / 10))
  idle=$(resident_kib)
  echo "resident: $busy KiB busy, $idle KiB idle; pools have $elements KiB"
  [ "$(counter host host.idle.released)" -gt "$given" ] || fail "nothing is counted"
  in_ns "$ns_lan" ping -q -c 1 -W 10 10.77.0.1 >/dev/null || fail "the first frame afterwards did not arrive"
  later=$(keys_during iperf -t 1 -R)
  [ -n "$later" ] || fail "no key was seen afterwards"
  [ -z "$(comm -13 <(echo "$keys") <(echo "$later"))" ] || fail "keys on the wire: $keys; afterwards $later"
  equal "the host's pools, as the unit knows them" "$(host_pools)" "$pools"
  equal "connections that ended" "$(counter host host.pair.downs)" 0
}
