#!/usr/bin/env bash
# Compares splitnic with other tunnels, in one topology and one run, in turn (A B A B). Asserts nothing. Root.
#   tests/bench/compare.sh [OPTIONS]
#     --carriers A,B     of: splitnic-packet splitnic-auto (packet: without payload CRC) splitnic-keyed splitnic-keyed-openssl
#                        (without libipsec-mb) splitnic-keyed-flood
#                        (under 100000 bad datagrams per second) splitnic-keyed-aside (these to a closed port) splitnic-pcap splitnic-keyed-pcap splitnic-shm
#                        splitnic-busy (packet: and --busy-poll) splitnic-awake (packet: and --keep-awake 1000, which needs
#                        /dev/cpu_dma_latency) direct vxlan openvpn openvpn-9000 openvpn-gcm wireguard socat veth (default: all)
#     --only V1,V4       the carriers and results that these goals need (compare_goals.py)
#     --rounds N         default 5
#     --seconds S        length of a TCP or UDP run, default 3
#     --quick            1 round, runs of 1 s: all carriers within 4 minutes
#     --out DIR          where results and report are kept, in place of an earlier run's; default build/bench
#     --resume           continues an interrupted run into DIR, with its settings; with --rounds N for more rounds
#     --publish          writes the report into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# A carrier's results of one round are kept whole or not at all. Exit status 1 if some are missing in the end.
# Other parts: compare_carriers.sh, compare_measure.py (results), compare_report.py (tables), compare_plot.py.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

take_only() { # GOALS
  local needs
  needs=$("$python" "$bench/compare_goals.py" "$1") || exit 2
  read -ra carriers <<<"$(sed -n 1p <<<"$needs")"
  read -ra results <<<"$(sed -n 2p <<<"$needs")"
}

take_settings() {
  local one few=${given[--quick]:+1}
  carriers=("${all_carriers[@]}") results=(tcp1 tcp4 cubic1 cubic4 udp64 udp1400 ping rtt memory)
  if resumes; then
    [ -z "${given[--carriers]:-}${given[--only]:-}${given[--seconds]:-}$few" ] ||
      die 2 "--resume takes all settings but --rounds from $out"
    rounds=${given[--rounds]:-$(setting rounds)} seconds=$(setting seconds)
    read -ra carriers <<<"$(setting carriers)"
    read -ra results <<<"$(setting results)"
  else
    rounds=${given[--rounds]:-${few:-5}} seconds=${given[--seconds]:-${few:-3}}
    [ -z "${given[--only]:-}" ] || take_only "${given[--only]}"
    [ -z "${given[--carriers]:-}" ] || IFS=, read -ra carriers <<<"${given[--carriers]}"
  fi
  is_whole "$rounds" "$seconds" || die 2 "--rounds and --seconds are whole numbers from 1 on"
  for one in "${carriers[@]}"; do carrier_known "$one" || die 2 "unknown carrier '$one'"; done
}

check_needs() {
  local tools=(ip ss ping iperf3 "$python") carrier tool
  need_root
  for carrier in "${carriers[@]}"; do
    for tool in $(carrier_tools "$carrier"); do tools+=("$tool"); done
  done
  need_programs "${tools[@]}"
}

measure() { # CARRIER FILE
  local pids=() sockets=()
  carrier_up "$1" || { echo "$1 does not come up" >&2 && return 1; }
  nic0_replies "$ns_host" 10.77.0.1/24 || { echo "$1: no reply to a ping" >&2 && return 1; }
  take_pids --pid
  [[ $1 != splitnic-* ]] || sockets=(--stats "$bin/splitnic" --host-control "$work/host.sock" --iou-control "$work/iou.sock")
  compare_results "${pids[@]}" "${sockets[@]}" "${results[@]}" >"$2"
}

take_options "--carriers --only --rounds --seconds --out --bin" "--quick --resume --publish" "$@"
take_folders bench
take_settings
check_needs
keep_settings "peers $(versions_of iperf3 openvpn wireguard-go socat)" "rounds $rounds" "seconds $seconds" \
  "carriers ${carriers[*]}" "results ${results[*]}"
begin
topology_three || exit 1
export SPLITNIC_SHM_DIR=$work
wide_sockets "$ns_host" "$ns_iou"
forget_tcp "$ns_host" "$ns_lan"
status=0
run_rounds "$out/rounds" results "$rounds" "${carriers[@]}" || status=1
make_page compare_report.py || status=1
exit $status
