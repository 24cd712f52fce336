#!/usr/bin/env bash
# How soon an I/O unit with many hosts replies on its control socket, while up to 8 of them send with TCP to the LAN and after that
# receive: for `show`, `show --verbose` and `stats`, as text and as JSON, the median, the 99th percentile and the longest time, from the
# connection to the last byte, against the goal of 50 ms. The time of a command's own start is not in it (hosts.sh measures that
# too), and report_bench measures the data thread's steps. Asserts nothing. Root.
#   tests/bench/show.sh [--hosts N] [--seconds S] [--bin DIR]
#     --hosts N      default 64
#     --seconds S    of load for each kind of reply and direction, default 3
#     --bin DIR      the programs; default build/release/bin
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=many_hosts.sh
. "$bench/many_hosts.sh"

take_options "--hosts --seconds --bin" "" "$@"
take_folders show
hosts=${given[--hosts]:-64} seconds=${given[--seconds]:-3}
is_whole "$hosts" "$seconds" || die 2 "--hosts and --seconds are whole numbers from 1 on"
[ "$hosts" -le 250 ] || die 2 "--hosts is at most 250"
need_splitnic
begin
make_unit_side || exit 1
for i in $(seq "$hosts"); do make_host_side "$i" || exit 1; done
current=$hosts
status=0
options=()
for i in $(seq $((hosts < 8 ? hosts : 8))); do options+=(--host "sn$$-h$i"); done
start_all "$hosts" && measured "$python" "$bench/show_measure.py" "${options[@]}" --lan "$ns_lan" --control "$work/iou.sock" \
  --hosts "$hosts" --seconds "$seconds" || { last_lines 1 iou; status=1; }
take_down "$hosts"
current=''
exit $status
