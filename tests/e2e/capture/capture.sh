#!/usr/bin/env bash
# What crosses the fabric, seen by tshark with our dissector: captures replayed both ways over loopback, in a
# namespace that the script makes.   capture.sh BIN   BIN: folder of the programs
# Shows S001-04 (no read precedes data), S001-27 (messages on channel 0, RDMA writes alone on channel 1) and S001-18
# (no message a frame). SPLITNIC_LONG=1: 10^5 frames each way. Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$1
# shellcheck source=/dev/null
. "$here/../../../scripts/lib/topology.sh"
lua=$here/../../../tools/wireshark/splitnic.lua
frames=10000
[ "${SPLITNIC_LONG:-0}" = 1 ] && frames=100000
mac_host=02:00:00:00:00:01 mac_lan=02:00:00:00:00:02
address=udp://127.0.0.1:7471

fail() {
  echo "FAILED: $1" >&2
  tail -n 20 "$work"/*.log >&2
  exit 1
}

has_bytes() { [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ]; }

# replay_both_ways FRAMES OPTION...: the options are both programs'.
replay_both_ways() {
  local frames=$1 to_host to_lan
  shift
  local seconds=$((frames / 3000))
  rm -f "$work"/*.out "$work"/*.pcapng
  to_lan=$(python3 "$here/frames.py" "$work/host.pcap" "$frames" $mac_lan $mac_host 0 0) &&
    to_host=$(python3 "$here/frames.py" "$work/lan.pcap" "$frames" $mac_host $mac_lan 8 "$seconds") ||
    fail "the frames cannot be made"
  start iou "$ns" "$bin/splitnic-iou" --lan "file:$work/lan.pcap,$work/lan.out,speed=1" --listen $address \
    --insecure-lab --max-hosts 1 --name unit --control "$work/iou.sock" --capture "$work/iou.pcapng" "$@"
  start host "$ns" "$bin/splitnic-host" --connect $address --tap "file:$work/host.pcap,$work/host.out" \
    --mac $mac_host --insecure-lab --name hosta --control "$work/host.sock" \
    --capture "$work/host.pcapng" "$@"
  # The first frame from the LAN comes before the host is there: it alone may be missing.
  wait_until $((seconds + 60)) has_bytes "$work/lan.out" "$to_lan" || fail "frames are missing on the LAN"
  wait_until $((seconds + 60)) has_bytes "$work/host.out" $((to_host - 16 - 60)) || fail "frames are missing at the host"
  stop host TERM && stop iou TERM || fail "a program did not stop cleanly"
}

# What tshark shows of FILE, in one pass: a line per datagram, the values of a field separated by commas.
decode() {
  tshark -X "lua_script:$lua" -r "$1" -T fields -E separator=/t -E aggregator=, -e splitnic.cell.op -e splitnic.cell.channel \
    -e splitnic.cell.dlid -e splitnic.cell.dqpn -e splitnic.cell.psn -e splitnic.cell.pos -e splitnic.message -e splitnic.bad \
    -e _ws.malformed -e _ws.lua.error -e udp.dstport >"$work/decoded" 2>"$work/tshark.log" || fail "tshark refuses $1"
  ! grep -q Lua "$work/tshark.log" || fail "the dissector has an error"
}

# "NAME COUNT" lines. A packet is counted once, however often it was retransmitted.
count_cells() {
  awk -F '\t' '
    function number(text) { return text ~ /^0x/ ? hex(substr(text, 3)) : text + 0 }
    function hex(text,  i, n) {
      n = 0
      for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
      return n
    }
    {
      n = split($1, op, ","); m = split($2, channel, ",")
      split($3, lid, ","); split($4, qpn, ","); split($5, psn, ","); split($6, pos, ",")
      if (n != m) uneven++
      if ($8 != "" || $9 != "") bad++
      if ($10 != "") errors++
      # Both ways the frames of frames.py have UDP port 4001.
      inner += gsub(/4001/, "", $11)
      for (i = 1; i <= n; i++) {
        o = number(op[i]); packet = lid[i] ":" qpn[i] ":" psn[i]; cells++
        if (o <= 5 && channel[i] == 255) unknown++
        if (o == 3 || o == 4) reads++
        if (o <= 1 && channel[i] == 1) data_sends++
        if (o == 2 && channel[i] != 1) control_writes++
        if (o <= 1 && channel[i] == 0 && !(packet in sends)) { sends[packet]; messages++ }
        if (o == 2 && channel[i] == 1 && !(packet in writes)) { writes[packet]; frames++ }
      }
    }
    END {
      print "datagrams", NR; print "cells", cells + 0; print "uneven", uneven + 0; print "unknown", unknown + 0
      print "reads", reads + 0; print "data_sends", data_sends + 0; print "control_writes", control_writes + 0
      print "messages", messages + 0; print "frames", frames + 0
      print "bad", bad + 0; print "errors", errors + 0; print "inner", inner + 0
    }' "$work/decoded"
}

# The name of each message, one per line.
names_in() { cut -f 7 "$work/decoded" | tr , '\n' | sed '/^$/d'; }

check_cells() {
  local file=$1 name value
  declare -A of=()
  decode "$file"
  while read -r name value; do of[$name]=$value; done < <(count_cells)
  echo "$(basename "$file"): ${of[datagrams]} datagrams, ${of[cells]} cells, ${of[frames]} frames, ${of[messages]} messages"
  [ "${of[datagrams]}" -ge 1000 ] || fail "only ${of[datagrams]} datagrams"
  [ "${of[bad]}" -eq 0 ] || fail "the dissector refuses ${of[bad]} datagrams of $file"
  [ "${of[errors]}" -eq 0 ] || fail "the dissector has an error in ${of[errors]} datagrams of $file"
  # Wireshark's own dissectors get each frame, once for each time that it is whole.
  [ "${of[inner]}" -ge "${of[frames]}" ] || fail "only ${of[inner]} frames were decoded"
  [ "${of[uneven]}" -eq 0 ] || fail "fields of the dissector do not go together"
  [ "${of[unknown]}" -eq 0 ] || fail "${of[unknown]} cells of queue pairs that no MGMT cell named"
  # Both ways, less the frame that was too early; several may share one RDMA write's super-frame only on a TAP.
  [ "${of[frames]}" -ge $((2 * frames - 1)) ] || fail "only ${of[frames]} RDMA writes"
  [ "${of[reads]}" -eq 0 ] || fail "${of[reads]} RDMA reads"
  [ "${of[data_sends]}" -eq 0 ] || fail "${of[data_sends]} Sends on the data channel"
  [ "${of[control_writes]}" -eq 0 ] || fail "${of[control_writes]} RDMA writes on the control channel"
  [ $((32 * of[messages])) -le "${of[frames]}" ] || fail "${of[messages]} messages for ${of[frames]} frames"
  names_in >"$work/names"
  ! grep -qx BufferRDMAIndicate "$work/names" || fail "BufferRDMAIndicate was used"
  # The dissector does see messages: pools were offered both ways, and elements returned.
  [ "$(grep -cx BufferRecvPool "$work/names")" -ge 2 ] || fail "no BufferRecvPool in $file"
  [ "$(grep -cx BufferRecvPoolUpdate "$work/names")" -ge 2 ] || fail "no BufferRecvPoolUpdate in $file"
}

# With a threshold the frames of up to 128 bytes go by SendData, both ways, and no other does.
check_threshold() {
  local short name
  short=$(python3 - "$work/host.pcap" <<'PYTHON'
import struct, sys
data, at, short = open(sys.argv[1], "rb").read(), 24, 0
while at < len(data):
    size = struct.unpack_from("<I", data, at + 8)[0]
    short, at = short + (size <= 128), at + 16 + size
print(short)
PYTHON
  ) || fail "the frames cannot be counted"
  decode "$1"
  names_in >"$work/names"
  name=$(grep -cx SendData "$work/names")
  echo "$(basename "$1"): $name SendData for 2 x $short frames of up to 128 bytes"
  # A retransmitted message is in the capture twice; the frame that was too early may be missing.
  [ "$name" -ge $((2 * short - 1)) ] && [ "$name" -le $((3 * short)) ] || fail "$name SendData"
}

topology_begin
ns=sn$$-cap
host_namespace "$ns" || fail "the namespace cannot be made"
replay_both_ways "$frames"
check_cells "$work/iou.pcapng"
check_cells "$work/host.pcapng"
# Of the first run, where no threshold is set, none goes so.
! grep -qx SendData "$work/names" || fail "SendData without a threshold"
replay_both_ways 1000 --send-threshold 128
check_threshold "$work/iou.pcapng"
echo "capture: ok"
