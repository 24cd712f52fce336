#!/usr/bin/env bash
# What the live page (docs/page.md) costs when it is open at both programs, with /metrics scraped every second: throughput of
# TCP from the host to the LAN, and processor time of the I/O unit's and the host's data thread per GB, closed and open in
# turn. Then the data thread's time for one snapshot, while nothing else happens. Prints medians and asserts nothing. Root.
#   tests/bench/page_cost.sh [--seconds S] [--rounds N] [--bin DIR]
#     --seconds S    of each run, default 5
#     --rounds N     default 5
#     --bin DIR      the programs; default build/release/bin
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

take_options "--seconds --rounds --bin" "" "$@"
seconds=${given[--seconds]:-5} rounds=${given[--rounds]:-5} bin=${given[--bin]:-$root/build/release/bin}
is_whole "$seconds" "$rounds" || die 2 "--seconds and --rounds are whole numbers from 1 on"
need_root
need_programs iperf3 ip ping "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou"
begin
topology_three && iou_common=(--insecure-lab --queues 1 --metrics 127.0.0.1:9477) &&
  host_common=(--insecure-lab --queues 1 --metrics 127.0.0.1:9477) && up_splitnic packet udp://10.99.0.2:7471 ||
  die 1 "the programs did not come up"
nic0_replies "$ns_host" 10.77.0.1/24 || die 1 "no reply to a ping"
"$python" "$bench/page_cost.py" "$ns_host" "$ns_iou" "$ns_lan" "${pid_of[host]}" "${pid_of[iou]}" "$seconds" "$rounds"
