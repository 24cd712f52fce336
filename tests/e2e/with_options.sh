#!/usr/bin/env bash
# The whole end-to-end suite once with each switch of speed, or with each SET alone: speed never changes what arrives.
#   with_options.sh [--build FOLDER] [SET...]     SET: options of both programs, "--queues N" and "--no-uso" of the host
# Prints a line for each; exit status 1 if a check failed or was skipped. About 5 minutes a set. Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
build=build/release
[ "${1:-}" = --build ] && build=$2 && shift 2
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
    ctest --test-dir "$build" -L '^e2e$' --no-tests=error >"$scratch/log" || status=1
  grep -q 'Skipped' "$scratch/log" && status=1
  echo "$options: $(sed -nE 's/^(.*tests passed.*out of.*)$/\1/p; s/^Total Test time \(real\) = *(.*)/\1/p' "$scratch/log" | paste -sd,)"
  sed -nE '/tests FAILED|did not run/,$p' "$scratch/log"
done
exit $status
