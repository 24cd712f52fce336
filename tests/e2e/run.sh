#!/usr/bin/env bash
# One end-to-end check: brings up test hosts in network namespaces, runs it, stops all and looks for what was left.
#   run.sh BIN PORT FILE CHECK [plain] [switches=N]   BIN: folder of the programs; PORT: packet, pcap or tap (the I/O unit's LAN
#                                  port); runs check_CHECK of checks/FILE.sh; plain: without keys, with --insecure-lab;
#                                  switches=1, 2: with fabric switches between the hosts and the unit (switched.sh)
# SPLITNIC_LONG=1 takes the long forms (more pings, larger files, more kills). SPLITNIC_BIN=FOLDER takes the programs of another
# build, in checks that ctest or a script runs. Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# wrong TEXT: nothing is brought up for a check that does not exist.
wrong() {
  echo "run.sh: $1" >&2
  exit 2
}
[ $# -ge 4 ] || wrong "usage: run.sh BIN PORT FILE CHECK [plain] [switches=N]"
bin=${SPLITNIC_BIN:-$1} port=$2
[[ $port =~ ^(packet|pcap|tap)$ ]] || wrong "$port is no LAN port: packet, pcap or tap"
[ -f "$e2e/checks/$3.sh" ] || wrong "no tests/e2e/checks/$3.sh: $(basename -s .sh "$e2e"/checks/*.sh | paste -sd' ')"
# shellcheck source=../../scripts/lib/topology.sh
. "$e2e/../../scripts/lib/topology.sh"
# shellcheck source=lib.sh
. "$e2e/lib.sh"
# shellcheck source=switched.sh
. "$e2e/switched.sh"
# shellcheck source=traffic.sh
. "$e2e/traffic.sh"
# shellcheck source=/dev/null
. "$e2e/checks/$3.sh"
declare -F "check_$4" >/dev/null ||
  wrong "tests/e2e/checks/$3.sh has no check_$4: $(sed -n 's/^check_\([a-z0-9_]*\)() .*/\1/p' "$e2e/checks/$3.sh" | paste -sd' ')"
for word in "${@:5}"; do
  case $word in
    plain) plain ;;
    switches=[12]) switches=${word#*=} ;;
    *) wrong "$word is none of plain, switches=1 and switches=2" ;;
  esac
done
topology_begin
export SPLITNIC_SHM_DIR=$work  # where programs meet on shared memory, whatever their namespaces
"check_$4"
stop_all
times >"$work/times"  # the second line is that of all that this process has started
sed -n '2s/\(.*\) \(.*\)/processor time: \1 user, \2 system/p' "$work/times"
echo "$4 over $port: ok"
