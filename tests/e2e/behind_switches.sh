#!/usr/bin/env bash
# The end-to-end checks once more with fabric switches between the hosts and the unit (switched.sh), keyed on each hop.
#   behind_switches.sh [--build FOLDER] [--only REGEX] [COUNT...]
#     COUNT     1 or 2 switches (default: both, one after the other)
#     --only    those checks, as of ctest -R
# Prints a line for each check: passed, FAILED, or "does not apply" with the reason, from not_behind_switches.txt. Exit status 1
# if one failed. About 10 minutes each, 6 with --only over_packet. Needs root.
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/suite_options.sh"
counts=("${words[@]}")
[ ${#counts[@]} -gt 0 ] || counts=(1 2)
reasons=$here/not_behind_switches.txt
status=0
for count in "${counts[@]}"; do
  log=$(mktemp)
  left_out=$(sed -nE "s/^(both|$count) +([^ ]+) .*/\2/p" "$reasons" | paste -sd'|')
  failed=0
  SPLITNIC_SWITCHES=$count run_checks "$log" -E "$left_out" || failed=1
  sed -nE "s/^.*Test +#[0-9]+: ([^ ]+) \.+ *Passed.*/$count  passed  \1/p; s/^.*Test +#[0-9]+: ([^ ]+) \.+\**(Failed|Timeout|Skipped).*/$count  FAILED  \1/p" \
    "$log"
  sed -nE "s/^(both|$count) +([^ ]+) +(.*)/$count  does not apply  \2: \3/p" "$reasons"
  grep -qE "FAILED|Skipped" "$log" && failed=1
  [ $failed = 0 ] || status=1
  keep_or_remove "$log" $failed
done
exit $status
