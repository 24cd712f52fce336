#!/usr/bin/env bash
# Where the processors' time goes, per frame: splitnic over UDP and a packet: port between three namespaces, with
# TCP super-frames of up to 64 KiB to the LAN, with the same to the host, and with UDP frames of 64 octets to the LAN.
# Asserts nothing. Root, and perf.
#   tests/bench/profile.sh [--seconds S] [--publish] [--bin DIR] [--fabric udp|shm]
#     --seconds S    of each profile, default 3
#     --publish      writes the page docs/performance/profile.md in place of printing it
#     --bin DIR      the programs; default build/release/bin
# The tables are made by profile_page.py.
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

seconds=3 publish=no bin=$root/build/release/bin fabric=udp
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

die() {
  echo "profile.sh: $2" >&2
  exit "$1"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --bin | --fabric) [ $# -ge 2 ] || die 2 "$1 needs a value" ;;
  esac
  case "$1" in
    --seconds) seconds=$2 && shift 2 ;;
    --bin) bin=$2 && shift 2 ;;
    --fabric) fabric=$2 && shift 2 ;;
    --publish) publish=yes && shift ;;
    *) die 2 "unknown option '$1'" ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || die 2 "--seconds is a whole number from 1 on"
case "$fabric" in
  udp) address=udp://10.99.0.2:7471 ;;
  shm) address=shm://profile ;;
  *) die 2 "--fabric is udp or shm" ;;
esac
[ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"
for tool in perf iperf3 ip "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou"; do
  command -v "$tool" >/dev/null || die 1 "missing: $tool"
done

# profile_of NAME COUNTER IPERF-OPTION...: samples of all processors to $work/NAME.perf, frames meanwhile to $work/NAME.frames
profile_of() {
  local name=$1 counter=$2 client before after
  shift 2
  in_ns "$ns_host" iperf3 -c 10.77.0.2 -t $((seconds + 3)) "$@" >"$work/$name.iperf" 2>&1 &
  client=$!
  sleep 1.5
  before=$(frames "$counter")
  perf record -a -g -F 1999 -o "$work/$name.perf" -- sleep "$seconds" >/dev/null 2>&1
  after=$(frames "$counter")
  wait "$client" || die 1 "iperf3: $(tail -n 1 "$work/$name.iperf")"
  echo $((after - before)) >"$work/$name.frames"
}

frames() {
  "$bin/splitnic" stats --json --control "$work/host.sock" | "$python" -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"
}

topology_begin
topology_three 1500 1500 && up_splitnic packet "$address" || die 1 "the programs did not come up"
ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up
start server "$ns_lan" iperf3 -s
wait_until 5 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null
profile_of to_lan host.tx.frames
profile_of to_host host.rx.frames -R
profile_of small host.tx.frames -u -b 0 -l 22
page=$("$python" "$bench/profile_page.py" "$work" "$seconds" "$fabric" "$("$bin/splitnic" --version | head -n 1)") || exit 1
if [ $publish = yes ]; then
  printf '%s\n' "$page" >"$root/docs/performance/profile.md"
else
  printf '%s\n' "$page"
fi
