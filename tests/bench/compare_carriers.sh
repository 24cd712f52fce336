# shellcheck shell=bash
# What carries frames between nic0 of the host and the LAN; sourced after bench_head.sh.
#   carrier_known NAME; carrier_tools NAME     is there one of that name; programs it needs
#   carrier_up NAME; take_down                 makes nic0 and what stands behind it; takes all of it away again
# Needs $bin. Over UDP splitnic has its payload CRC on, as between two machines; splitnic-auto leaves it out. Each carrier finds lan0 with MTU 1500 and leaves it so.

all_carriers=(splitnic-packet splitnic-auto splitnic-pcap splitnic-shm splitnic-busy direct vxlan openvpn openvpn-9000 socat veth)
carrier_programs=(host iou tunnel_host tunnel_iou)

carrier_known() {
  local one
  for one in "${all_carriers[@]}"; do [ "$one" = "$1" ] && return 0; done
  return 1
}

carrier_tools() {
  case "$1" in
    openvpn*) echo openvpn ;;
    socat) echo socat ;;
    direct) echo "$bin/../tests/tap_to_packet" ;;
    splitnic-*) echo "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" ;;
  esac
}

carrier_up() {
  case "$1" in
    splitnic-packet) up_splitnic packet udp://10.99.0.2:7471 --payload-crc on ;;
    splitnic-auto) up_splitnic packet udp://10.99.0.2:7471 --payload-crc auto ;;
    splitnic-pcap) up_splitnic pcap udp://10.99.0.2:7471 --payload-crc on ;;
    splitnic-shm) up_splitnic packet shm://compare ;;
    splitnic-busy) up_splitnic packet udp://10.99.0.2:7471 --payload-crc on --busy-poll ;;
    direct) start tunnel_host "$ns_host" "$bin/../tests/tap_to_packet" nic0 "$ns_iou" lan0 && nic0_is_there ;;
    vxlan) up_vxlan ;;
    openvpn) up_openvpn 1500 ;;
    openvpn-9000) up_openvpn 9000 ;;
    socat) up_socat ;;
    veth) up_veth ;;
  esac
}

up_splitnic() { # PORT FABRIC [OPTION...]
  local port=$1 fabric=$2
  shift 2
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --listen "$fabric" --control "$work/iou.sock" \
    --insecure-lab --name iou "$@"
  start host "$ns_host" "$bin/splitnic-host" --connect "$fabric" --tap nic0 --control "$work/host.sock" \
    --insecure-lab --name host "$@"
  wait_until 10 host_is_up "$work/host.sock"
}

# The LAN side of all others: a bridge between the tunnel's interface and the LAN.
bridge_lan() {
  ip -n "$ns_iou" link add br0 type bridge &&
    ip -n "$ns_iou" link set lan0 master br0 &&
    ip -n "$ns_iou" link set "$1" master br0 &&
    ip -n "$ns_iou" link set "$1" up &&
    ip -n "$ns_iou" link set br0 up
}

up_vxlan() {
  ip -n "$ns_host" link add nic0 type vxlan id 7 local 10.99.0.1 remote 10.99.0.2 dstport 4789 dev fab0 &&
    ip -n "$ns_host" link set nic0 mtu 1450 &&
    ip -n "$ns_iou" link add vx0 type vxlan id 7 local 10.99.0.2 remote 10.99.0.1 dstport 4789 dev fab0 &&
    bridge_lan vx0
}

# At MTU 9000 the LAN has that MTU too, or TCP would continue with segments of 1460 bytes.
up_openvpn() { # MTU
  local common=(--dev-type tap --proto udp --cipher none --auth none --sndbuf 1048576 --rcvbuf 1048576
    --tun-mtu "$1" --verb 1)
  lan_mtu "$1"
  start tunnel_iou "$ns_iou" openvpn --dev tun0 "${common[@]}" --local 10.99.0.2 --remote 10.99.0.1
  start tunnel_host "$ns_host" openvpn --dev nic0 "${common[@]}" --local 10.99.0.1 --remote 10.99.0.2
  both_taps
}

# MTU 1450, as VXLAN: then no datagram is sent in fragments.
up_socat() {
  local tap=TUN,tun-type=tap,iff-no-pi
  start tunnel_iou "$ns_iou" socat "$tap,tun-name=tun0" UDP-DATAGRAM:10.99.0.1:7472,bind=10.99.0.2:7472
  start tunnel_host "$ns_host" socat "$tap,tun-name=nic0" UDP-DATAGRAM:10.99.0.2:7472,bind=10.99.0.1:7472
  both_taps && ip -n "$ns_host" link set nic0 mtu 1450
}

nic0_is_there() { wait_until 5 in_ns "$ns_host" test -e /sys/class/net/nic0; }

both_taps() {
  nic0_is_there &&
    wait_until 5 in_ns "$ns_iou" test -e /sys/class/net/tun0 &&
    bridge_lan tun0
}

# No carrier: one veth from the host to the LAN's peer, which has its address there meanwhile.
up_veth() {
  veth_between "$ns_host" nic0 "$ns_lan" raw0 &&
    ip -n "$ns_lan" addr del 10.77.0.2/24 dev lan0 &&
    ip -n "$ns_lan" addr add 10.77.0.2/24 dev raw0
}

lan_mtu() { ip -n "$ns_iou" link set lan0 mtu "$1" && ip -n "$ns_lan" link set lan0 mtu "$1"; }

take_down() {
  local name
  for name in "${carrier_programs[@]}"; do
    stop "$name" TERM 3
    rm -f "$work/$name.log"
  done
  ip -n "$ns_host" link del nic0 2>/dev/null
  ip -n "$ns_iou" link del br0 2>/dev/null
  ip -n "$ns_iou" link del vx0 2>/dev/null
  lan_mtu 1500
  ip -n "$ns_lan" addr replace 10.77.0.2/24 dev lan0
}
