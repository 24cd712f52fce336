#!/usr/bin/env bash
# Measures the fabric alone, without frames: between two network namespaces with a veth (UDP), and by shared
# memory. Asserts nothing. Root. Programs of the release build: cmake --build --preset release
#   tests/bench/fabric.sh              rows of write, send and read by size: ours over UDP and shm, sleeping and spinning,
#                                      then libfabric's tcp, udp;ofi_rxd and shm. --seconds S of each metric, default 0.5
#   tests/bench/fabric.sh --compare    with libfabric's tcp, udp;ofi_rxd and shm, plain datagrams, and itself with loss
#                                      and with go-back-N, in turn, round by round: the ratios of goals V7 to V12; then
#                                      one round of write, send and read by size, with libfabric, as tables
#     --only V7,sizes  only these; sizes: the tables
#     --rounds N       of the goals, default 5
#     --seconds S      of each metric of a goal, default 1; in the tables 0.3 of that
#     --out DIR        where the page is kept; default build/bench-fabric
#     --publish        writes the page into docs/performance as well
#                    a round that fails is named, the others stay; exit status 1 if a goal has no metric
#   --bin DIR          where fabric_bench is; default build/release/tests
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"

take_options "--bin --only --rounds --seconds --out" "--compare --publish" "$@"
bin=${given[--bin]:-$root/build/release/tests} out=${given[--out]:-$root/build/bench-fabric}
[ -n "${given[--compare]:-}" ] || [ -z "${given[--publish]:-}${given[--out]:-}" ] || die 2 "--out and --publish go with --compare"
need_root
[ -x "$bin/fabric_bench" ] || die 1 "there is no $bin/fabric_bench: build it, or name its folder with --bin"

begin
ns_active=sn$$-a
ns_passive=sn$$-b
host_namespace "$ns_active" && host_namespace "$ns_passive" && veth_between "$ns_active" fab0 "$ns_passive" fab0 || exit 1
ip -n "$ns_active" addr add 10.99.0.1/24 dev fab0
ip -n "$ns_passive" addr add 10.99.0.2/24 dev fab0

if [ -n "${given[--compare]:-}" ]; then
  passed=()
  for option in --only --rounds --seconds; do
    [ -z "${given[$option]:-}" ] || passed+=("$option" "${given[$option]}")
  done
  take_pages
  for page in "${pages[@]}"; do passed+=(--page "$page"); done
  "$python" "$bench/fabric/fabric_compare.py" --bin "$bin" --netns "$ns_active,$ns_passive" "${passed[@]}"
  exit
fi
head=()
status=0
for underlay in udp shm; do
  for way in "" --spin; do
    "$bin/fabric_bench" --underlay $underlay ${way:+"$way"} "${head[@]}" --pin --seconds "${given[--seconds]:-0.5}" \
      --netns "$ns_active,$ns_passive" --address 10.99.0.2 || status=1
    head=(--no-head)
  done
done
if [ ! -x "$bin/libfabric_bench" ]; then
  echo "${0##*/}: no libfabric: scripts/install-deps.sh installs it; build again after that" >&2
  exit 1
fi
for provider in tcp 'udp;ofi_rxd' shm; do
  "$bin/libfabric_bench" --provider "$provider" --no-head --pin --seconds "${given[--seconds]:-0.5}" \
    --netns "$ns_active,$ns_passive" --addresses 10.99.0.1,10.99.0.2 || status=1
done
exit $status
