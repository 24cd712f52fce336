# shellcheck shell=bash
# What tshark shows of a fabric that carries pings and a page: in the capture of a program, and in one of the wire.

script=$e2e/../../tools/wireshark/splitnic.lua
expert_error=8388608  # the severity, of any protocol

dissected() {
  tshark -X "lua_script:$script" -r "$1" "${@:2}" 2>>"$work/tshark.log" || fail "tshark refuses $1"
}

# INIT of step 6, found without the script. The file may end within a packet while it is written.
has_bye() { tshark -r "$1" -Y "udp.payload[0] == 4f && udp.payload[16:2] == 01:06" 2>>"$work/tshark.log" | has UDP; }

# count_decoded FILE: leaves in `count` what tshark shows there.
count_decoded() {
  local fields column name
  fields=(-T fields -E "aggregator=," -e icmp.type -e http.response.code -e splitnic.bad -e _ws.lua.error -e splitnic.reply_time
    -e _ws.malformed -e _ws.expert.severity)
  dissected "$1" "${fields[@]}" >"$work/decoded"
  declare -gA count=([datagrams]=$(wc -l <"$work/decoded"))
  column=3
  for name in bad script_errors replies malformed; do
    count[$name]=$(cut -f $column "$work/decoded" | grep -c .)
    column=$((column + 1))
  done
  # Both pings of a datagram count.
  count[requests]=$(cut -f 1 "$work/decoded" | tr , '\n' | grep -cx 8)
  count[pinged]=$(cut -f 1 "$work/decoded" | tr , '\n' | grep -cx 0)
  count[pages]=$(cut -f 2 "$work/decoded" | tr , '\n' | grep -cx 200)
  count[expert_errors]=$(cut -f 7 "$work/decoded" | tr , '\n' | grep -cx $expert_error)
}

# check_decoded FILE DATAGRAMS: at least that many are there, and in them each ping both ways and the page once; nothing is refused, malformed
# or an error.
check_decoded() {
  local name repeated
  count_decoded "$1"
  echo "$(basename "$1"): ${count[datagrams]} datagrams, ${count[requests]} pings, ${count[pinged]} replies to them," \
    "${count[pages]} pages, ${count[replies]} replies to requests"
  [ "${count[datagrams]}" -ge "$2" ] || fail "only ${count[datagrams]} of $2 datagrams"
  [ "${count[requests]}" -ge "$pings" ] || fail "of $pings pings ${count[requests]} are decoded"
  # What the unit sent once more is in the capture once more.
  repeated=$(counter iou fabric.rc.retransmit)
  [ "${count[pinged]}" -ge "$pings" ] && [ "${count[pinged]}" -le $((pings + repeated)) ] ||
    fail "${count[pinged]} replies to $pings pings are decoded, and the unit has retransmitted $repeated cells"
  [ "${count[pages]}" -ge 1 ] || fail "the page is not decoded"
  [ "${count[replies]}" -ge 1 ] || fail "no reply has a time"
  for name in bad script_errors malformed expert_errors; do equal "$name" "${count[$name]}" 0; done
  ! grep -q Lua "$work/tshark.log" || fail "the dissector has an error"
}

# decode_link SIZE DATAGRAMS OPTION...: of a page of that SIZE; the program's capture has at least that many DATAGRAMS. OPTIONs are of both
# programs. Without keys, because a capture holds what is on the wire. KEEP_CAPTURES=FOLDER keeps both captures.
decode_link() {
  local size=$1 datagrams=$2
  shift 2
  plain
  host_options=(--queues 1 --capture "$work/host.pcapng" "$@") iou_options=(--queues 1 "$@")
  make_blob 16
  truncate -s "$size" "$work/www/blob"
  wanted=$(hash_of "$work/www/blob")
  topology_three || fail "the test hosts cannot be made"
  # From the first datagram on.
  start wire "$ns_host" tshark -q -B 32 -i fab0 -w "$work/wire.pcapng" -f "udp port 7471"
  wait_until 30 test -s "$work/wire.pcapng" || fail "tshark does not capture"
  start_iou && start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 20 0.01 -s 3000
  serve_and_fetch "$ns_lan" "$ns_host" 10.77.0.2 "the file from the LAN"
  pings=$(echo_replies "$ns_host")
  [ "$pings" -ge 21 ] || fail "only $pings pings"
  stop host TERM 10 || fail "the host did not stop cleanly"
  wait_until 60 has_bye "$work/wire.pcapng" || fail "the capture does not have the end"
  stop wire INT
  [ -z "${KEEP_CAPTURES:-}" ] || cp "$work"/*.pcapng "$KEEP_CAPTURES"
  check_decoded "$work/host.pcapng" "$datagrams"
  # The kernel hands several datagrams to a capture as one.
  check_decoded "$work/wire.pcapng" 50
}

check_inner() { decode_link 300K 400; }
# Cells are cut into flits.
check_full_profile() { decode_link 300K 400 --link-profile full; }

# Of 10^4 datagrams none is malformed, and `-Y icmp` shows the datagrams with pings and no other.
check_many() {
  decode_link 14M 10000
  local shown
  shown=$(dissected "$work/host.pcapng" -Y icmp -T fields -E "aggregator=," -e icmp.type | tr , '\n' | grep -cE '^(0|8)$')
  equal "pings and replies that -Y icmp shows" "$shown" $((count[requests] + count[pinged]))
  # With some bytes changed the counts above are not 0.
  editcap -r --seed 1 -E 0.001 "$work/host.pcapng" "$work/changed.pcapng" 1-500 2>>"$work/tshark.log" || fail "editcap"
  count_decoded "$work/changed.pcapng"
  echo "with changed bytes: ${count[bad]} bad, ${count[malformed]} malformed, ${count[expert_errors]} errors"
  [ "${count[bad]}" -ge 1 ] && [ "${count[malformed]}" -ge 1 ] && [ "${count[expert_errors]}" -ge 1 ] || fail "changed bytes are not noticed"
}
