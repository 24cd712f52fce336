#!/usr/bin/env bash
# The whole end-to-end suite once with each switch of speed, or with each SET alone: speed never changes what arrives.
#   with_options.sh [--build FOLDER] [--only REGEX] [SET...]
#     --only    those checks, as of ctest -R: a switch of the fabric is the same for every LAN port, so over_packet
#               says most of it in half of the time
#     SET       options of both programs; "--queues N" and "--no-uso" go to the host alone
# Prints a line for each, and what a check that failed had to say; exit status 1 then, or if one was skipped. About
# 9 minutes a set, 5 with --only over_packet. Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
build=build/release only=.
while [[ ${1:-} =~ ^--(build|only)$ ]] && [ $# -gt 1 ]; do
  printf -v "${1#--}" %s "$2"
  shift 2
done
sets=("$@")
[ ${#sets[@]} -gt 0 ] || sets=("--queues 1" "--queues 2" --busy-poll --no-uso --no-gso "--cell 256")
status=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for options in "${sets[@]}"; do
  # Only the host chooses the number of queues and what nic0 can do.
  unit=$options
  case $options in --queues* | --no-uso) unit= ;; esac
  SPLITNIC_HOST_OPTIONS=$options SPLITNIC_IOU_OPTIONS=$unit \
    ctest --test-dir "$build" -L '^e2e$' -R "$only" --no-tests=error --output-on-failure >"$scratch/log" || status=1
  grep -q 'Skipped' "$scratch/log" && status=1
  echo "$options: $(sed -nE 's/^(.*tests passed.*out of.*)$/\1/p; s/^Total Test time \(real\) = *(.*)/\1/p' "$scratch/log" | paste -sd,)"
  grep -A12 'FAILED' "$scratch/log"
done
exit $status
