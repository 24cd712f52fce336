#!/usr/bin/env bash
# What the fabric does by itself, without frames: between two network namespaces with a veth (UDP), and by shared
# memory. Asserts nothing. Root. Programs of the release build: cmake --build --preset release
#   tests/bench/fabric.sh              tables of fabric_bench: write, send and read by size; UDP and shm, sleeping and
#                                      spinning. --seconds S of each figure, default 0.5
#   tests/bench/fabric.sh --compare    beside libfabric's tcp, udp;ofi_rxd and shm, plain datagrams, and itself with loss
#                                      and with go-back-N, in turn, round by round: the ratios of goals V7 to V12
#     --only V7,V8     only these
#     --rounds N       default 5
#     --seconds S      of each figure, default 1
#   --bin DIR          where fabric_bench is; default build/release/tests
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"

bin=$root/build/release/tests compare=no seconds=0.5 passed=()

die() {
  echo "fabric.sh: $2" >&2
  exit "$1"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --bin | --only | --rounds | --seconds) [ $# -ge 2 ] || die 2 "$1 needs a value" ;;
  esac
  case "$1" in
    --compare) compare=yes && shift ;;
    --bin) bin=$2 && shift 2 ;;
    --seconds) seconds=$2 && passed+=("$1" "$2") && shift 2 ;;
    --only | --rounds) passed+=("$1" "$2") && shift 2 ;;
    *) die 2 "unknown option '$1'" ;;
  esac
done
[ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"
[ -x "$bin/fabric_bench" ] || die 1 "there is no $bin/fabric_bench: build it, or name its folder with --bin"

topology_begin
ns_active=sn$$-a
ns_passive=sn$$-b
host_namespace "$ns_active" && host_namespace "$ns_passive" && veth_between "$ns_active" fab0 "$ns_passive" fab0 || exit 1
ip -n "$ns_active" addr add 10.99.0.1/24 dev fab0
ip -n "$ns_passive" addr add 10.99.0.2/24 dev fab0

if [ $compare = yes ]; then
  python3 "$bench/fabric/fabric_compare.py" --bin "$bin" --netns "$ns_active,$ns_passive" "${passed[@]}"
  exit
fi
head=()
status=0
for underlay in udp shm; do
  for way in "" --spin; do
    "$bin/fabric_bench" --underlay $underlay ${way:+"$way"} "${head[@]}" --pin --seconds "$seconds" \
      --netns "$ns_active,$ns_passive" --address 10.99.0.2 || status=1
    head=(--no-head)
  done
done
exit $status
