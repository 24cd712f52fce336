# shellcheck shell=bash
# The Ethernet/IP form: each port of the fabric has the MAC address of its card and a network address by DHCP, finds its peer
# by ARP, and the lanes of a link are classes of traffic of the network.

# A network $ns_wire between host and unit, whose DHCP server gives both their addresses.
topology_dhcp() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c ns_wire=sn$$-w
  local ns
  for ns in "$ns_host" "$ns_iou" "$ns_lan" "$ns_wire"; do host_namespace "$ns" || fail "no namespace"; done
  ip -n "$ns_wire" link add br0 type bridge && ip -n "$ns_wire" addr add 10.99.0.254/24 dev br0 && ip -n "$ns_wire" link set br0 up ||
    fail "no network"
  veth_between "$ns_host" fab0 "$ns_wire" w1 && veth_between "$ns_iou" fab0 "$ns_wire" w2 && veth_between "$ns_iou" lan0 "$ns_lan" lan0 ||
    fail "no wires"
  ip -n "$ns_wire" link set w1 master br0 && ip -n "$ns_wire" link set w2 master br0 || fail "no wires to the network"
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  silence_interface "$ns_iou" lan0
  start_dhcp_server "$ns_wire" br0 10.99.0
  wait_until 20 grep -q "sockets bound" "$work/dnsmasq.log" || fail "no DHCP server"
  lease_address "$ns_host" fab0 && lease_address "$ns_iou" fab0 || fail "no lease"
  iou_address=$(address_of "$ns_iou"):7471
}
address_of() { ip -n "$1" -4 -o addr show dev fab0 | awk '{sub("/.*", "", $4); print $4}'; }

# neighbour_of NS IF ADDRESS: its MAC address, as ARP has found it.
neighbour_of() { ip -n "$1" neigh show "$3" dev "$2" | awk '{print $3}'; }

# packets FILTER [OPTION...]: of the capture of the wire.
packets() {
  tshark -X "lua_script:$e2e/../../tools/wireshark/splitnic.lua" -r "$work/wire.pcapng" -Y "$@" 2>>"$work/tshark.log" || fail "tshark"
}

# Without the dissector; the file may end within a packet while it is written.
has_packet() { tshark -r "$work/wire.pcapng" -Y "$1" 2>>"$work/tshark.log" | has UDP; }

begin_wire() {
  start wire "$ns_wire" tshark -q -B 32 -i w2 -w "$work/wire.pcapng"
  wait_until 30 test -s "$work/wire.pcapng" || fail "tshark does not capture"
}

# end_wire FILTER: when the capture has such a packet, which is the last one.
end_wire() {
  wait_until 60 has_packet "$1" || fail "the capture does not have the end"
  stop wire INT
}

# Each DATA flit went in a datagram with the DSCP of its lane, INIT with that of lane 15, and each of these classes was used.
check_marks() {
  packets "splitnic.flit.type && !icmp.type==3" -T fields -E aggregator=, -e ip.dsfield.dscp -e splitnic.flit.type -e splitnic.flit.lane |
    "$python" -c 'import sys
dscp_of = {0: 10, 1: 0, 2: 0, 3: 46, 15: 48}
seen = {}
for line in sys.stdin:
    dscps, types, lanes = (field.split(",") for field in line.rstrip("\n").split("\t"))
    for kind, lane in zip(types, lanes):
        if int(kind, 0) == 4 and dscps[0] != "48":
            sys.exit(f"an INIT with DSCP {dscps[0]}")
        if int(kind, 0) == 0:
            if int(dscps[0]) != dscp_of[int(lane, 0)]:
                sys.exit(f"a flit of lane {lane} in a datagram with DSCP {dscps[0]}")
            seen[int(lane, 0)] = seen.get(int(lane, 0), 0) + 1
print("flits of each lane:", dict(sorted(seen.items())))
if not {0, 3, 15} <= seen.keys():
    sys.exit("a lane was not used")' || fail "lanes and their DSCP"
}

# sources_of NS FIELD: what has the ports of both queues in FIELD comes from one MAC address and one network address, those of NS.
sources_of() {
  equal "sources by $2 7471 and 7472" \
    "$(packets "($2 == 7471 || $2 == 7472) && !icmp" -T fields -E occurrence=f -e "$2" -e eth.src -e ip.src | sort -u)" \
    "$(printf '%s\t%s\t%s\n' 7471 "$(mac_of "$1" fab0)" "$(address_of "$1")" 7472 "$(mac_of "$1" fab0)" "$(address_of "$1")")"
}

check_form() {
  local marks=(--lane-dscp 0=10 --lane-dscp 3=46 --lane-dscp 15=48)
  plain  # to read the lanes in the capture
  iou_options=(--queues 2 --link-profile full "${marks[@]}") host_options=(--queues 2 --link-profile full "${marks[@]}")
  topology_dhcp
  begin_wire
  start_iou && start_host
  nic_up
  wait_until 20 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  ping_all "$ns_host" 10.77.0.2 100
  ping_all "$ns_lan" 10.77.0.1 20 0.012 -s 3000
  equal "leases" "$(cut -d' ' -f2 "$work/dnsmasq.leases" | sort | paste -sd' ')" \
    "$(printf '%s\n' "$(mac_of "$ns_host" fab0)" "$(mac_of "$ns_iou" fab0)" | sort | paste -sd' ')"
  equal "the unit, as the host has found it" "$(neighbour_of "$ns_host" fab0 "$(address_of "$ns_iou")")" "$(mac_of "$ns_iou" fab0)"
  equal "the host, as the unit has found it" "$(neighbour_of "$ns_iou" fab0 "$(address_of "$ns_host")")" "$(mac_of "$ns_host" fab0)"
  # The NIC of the unit replies on the LAN for the MAC address of the host.
  ip -n "$ns_lan" neigh flush dev lan0
  ping_all "$ns_lan" 10.77.0.1 1
  equal "nic0, as the LAN has found it" "$(neighbour_of "$ns_lan" lan0 10.77.0.1)" "$(mac_of "$ns_host" nic0)"
  stop host TERM || fail "the host does not stop"
  end_wire "udp.payload[0] == 4f && udp.payload[16:2] == 01:06"  # BYE
  packets "arp.opcode == 1 && arp.dst.proto_ipv4 == $(address_of "$ns_iou")" | has "Who has" || fail "nobody has asked for the unit"
  sources_of "$ns_host" udp.dstport
  sources_of "$ns_iou" udp.srcport
  check_marks
}

# With keys the lanes are sealed, and the classes stay.
check_keyed() {
  local dscp
  iou_options=(--queues 1 --lane-dscp 3=46 --lane-dscp 15=48) host_options=(--queues 1 --lane-dscp 3=46 --lane-dscp 15=48)
  topology_dhcp
  begin_wire
  start_iou && start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 100
  for dscp in 0 46 48; do
    wait_until 60 has_packet "udp.port == 7471 && ip.dsfield.dscp == $dscp" || fail "no datagram has the DSCP $dscp"
  done
  stop wire INT
  # The system of a unit that is not there yet sends one back in an ICMP message.
  packets "!icmp && (udp.payload[0:4] == 81:01:00:00 || udp.payload[0:4] == 82:01:00:00)" -T fields -e ip.dsfield.dscp >"$work/handshakes" || fail "tshark"
  [ "$(wc -l <"$work/handshakes")" -ge 2 ] || fail "no handshake was captured"
  equal "DSCPs of handshakes" "$(sort -u "$work/handshakes")" 48
}
