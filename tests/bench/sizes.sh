#!/usr/bin/env bash
# Throughput and cost against the length of frames: splitnic over UDP and over shared memory, and kernel VXLAN, in turn.
# UDP frames of 64 octets to a whole one, and TCP with super-frames (gso_max_size of nic0) of 2 to 64 KiB; and what a
# frame costs the two programs as the load grows (goal V15). Asserts nothing. Root.
#   tests/bench/sizes.sh [--rounds N] [--seconds S] [--out DIR] [--publish] [--bin DIR]
#     --rounds N     default 3; all lengths and carriers in turn, round by round
#     --seconds S    of each figure, default 1
#     --out DIR      where the figures and the page are kept; default build/bench-sizes
#     --publish      writes the page and its plot into docs/performance as well
#     --bin DIR      the programs; default build/release/bin
# sizes.py measures one carrier and makes the page.
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

rounds=3 seconds=1 out=$root/build/bench-sizes publish=no bin=$root/build/release/bin
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

die() {
  echo "sizes.sh: $2" >&2
  exit "$1"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --rounds | --seconds | --out | --bin) [ $# -ge 2 ] || die 2 "$1 needs a value" ;;
  esac
  case "$1" in
    --rounds) rounds=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --bin) bin=$2 && shift 2 ;;
    --publish) publish=yes && shift ;;
    *) die 2 "unknown option '$1'" ;;
  esac
done
[[ $rounds =~ ^[1-9][0-9]*$ && $seconds =~ ^[1-9][0-9]*$ ]] || die 2 "--rounds and --seconds are whole numbers from 1 on"
[ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"
for tool in ip ping iperf3 "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou"; do
  command -v "$tool" >/dev/null || die 1 "missing: $tool"
done

pids() {
  local name
  for name in "${carrier_programs[@]}"; do running "$name" && echo "${pid_of[$name]}"; done
}

mkdir -p "$out" && rm -f "$out"/*.sizes || exit 1
topology_begin
topology_three || exit 1
export SPLITNIC_SHM_DIR=$work
status=0
for round in $(seq "$rounds"); do
  for carrier in splitnic-packet splitnic-shm vxlan; do
    if carrier_up "$carrier" && ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up &&
      wait_until 5 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null &&
      "$python" "$bench/sizes.py" measure "$ns_host" "$ns_lan" "$seconds" $(pids) >"$out/$round.$carrier.sizes"; then
      echo "round $round: $carrier done" >&2
    else
      rm -f "$out/$round.$carrier.sizes"
      echo "round $round: $carrier FAILED" >&2
      status=1
    fi
    carrier_down
  done
done
pages=("$out")
[ $publish = no ] || pages+=("$root/docs/performance")
"$python" "$bench/sizes.py" report "$out" "$seconds" "${pages[@]}" || status=1
exit $status
