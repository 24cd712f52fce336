#!/usr/bin/env bash
# Many hosts on one I/O unit: throughput, fairness and memory against their number (goal V14). Asserts nothing. Root.
#   tests/bench/hosts.sh [OPTIONS]
#     --hosts A,B        numbers of hosts, default 1,2,4,8,16,32,64; up to 8 of them are busy
#     --max-hosts N      leaves out what is beyond, default 64
#     --rounds N         default 5; all numbers in turn, round by round
#     --seconds S        length of a TCP run, default 3
#     --quick            1 round, runs of 1 s
#     --out DIR          where results and report are kept, in place of an earlier run's; default build/bench-hosts
#     --resume           continues an interrupted run into DIR, with its settings; with --rounds N for more rounds, with
#                        --hosts A,B or --max-hosts N for other numbers
#     --publish          writes the report into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# Each host is a process in a separate namespace; all are joined to the unit by a bridge. With a number of hosts come:
# TCP to the LAN and to the host over all busy hosts at once; the same with 8 streams of one of them and 1 of each
# other ("heavy"), and that into a LAN of 1 Gbit/s ("narrow"); memory of the unit, idle and after the traffic.
# Other parts: hosts_measure.py (results), hosts_report.py (tables), line_plot.py.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=many_hosts.sh
. "$bench/many_hosts.sh"

take_settings() {
  local few=${given[--quick]:+1} kept_numbers=1,2,4,8,16,32,64 kept_most=64 kept_rounds=5 kept_seconds=3 number
  if resumes; then
    [ -z "${given[--seconds]:-}$few" ] || die 2 "--resume takes --seconds from $out"
    kept_numbers=$(setting hosts) kept_most=$(setting max_hosts) kept_rounds=$(setting rounds) kept_seconds=$(setting seconds)
  fi
  rounds=${given[--rounds]:-${few:-$kept_rounds}} seconds=${given[--seconds]:-${few:-$kept_seconds}}
  numbers=${given[--hosts]:-$kept_numbers} most=${given[--max-hosts]:-$kept_most}
  for number in "$rounds" "$seconds" "$most" ${numbers//,/ }; do
    is_whole "$number" || die 2 "'$number' is no whole number from 1 on"
  done
  [ "$most" -le 250 ] || die 2 "--max-hosts is at most 250"
}

measure() { # N FILE
  local i busy=$(($1 < 8 ? $1 : 8)) options=()
  start_all "$1" || return 1
  for i in $(seq "$busy"); do options+=(--host "sn$$-h$i"); done
  measured "$python" "$bench/hosts_measure.py" "${options[@]}" --lan "$ns_lan" --iou "$ns_iou" --pid "${pid_of[iou]}" \
    --hosts "$1" --splitnic "$bin/splitnic" --control "$work/iou.sock" --seconds "$seconds" >"$2"
}

take_options "--hosts --max-hosts --rounds --seconds --out --bin" "--quick --resume --publish" "$@"
take_folders bench-hosts
take_settings
need_splitnic tc
keep_settings "peers $(versions_of iperf3)" "rounds $rounds" "seconds $seconds" "hosts $numbers" "max_hosts $most"
begin
make_unit_side || exit 1
for i in $(seq "$most"); do make_host_side "$i" || exit 1; done
wanted=()
for number in ${numbers//,/ }; do [ "$number" -gt "$most" ] || wanted+=("$number"); done
status=0 noun=' hosts' log_files=iou
run_rounds "$out/rounds" results "$rounds" "${wanted[@]}" || status=1
make_page hosts_report.py || status=1
exit $status
