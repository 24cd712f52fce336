# shellcheck shell=bash
# `splitnic doctor`: each thing that can be wrong, broken on purpose, is found and named with what to do.

unit=udp://10.99.0.2:7471

# finds WORDS COMMAND...: it ends with status 1, and one line that begins with "wrong" has the words.
finds() { is_found "$@" || fail "nothing of '$1': $(cat "$work/findings.txt")"; }
# finds_soon WORDS COMMAND...: the same, of what shows a moment later, or in some runs, as the attempts of a copy.
finds_soon() { wait_until 20 is_found "$@" || fail "nothing of '$1': $(cat "$work/findings.txt")"; }
is_found() {
  local words=$1 status=0
  shift
  "$@" >"$work/findings.txt" 2>&1 || status=$?
  echo "status $status" >>"$work/findings.txt"
  [ $status = 1 ] && grep '^wrong' "$work/findings.txt" | has -- "$words"
}

# with_file PATH TEXT COMMAND...: in $ns_host, where the file has that text.
with_file() {
  local path=$1
  printf '%s\n' "$2" >"$work/file"
  shift 2
  # shellcheck disable=SC2016 # for that shell
  in_ns "$ns_host" unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' "$work/file" "$path" "$@"
}

# The report of the last attempt is in well.txt: the unit may read its ports after its control socket is there.
unit_is_well() { "${doctor[@]}" "$unit" >"$work/well.txt"; }

check_broken() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  wait_until 20 test -S "$work/iou.sock" || fail "no unit"
  local doctor=(in_ns "$ns_host" "$bin/splitnic" doctor --control "$work/iou.sock")
  wait_until 20 unit_is_well || fail "something is wrong: $(cat "$work/well.txt")"
  equal "lines that are not ok" "$(grep -vc '^ok ' "$work/well.txt")" 0
  finds "route: 203.0.113.1:7471: no route" "${doctor[@]}" udp://203.0.113.1:7471
  finds "name: .*correct it" with_file /etc/resolv.conf "nameserver 127.0.0.1" \
    "$bin/splitnic" doctor --control "$work/iou.sock" udp://unit.example:7471
  finds "reply: .*nothing listens there: start splitnic-iou" "${doctor[@]}" udp://10.99.0.2:7999
  finds "reply: .*does not respond: is that machine up" "${doctor[@]}" udp://10.99.0.77:7471
  grep '^ok *reply' "$work/well.txt" | has "firewall does; to permit UDP port 7471 there" || fail "no advice: $(cat "$work/well.txt")"
  # shellcheck disable=SC2016 # for that shell
  finds "tun: .*modprobe tun" in_ns "$ns_host" unshare -m sh -c 'mount -t tmpfs none /dev/net && exec "$@"' sh \
    "$bin/splitnic" doctor --control "$work/iou.sock"
  finds "capabilities: CAP_NET_ADMIN and CAP_NET_RAW missing" setpriv --bounding-set -all --inh-caps -all \
    "$bin/splitnic" doctor --control "$work/iou.sock"
  cp "$bin/splitnic" "$work/tomorrow" && touch -d tomorrow "$work/tomorrow"
  finds "clock: .*set it" "$work/tomorrow" doctor --control "$work/iou.sock"
  ip -n "$ns_host" link set fab0 mtu 1000
  finds "mtu: datagrams of 972 bytes only: raise the MTU" "${doctor[@]}" "$unit"
  ip -n "$ns_host" link set fab0 mtu 1500
  finds "program: .*no program responds" "$bin/splitnic" doctor --control "$work/nobody.sock"
  refuses 2 "udp://ADDRESS:PORT" "$bin/splitnic" doctor shm://x
}

