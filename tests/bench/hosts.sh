#!/usr/bin/env bash
# Many hosts on one I/O unit: throughput, fairness and memory against their number (goal V14). Asserts nothing. Root.
#   tests/bench/hosts.sh [OPTIONS]
#     --hosts A,B        numbers of hosts, default 1,2,4,8,16,32,64; up to 8 of them are busy
#     --max-hosts N      leaves out what is beyond, default 64
#     --rounds N         default 3; all numbers in turn, round by round
#     --seconds S        length of a TCP run, default 3
#     --quick            1 round, runs of 1 s
#     --out DIR          where figures and report are kept, in place of an earlier run's; default build/bench-hosts
#     --resume           keeps the rounds that are there; with --rounds N for more
#     --publish          writes the report into docs/performance as well
#     --bin DIR          the programs; default build/release/bin
# Each host is a process in a namespace of its own; all are joined to the unit by a bridge. With a number of hosts come:
# TCP to the LAN and to the host over all busy hosts at once; the same with 8 streams of one of them beside 1 of each
# other ("heavy"), and that into a LAN of 1 Gbit/s ("narrow"); memory of the unit, idle and after the traffic.
# Other parts: hosts_measure.py (figures), hosts_report.py (tables), line_plot.py.
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"

numbers=1,2,4,8,16,32,64 most=64 rounds='' seconds='' out=$root/build/bench-hosts bin=$root/build/release/bin
resume=no publish=no
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

die() {
  echo "hosts.sh: $2" >&2
  exit "$1"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --hosts | --max-hosts | --rounds | --seconds | --out | --bin) [ $# -ge 2 ] || die 2 "$1 needs a value" ;;
  esac
  case "$1" in
    --hosts) numbers=$2 && shift 2 ;;
    --max-hosts) most=$2 && shift 2 ;;
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
rounds=${rounds:-3} seconds=${seconds:-3}
for number in "$rounds" "$seconds" "$most" ${numbers//,/ }; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || die 2 "'$number' is no whole number from 1 on"
done
[ "$most" -le 250 ] || die 2 "--max-hosts is at most 250"

check_needs() {
  [ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"
  local tool
  for tool in ip tc ping iperf3 "$python" "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou"; do
    command -v "$tool" >/dev/null || die 1 "there is no $tool (scripts/install-deps.sh installs tools; see --bin)"
  done
  [ -e /dev/net/tun ] || die 1 "there is no /dev/net/tun"
}

keep_settings() {
  mkdir -p "$out/rounds" || exit 1
  [ $resume = yes ] || rm -f "$out"/rounds/*.figures{,.new}
  {
    echo "seconds $seconds"
    echo "date $(date -u +%Y-%m-%d)"
    echo "load $(cut -d' ' -f1 /proc/loadavg)"
    echo "version $("$bin/splitnic" --version 2>/dev/null | head -n 1)"
  } >"$out/settings"
}

# $ns_iou has the bridge of the fabric, 10.99.0.1, and lan0; $ns_lan 10.77.0.2.
make_unit_side() {
  ns_iou=sn$$-u ns_lan=sn$$-l
  host_namespace "$ns_iou" && host_namespace "$ns_lan" && veth_between "$ns_iou" lan0 "$ns_lan" lan0 &&
    ip -n "$ns_iou" link add fab0 type bridge && ip -n "$ns_iou" link set fab0 up &&
    ip -n "$ns_iou" addr add 10.99.0.1/16 dev fab0 && ip -n "$ns_lan" addr add 10.77.0.2/16 dev lan0 || return 1
  silence_interface "$ns_iou" lan0
  in_ns "$ns_iou" sh -c 'for f in rmem_max wmem_max; do [ -w /proc/sys/net/core/$f ] && echo 4194304 >/proc/sys/net/core/$f; done; true'
}

make_host_side() { # I
  local ns=sn$$-h$1
  host_namespace "$ns" && veth_between "$ns" fab0 "$ns_iou" "f$1" && ip -n "$ns_iou" link set "f$1" master fab0 &&
    ip -n "$ns" addr add "10.99.1.$1/16" dev fab0 &&
    in_ns "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save'
}

start_host() { # I
  start "host$1" "sn$$-h$1" "$bin/splitnic-host" --connect udp://10.99.0.1:7471 --tap nic0 --control "$work/h$1.sock" \
    --insecure-lab --name "h$1"
}

is_up() { "$bin/splitnic" show --json --control "$work/h$1.sock" 2>/dev/null | grep '"state":"up"' >/dev/null; }

open_host() { # I
  wait_until 20 is_up "$1" && ip -n "sn$$-h$1" addr add "10.77.1.$1/16" dev nic0 && ip -n "sn$$-h$1" link set nic0 up &&
    wait_until 10 in_ns "sn$$-h$1" ping -q -c 1 -W 1 10.77.0.2 >/dev/null
}

measure_number() { # N FILE
  local i busy=$(($1 < 8 ? $1 : 8)) options=()
  start iou "$ns_iou" "$bin/splitnic-iou" --lan packet:lan0 --listen udp://10.99.0.1:7471 --control "$work/iou.sock" \
    --insecure-lab --name iou --max-hosts "$1"
  for i in $(seq "$1"); do start_host "$i"; done
  for i in $(seq "$1"); do open_host "$i" || { echo "host $i does not come up" >&2 && return 1; }; done
  for i in $(seq "$busy"); do options+=(--host "sn$$-h$i"); done
  "$python" "$bench/hosts_measure.py" "${options[@]}" --lan "$ns_lan" --iou "$ns_iou" --pid "${pid_of[iou]}" \
    --hosts "$1" --seconds "$seconds" >"$2.new" && mv "$2.new" "$2"
}

# Hosts first, all of them at once. A second signal would break off a clean stop.
stop_all() { # N
  local i
  for i in $(seq "$1"); do [ -z "${pid_of[host$i]:-}" ] || kill -TERM "${pid_of[host$i]}" 2>/dev/null; done
  for i in $(seq "$1"); do
    [ -z "${pid_of[host$i]:-}" ] || wait_until 10 process_ended "${pid_of[host$i]}"
    stop "host$i" TERM 5
  done
  stop iou TERM 5
  rm -f "$work"/*.log
}

run_rounds() {
  local round number file missing=0
  for round in $(seq "$rounds"); do
    for number in ${numbers//,/ }; do
      file=$out/rounds/$round.$number.figures
      if [ "$number" -gt "$most" ] || [ -f "$file" ]; then continue; fi
      if measure_number "$number" "$file"; then
        echo "round $round: $number hosts done" >&2
      else
        missing=$((missing + 1))
        echo "round $round: $number hosts FAILED" >&2
        tail -n 3 "$work"/iou.log >&2
      fi
      stop_all "$number"
    done
  done
  return $((missing > 0))
}

check_needs
keep_settings
topology_begin
make_unit_side || exit 1
for i in $(seq "$most"); do make_host_side "$i" || exit 1; done
status=0
run_rounds || status=1
pages=("$out")
[ $publish = no ] || pages+=("$root/docs/performance")
"$python" "$bench/hosts_report.py" "$out" "${pages[@]}" || status=1
exit $status
