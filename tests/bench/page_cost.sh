#!/usr/bin/env bash
# The cost of being watched: /metrics scraped every second, the live page (docs/page.md) open, `splitnic monitor`, and all three, each
# at both programs and each in turn with nothing of it. Prints throughput of TCP from the host to the LAN, processor time of the
# data threads per GB, and the median round trip: by how much each differs from the run before it, as the median over the rounds
# with its range of 95 % confidence, and whether that is within the goal of 2 % of throughput and round trip with all three. On a machine with other work the processor time per GB is the one to look at. Then the
# data threads' time for one snapshot and for all three, while nothing else happens, which is exact there too. Asserts nothing. Root.
#   tests/bench/page_cost.sh [--seconds S] [--rounds N] [--quick] [--bin DIR]
#     --seconds S    of each run, default 5
#     --rounds N     default 6: the fewest with that confidence
#     --quick        all three only, 1 round, runs of 1 s
#     --bin DIR      the programs; default build/release/bin
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

take_options "--seconds --rounds --bin" "--quick" "$@"
take_folders page-cost
few=${given[--quick]:+1}
seconds=${given[--seconds]:-${few:-5}} rounds=${given[--rounds]:-${few:-6}}
is_whole "$seconds" "$rounds" || die 2 "--seconds and --rounds are whole numbers from 1 on"
need_splitnic
begin
topology_three && up_plain packet udp://10.99.0.2:7471 --queues 1 --metrics 127.0.0.1:9477 || die 1 "the programs did not come up"
nic0_replies "$ns_host" 10.77.0.1/24 || die 1 "no reply to a ping"
measured "$python" "$bench/page_cost.py" "$ns_host" "$ns_iou" "$ns_lan" "${pid_of[host]}" "${pid_of[iou]}" "$bin/splitnic" "$work" \
  "$seconds" "$rounds" ${few:+"all three"}
