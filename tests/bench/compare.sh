#!/usr/bin/env bash
# splitnic beside kernel VXLAN and OpenVPN tap (no cipher) in one topology and one run, in turn: TCP both ways,
# UDP 64-byte frames a second, ping, memory (Pss) of both programs. Prints medians with minimum and maximum, and
# ratios. Asserts nothing.
#   tests/bench/compare.sh [--rounds N] [--seconds S] [--bin DIR] [CARRIER...]
#     carriers: splitnic-packet splitnic-pcap vxlan openvpn (default: all four)
set -uo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"
rounds=5 seconds=3 bin=$root/build/release/bin
while [ $# -gt 0 ]; do
  case "$1" in
    --rounds) rounds=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    --bin) bin=$2 && shift 2 ;;
    -*) echo "compare.sh: unknown option '$1'" >&2 && exit 2 ;;
    *) break ;;
  esac
done
carriers=("$@")
[ ${#carriers[@]} -gt 0 ] || carriers=(splitnic-packet splitnic-pcap vxlan openvpn)
[ "$(id -u)" -eq 0 ] || { echo "compare.sh: it makes network namespaces: run this as root" >&2; exit 1; }

is_up() { "$bin/splitnic" show --json --control "$work/host.sock" 2>/dev/null | grep '"state":"up"' >/dev/null; }

up_splitnic() { # PORT
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$1:lan0" --listen udp://10.99.0.2:7471 --control "$work/iou.sock" \
    --insecure-lab --name iou
  start host "$ns_host" "$bin/splitnic-host" --connect udp://10.99.0.2:7471 --tap nic0 --control "$work/host.sock" \
    --insecure-lab --name host
  wait_until 10 is_up
}

# The LAN side of a kernel carrier: a bridge between the tunnel and the LAN.
bridge_lan() {
  ip -n "$ns_iou" link add br0 type bridge
  ip -n "$ns_iou" link set lan0 master br0
  ip -n "$ns_iou" link set "$1" master br0
  ip -n "$ns_iou" link set br0 up
}

up_vxlan() {
  ip -n "$ns_host" link add nic0 type vxlan id 7 local 10.99.0.1 remote 10.99.0.2 dstport 4789 dev fab0
  ip -n "$ns_host" link set nic0 mtu 1450
  ip -n "$ns_iou" link add vx0 type vxlan id 7 local 10.99.0.2 remote 10.99.0.1 dstport 4789 dev fab0
  ip -n "$ns_iou" link set vx0 up
  bridge_lan vx0
}

up_openvpn() {
  local common=(--dev-type tap --proto udp --cipher none --auth none --sndbuf 1048576 --rcvbuf 1048576
    --tun-mtu 1500 --verb 1)
  start openvpn_iou "$ns_iou" openvpn --dev ot0 "${common[@]}" --local 10.99.0.2 --remote 10.99.0.1
  start openvpn_host "$ns_host" openvpn --dev nic0 "${common[@]}" --local 10.99.0.1 --remote 10.99.0.2
  wait_until 5 ip -n "$ns_host" link show nic0 >/dev/null 2>&1
  wait_until 5 ip -n "$ns_iou" link show ot0 >/dev/null 2>&1
  ip -n "$ns_iou" link set ot0 up
  bridge_lan ot0
}

down_carrier() {
  local name
  for name in host iou openvpn_host openvpn_iou; do stop "$name" TERM 3; done
  ip -n "$ns_host" link del nic0 2>/dev/null
  ip -n "$ns_iou" link del br0 2>/dev/null
  ip -n "$ns_iou" link del vx0 2>/dev/null
}

note() { echo "$2" >>"$work/figures.$carrier.$1"; }

measure_one() {
  local out
  ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0
  ip -n "$ns_host" link set nic0 up
  wait_until 5 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || { echo "$carrier: no answer" >&2; return 1; }
  out=$(in_ns "$ns_host" iperf3 -c 10.77.0.2 -t "$seconds" -f m 2>&1)
  note tcp_to_lan "$(awk '/receiver/ {print $7}' <<<"$out")"
  out=$(in_ns "$ns_host" iperf3 -c 10.77.0.2 -t "$seconds" -f m -R 2>&1)
  note tcp_to_host "$(awk '/receiver/ {print $7}' <<<"$out")"
  out=$(in_ns "$ns_host" iperf3 -c 10.77.0.2 -u -b 0 -l 22 -t "$seconds" --json 2>/dev/null)
  note udp64_pps "$(python3 -c 'import json,sys
d=json.load(sys.stdin)["end"]["sum"]
print(int((d["packets"]-d["lost_packets"])/d["seconds"]))' <<<"$out")"
  out=$(in_ns "$ns_host" ping -q -c 200 -i 0.005 10.77.0.2)
  note ping_us "$(awk -F/ '/^rtt/ {printf "%d\n", $5 * 1000}' <<<"$out")"
  local programs=() name
  for name in host iou openvpn_host openvpn_iou; do running $name && programs+=("/proc/${pid_of[$name]}/smaps_rollup"); done
  [ ${#programs[@]} -eq 0 ] || note pss_mib "$(awk '/^Pss:/ {kib += $2} END {print kib / 1024}' "${programs[@]}")"
}

topology_begin
topology_three || exit 1
for ns in "$ns_host" "$ns_iou"; do
  # 1 MiB socket buffers for everybody who asks for them.
  in_ns "$ns" sh -c 'for f in rmem_max wmem_max; do [ -w /proc/sys/net/core/$f ] && echo 4194304 >/proc/sys/net/core/$f; done; true'
done
start iperf3 "$ns_lan" iperf3 -s --forceflush
for round in $(seq "$rounds"); do
  for carrier in "${carriers[@]}"; do
    case "$carrier" in
      splitnic-*) up_splitnic "${carrier#splitnic-}" ;;
      vxlan) up_vxlan ;;
      openvpn) up_openvpn ;;
      *) echo "compare.sh: unknown carrier '$carrier'" >&2 && exit 2 ;;
    esac
    measure_one || tail -n 3 "$work"/*.log >&2
    down_carrier
    echo "round $round: $carrier done" >&2
  done
done
python3 - "$work" "${carriers[@]}" <<'PY'
import statistics, sys, os
work, carriers = sys.argv[1], sys.argv[2:]
figures = [("tcp_to_lan", "TCP host>LAN Mbit/s"), ("tcp_to_host", "TCP LAN>host Mbit/s"),
           ("udp64_pps", "UDP 64 B frames/s"), ("ping_us", "ping average us"), ("pss_mib", "Pss MiB")]
table = {}
for c in carriers:
    for f, _ in figures:
        path = f"{work}/figures.{c}.{f}"
        if os.path.exists(path):
            table[c, f] = [float(x) for x in open(path).read().split()]
print("| carrier | " + " | ".join(t for _, t in figures) + " |")
print("|---" * (len(figures) + 1) + "|")
for c in carriers:
    cells = []
    for f, _ in figures:
        v = table.get((c, f), [])
        cells.append(f"{statistics.median(v):.0f} ({min(v):.0f}-{max(v):.0f})" if v else "-")
    print(f"| {c} | " + " | ".join(cells) + " |")
for base in ("vxlan", "openvpn"):
    for c in carriers:
        if not c.startswith("splitnic") or base not in carriers: continue
        cells = []
        for f, _ in figures:
            a, b = table.get((c, f)), table.get((base, f))
            cells.append(f"{statistics.median(a) / statistics.median(b):.2f}" if a and b else "-")
        print(f"| {c} / {base} | " + " | ".join(cells) + " |")
PY
