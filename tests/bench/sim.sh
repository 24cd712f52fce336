#!/bin/bash
# Cost of a simulation per cell and link, from 16 to 4,096 nodes: fat trees under all-to-all, each for about the same number of cells.
# Prints also how many cells were lost, and whether there was a deadlock.
# Takes the programs of the release build, needs no privilege, and asserts nothing.
#   tests/bench/sim.sh [BIN_FOLDER]      default build/release/bin
set -eu
bin=${1:-$(dirname "$0")/../../build/release/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for case in "16 fattree:4 12800us" "128 fattree:8 1600us" "1024 fattree:16 200us" "4096 fattree:32:16 50us"; do
  read -r nodes form duration <<<"$case"
  "$bin/splitnic" sim --make "$form" >"$work/fabric.toml"
  for round in 1 2 3; do
    printf '%5d nodes, round %d\n' "$nodes" "$round"
    "$bin/splitnic" sim "$work/fabric.toml" --workload all-to-all --duration "$duration" |
      sed -nE 's/^(cells|deadlock|simulated) /  &/p'
  done
done
