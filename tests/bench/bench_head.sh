# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts that source this
# What the scripts of tests/bench have in common; each begins by sourcing it. It sources scripts/lib/topology.sh and sets
# $bench (this folder), $root and $python.
#   take_options VALUED FLAGS ARGUMENT...  options into ${given[--NAME]}, a flag as "yes"; --help prints the script's head
#   take_folders NAME                      $out and $bin, by --out, default build/NAME, and --bin
#   die STATUS TEXT                        prints also the last line of each program that was started
#   last_lines COUNT [PATTERN]             of each program whose name fits the pattern
#   is_whole NUMBER...; need_root; need_programs PROGRAM...
#   need_splitnic PROGRAM...               root, what a run of splitnic needs, and these programs
#   begin                                  topology_begin, and an orderly end when the script is interrupted
#   run_rounds FOLDER SUFFIX ROUNDS NAME...    measures all in turn; measured COMMAND... within it
#   resumes; setting NAME; keep_settings LINE...    of the run in $out
#   versions_of PROGRAM|LIBRARY...         "iperf3 3.12, OpenVPN 2.6.3": what is installed of them
#   take_pages                             ${pages[@]}: the folders for the page, by --publish
#   make_page PROGRAM [WORD...]            the page of the run in $out, by that program of this folder
#   compare_results ARGUMENT...            compare_measure.py in the namespaces of topology_three
#   host_is_up SOCKET; nic0_replies NS ADDRESS [SECONDS]; wide_sockets NS...; forget_tcp NS...
# Interrupted (Ctrl-C, TERM, HUP) a script ends what it is measuring, takes down what it made, keeps the results that are
# whole, and exits with 128 and the signal's number. Further signals change nothing about that.
set -uo pipefail
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$bench/../.." && pwd)
# shellcheck source=../../scripts/lib/topology.sh
. "$root/scripts/lib/topology.sh"
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3
declare -A given=()
work='' measuring='' current='' unfinished=''

die() { # STATUS TEXT
  echo "${0##*/}: $2" >&2
  [ -z "$work" ] || last_lines 1
  exit "$1"
}

