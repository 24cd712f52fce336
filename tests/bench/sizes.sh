#!/usr/bin/env bash
# Throughput and cost against the length of frames: splitnic over UDP and over shared memory, and kernel VXLAN, in turn.
# UDP frames of 64 bytes to a whole one, and TCP with super-frames (gso_max_size of nic0) of 2 to 64 KiB; and what a
# frame costs the two programs as the load grows (goal V15). Asserts nothing. Root.
#   tests/bench/sizes.sh [OPTIONS]
#     --carriers A,B     of: splitnic-packet splitnic-shm vxlan (default: all)
#     --rounds N         default 5; all lengths and carriers in turn, round by round
#     --seconds S        of each metric, default 1
#     --quick            1 round of the smallest and the greatest length, and of the smallest load for 1 s
#     --out DIR          where the results and the page are kept; default build/bench-sizes
#     --publish          writes the page and its plot into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# sizes.py measures one carrier and makes the page.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

measure() { # CARRIER FILE
  local pids=()
  carrier_up "$1" && nic0_replies "$ns_host" 10.77.0.1/24 || return 1
  take_pids
  measured "$python" "$bench/sizes.py" measure "$ns_host" "$ns_lan" "$seconds" "${few:+few}" "${pids[@]}" >"$2"
}

take_options "--carriers --rounds --seconds --out --bin" "--quick --publish" "$@"
take_folders bench-sizes
few=${given[--quick]:+1}
rounds=${given[--rounds]:-${few:-5}} seconds=${given[--seconds]:-1}
IFS=, read -ra carriers <<<"${given[--carriers]:-splitnic-packet,splitnic-shm,vxlan}"
for one in "${carriers[@]}"; do
  [[ $one =~ ^(splitnic-packet|splitnic-shm|vxlan)$ ]] || die 2 "--carriers: splitnic-packet, splitnic-shm and vxlan, not '$one'"
done
is_whole "$rounds" "$seconds" || die 2 "--rounds and --seconds are whole numbers from 1 on"
need_splitnic
mkdir -p "$out" && rm -f "$out"/*.sizes{,.new} || exit 1
keep_settings "seconds $seconds"
begin
topology_three || exit 1
export SPLITNIC_SHM_DIR=$work
wide_sockets "$ns_host" "$ns_iou"
forget_tcp "$ns_host" "$ns_lan"
status=0
run_rounds "$out" sizes "$rounds" "${carriers[@]}" || status=1
make_page sizes.py report || status=1
exit $status
