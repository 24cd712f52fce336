#!/usr/bin/env bash
# One end-to-end check: brings up test hosts in network namespaces, runs it, stops all and looks for what was left.
#   run.sh BIN PORT FILE CHECK [plain] [switches=N]   BIN: folder of the programs; PORT: packet, pcap or tap (the I/O unit's LAN
#                                  port); runs check_CHECK of checks/FILE.sh; plain: without keys, with --insecure-lab;
#                                  switches=1, 2: with fabric switches between the hosts and the unit (switched.sh)
# SPLITNIC_LONG=1 takes the long forms (more pings, larger files, more kills). Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1 port=$2
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
for word in "${@:5}"; do
  case $word in
    plain) plain ;;
    switches=[12]) switches=${word#*=} ;;
  esac
done
topology_begin
export SPLITNIC_SHM_DIR=$work  # where programs meet on shared memory, whatever their namespaces
"check_$4"
stop_all
echo "$4 over $port: ok"
