# shellcheck shell=bash
# What carries frames between nic0 of the host and the LAN; sourced after bench_head.sh.
#   carrier_known NAME; carrier_tools NAME     is there one of that name; programs it needs
#   carrier_up NAME; take_down                 makes nic0 and what stands behind it; takes all of it away again
#   take_pids [OPTION]                         ${pids[@]}: the processes of the carrier, each behind the option
# Needs $bin. Without keys splitnic has its payload CRC on over UDP, as between two machines; splitnic-auto leaves it out. Those
# named "keyed", "gcm" and wireguard encrypt; splitnic-keyed-openssl without libipsec-mb. Each carrier finds lan0 with MTU 1500 and leaves it so.

all_carriers=(splitnic-packet splitnic-auto splitnic-keyed splitnic-keyed-openssl splitnic-keyed-flood splitnic-keyed-aside splitnic-pcap splitnic-keyed-pcap
  splitnic-shm splitnic-busy splitnic-awake direct vxlan openvpn openvpn-9000 openvpn-gcm wireguard socat veth)
carrier_programs=(host iou tunnel_host tunnel_iou)

carrier_known() {
  local one
  for one in "${all_carriers[@]}"; do [ "$one" = "$1" ] && return 0; done
  return 1
}

take_pids() { # [OPTION]
  local name
  pids=()
  for name in "${carrier_programs[@]}"; do
    if running "$name"; then pids+=(${1:+"$1"} "${pid_of[$name]}"); fi
  done
}

carrier_tools() {
  case "$1" in
    openvpn-gcm) echo openvpn openssl ;;
    openvpn*) echo openvpn ;;
    wireguard) echo wireguard-go wg ;;
    socat) echo socat ;;
    direct) echo "$bin/../tests/tap_to_packet" ;;
    splitnic-*) echo "$bin/splitnic" "$bin/splitnic-host" "$bin/splitnic-iou" ;;
  esac
}

carrier_up() {
  case "$1" in
    splitnic-packet) up_plain packet udp://10.99.0.2:7471 --payload-crc on ;;
    splitnic-auto) up_plain packet udp://10.99.0.2:7471 --payload-crc auto ;;
    splitnic-keyed) up_keyed packet ;;
    splitnic-keyed-openssl) up_keyed packet --aead openssl ;;
    splitnic-keyed-flood) up_keyed packet && start_flood ;;
    splitnic-keyed-aside) up_keyed packet && start_flood 9 ;;
    splitnic-pcap) up_plain pcap udp://10.99.0.2:7471 --payload-crc on ;;
    splitnic-keyed-pcap) up_keyed pcap ;;
    splitnic-shm) up_plain packet shm://compare ;;
    splitnic-busy) up_plain packet udp://10.99.0.2:7471 --payload-crc on --busy-poll ;;
    splitnic-awake) up_plain packet udp://10.99.0.2:7471 --payload-crc on --keep-awake 1000 ;;
    direct) start tunnel_host "$ns_host" "$bin/../tests/tap_to_packet" nic0 "$ns_iou" lan0 && nic0_is_there ;;
    vxlan) up_vxlan ;;
    openvpn) up_openvpn 1500 --cipher none --auth none ;;
    openvpn-9000) up_openvpn 9000 --cipher none --auth none ;;
    openvpn-gcm) up_openvpn_gcm ;;
    wireguard) up_wireguard ;;
    socat) up_socat ;;
    veth) up_veth ;;
  esac
}

# start_flood [PORT]: of bad datagrams to the unit, or to another port of its machine.
start_flood() { start flood "$ns_host" "$python" "$bench/flood.py" 10.99.0.2 7471 fab0 100000 "$@"; }

# The options of each end, apart from its ports.
iou_common=() host_common=()

up_splitnic() { # PORT FABRIC
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$1:lan0" --listen "$2" --control "$work/iou.sock" --name iou "${iou_common[@]}"
  start host "$ns_host" "$bin/splitnic-host" --connect "$2" --tap nic0 --control "$work/host.sock" --name host \
    "${host_common[@]}"
  wait_until 10 host_is_up "$work/host.sock"
}

up_plain() { # PORT FABRIC [OPTION...]
  iou_common=(--insecure-lab "${@:3}") host_common=(--insecure-lab "${@:3}")
  up_splitnic "$1" "$2"
}

