#!/usr/bin/env bash
# Scaling: what the number of queues, each with a data thread, brings. Compared with kernel VXLAN. Asserts nothing. Root.
#   tests/bench/queues.sh [OPTIONS]
#     --queues A,B       numbers of queues; default 1, 2, 4 and 8 up to the number of processors
#     --rounds N         default 5; all numbers in turn, round by round
#     --seconds S        length of a TCP run, default 3
#     --out DIR          where the results and the page are kept; default build/bench-queues
#     --publish          writes the page into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# queues_report.py makes the page.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

default_queues() {
  local number found=1
  for number in 2 4 8; do [ "$number" -gt "$(nproc)" ] || found+=,$number; done
  echo "$found"
}

variant_up() { # NUMBER|vxlan
  if [ "$1" = vxlan ]; then
    carrier_up vxlan
  else
    up_plain packet udp://10.99.0.2:7471 --payload-crc on --queues "$1"
  fi
}

measure() { # NUMBER|vxlan FILE
  local pids=()
  variant_up "$1" && nic0_replies "$ns_host" 10.77.0.1/24 || return 1
  take_pids --pid
  compare_results "${pids[@]}" tcp1 tcp4 ping rtt memory >"$2"
}

take_options "--queues --rounds --seconds --out --bin" "--publish" "$@"
rounds=${given[--rounds]:-5} seconds=${given[--seconds]:-3} numbers=${given[--queues]:-$(default_queues)}
take_folders bench-queues
# shellcheck disable=SC2086 # a list
is_whole "$rounds" "$seconds" ${numbers//,/ } || die 2 "--queues, --rounds and --seconds are whole numbers from 1 on"
need_splitnic ss
keep_settings "peers $(versions_of iperf3)" "seconds $seconds"
begin
topology_three || exit 1
wide_sockets "$ns_host" "$ns_iou"
forget_tcp "$ns_host" "$ns_lan"
status=0
# shellcheck disable=SC2086 # a list
run_rounds "$out/rounds" results "$rounds" ${numbers//,/ } vxlan || status=1
make_page queues_report.py || status=1
exit $status
