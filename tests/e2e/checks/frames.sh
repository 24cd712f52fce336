# shellcheck shell=bash
# Frames as they are: whatever comes in at one side goes out at the other, byte for byte, in order, none more.

check_replay() {
  bring_up
  quieten
  replay_both_ways
  replay_both_ways 400  # libpcap's ring has room for 500
}

# A capture as anybody replays one: tcpreplay hands every record of the file to the LAN as it is, tagged, double tagged,
# of 802.3 and of 14 to 1518 bytes. Any port holds all of the frames at once, so none is lost however late the unit runs.
check_tcpreplay() {
  bring_up
  quieten
  begin_replay "$ns_lan" lan0 "$ns_host" nic0 100
  in_ns "$ns_lan" timeout 20 tcpreplay --quiet --intf1=lan0 --pps=500 "$work/sent.pcap" >"$work/tcpreplay.log" 2>&1 ||
    fail "tcpreplay"
  end_replay "tcpreplay to nic0"
}

# super FROM_NS FROM_IF TO_NS TO_IF TAGS [BYTES]
super() {
  local sent
  begin_taking "$3" "$4" 1000
  sent=$(in_ns "$1" "$python" "$e2e/tool.py" super "$2" "$(mac_of "$3" "$4")" "$(mac_of "$1" "$2")" "${@:5}") || fail "not sent"
  wait_until 20 is_whole "${@:5}"
  sleep 0.25  # for what comes twice
  stop taker INT || true
  is_whole "${@:5}" || fail "$2, tags $5, sent $sent: $whole"
  echo "from $2, tags $5: sent $sent, came $whole"
}

# is_whole TAGS [BYTES]: is that super-frame in what was taken, once? Leaves in $whole what there is of it.
is_whole() { whole=$("$python" "$e2e/tool.py" stream "$work/taken.pcap" "$@" 2>&1); }

super_both_ways() {
  super "$ns_host" nic0 "$ns_lan" lan0 "$@"
  super "$ns_lan" lan0 "$ns_host" nic0 "$@"
}

# The kernel takes the (outer) tag out of band on one side and the port puts it back on the other.
check_super() {
  bring_up
  quieten
  local vids
  for vids in none 0 5 4094 7.9; do super_both_ways $vids; done
}

# 65535 to 65553 bytes: an IPv4 packet of up to 65535 bytes, with up to one tag. They do not fit an element of
# 65536 bytes with its header: they are split, never cut or dropped.
check_longest() {
  bring_up
  quieten
  local bytes
  for bytes in 65481 65482 65495; do super_both_ways none $bytes; done
  for bytes in 65478 65495; do super_both_ways 5 $bytes; done
  equal "frames too long" "$(($(counter host host.tx.drop.too_long) + $(counter iou lan.rx.drop.too_long)))" 0
}

# vlan_over NS IF ADDRESS: QinQ, tag 9 within tag 7.
vlan_over() {
  local ns=$1 interface=$2
  ip -n "$ns" link add link "$interface" name v.out type vlan proto 802.1ad id 7 2>/dev/null &&
    ip -n "$ns" link add link v.out name v.in type vlan id 9 && ip -n "$ns" link set v.out up &&
    ip -n "$ns" link set v.in up && ip -n "$ns" addr add "$3" dev v.in
}

# Where the kernel has VLAN devices they are used too; where it makes none over a veth the crafted frames above are all there is.
check_vlan_device() {
  bring_up
  if ! vlan_over "$ns_lan" lan0 10.78.0.2/24; then
    echo "note: this kernel makes no VLAN device: tags were tested with crafted frames only"
    return
  fi
  vlan_over "$ns_host" nic0 10.78.0.1/24 || fail "no VLAN device over nic0"
  ip -n "$ns_host" link set v.in mtu 1492
  wait_until 20 in_ns "$ns_host" ping -q -c 1 -W 1 10.78.0.2 >/dev/null
  ping_all "$ns_host" 10.78.0.2 100
  ping_all "$ns_lan" 10.78.0.1 100
  make_blob 8
  stream "$ns_host" "$ns_lan" 10.78.0.2 "$work/www/blob"
  stream "$ns_lan" "$ns_host" 10.78.0.1 "$work/www/blob"
}