up_keyed() { # PORT [OPTION...]
  local unit host
  rm -f "$work"/{unit,host}.key
  unit=$("$bin/splitnic" keygen --out "$work/unit.key") && host=$("$bin/splitnic" keygen --out "$work/host.key") || return 1
  iou_common=(--key-file "$work/unit.key" --allow-key "$host" "${@:2}")
  host_common=(--key-file "$work/host.key" --peer "$unit" "${@:2}")
  up_splitnic "$1" udp://10.99.0.2:7471
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
up_openvpn() { # MTU OPTION_OF_BOTH...
  lan_mtu "$1"
  start_openvpn iou 2 1 tun0 --tun-mtu "$@"
  start_openvpn host 1 2 nic0 --tun-mtu "$@"
  both_taps
}

# AES-256-GCM needs TLS, and that certificates: each end knows the other's by its fingerprint.
up_openvpn_gcm() {
  local common=(--tun-mtu 1500 --cipher AES-256-GCM --data-ciphers AES-256-GCM) end
  for end in host iou; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$end" \
      -keyout "$work/$end.pem" -out "$work/$end.crt" 2>/dev/null || return 1
  done
  start_openvpn iou 2 1 tun0 "${common[@]}" --tls-server --dh none --cert "$work/iou.crt" --key "$work/iou.pem" \
    --peer-fingerprint "$(fingerprint host)"
  start_openvpn host 1 2 nic0 "${common[@]}" --tls-client --cert "$work/host.crt" --key "$work/host.pem" \
    --peer-fingerprint "$(fingerprint iou)"
  both_taps
}
fingerprint() { openssl x509 -in "$work/$1.crt" -noout -fingerprint -sha256 | cut -d= -f2; }

start_openvpn() { # END ITS_NUMBER THE_OTHERS INTERFACE OPTION...
  local end=$1 ns=$ns_iou own=10.99.0.$2 other=10.99.0.$3 interface=$4
  shift 4
  [ "$end" = iou ] || ns=$ns_host
  start "tunnel_$end" "$ns" openvpn --dev "$interface" --dev-type tap --proto udp --sndbuf 1048576 --rcvbuf 1048576 --verb 1 \
    --local "$own" --remote "$other" "$@"
}

# WireGuard in user space. It carries IP packets, no frames, so the unit is a router between it and the LAN.
up_wireguard() {
  local end
  for end in host iou; do
    (umask 077 && wg genkey >"$work/$end.wg") && wg pubkey <"$work/$end.wg" >"$work/$end.wg.pub" || return 1
  done
  start_wireguard host nic0 iou 10.99.0.2 && start_wireguard iou tun0 host 10.99.0.1 || return 1
  ip -n "$ns_iou" link set tun0 up &&
    ip -n "$ns_iou" addr add 10.77.0.3/24 dev lan0 &&
    ip -n "$ns_iou" route add 10.77.0.1/32 dev tun0 &&
    in_ns "$ns_iou" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/conf/lan0/proxy_arp'
}

start_wireguard() { # END INTERFACE OTHER ADDRESS_OF_THE_OTHER
  local ns=$ns_iou
  [ "$1" = iou ] || ns=$ns_host
  start "tunnel_$1" "$ns" wireguard-go --foreground "$2"
  wait_until 5 in_ns "$ns" test -e "/sys/class/net/$2" && wait_until 5 in_ns "$ns" wg show "$2" >/dev/null 2>&1 &&
    in_ns "$ns" wg set "$2" listen-port 51820 private-key "$work/$1.wg" peer "$(cat "$work/$3.wg.pub")" \
      endpoint "$4:51820" allowed-ips 0.0.0.0/0
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
  stop flood TERM 3
  [ ! -s "$work/flood.log" ] || tail -n 1 "$work/flood.log" >&2
  for name in flood "${carrier_programs[@]}"; do
    stop "$name" TERM 3
    rm -f "$work/$name.log"
  done
  ip -n "$ns_host" link del nic0 2>/dev/null
  ip -n "$ns_iou" link del br0 2>/dev/null
  ip -n "$ns_iou" link del vx0 2>/dev/null
  ip -n "$ns_iou" addr del 10.77.0.3/24 dev lan0 2>/dev/null
  lan_mtu 1500
  ip -n "$ns_lan" addr replace 10.77.0.2/24 dev lan0
  ip -n "$ns_lan" neigh flush dev lan0  # it knows nic0 of the carrier before
}