last_lines() { # COUNT [PATTERN]
  local log name
  # shellcheck disable=SC2231 # a pattern
  for log in "$work"/${2:-*}.log; do
    [ -s "$log" ] || continue
    name=${log##*/}
    tail -n "$1" "$log" | sed "s|^|  ${name%.log}: |" >&2
  done
}

take_options() { # VALUED FLAGS ARGUMENT...
  local valued=" $1 " flags=" $2 "
  shift 2
  while [ $# -gt 0 ]; do
    case "$1" in
      -h | --help) sed -n '2,/^[^#]/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
      *[!-a-z]* | '') die 2 "unknown option '$1'" ;;
    esac
    if [[ $valued == *" $1 "* ]]; then
      [ $# -ge 2 ] || die 2 "$1 needs a value"
      given[$1]=$2 && shift 2
    else
      [[ $flags == *" $1 "* ]] || die 2 "unknown option '$1'"
      given[$1]=yes && shift
    fi
  done
}

take_folders() { # NAME
  out=${given[--out]:-$root/build/$1} bin=${given[--bin]:-$root/build/release/bin}
}

is_whole() {
  local number
  for number; do [[ $number =~ ^[1-9][0-9]*$ ]] || return 1; done
}

need_root() { [ "$(id -u)" -eq 0 ] || die 1 "it makes network namespaces: run this as root"; }

need_programs() {
  local program absent=()
  for program; do
    command -v "$program" >/dev/null || [[ " ${absent[*]} " == *" $program "* ]] || absent+=("$program")
  done
  [ ${#absent[@]} -eq 0 ] || die 1 "missing: ${absent[*]} (scripts/install-deps.sh installs tools; a build makes programs, see --bin)"
  [ -e /dev/net/tun ] || die 1 "there is no /dev/net/tun"
}

need_splitnic() {
  need_root
  need_programs ip ping iperf3 "$python" "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" "$@"
}

begin() {
  topology_begin
  trap 'interrupted 129' HUP
  trap 'interrupted 130' INT
  trap 'interrupted 143' TERM
}

# What measures ends before the programs that it measures.
interrupted() { # STATUS
  trap '' HUP INT TERM
  if [ -n "$measuring" ]; then
    kill -TERM "$measuring" 2>/dev/null
    wait "$measuring"
  fi
  [ -z "$current" ] || take_down "$current"
  [ -z "$unfinished" ] || rm -f "$unfinished"
  [ ! -f "${out:-}/settings" ] || echo "${0##*/}: interrupted; --resume continues from $out" >&2
  exit "$1"
}

# In the background, because bash puts a signal off until a command in the foreground has ended.
measured() {
  local status
  "$@" &
  measuring=$!
  wait "$measuring"
  status=$?
  measuring=''
  return $status
}

# Into FOLDER/ROUND.NAME.SUFFIX, whole or not at all; what is there is not measured again. The script has `measure NAME
# FILE` and `take_down NAME`. $noun: text after a name in messages; $log_files: the logs to print after a failure.
run_rounds() { # FOLDER SUFFIX ROUNDS NAME...
  local folder=$1 suffix=$2 rounds=$3 round name file missing=0
  shift 3
  for round in $(seq "$rounds"); do
    for name; do
      file=$folder/$round.$name.$suffix
      [ ! -f "$file" ] || continue
      current=$name unfinished=$file.new
      if measure "$name" "$file.new" && mv "$file.new" "$file"; then
        echo "round $round: $name${noun:-} done" >&2
      else
        missing=$((missing + 1))
        echo "round $round: $name${noun:-} FAILED" >&2
        rm -f "$file.new"
        last_lines 3 "${log_files:-*}"
      fi
      take_down "$name"
      current='' unfinished=''
    done
  done
  return $((missing > 0))
}

setting() { sed -n "s/^$1 //p" "$out/settings"; }

programs_digest() { cat "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" 2>/dev/null | sha256sum | cut -c1-16; }

# True with --resume: then there is a run to continue, and it was of the same programs.
resumes() {
  [ -n "${given[--resume]:-}" ] || return 1
  [ -f "$out/settings" ] || die 2 "nothing to resume in $out"
  [ "$(setting programs)" = "$(programs_digest)" ] || die 1 "the programs are not those that the run in $out began with"
}

# An earlier run's results go, but for --resume.
keep_settings() { # LINE...
  mkdir -p "$out/rounds" || exit 1
  [ -n "${given[--resume]:-}" ] || rm -f "$out"/rounds/*.results{,.new}
  {
    printf '%s\n' "$@"
    echo "programs $(programs_digest)"
    echo "date $(date -u +%Y-%m-%d)"
    echo "congestion $(cat /proc/sys/net/ipv4/tcp_congestion_control)"
    echo "load $(cut -d' ' -f1 /proc/loadavg)"
    echo "version $("$bin/splitnic" --version 2>/dev/null | head -n 1)"
  } >"$out/settings"
}

version_of() { # PROGRAM or LIBRARY
  { "$1" --version || pkg-config --modversion "$1"; } 2>/dev/null | grep -oEm 1 '[0-9]+(\.[0-9]+)+' | head -n 1
}

versions_of() {
  local name version found=()
  for name; do
    version=$(version_of "$name")
    [ -z "$version" ] || found+=("$name $version")
  done
  local IFS=,
  echo "${found[*]}" | sed 's/,/, /g'
}

take_pages() {
  pages=("$out")
  [ -z "${given[--publish]:-}" ] || pages+=("$root/docs/performance")
}

make_page() { # PROGRAM [WORD...]
  take_pages
  "$python" "$bench/$1" "${@:2}" "$out" "${pages[@]}"
}

compare_results() { # ARGUMENT...
  measured "$python" "$bench/compare_measure.py" --host "$ns_host" --iou "$ns_iou" --lan "$ns_lan" --seconds "$seconds" "$@"
}

host_is_up() { "$bin/splitnic" show --json --control "$1" 2>/dev/null | grep '"state":"up"' >/dev/null; }

nic0_replies() { # NS ADDRESS [SECONDS]
  ip -n "$1" addr add "$2" dev nic0 && ip -n "$1" link set nic0 up &&
    wait_until "${3:-5}" in_ns "$1" ping -q -c 1 -W 1 10.77.0.2 >/dev/null
}

# A UDP socket may have 4 MiB there if its program asks for that.
wide_sockets() {
  local ns
  for ns; do
    in_ns "$ns" sh -c 'for f in rmem_max wmem_max; do [ -w /proc/sys/net/core/$f ] && echo 4194304 >/proc/sys/net/core/$f; done; true'
  done
}

# Each interface starts without what TCP learnt before.
forget_tcp() {
  local ns
  for ns; do in_ns "$ns" sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save' || return 1; done
}
