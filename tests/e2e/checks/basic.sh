# shellcheck shell=bash
# A LAN that the host is not plugged into: what people do with it.

# 1000 to and from each, of both families.
check_ping() {
  bring_up
  address_ipv6
  local ns_address
  for ns_address in "$ns_host 10.77.0.2" "$ns_host fd77::2" "$ns_lan 10.77.0.1" "$ns_lan fd77::1"; do
    wait_until 20 in_ns "${ns_address% *}" ping -q -c 1 -W 1 "${ns_address#* }" >/dev/null
    ping_all "${ns_address% *}" "${ns_address#* }" 1000
  done
}

check_files() {
  bring_up
  files_both_ways "$([ "$long" = 1 ] && echo 256 || echo 48)"
  equal "RNR, sent and received" "$(counters host fabric.tx.rnr fabric.rx.rnr) $(counters iou fabric.tx.rnr fabric.rx.rnr)" "0 0 0 0"
}

check_dhcp() {
  bring_up
  ip -n "$ns_host" addr flush dev nic0
  start_dhcp_server "$ns_lan" lan0
  wait_until 20 grep -q "sockets bound" "$work/dnsmasq.log" || fail "no DHCP server"
  lease_address "$ns_host" nic0 || fail "no lease"
  ip -n "$ns_host" -4 -o addr show dev nic0 | has ' 10\.77\.0\.1[0-9][0-9]/' || fail "no address by DHCP"
  ping_all "$ns_host" 10.77.0.2 20
}

has_slaac() { ip -n "$ns_host" -6 -o addr show dev nic0 | has ' fd77:.* dynamic '; }

check_slaac() {
  bring_up
  ip -n "$ns_lan" addr add fd77::2/64 dev lan0 nodad
  start dnsmasq "$ns_lan" dnsmasq --keep-in-foreground -C /dev/null --bind-interfaces --interface=lan0 \
    --except-interface=lo --port=0 --user=root --no-resolv --no-hosts --pid-file= \
    --dhcp-leasefile="$work/dnsmasq.leases" --enable-ra --dhcp-range=fd77::,ra-only,64,10m --log-facility=-
  wait_until 20 grep -q "IPv6 router advertisement enabled" "$work/dnsmasq.log" || fail "nobody advertises a router"
  in_ns "$ns_host" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/nic0/disable_ipv6'
  within "address by router advertisement" 30000 has_slaac
  within "the LAN by IPv6" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 fd77::2
}

# iperf3 both ways at MTU 9000, and a ping that may not be fragmented.
check_jumbo() {
  bring_up 9000 9000
  ip -n "$ns_host" link set nic0 mtu 9000 || fail "nic0 takes no MTU of 9000"
  within "a ping of 9000 bytes" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 -M do -s 8972 10.77.0.2
  within "a ping of 9000 bytes from the LAN" 20000 in_ns "$ns_lan" ping -q -c 1 -W 1 -M do -s 8972 10.77.0.1
  files_both_ways 16
}

check_multicast() {
  bring_up
  start receiver "$ns_host" socat -u UDP4-RECV:5007,ip-add-membership=239.7.7.7:nic0,reuseaddr "CREATE:$work/heard"
  start receiver2 "$ns_lan" socat -u UDP4-RECV:5008,ip-add-membership=239.7.7.8:lan0,reuseaddr "CREATE:$work/heard2"
  heard_from "$ns_lan" heard UDP4-DATAGRAM:239.7.7.7:5007,ip-multicast-if=10.77.0.2
  heard_from "$ns_host" heard2 UDP4-DATAGRAM:239.7.7.8:5008,ip-multicast-if=10.77.0.1
  address_ipv6
  start receiver6 "$ns_host" socat -u "UDP6-RECV:5009,ipv6-join-group=[ff15::7]:nic0,reuseaddr" "CREATE:$work/heard6"
  heard_from "$ns_lan" heard6 "UDP6-SENDTO:[ff15::7]:5009"
}

# heard_from NS FILE ADDRESS: what is sent there arrives. It is repeated, because nothing reports when every bridge knows a new group.
heard_from() { wait_until 20 speaks_and_is_heard "$@" || fail "the multicast to $3 did not arrive"; }
speaks_and_is_heard() {
  echo "from $1" | in_ns "$1" socat -u - "$3"
  sleep 0.1
  grep -qs "from $1" "$work/$2"
}

# A bridge takes nic0; who is behind it is on the LAN too (frames with other MACs than the host's, both ways).
check_bridge() {
  iou_options=(--grant sniff,forge)
  bring_up
  local behind=sn$$-d
  host_namespace "$behind"
  veth_between "$ns_host" br1 "$behind" eth0
  ip -n "$behind" addr add 10.77.0.9/24 dev eth0
  ip -n "$ns_host" addr flush dev nic0
  ip -n "$ns_host" link add br0 type bridge && ip -n "$ns_host" link set br0 up
  ip -n "$ns_host" link set nic0 master br0 && ip -n "$ns_host" link set br1 master br0 || fail "no bridge over nic0"
  within "the first reply through the bridge" 20000 in_ns "$behind" ping -q -c 1 -W 1 10.77.0.2
  ping_all "$behind" 10.77.0.2 50
  ping_all "$ns_lan" 10.77.0.9 50
  make_blob 16
  stream "$behind" "$ns_lan" 10.77.0.2 "$work/www/blob"
  stream "$ns_lan" "$behind" 10.77.0.9 "$work/www/blob"
  ip -n "$ns_host" link del br0
  ip -n "$ns_host" addr add 10.77.0.1/24 dev nic0
  within "the host again without the bridge" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  in_ns "$behind" ping -q -c 1 -W 1 10.77.0.2 >/dev/null && fail "the bridge is gone and the LAN still responds"
}

# host_is STATE: as the unit shows it.
host_is() {
  ask iou show --json |
    "$python" -c 'import json, sys; sys.exit([p["state"] for p in json.load(sys.stdin)["peers"]] != sys.argv[1:])' "$1"
}
is_not_up() {
  local shown
  shown=$(ask "$1" show --json) && [[ ! $shown =~ \"state\":\ *\"up\" ]]
}

# Unplugged from the LAN side, nothing else reaches it; a kill is noticed by the other and does not harm it.
check_apart() {
  bring_up
  equal "memory that both programs map" "$(memory_of_both)" ""
  ping_all "$ns_host" 10.77.0.2 20
  ip -n "$ns_lan" link set lan0 down
  in_ns "$ns_host" ping -q -c 2 -i 0.2 -W 1 10.77.0.2 >/dev/null && fail "the LAN responds although it is unplugged"
  ip -n "$ns_lan" link set lan0 up
  within "replies after plugging in" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  stop iou KILL
  within "carrier lost after the I/O unit was killed" 20000 carrier_is "$ns_host" nic0 0
  running host || fail "the host ended with the I/O unit"
  wait_until 20 grep -q "is gone" "$work/host.log" || fail "the host does not report the loss"
  wait_until 20 is_not_up host || fail "the host reports up without an I/O unit"
  start_iou
  within "replies after the I/O unit's restart" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  wait_until 20 host_is up || fail "the unit calls a host down that is up"
  stop host KILL
  within "the unit calls the killed host down" 20000 host_is down
  running iou || fail "the I/O unit ended with the host"
  start_host
  nic_up
}
