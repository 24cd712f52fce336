#!/usr/bin/env bash
# Throughput and cost against the length of frames: splitnic over UDP and over shared memory, and kernel VXLAN, in turn.
# UDP frames of 64 bytes to a whole one, and TCP with super-frames (gso_max_size of nic0) of 2 to 64 KiB; and what a
# frame costs the two programs as the load grows (goal V15). Asserts nothing. Root.
#   tests/bench/sizes.sh [--rounds N] [--seconds S] [--out DIR] [--publish] [--bin DIR]
#     --rounds N     default 5; all lengths and carriers in turn, round by round
#     --seconds S    of each metric, default 1
#     --out DIR      where the results and the page are kept; default build/bench-sizes
#     --publish      writes the page and its plot into docs/performance as well
#     --bin DIR      the programs; default build/release/bin
# sizes.py measures one carrier and makes the page.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

measure() { # CARRIER FILE
  local name pids=()
  carrier_up "$1" && nic0_replies "$ns_host" 10.77.0.1/24 || return 1
  for name in "${carrier_programs[@]}"; do running "$name" && pids+=("${pid_of[$name]}"); done
  measured "$python" "$bench/sizes.py" measure "$ns_host" "$ns_lan" "$seconds" "${pids[@]}" >"$2"
}

take_options "--rounds --seconds --out --bin" "--publish" "$@"
rounds=${given[--rounds]:-5} seconds=${given[--seconds]:-1}
out=${given[--out]:-$root/build/bench-sizes} bin=${given[--bin]:-$root/build/release/bin}
is_whole "$rounds" "$seconds" || die 2 "--rounds and --seconds are whole numbers from 1 on"
need_root
need_programs ip ping iperf3 "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou"
mkdir -p "$out" && rm -f "$out"/*.sizes{,.new} || exit 1
keep_settings "seconds $seconds"
begin
topology_three || exit 1
export SPLITNIC_SHM_DIR=$work
status=0
run_rounds "$out" sizes "$rounds" splitnic-packet splitnic-shm vxlan || status=1
take_pages
"$python" "$bench/sizes.py" report "$out" "${pages[@]}" || status=1
exit $status
