#!/usr/bin/env bash
# Cost of a simulation per cell and link, from 16 to 4,096 nodes: fat trees under all-to-all, each for about the same number of cells.
# Prints also how many cells were lost, and whether there was a deadlock. Needs no privilege, and asserts nothing.
#   tests/bench/sim.sh [--nodes A,B] [--rounds N] [--bin DIR]
#     --nodes A,B    of 16, 128, 1024 and 4096; default: all
#     --rounds N     default 3
#     --bin DIR      the programs; default build/release/bin
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"

# Form of the fabric and duration, by the number of nodes.
declare -A cases=([16]="fattree:4 12800us" [128]="fattree:8 1600us" [1024]="fattree:16 200us" [4096]="fattree:32:16 50us")

run_case() { # NODES ROUND
  local form duration result
  read -r form duration <<<"${cases[$1]}"
  printf '%5d nodes, round %d\n' "$1" "$2"
  "$bin/splitnic" sim --make "$form" >"$work/fabric.toml" || return 1
  measured "$bin/splitnic" sim "$work/fabric.toml" --workload all-to-all --duration "$duration" >"$work/report"
  result=$?  # 1 after a deadlock, which is in the report
  sed -nE 's/^(cells|deadlock|simulated) /  &/p' "$work/report"
  return $result
}

take_options "--nodes --rounds --bin" "" "$@"
take_folders sim
rounds=${given[--rounds]:-3} numbers=${given[--nodes]:-16,128,1024,4096}
is_whole "$rounds" || die 2 "--rounds is a whole number from 1 on"
for nodes in ${numbers//,/ }; do
  [ -n "${cases[$nodes]:-}" ] || die 2 "--nodes: 16, 128, 1024 and 4096, not '$nodes'"
done
[ -x "$bin/splitnic" ] || die 1 "there is no $bin/splitnic: build it, or name its folder with --bin"
begin
status=0
for nodes in ${numbers//,/ }; do
  for round in $(seq "$rounds"); do run_case "$nodes" "$round" || status=1; done
done
exit $status
