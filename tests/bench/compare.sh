#!/usr/bin/env bash
# splitnic beside other carriers of frames, in one topology and one run, in turn (A B A B). Asserts nothing. Root.
#   tests/bench/compare.sh [OPTIONS]
#     --carriers A,B     of: splitnic-packet splitnic-pcap splitnic-shm splitnic-busy (packet: and --busy-poll) direct vxlan
#                        openvpn openvpn-9000 socat veth (default: all of these)
#     --only V1,V4       the carriers and figures that these goals need (compare_goals.py)
#     --rounds N         default 5
#     --seconds S        length of a TCP or UDP run, default 3
#     --quick            1 round, runs of 1 s: all carriers within 2 minutes
#     --out DIR          where figures and report are kept, in place of an earlier run's; default build/bench
#     --resume           goes on where a run into DIR broke off, with its settings; with --rounds N for more rounds
#     --publish          writes the report into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# A carrier's figures of one round are kept whole or not at all. Exit status 1 if some are missing in the end.
# Other parts: compare_carriers.sh, compare_measure.py (figures), compare_report.py (tables), compare_plot.py.
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

rounds='' seconds='' out=$root/build/bench bin=$root/build/release/bin resume=no publish=no
carriers=() figures=(tcp1 tcp4 udp64 udp1400 ping rtt memory)
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

die() {
  echo "compare.sh: $2" >&2
  exit "$1"
}

take_only() { # GOALS
  local needs
  needs=$("$python" "$bench/compare_goals.py" "$1") || exit 2
  read -ra carriers <<<"$(sed -n 1p <<<"$needs")"
  read -ra figures <<<"$(sed -n 2p <<<"$needs")"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --carriers | --only | --rounds | --seconds | --out | --bin) [ $# -ge 2 ] || die 2 "$1 needs a value" ;;
  esac
  case "$1" in
    --carriers) IFS=, read -ra carriers <<<"$2" && shift 2 ;;
    --only) take_only "$2" && shift 2 ;;
    --rounds) rounds=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    --quick) rounds=${rounds:-1} seconds=${seconds:-1} && shift ;;
    --out) out=$2 && shift 2 ;;
    --resume) resume=yes && shift ;;
    --publish) publish=yes && shift ;;
    --bin) bin=$2 && shift 2 ;;
    *) die 2 "unknown option '$1'" ;;
  esac
done

setting() { sed -n "s/^$1 //p" "$out/settings"; }

programs_digest() { cat "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" 2>/dev/null | sha256sum | cut -c1-16; }

take_settings() {
  if [ $resume = yes ]; then
    [ -f "$out/settings" ] || die 2 "nothing to resume in $out"
    [ "${#carriers[@]}$seconds" = 0 ] || die 2 "--resume takes all settings but --rounds from $out"
    [ "$(setting programs)" = "$(programs_digest)" ] || die 1 "the programs are not those that the run in $out began with"
    rounds=${rounds:-$(setting rounds)} seconds=$(setting seconds)
    read -ra carriers <<<"$(setting carriers)"
    read -ra figures <<<"$(setting figures)"
  fi
  rounds=${rounds:-5} seconds=${seconds:-3}
  [ ${#carriers[@]} -gt 0 ] || carriers=("${all_carriers[@]}")
  [[ $rounds =~ ^[1-9][0-9]*$ && $seconds =~ ^[1-9][0-9]*$ ]] || die 2 "--rounds and --seconds are whole numbers from 1 on"
  local one
  for one in "${carriers[@]}"; do carrier_known "$one" || die 2 "unknown carrier '$one'"; done
}

check_needs() {
  [ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"
  local tools=(ip ss ping iperf3 "$python") carrier tool absent=()
  for carrier in "${carriers[@]}"; do
    for tool in $(carrier_tools "$carrier"); do tools+=("$tool"); done
  done
  for tool in "${tools[@]}"; do
    command -v "$tool" >/dev/null || [[ " ${absent[*]} " == *" $tool "* ]] || absent+=("$tool")
  done
  [ ${#absent[@]} -eq 0 ] || die 1 "missing: ${absent[*]} (scripts/install-deps.sh installs tools; a build makes programs, see --bin)"
  [ -e /dev/net/tun ] || die 1 "there is no /dev/net/tun"
}

keep_settings() {
  mkdir -p "$out/rounds" || exit 1
  [ $resume = yes ] || rm -f "$out"/rounds/*.figures{,.new}
  {
    echo "rounds $rounds"
    echo "seconds $seconds"
    echo "carriers ${carriers[*]}"
    echo "figures ${figures[*]}"
    echo "programs $(programs_digest)"
    echo "date $(date -u +%Y-%m-%d)"
    echo "load $(cut -d' ' -f1 /proc/loadavg)"
    echo "version $("$bin/splitnic" --version 2>/dev/null | head -n 1)"
  } >"$out/settings"
}

# A UDP socket may have 4 MiB if its program asks for that, and each interface starts without what TCP learnt before.
prepare_namespaces() {
  local ns
  for ns in "$ns_host" "$ns_iou"; do
    in_ns "$ns" sh -c 'for f in rmem_max wmem_max; do [ -w /proc/sys/net/core/$f ] && echo 4194304 >/proc/sys/net/core/$f; done; true'
  done
  for ns in "$ns_host" "$ns_lan"; do
    in_ns "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
  done
}

open_nic0() {
  ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up &&
    wait_until 5 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null
}

measure_carrier() { # CARRIER FILE
  local name pids=() sockets=()
  carrier_up "$1" || { echo "$1 does not come up" >&2 && return 1; }
  open_nic0 || { echo "$1: no answer to a ping" >&2 && return 1; }
  for name in "${carrier_programs[@]}"; do running "$name" && pids+=(--pid "${pid_of[$name]}"); done
  [[ $1 != splitnic-* ]] || sockets=(--stats "$bin/splitnic" --host-control "$work/host.sock" --iou-control "$work/iou.sock")
  "$python" "$bench/compare_measure.py" --host "$ns_host" --iou "$ns_iou" --lan "$ns_lan" --seconds "$seconds" \
    "${pids[@]}" "${sockets[@]}" "${figures[@]}" >"$2.new" && mv "$2.new" "$2"
}

run_rounds() {
  local round carrier file missing=0
  for round in $(seq "$rounds"); do
    for carrier in "${carriers[@]}"; do
      file=$out/rounds/$round.$carrier.figures
      [ ! -f "$file" ] || continue
      if measure_carrier "$carrier" "$file"; then
        echo "round $round: $carrier done" >&2
      else
        missing=$((missing + 1))
        echo "round $round: $carrier FAILED" >&2
        tail -n 3 "$work"/*.log >&2
      fi
      carrier_down
    done
  done
  return $((missing > 0))
}

take_settings
check_needs
keep_settings
topology_begin
topology_three || exit 1
export SPLITNIC_SHM_DIR=$work
prepare_namespaces
status=0
run_rounds || status=1
pages=("$out")
[ $publish = no ] || pages+=("$root/docs/performance")
"$python" "$bench/compare_report.py" "$out" "${pages[@]}" || status=1
exit $status