# A copy of the machine is found at both ends, also when its attempts have become rare, and no longer when it has stopped.
check_duplicate() {
  local copy=() counted=iou.hosts.refused_duplicate remedy="give one of them another --name"
  local reason="another program of our identity is connected"
  bring_up
  make_second
  if [ "$links" = keyed ]; then
    copy=(--key-file "$work/host.key" --peer "$(public "$next_to_second")")
    counted=session.rx.drop.second remedy="the log of the I/O unit names both; make a key for each machine (splitnic keygen)"
    reason="a key that another machine uses"
  fi
  # shellcheck disable=SC2034 # of lib.sh
  second_name=hosta
  start_second "${copy[@]}"
  wait_until 40 counts iou "$counted" 7 || fail "the copy is not refused"
  finds_soon "identity: .*$remedy" in_ns "$ns_iou" "$bin/splitnic" doctor --control "$work/iou.sock"
  finds_soon "unit: .*$reason" in_ns "$ns_second" "$bin/splitnic" doctor --control "$work/host2.sock"
  stop host2 TERM
  well "program: .* responds" in_ns "$ns_iou" "$bin/splitnic" doctor --control "$work/iou.sock"
}

# Two processes with one key at one address: each ends the session of the other.
check_duplicate_here() {
  keyed
  bring_up
  local unit=(--connect "udp://$iou_address" --peer "$(public unit)" --key-file "$work/host.key")
  start host2 "$ns_host" "$bin/splitnic-host" "${unit[@]}" --tap nic1 --name hostb --control "$work/host2.sock"
  wait_until 20 counts iou session.reclaimed 2 || fail "neither takes the session back"
  finds_soon "identity: .*make a key for each machine" in_ns "$ns_iou" "$bin/splitnic" doctor --control "$work/iou.sock"
  stop host2 KILL
  # The one that is left may have to take the session back once more.
  well "program: .* responds" in_ns "$ns_iou" "$bin/splitnic" doctor --control "$work/iou.sock"
}

# well WORDS COMMAND...: soon everything is ok, and one line has the words.
well() { wait_until 20 is_well "$@" || fail "no '$1' with everything else well: $(cat "$work/findings.txt")"; }
is_well() {
  local words=$1
  shift
  "$@" >"$work/findings.txt" 2>&1 && grep '^ok' "$work/findings.txt" | has -- "$words"
}

# What a running host knows of its unit, of the path and of the LAN.
check_running() {
  local doctor
  topology_three || fail "the test hosts cannot be made"
  start_host
  doctor=(in_ns "$ns_host" "$bin/splitnic" doctor --control "$work/host.sock")
  wait_until 20 test -S "$work/host.sock" || fail "no host"
  finds_soon "unit: .* the I/O unit udp://$iou_address is connecting: .*permit UDP port 7471.*firewall-cmd --add-port=7471/udp" "${doctor[@]}"
  start_iou
  wait_up host
  well "unit: .* the I/O unit udp://$iou_address is up" "${doctor[@]}"
  well "path: .* cells of $(host_option --cell 1364) bytes pass to $iou_address" "${doctor[@]}"
  # Frames leave, and none comes back.
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up
  ip -n "$ns_host" neigh add 10.77.0.99 lladdr 02:00:00:00:00:99 dev nic0
  wait_until 20 carrier_is "$ns_host" nic0 1 || fail "nic0 has no carrier"
  in_ns "$ns_host" ping -q -c 30 -i 0.02 -W 1 10.77.0.99 >/dev/null
  finds_soon "lan: .* frames sent to the LAN, 0 came from there to this address: does the LAN accept this MAC address?" "${doctor[@]}"
  wait_until 20 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond"
  well "lan: .* frames sent to the LAN, [1-9][0-9]* came from there" "${doctor[@]}"
  stop iou KILL
  wait_until 20 is_down host || fail "the host does not notice"
  finds_soon "unit: .* the I/O unit udp://$iou_address is down: .*splitnic doctor udp://$iou_address" "${doctor[@]}"
}
is_down() { [[ $(ask "$1" show --json) == *'"state":"down"'* ]]; }
