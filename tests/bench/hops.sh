#!/usr/bin/env bash
# Measures what a switch between host and I/O unit costs: TCP throughput through nic0 and round trip of ping, direct and with
# splitnic-switch between, in turn, round by round, and their medians and ratios. UDP without keys, and with --keyed once more with
# keys on each link; packet: LAN, one queue, cells with a payload CRC in all. Asserts nothing. Root. Programs of the release build: cmake --build --preset release
#   tests/bench/hops.sh
#   --rounds N     default 5
#   --seconds S    of iperf3 in a round, default 3
#   --busy-poll    all programs spin
#   --keyed        measures with keys as well
#   --full         all links have --link-profile full; cells have up to 1024 bytes of payload in both ways
#   --bin DIR      where the programs are; default build/release/bin
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"

take_options "--bin --rounds --seconds" "--busy-poll --keyed --full" "$@"
bin=${given[--bin]:-$root/build/release/bin} rounds=${given[--rounds]:-5} seconds=${given[--seconds]:-3}
is_whole "$rounds" "$seconds" || die 2 "--rounds and --seconds are whole numbers"
need_root
need_programs iperf3 "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" "$bin/splitnic-switch"
common=()
[ -z "${given[--busy-poll]:-}" ] || common+=(--busy-poll)
of_ends=()
[ -z "${given[--full]:-}" ] || common+=(--link-profile full) of_ends+=(--cell 1024)
ways=(direct hop)
[ -z "${given[--keyed]:-}" ] || ways+=(direct-keyed hop-keyed)

begin
ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c ns_switch=sn$$-s
for ns in "$ns_host" "$ns_iou" "$ns_lan" "$ns_switch"; do host_namespace "$ns" || exit 1; done
veth_between "$ns_host" fab0 "$ns_iou" fab0 && veth_between "$ns_host" fab1 "$ns_switch" p1 &&
  veth_between "$ns_switch" p2 "$ns_iou" fab1 && veth_between "$ns_iou" lan0 "$ns_lan" lan0 || exit 1
address() { ip -n "$1" addr add "$3" dev "$2"; }
address "$ns_host" fab0 10.99.0.1/24 && address "$ns_iou" fab0 10.99.0.2/24 && address "$ns_host" fab1 10.96.1.1/24 &&
  address "$ns_switch" p1 10.96.1.2/24 && address "$ns_switch" p2 10.96.2.2/24 && address "$ns_iou" fab1 10.96.2.1/24 &&
  address "$ns_lan" lan0 10.77.0.2/24 || exit 1
silence_interface "$ns_iou" lan0
printf '[switches.sw]\nlid = 1\n[nodes.host]\nlid = 11\nat = "sw:1"\n[nodes.unit]\nlid = 10\nat = "sw:2"\n' >"$work/fabric.toml"
declare -A public
for who in host unit sw; do
  public[$who]=$("$bin/splitnic" keygen --out "$work/$who.key") || exit 1
done
sed "s|^\[[a-z]*\.\(.*\)\]|&\nkey = \"KEY_OF_\1\"|; $(for who in "${!public[@]}"; do echo "s|KEY_OF_$who|${public[$who]}|;"; done)" \
  "$work/fabric.toml" >"$work/keyed.toml"

bring_up() { # direct|hop|direct-keyed|hop-keyed
  local to=(udp://10.99.0.2:7471) at=(--listen udp://10.99.0.2:7471) file=$work/fabric.toml
  local of_switch=(--insecure-lab) of_unit=(--insecure-lab) of_host=(--insecure-lab)
  if [[ $1 == *-keyed ]]; then
    file=$work/keyed.toml of_switch=(--key-file "$work/sw.key")
    of_unit=(--key-file "$work/unit.key" --allow-key "${public[host]}") of_host=(--key-file "$work/host.key" --peer "${public[unit]}")
  fi
  if [[ $1 == hop* ]]; then
    to=('udp://unit:1?via=10.96.1.2:7500') at=(--attach udp://10.96.2.2:7500)
    if [ "$1" = hop-keyed ]; then
      of_unit=(--key-file "$work/unit.key" --peer "${public[sw]}") of_host=(--key-file "$work/host.key" --peer "${public[sw]}")
    fi
    start switch "$ns_switch" "$bin/splitnic-switch" --name sw --topology "$file" --port udp://10.96.1.2:7500 \
      --port udp://10.96.2.2:7500 --control "$work/switch.sock" "${of_switch[@]}" "${common[@]}"
  fi
  start iou "$ns_iou" "$bin/splitnic-iou" --lan packet:lan0 "${at[@]}" --queues 1 --payload-crc on --control "$work/iou.sock" \
    "${of_unit[@]}" "${common[@]}" "${of_ends[@]}"
  start host "$ns_host" "$bin/splitnic-host" --connect "${to[@]}" --queues 1 --payload-crc on --control "$work/host.sock" \
    "${of_host[@]}" "${common[@]}" "${of_ends[@]}"
  wait_until 10 host_is_up "$work/host.sock" || die 1 "the host did not come up: $(tail -n 3 "$work"/*.log)"
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up
  wait_until 10 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || die 1 "the LAN does not respond"
}

take_down() {
  local name
  for name in host iou switch; do stop $name TERM 3; done
}

start iperf "$ns_lan" iperf3 -s -B 10.77.0.2
for ((round = 1; round <= rounds; round++)); do
  for way in "${ways[@]}"; do
    bring_up $way
    mbit=$(in_ns "$ns_host" iperf3 -c 10.77.0.2 -t "$seconds" -J |
      "$python" -c 'import json, sys; print("%.0f" % (json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"] / 1e6))')
    trip=$(in_ns "$ns_host" ping -q -i 0.002 -c 500 10.77.0.2 | awk -F '[ /]' '/^rtt/ { print 1000 * $8 }')
    take_down
    echo "round $round, $way: $mbit Mbit/s, round trip $trip us" | tee -a "$work/results"
  done
done
"$python" - "$work/results" <<'PYTHON'
import re, statistics, sys
ways = {}
for line in open(sys.argv[1]):
    way, mbit, trip = re.match(r"round \d+, ([\w-]+): (\S+) Mbit/s, round trip (\S+) us", line).groups()
    of_way = ways.setdefault(way, ([], []))
    of_way[0].append(float(mbit))
    of_way[1].append(float(trip))
for links in ("", "-keyed"):
    if "hop" + links not in ways:
        continue
    direct, hop = ([statistics.median(values) for values in ways[way + links]] for way in ("direct", "hop"))
    print(f"{'with' if links else 'without'} keys, medians: direct {direct[0]:.0f} Mbit/s and {direct[1]:.0f} us, "
          f"one hop {hop[0]:.0f} Mbit/s and {hop[1]:.0f} us")
    print(f"one hop has {100 * hop[0] / direct[0]:.0f} % of the throughput, and takes {hop[1] - direct[1]:.0f} us more per round trip")
PYTHON
