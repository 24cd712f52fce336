# shellcheck shell=bash
# The fabric on other ground: IPv6, the LAN's own wire, a default route that leads through nic0.

check_ipv6() {
  topology_ipv6
  iou_address='[fd99::2]:7471'
  start_iou && start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 100
  transfer
  # By link-local address with its zone, to a unit that listens on every address.
  stop host TERM
  stop iou TERM
  local link_local
  link_local=$(ip -n "$ns_iou" -6 -o addr show dev fab0 scope link | awk '{sub("/.*", "", $4); print $4}')
  listen_at='[::]:7471'
  start_iou
  iou_address="[$link_local%fab0]:7471"
  start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 100
}

# transfer [MIB]: both ways, equal.
transfer() {
  mkdir -p "$work/www"
  head -c "${1:-8}M" /dev/urandom >"$work/www/blob"
  start_web_server "$ns_lan" "$work/www"
  wait_until 20 in_ns "$ns_lan" curl -s -o /dev/null http://10.77.0.2/blob -r 0-0 || fail "no web server"
  in_ns "$ns_host" curl -sS --max-time 60 -o "$work/got" http://10.77.0.2/blob || fail "curl"
  cmp -s "$work/got" "$work/www/blob" || fail "the file came changed"
  stop nginx
}

# frames_during COMMAND...: how many come into the unit's NIC while it runs, in $frames, and how long it took, in $took.
frames_during() {
  local received=/sys/class/net/lan0/statistics/rx_packets began
  began=$(milliseconds) frames=$(in_ns "$ns_iou" cat $received)
  "$@"
  frames=$(($(in_ns "$ns_iou" cat $received) - frames)) took=$(($(milliseconds) - began))
}

# One NIC carries LAN and fabric: what the fabric sends must not come in again as LAN frames.
one_nic() {
  ns_host=sn$$-a ns_iou=sn$$-b ns_lan=sn$$-c
  local ns
  for ns in "$ns_host" "$ns_iou" "$ns_lan"; do host_namespace "$ns" || fail "no namespace"; done
  # A switch joins the three: the host reaches the unit over the very LAN.
  local wire=sn$$-w
  host_namespace "$wire"
  ip -n "$wire" link add br0 type bridge
  ip -n "$wire" link set br0 up
  veth_between "$ns_host" fab0 "$wire" w1 && veth_between "$ns_iou" lan0 "$wire" w2 && veth_between "$ns_lan" lan0 "$wire" w3 ||
    fail "no wires"
  local port_of
  for port_of in w1 w2 w3; do ip -n "$wire" link set "$port_of" master br0; done
  ip -n "$ns_host" addr add 10.99.0.1/24 dev fab0
  ip -n "$ns_iou" addr add 10.99.0.2/24 dev lan0
  ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0
  listen_at=$1
  start_iou --grant sniff
  start_host --fabric-dev fab0
  nic_up
  # The worst listener: a host that takes every frame.
  ip -n "$ns_host" link set nic0 promisc on
  wait_until 20 gets_all_frames || fail "the unit has another filter: $(ask iou show --verbose --json)"
  frames_during ping_all "$ns_host" 10.77.0.2 100 0.012
  echo "frames into the unit's NIC for 100 pings: $frames"
  # Per ping: the request and the acknowledgement, the reply from the LAN, its acknowledgement, and what is repeated.
  [ "$frames" -le 1000 ] || fail "the fabric's own frames come in again"
  wait_until 20 rests || fail "the fabric does not come to rest"
  transfer
}
gets_all_frames() { ask iou show --verbose --json | has '"filter":"promiscuous"'; }
rests() {
  frames_during sleep 1
  echo "frames into the unit's NIC in $took ms of rest: $frames"
  [ $((1000 * frames / took)) -le 60 ]
}
check_one_nic_address() { one_nic 10.99.0.2:7471; }
check_one_nic_any() { one_nic 0.0.0.0:7471; }
check_one_nic_default() { one_nic '[::]:7471'; }

# Everything goes through nic0, and the fabric keeps its own way.
check_default_route() {
  topology_three || fail "the test hosts cannot be made"
  start_iou && start_host --fabric-dev fab0
  nic_up
  ip -n "$ns_host" route add default via 10.77.0.2 dev nic0
  ip -n "$ns_lan" addr add 192.0.2.1/32 dev lo
  within "an address beyond" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 192.0.2.1
  # Even when the fabric's own route is the worse one. A link whose datagrams took it would be down by then.
  ip -n "$ns_host" route add 10.99.0.2/32 dev nic0
  sleep 1.5
  ping_all "$ns_host" 192.0.2.1 100
  wait_until 20 is_up host || fail "the fabric is not up"
  stop iou KILL
  start_iou
  within "replies after the unit's restart" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 192.0.2.1
}

# The fabric over a path with a small MTU.
check_small_path() {
  bring_up 1280
  equal "MTU of nic0" "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" 1500
  ping_all "$ns_host" 10.77.0.2 20 0.01 -M do -s 1472
  transfer
}

# Lanes, credits and retry on the link: the link itself retransmits what the path loses.
check_full_profile() {
  iou_options=(--link-profile full) host_options=(--link-profile full)
  bring_up
  equal "lanes" "$(ask host show --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["links"][0]["lanes"])')" 4
  ping_all "$ns_host" 10.77.0.2 200
  ping_all "$ns_lan" 10.77.0.1 200
  throughput 2
  files_both_ways 16
  local who
  for who in host iou; do
    [ "$(counter $who link.full.tx.flit)" -gt 10000 ] || fail "$who sent no flits of the full profile"
    echo "$who: $(counter $who link.full.tx.resend) flits again, $(counter $who fabric.rc.retransmit) cells again"
  done
  # An end of the other profile is refused, reports it, and comes back when the profile is right.
  stop host TERM
  host_options=()
  start_host
  wait_until 20 grep -qs -- '--link-profile must be the same' "$work/host.log" || fail "no word of the refusal"
  stop host TERM
  host_options=(--link-profile full --cell 1024)
  start_host
  nic_up
  ping_all "$ns_host" 10.77.0.2 100
}

# The path carries less from now on: the far end drops what is too long, and no message reports it to the host.
check_narrowed_path() {
  iou_options=(--cell 1364) host_options=(--cell 1364)  # smaller ones may fit all the same
  bring_up
  ping_all "$ns_host" 10.77.0.2 20 0.01
  ip -n "$ns_iou" link set fab0 mtu 1280
  start long_pings "$ns_host" ping -q -i 0.05 -s 1472 10.77.0.2
  wait_until 30 counts host link.path_narrowed 1 || fail "the host does not notice"
  stop long_pings INT
  # Found within the second, and then a new pair at once.
  within "long frames pass again" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 -s 1472 10.77.0.2
  files_both_ways 4
}
