#!/usr/bin/env bash
# Cost and capacity of splitnic-switch and of paths over several of them, against goals. Asserts nothing. Root.
#   tests/bench/switches.sh [OPTIONS]
#     --only A,B         of the parts: hop (TCP and round trips through nic0, direct and with one switch between), trip (round
#                        trips of a cell between two ports of a process that spins, the same way), forward (cells and frames
#                        of 64 bytes by a switch, the kernel's bridge and Open vSwitch), paths (TCP over two spines of limited
#                        rate), failover (time without traffic when a switch is killed); default: all
#     --variants A,B     only these of the parts' variants (take_variants lists them)
#     --rounds N         default 5; all variants in turn, round by round
#     --seconds S        length of a TCP run and of a run with cells or frames, default 3
#     --quick            1 round, runs of 1 s
#     --out DIR          where the results and the page are kept; default build/bench-switches
#     --resume           continues an interrupted run into DIR, with its settings; with --rounds N for more rounds
#     --publish          writes the page into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# Without the package openvswitch-switch the script reports that and leaves that variant out. It uses no Open vSwitch of the
# system, but its own processes with their own database. Exit status 1 if results are missing in the end.
# Other parts: switches_variants.sh, switches_measure.py and compare_measure.py (results), switches_report.py (page),
# tests/bench/fabric/forward_bench.cc and cell_trip_bench.cc.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=switches_variants.sh
. "$bench/switches_variants.sh"

take_settings() {
  local few=${given[--quick]:+1} kept_rounds=5 kept_seconds=3 kept_parts=hop,trip,forward,paths,failover kept_chosen='' part
  if resumes; then
    [ -z "${given[--seconds]:-}${given[--only]:-}${given[--variants]:-}$few" ] || die 2 "--resume takes all settings but --rounds from $out"
    [ "$(setting switch)" = "$(switch_digest)" ] || die 1 "splitnic-switch is not the one that the run in $out began with"
    kept_rounds=$(setting rounds) kept_seconds=$(setting seconds) kept_parts=$(setting parts) kept_chosen=$(setting variants)
  fi
  rounds=${given[--rounds]:-${few:-$kept_rounds}} seconds=${given[--seconds]:-${few:-$kept_seconds}}
  is_whole "$rounds" "$seconds" || die 2 "--rounds and --seconds are whole numbers from 1 on"
  IFS=, read -ra parts <<<"${given[--only]:-$kept_parts}"
  variants=()
  for part in "${parts[@]}"; do
    [[ $part =~ ^(hop|trip|forward|paths|failover)$ ]] || die 2 "--only: the parts are hop, trip, forward, paths and failover, not '$part'"
    take_variants "$part"
  done
  chosen=${given[--variants]:-$kept_chosen}
  [ -z "$chosen" ] || choose_variants
}

choose_variants() {
  local one
  for one in ${chosen//,/ }; do
    [[ " ${variants[*]} " == *" $one "* ]] || die 2 "--variants: '$one' is none of: ${variants[*]}"
  done
  read -ra variants <<<"${chosen//,/ }"
}

switch_digest() { sha256sum <"$bin/splitnic-switch" 2>/dev/null | cut -c1-16; }

take_variants() { # PART
  case "$1" in
    hop) variants+=(direct hop direct-full hop-full direct-busy hop-busy direct-full-busy hop-full-busy direct-keyed hop-keyed) ;;
    trip) variants+=(trip-direct trip trip-direct-full trip-full) ;;
    forward) variants+=(wire bridge bridge-2 ovs cells cells-alone cells-full) ;;
    paths) variants+=(one-path two-paths) ;;
    failover) variants+=(all-paths pair) ;;
  esac
}

# Leaves in $skipped what is not installed.
leave_out_what_is_missing() {
  local one wanted=()
  skipped=''
  for one in "${variants[@]}"; do
    if [ "$one" = ovs ] && ! has_ovs; then
      skipped='Open vSwitch'
      echo "${0##*/}: no Open vSwitch (package openvswitch-switch): that variant is skipped" >&2
    else
      wanted+=("$one")
    fi
  done
  variants=("${wanted[@]}")
}

measure() { # VARIANT FILE
  case "$1" in
    direct* | hop*) measure_hop "$@" ;;
    trip*) measure_trip "$@" ;;
    one-path | two-paths) measure_paths "$@" ;;
    all-paths | pair) measure_failover "$@" ;;
    *) measure_forward "$@" ;;
  esac
}

take_options "--only --variants --rounds --seconds --out --bin" "--quick --resume --publish" "$@"
take_folders bench-switches
take_settings
needs=(ss tc "$bin/splitnic-switch")
[[ " ${parts[*]} " != *" forward "* ]] || needs+=("$bin/../tests/forward_bench")
[[ " ${parts[*]} " != *" trip "* ]] || needs+=("$bin/../tests/cell_trip_bench")
need_splitnic "${needs[@]}"
leave_out_what_is_missing
joined_parts=$(IFS=, && echo "${parts[*]}")
keep_settings "peers $(versions_of iperf3 ovs-vswitchd)" "rounds $rounds" "seconds $seconds" "parts $joined_parts" \
  "variants $chosen" "rate $path_mbit Mbit/s" "skipped $skipped" "switch $(switch_digest)"
begin
make_networks && write_topologies || exit 1
status=0
run_rounds "$out/rounds" results "$rounds" "${variants[@]}" || status=1
make_page switches_report.py || status=1
exit $status
