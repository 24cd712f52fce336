#!/usr/bin/env bash
# The end-to-end checks once with each switch of speed and once without keys, or with each SWITCH alone: none of them changes
# what arrives.
#   with_options.sh [--build FOLDER] [--only REGEX] [SWITCH...]
#     --only    those checks, as of ctest -R: a switch of the fabric is the same for every LAN port, so over_packet
#               shows most of it in half of the time
#     SWITCH    one option of both programs; "--no-uso" goes to the host alone. A check that gives that
#               option itself keeps its own. "--insecure-lab" takes the place of the keys, in all checks but those
#               that are about keys.
# Prints a line for each; exit status 1 if a check failed or was skipped, and names the file with the reason. About 9
# minutes a switch, 5 with --only over_packet. Needs root.
. "$(dirname "${BASH_SOURCE[0]}")/suite_options.sh"
switches=("${words[@]}")
[ ${#switches[@]} -gt 0 ] || switches=("--queues 1" "--queues 2" "--queues 4" --busy-poll --no-uso --no-gso --no-header-prediction "--payload-crc on" "--cell 256" --insecure-lab)
status=0
for switch in "${switches[@]}"; do
  # Only the host chooses what nic0 can do.
  unit=$switch
  case $switch in --no-uso) unit= ;; esac
  log=$(mktemp)
  failed=0
  SPLITNIC_HOST_OPTIONS=$switch SPLITNIC_IOU_OPTIONS=$unit run_checks "$log" || failed=1
  grep -q 'Skipped' "$log" && failed=1
  echo "$switch: $(sed -nE 's/^(.*tests passed.*out of.*)$/\1/p; s/^Total Test time \(real\) = *(.*)/\1/p' "$log" | paste -sd,)"
  if [ $failed = 1 ]; then
    status=1
    sed -n '/tests FAILED/,$p' "$log"
  fi
  keep_or_remove "$log" $failed
done
exit $status
