#!/usr/bin/env bash
# The main job on one machine: three test hosts (network namespaces), the host module in the first, the I/O unit in
# the second, a LAN peer with DHCP and a web server in the third. The first fetches a page through a NIC that it
# does not have. Installs what is missing, builds, measures, and leaves nothing behind.
#   scripts/demo.sh [--lan PORT] [--mode rdma|send] [--seconds N] [--no-build]
#     --lan PORT    the I/O unit's LAN port (default lan0, that is pcap:lan0; try packet:lan0)
#     --seconds N   length of each throughput measurement (default 5)
#     --no-build    use build/release/bin as it is
#   scripts/demo.sh --offline [IN.pcap] [--out DIR]
#     without privilege, test hosts or network: replays a capture through both modules and compares every record
set -uo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
began_in=$PWD
cd "$root" || exit 1
bin=$root/build/release/bin

usage() {
  echo "demo.sh: $1; scripts/demo.sh --help lists the options" >&2
  exit 2
}

lan=lan0 mode=rdma seconds=5 build=yes offline=no capture="" out=""
arguments=("$@")
while [ $# -gt 0 ]; do
  case "$1" in
    --lan | --mode | --seconds)
      [ $# -gt 1 ] || usage "$1 wants a value"
      declare "${1#--}=$2"
      shift 2
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "$root/scripts/demo.sh"
      exit
      ;;
    --no-build) build=no && shift ;;
    --offline) offline=yes && shift ;;
    --out)
      [ $# -gt 1 ] || usage "--out wants a folder"
      out=$2
      shift 2
      ;;
    [!-]*)
      [ -z "$capture" ] || usage "one capture only"
      capture=$1
      shift
      ;;
    *) usage "unknown option '$1'" ;;
  esac
done
[[ $seconds =~ ^[1-9][0-9]*$ ]] || usage "--seconds wants a number"

if [ $offline = no ] && [ -n "$capture$out" ]; then usage "a capture and --out are for --offline"; fi
if [ $offline = yes ]; then
  # shellcheck source=lib/offline.sh
  . "$root/scripts/lib/offline.sh"
  offline "${capture:+$(cd "$began_in" && realpath -- "$capture")}" "${out:+$(cd "$began_in" && realpath -m -- "$out")}"
  exit
fi

if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null; then exec sudo -- "$root/scripts/demo.sh" "${arguments[@]}"; fi
  echo "demo.sh: it makes network namespaces: run this as root, or install sudo" >&2
  exit 1
fi

# shellcheck source=lib/topology.sh
. "$root/scripts/lib/topology.sh"

fail() {
  echo "demo.sh: $1" >&2
  if [ -n "${work:-}" ]; then
    for log in "$work"/*.log; do
      [ -s "$log" ] && echo "--- $(basename "$log")" >&2 && tail -n 15 "$log" >&2
    done
  fi
  exit 1
}

build_programs() {
  [ -n "${HOME:-}" ] || export CCACHE_DIR="${CCACHE_DIR:-$root/.cache/ccache}"
  scripts/install-deps.sh --demo || return 1
  # The tests need more than --demo installs, already when they are configured.
  local tests=OFF
  if command -v tshark >/dev/null && command -v cmark-gfm >/dev/null; then tests=ON; fi
  cmake --preset release -DBUILD_TESTING=$tests >/dev/null &&
    cmake --build --preset release -j "$(nproc)" --target splitnic-iou splitnic-host splitnic
}

is_up() { "$bin/splitnic" show --json --control "$work/$1.sock" 2>/dev/null | grep -Eq '"state" *: *"up"'; }

start_splitnic() {
  local common=(--insecure-lab --mode "$mode")
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$lan" --listen udp://10.99.0.2:7471 \
    --control "$work/iou.sock" "${common[@]}"
  start host "$ns_host" "$bin/splitnic-host" --connect udp://10.99.0.2:7471 --tap nic0 \
    --fabric-dev fab0 --control "$work/host.sock" "${common[@]}"
  wait_until 15 is_up host || fail "the host module did not reach the I/O unit within 15 s"
  ip -n "$ns_host" link set nic0 up || fail "nic0 cannot be set up"
}

fetch_page() {
  mkdir -p "$work/www"
  head -c 1048576 /dev/urandom >"$work/www/blob"
  echo "Hello from a LAN that this host is not plugged into ($$)." >"$work/www/index.html"
  start_web_server "$ns_lan" "$work/www"
  start_dhcp_server "$ns_lan" lan0
  wait_until 5 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/ || fail "the web server did not start"
  lease_address "$ns_host" nic0 || fail "no DHCP lease on nic0"
  echo "nic0 has $(ip -n "$ns_host" -4 -o addr show dev nic0 | awk '{print $4}') by DHCP"
  local page
  page=$(in_ns "$ns_host" curl -sS --max-time 10 http://10.77.0.2/ 2>&1) || fail "the page did not arrive: $page"
  [ "$page" = "$(cat "$work/www/index.html")" ] || fail "the page arrived changed"
  in_ns "$ns_host" curl -sS --max-time 20 -o "$work/blob" http://10.77.0.2/blob || fail "1 MiB did not arrive"
  cmp -s "$work/blob" "$work/www/blob" || fail "1 MiB arrived changed"
  echo "the page through nic0: $page"
  echo "1 MiB of random bytes through nic0: equal"
}

# bulk LABEL OPTIONS...: one iperf3 run, what the receiver got.
bulk() {
  local label=$1 out
  shift
  out=$(in_ns "$ns_host" iperf3 -c 10.77.0.2 -t "$seconds" -f m "$@" 2>&1) || fail "iperf3 $label: $out"
  awk -v label="$label" '/receiver/ {printf "TCP %s: %s %s\n", label, $7, $8}' <<<"$out"
}

measure() {
  in_ns "$ns_host" ping -q -c 200 -i 0.005 -W 2 10.77.0.2 >"$work/ping.log" 2>&1 || fail "ping lost its way"
  sed -n 's/^\([0-9]* packets.*\), time.*/ping: \1/p; s/^rtt /ping: rtt /p' "$work/ping.log"
  start iperf3 "$ns_lan" iperf3 -s --forceflush -B 10.77.0.2
  wait_until 5 grep -q listening "$work/iperf3.log" || fail "iperf3 does not listen"
  bulk "host to LAN"
  bulk "LAN to host" -R
}

if [ $build = yes ]; then build_programs || fail "the build failed"; fi
for program in splitnic-iou splitnic-host splitnic; do
  [ -x "$bin/$program" ] || fail "there is no $bin/$program: run this without --no-build"
done
[ -c /dev/net/tun ] || fail "there is no /dev/net/tun: the kernel's TAP driver is needed"

topology_begin
topology_three || fail "the test hosts cannot be made"
began=$SECONDS
start_splitnic
echo "connected: host module in $ns_host, I/O unit in $ns_iou (LAN port $lan), LAN peer in $ns_lan"
fetch_page
measure
stop host TERM 2 || fail "the host module did not stop cleanly"
stop iou TERM 2 || fail "the I/O unit did not stop cleanly"
ip -n "$ns_host" link show nic0 >/dev/null 2>&1 && fail "nic0 is still there after a clean stop"
topology_end
[ "$topology_leftovers" -eq 0 ] || exit 1
echo "stopped cleanly, nothing left behind ($((SECONDS - began)) s)"
