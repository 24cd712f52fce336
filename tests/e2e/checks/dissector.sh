# shellcheck shell=bash
# What tshark shows of a fabric that carries pings and a page: in the capture of a program, and in one of the wire.

script=$e2e/../../tools/wireshark/splitnic.lua

dissected() {
  tshark -X "lua_script:$script" -r "$1" "${@:2}" 2>>"$work/tshark.log" || fail "tshark refuses $1"
}

# INIT of step 6, found without the script. The file may end within a packet while it is written.
has_bye() { tshark -r "$1" -Y "udp.payload[0] == 4f && udp.payload[16:2] == 01:06" 2>>"$work/tshark.log" | has UDP; }

# check_decoded FILE: each ping is there both ways, the page once, and nothing is refused.
check_decoded() {
  local file=$1 fields name
  fields=(-T fields -E "aggregator=," -e icmp.type -e http.response.code -e splitnic.bad -e _ws.lua.error -e splitnic.reply_time)
  dissected "$file" "${fields[@]}" >"$work/decoded"
  # Both pings of a datagram count.
  declare -A count=([icmp]=0)
  count[icmp]=$(cut -f 1 "$work/decoded" | tr , '\n' | grep -cE '^(0|8)$')
  count[http]=$(cut -f 2 "$work/decoded" | tr , '\n' | grep -cx 200)
  count[bad]=$(cut -f 3 "$work/decoded" | grep -c .)
  count[errors]=$(cut -f 4 "$work/decoded" | grep -c .)
  count[replies]=$(cut -f 5 "$work/decoded" | grep -c .)
  echo "$(basename "$file"): $(wc -l <"$work/decoded") datagrams, ${count[icmp]} pings and replies, ${count[http]} pages," \
    "${count[replies]} replies to requests"
  [ "${count[icmp]}" -ge 40 ] || fail "only ${count[icmp]} of 40 pings and replies are decoded"
  [ "${count[http]}" -ge 1 ] || fail "the page is not decoded"
  [ "${count[replies]}" -ge 1 ] || fail "no reply has a time"
  for name in bad errors; do equal "datagrams that are $name" "${count[$name]}" 0; done
  ! grep -q Lua "$work/tshark.log" || fail "the dissector has an error"
}

# decode_link OPTION...: of both programs. Without keys, because a capture holds what is on the wire. KEEP_CAPTURES=FOLDER keeps
# both captures.
decode_link() {
  plain
  host_options=(--queues 1 --capture "$work/host.pcapng" "$@") iou_options=(--queues 1 "$@")
  make_blob 1
  truncate -s 300K "$work/www/blob"
  wanted=$(hash_of "$work/www/blob")
  topology_three || fail "the test hosts cannot be made"
  # From the first datagram on.
  start wire "$ns_host" tshark -q -B 32 -i fab0 -w "$work/wire.pcapng" -f "udp port 7471"
  wait_until 10 grep -qs "Capturing on" "$work/wire.log" || fail "tshark does not capture"
  start_iou && start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 20 0.01 -s 3000
  serve_and_fetch "$ns_lan" "$ns_host" 10.77.0.2 "the file from the LAN"
  stop host TERM 2 || fail "the host did not stop cleanly"
  wait_until 10 has_bye "$work/wire.pcapng" || fail "the capture does not have the end"
  stop wire INT
  [ -z "${KEEP_CAPTURES:-}" ] || cp "$work"/*.pcapng "$KEEP_CAPTURES"
  check_decoded "$work/host.pcapng"
  check_decoded "$work/wire.pcapng"
}

check_inner() { decode_link; }
# Cells are cut into flits.
check_full_profile() { decode_link --link-profile full; }
