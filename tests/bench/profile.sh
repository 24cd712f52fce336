#!/usr/bin/env bash
# Where the processors' time goes, per frame: splitnic over UDP and a packet: port between three namespaces, with
# TCP super-frames of up to 64 KiB to the LAN, with the same to the host, and with UDP frames of 64 bytes to the LAN.
# Asserts nothing. Root, and perf.
#   tests/bench/profile.sh [--seconds S] [--publish] [--bin DIR] [--fabric udp|shm]
#     --seconds S    of each profile, default 3
#     --publish      writes the page docs/performance/profile.md in place of printing it
#     --bin DIR      the programs; default build/release/bin
# The tables are made by profile_page.py.
# shellcheck source=bench_head.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench_head.sh"
# shellcheck source=compare_carriers.sh
. "$bench/compare_carriers.sh"

# profile_of NAME COUNTER IPERF-OPTION...: samples of all processors to $work/NAME.perf, frames meanwhile to $work/NAME.frames
profile_of() {
  local name=$1 counter=$2
  shift 2
  start client "$ns_host" iperf3 -c 10.77.0.2 -t $((seconds + 3)) "$@"
  sleep 1.5
  sample "$work/$name" >"$work/perf.log" 2>&1 || die 1 "perf: $(grep -m 2 . "$work/perf.log" | paste -sd' ')"
  wait "${pid_of[client]}" || die 1 "iperf3 failed in the run $name"
  unset "pid_of[client]"
  change_of "$counter" "$work/$name" >"$work/$name.frames" || die 1 "no counter $counter"
}

# By a clock and not by cycles, of which a processor that halts has none: idle time counts too. The counters are read when
# perf samples already, and before it writes its file.
sample() { # FILE
  # shellcheck disable=SC2016 # variables of that shell
  measured perf record -a -g -e cpu-clock -F 1999 -o "$1.perf" -- \
    sh -c '"$1" stats --json --control "$2" >"$3.before" && sleep "$4" && "$1" stats --json --control "$2" >"$3.after"' \
    sh "$bin/splitnic" "$work/host.sock" "$1" "$seconds"
}

change_of() { # COUNTER FILE
  "$python" -c 'import json, sys
before, after = (json.load(open(f"{sys.argv[2]}.{when}", encoding="utf-8"))[sys.argv[1]] for when in ("before", "after"))
print(after - before)' "$@"
}

take_options "--seconds --bin --fabric" "--publish" "$@"
take_folders profile
seconds=${given[--seconds]:-3} fabric=${given[--fabric]:-udp}
is_whole "$seconds" || die 2 "--seconds is a whole number from 1 on"
case "$fabric" in
  udp) address=udp://10.99.0.2:7471 ;;
  shm) address=shm://profile ;;
  *) die 2 "--fabric is udp or shm" ;;
esac
need_splitnic perf
begin
export SPLITNIC_SHM_DIR=$work
topology_three && up_plain packet "$address" --payload-crc on || die 1 "the programs did not come up"
printf '%s %s\n' splitnic-host "${pid_of[host]}" splitnic-iou "${pid_of[iou]}" >"$work/processes"
start server "$ns_lan" iperf3 -s
nic0_replies "$ns_host" 10.77.0.1/24 || die 1 "no reply to a ping"
profile_of to_lan host.tx.frames
profile_of to_host host.rx.frames -R
profile_of small host.tx.frames -u -b 0 -l 22
page=$("$python" "$bench/profile_page.py" "$work" "$seconds" "$fabric" "$("$bin/splitnic" --version | head -n 1)") || exit 1
if [ -n "${given[--publish]:-}" ]; then
  printf '%s\n' "$page" >"$root/docs/performance/profile.md"
else
  printf '%s\n' "$page"
fi
