# shellcheck shell=bash
# What is typed in short, and a unit at its default address: one socket for IPv4 and IPv6.

# unit_at OPTIONS...: the unit, with these in place of --listen.
unit_at() {
  make_keys unit host second
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --key-file "$work/unit.key" --allow-key "$(public host)" \
    --name unit --control "$work/iou.sock" "$@"
  wait_until 20 test -S "$work/iou.sock" || fail "the unit does not start"
}
host_at() {
  start host "$ns_host" "$bin/splitnic-host" --connect "$1" --tap nic0 --key-file "$work/host.key" --peer "$(public unit)" \
    --name "$host_name" --control "$work/host.sock"
}

check_families() {
  topology_ipv6
  local at queues more_iou_options=()  # it starts the programs without any
  unit_at
  ask iou show --json | has -F '"listen":["udp://[::]:7471"]' || fail "it listens at $(ask iou show)"
  equal "sockets" "$(in_ns "$ns_iou" ss -Hlun 'sport = 7471' | wc -l)" 1
  queues=$(seq -s' ' 0 $(($(queues_of iou) - 1)))
  for at in 10.99.0.2 fd99::2 '[fd99::2]:7471' udp://10.99.0.2; do
    host_at "$at"
    nic_up
    wait_until 20 has_queues "$queues" || fail "queues over $at: $(queues_up host), not $queues"
    ping_all "$ns_host" 10.77.0.2 20
    ask iou show | has -F "$([[ $at == *fd99* ]] && echo '[fd99::1]' || echo ' 10.99.0.1')" || fail "the peer of $at: $(ask iou show)"
    stop host TERM || fail "the host does not stop"
  done
}

# Blocks of one family are about hosts of that family, also over the socket of both.
check_allow() {
  topology_ipv6
  unit_at --allow 10.99.0.0/24
  host_at fd99::2
  wait_until 20 counts iou iou.allow.drop.address 1 || fail "a host over IPv6 is not refused"
  stop host TERM || fail "the host does not stop"
  host_at 10.99.0.2
  nic_up
  stop host TERM
  stop iou TERM || fail "the unit does not stop"
  unit_at --allow fd99::/64
  host_at 10.99.0.2
  wait_until 20 counts iou iou.allow.drop.address 1 || fail "a host over IPv4 is not refused"
  stop host TERM || fail "the host does not stop"
  host_at fd99::2
  nic_up
}

# A machine whose administrator has switched IPv6 off.
check_without_ipv6() {
  topology_three || fail "the test hosts cannot be made"
  in_ns "$ns_iou" sh -c 'for all in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 >"$all"; done'
  unit_at
  host_at 10.99.0.2
  nic_up
  ping_all "$ns_host" 10.77.0.2 20
}

# address_lan: the NIC and the LAN have addresses of both families.
address_lan() {
  local address
  ip -n "$ns_iou" addr add 10.78.0.2/24 dev lan0 && ip -n "$ns_lan" addr add 10.78.0.1/24 dev lan0
  for address in "$ns_iou fd78::2" "$ns_lan fd78::1"; do
    in_ns "${address% *}" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/lan0/disable_ipv6'
    ip -n "${address% *}" addr add "${address#* }/64" dev lan0 nodad || fail "no IPv6 on the LAN"
  done
}

# no_stranger_attaches: a host of the LAN gets nothing, over either family.
no_stranger_attaches() {
  local address before
  before=$(counter iou udp.rx.drop.lan)
  for address in 10.78.0.2 fd78::2; do
    wait_until 20 in_ns "$ns_lan" ping -q -c 1 -W 2 "$address" >/dev/null || fail "$address does not respond"
    start stranger "$ns_lan" "$bin/splitnic-host" --connect "$address" --tap "file:,$work/stranger.pcap" --insecure-lab \
      --control "$work/stranger.sock"
    wait_until 20 counts iou udp.rx.drop.lan $((before + 3)) || fail "nothing of $address is dropped"
    ask iou show --json | has -F '"peers":[]' || fail "a stranger is attached: $(ask iou show)"
    stop stranger TERM || fail "the stranger does not stop"
    before=$(counter iou udp.rx.drop.lan)
  done
}

# Without keys nobody attaches by the NIC of the LAN, over either family of that socket, also when the NIC was unplugged and is another interface.
check_strangers() {
  topology_three || fail "the test hosts cannot be made"
  address_lan
  start iou "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --insecure-lab --name unit --control "$work/iou.sock"
  wait_until 20 test -S "$work/iou.sock" || fail "the unit does not start"
  no_stranger_attaches
  ip -n "$ns_iou" link del lan0
  veth_between "$ns_iou" lan0 "$ns_lan" lan0 || fail "no new LAN"
  address_lan
  wait_until 20 grep -q "lan0 is back" "$work/iou.log" || fail "the NIC that is back is not used"
  no_stranger_attaches
  plain
  start_host
  wait_until 20 is_up host || fail "a host of the fabric does not attach"
}
