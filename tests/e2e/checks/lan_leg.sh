# shellcheck shell=bash
# An end node whose Raw queue pairs reach a LAN with IPv6 over the leg of a switch, which is a router of the kernel there:
#   $ns_host ip0 (fab0) -- port 1 of sw1, leg leg0 $ns_sw1 lan0 -- lan0 $ns_lan

node_address=fd00:a::b  # LID 11 of the subnet
lan_address=fd99::2

# legged [FIELDS]: test hosts, and the topology file with FIELDS in it.
legged() {
  keyed  # what it starts
  ns_host=sn$$-a ns_sw1=sn$$-s ns_lan=sn$$-c
  local ns
  for ns in "$ns_host" "$ns_sw1" "$ns_lan"; do host_namespace "$ns" || fail "no namespace"; done
  veth_between "$ns_host" fab0 "$ns_sw1" p1 && veth_between "$ns_sw1" lan0 "$ns_lan" lan0 || fail "no wire"
  ip -n "$ns_host" addr add 10.96.1.1/24 dev fab0
  ip -n "$ns_sw1" addr add 10.96.1.2/24 dev p1
  ip -n "$ns_sw1" addr add fd99::1/64 dev lan0 nodad
  ip -n "$ns_lan" addr add $lan_address/64 dev lan0 nodad
  ip -n "$ns_lan" route add fd00:a::/64 via fd99::1
  in_ns "$ns_sw1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
  {
    printf 'prefix = "fd00:a::/64"\n'
    entry switches.sw1 1 '' sw1
    entry nodes.hosta 11 sw1:1 host
    printf '[nodes.lan]\nlid = 30\nat = "sw1:2"\n'
  } >"$work/fabric.toml"
}

# leads NS PREFIX IF: a route there. The program sets the interface up after it has made it, and before that there is none.
leads() { ip -n "$1" -6 route replace "$2" dev "$3" 2>/dev/null; }

start_leg() {
  start switch1 "$ns_sw1" "$bin/splitnic-switch" --port udp://10.96.1.2:7500 --lan tun:leg0 --topology "$work/fabric.toml" \
    --name sw1 --control "$work/switch1.sock" --key-file "$work/sw1.key"
  wait_until 10 in_ns "$ns_sw1" test -e /sys/class/net/leg0 || fail "the switch made no interface"
  wait_until 10 leads "$ns_sw1" fd00:a::/64 leg0 || fail "no route to the leg"
}

start_node() {
  start host "$ns_host" "$bin/splitnic" raw --connect 'udp://lan:1?via=10.96.1.2:7500' --interface tun:ip0 --name hosta \
    --control "$work/host.sock" --key-file "$work/host.key" --peer "$(public sw1)"
  wait_until 10 in_ns "$ns_host" test -e /sys/class/net/ip0 || fail "the node made no interface"
  ip -n "$ns_host" addr add $node_address/128 dev ip0 nodad
  wait_until 10 leads "$ns_host" default ip0 || fail "no route to the fabric"
  wait_up host
}

reaches() { in_ns "$1" ping -q -c 1 -W 1 "$2" >/dev/null; }

# others NS ADDRESS: a datagram of a protocol that no queue pair is for.
others() {
  in_ns "$1" "$python" -c 'import socket, sys
socket.socket(socket.AF_INET6, socket.SOCK_RAW, 253).sendto(b"others", (sys.argv[1], 0))' "$2"
}

# both_protocols FROM_NS TO_NS ADDRESS: a file by TCP, and meanwhile datagrams of UDP that come back from there. An end node has
# a queue pair for each, and drops what no queue pair is for.
both_protocols() {
  start reflector "$2" "$python" "$e2e/tool.py" udp_reflect
  wait_until 10 grep -qs ready "$work/reflector.log" || fail "no socket for datagrams"
  start exchange "$1" "$python" "$e2e/tool.py" udp_exchange "$3" 500
  stream "$1" "$2" "$3" "$work/blob"
  wait "${pid_of[exchange]}" || fail "UDP to $3: $(tail -n 1 "$work/exchange.log")"
  unset "pid_of[exchange]"
  echo "UDP to $3: $(tail -n 1 "$work/exchange.log")"
  stop reflector
}

check_reached() {
  legged
  start_leg
  start_node
  wait_until 10 reaches "$ns_lan" $node_address || fail "the node does not respond"
  ping_all "$ns_lan" $node_address 50 0.012 -s 1100
  ping_all "$ns_host" $lan_address 50 0.012 -s 1100
  head -c 4000000 /dev/urandom >"$work/blob"
  both_protocols "$ns_lan" "$ns_host" $node_address
  both_protocols "$ns_host" "$ns_lan" $lan_address
  equal "datagrams of ICMPv6, TCP and UDP that no queue pair is for" "$(counter host fabric.raw.drop.filter)" 0
  others "$ns_lan" $node_address
  within "what no queue pair is for is dropped" 10000 counts host fabric.raw.drop.filter 1
  in_ns "$ns_lan" ping -q -c 1 -W 1 fd00:a::c >/dev/null && fail "nobody has that address"
  within "what is for nobody is dropped" 10000 counts switch1 leg.drop.path 1
  ip -n "$ns_host" addr add fd00:a::c/128 dev ip0 nodad
  in_ns "$ns_host" ping -q -c 1 -W 1 -I fd00:a::c $lan_address >/dev/null && fail "a reply to an address of another"
  within "an address of another does not leave" 10000 counts host leg.drop.source 1
  ask host stats 'leg.*'
  ask switch1 stats 'leg.*'
  counts switch1 leg.to_interface 1000 && counts switch1 leg.to_fabric 1000 || fail "nothing crossed the leg"
  ask host show | has "lan .* up" || fail "no line for the leg: $(ask host show)"
}

# The switch is killed and back: the node continues, and its interface stays.
check_back() {
  legged
  start_leg
  start_node
  wait_until 10 reaches "$ns_lan" $node_address || fail "the node does not respond"
  stop switch1 KILL || true
  start_leg
  within "the node responds again" 10000 reaches "$ns_lan" $node_address
}

check_refused() {
  legged
  local run=(ip netns exec "$ns_sw1" "$bin/splitnic-switch" --topology "$work/fabric.toml" --control "$work/s.sock" --name sw1
    --key-file "$work/sw1.key" --port udp://10.96.1.2:7500)
  refuses 2 "is not tun:NAME" "${run[@]}" --lan lan0
  refuses 1 "--lan: lan0: opening the TUN" "${run[@]}" --lan tun:lan0
  sed -i '/^prefix/d' "$work/fabric.toml"
  refuses 1 "has no prefix, and the leg to a LAN needs it" "${run[@]}" --lan tun:leg0
  sed -i '/^.nodes.lan/,$d' "$work/fabric.toml"
  refuses 1 "--lan: no node is at port 2" "${run[@]}" --lan tun:leg0
}
