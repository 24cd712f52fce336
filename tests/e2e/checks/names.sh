# shellcheck shell=bash
# The name in --connect leads to another address while the host runs.

# names LINE...: the /etc/hosts of the host.
names() {
  { echo "127.0.0.1 localhost" && printf '%s\n' "$@"; } >"$work/hosts"
}

# start_named_host [ADDR]
start_named_host() {
  local to=${1:-udp://unit.example:7471}
  identity_of host
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$work/hosts" \
    "$bin/splitnic-host" --connect "$to" --tap nic0 "${identity[@]}" --name "$host_name" --control "$work/host.sock"
}

reply() { in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2 >/dev/null; }
looked_for_at() { ask host show --json | has -F "$1"; }

# unit_moves_to OLD NEW NAME_LINE: the unit has another address, and its name leads there.
unit_moves_to() {
  ip -n "$ns_iou" addr del "$1" dev fab0 && ip -n "$ns_iou" addr add "$2" dev fab0 "${@:4}" || fail "no new address"
  names "$3"
}

# A host and a unit that it knows by name.
connected_by_name() {
  topology_three || fail "the test hosts cannot be made"
  listen_at=0.0.0.0:7471
  start_iou
  names "10.99.0.2 unit.example"
  start_named_host
  nic_up
}

check_moves() {
  connected_by_name
  local last=2
  gaps_within "the name moves to another address" 1000 5000 name_moves
  counts host host.unit.addresses 1 || fail "not counted"
  equal "connections that ended" "$(counter host host.pair.downs)" 0
}

name_moves() {
  local next=$((last + 3))
  pings_begin
  unit_moves_to 10.99.0.$last/24 10.99.0.$next/24 "10.99.0.$next unit.example"
  within "traffic by the new address" 10000 looked_for_at "10.99.0.$next:7471"
  within "a reply" 10000 reply
  pings_end "the name moved to 10.99.0.$next"
  last=$next
}

# Of two addresses the first leads nowhere; then the name leads to an address of the other family.
check_families() {
  topology_ipv6
  listen_at='[::]:7471'
  start_iou
  names "fd99::66 unit.example" "10.99.0.2 unit.example" "10.99.0.77 unit.example"
  start_named_host
  nic_up
  looked_for_at 10.99.0.2:7471 || fail "not at the IPv4 address: $(ask host show)"
  local ipv4=10.99.0.2
  gaps_within "from IPv4 to IPv6" 1000 5000 to_ipv6
  gaps_within "from IPv6 to IPv4" 1000 5000 to_ipv4
}
# One of both, and back: $gap is that of the first.
to_ipv6() {
  local first
  moves_to_ipv6 && first=$gap && moves_to_ipv4 && gap=$first
}
to_ipv4() { moves_to_ipv6 && moves_to_ipv4; }
moves_to_ipv6() {
  pings_begin
  unit_moves_to $ipv4/24 fd99::3/64 "fd99::3 unit.example" nodad
  within "traffic by IPv6" 10000 looked_for_at '[fd99::3]:7471'
  within "a reply" 10000 reply
  pings_end "to IPv6"
}
moves_to_ipv4() {
  ipv4=10.99.0.9
  pings_begin
  unit_moves_to fd99::3/64 $ipv4/24 "$ipv4 unit.example"
  within "traffic by IPv4" 10000 looked_for_at $ipv4:7471
  within "a reply" 10000 reply
  pings_end "to IPv4"
}

# A name without an address, and a resolver that ends, change nothing for a unit that is heard.
check_lost() {
  connected_by_name
  local resolver
  resolver=$(pgrep -P "${pid_of[host]}" -x splitnic-names) || fail "no process looks names up"
  equal "capabilities of the resolver" "$(awk '/^Cap(Prm|Eff|Bnd)/ { print $2 }' "/proc/$resolver/status" | sort -u)" 0000000000000000
  equal "descriptors of the resolver" "$(find "/proc/$resolver/fd" -mindepth 1 | wc -l)" 4
  pings_begin
  names
  local cut
  cut=$(milliseconds)
  ip -n "$ns_iou" link set fab0 down
  sleep 0.7
  ip -n "$ns_iou" link set fab0 up
  cut=$(($(milliseconds) - cut))  # on a busy machine longer
  within "traffic by the same address" 10000 reply
  kill -KILL "$resolver"
  sleep 0.3
  pings_within "no name for some time" $((cut + 2300))
  reply || fail "no traffic without the resolver"
}

# The key of the host is below /etc. The resolver still reads its files there, also one that replaces another.
check_key() {
  topology_three || fail "the test hosts cannot be made"
  listen_at=0.0.0.0:7471
  start_iou
  cp -a /etc "$work/etc" && install -d "$work/etc/splitnic" && install -m 600 "$work/host.key" "$work/etc/splitnic/nic0.key" || fail "no copy of /etc"
  names_replaced "10.99.0.2 unit.example"
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" unshare -m sh -c 'mount --bind "$0" /etc && exec "$@"' "$work/etc" \
    "$bin/splitnic-host" --connect udp://unit.example:7471 --tap nic0 --key-file /etc/splitnic/nic0.key --peer "$(public unit)" --name "$host_name" \
    --control "$work/host.sock"
  nic_up
  ip -n "$ns_iou" addr del 10.99.0.2/24 dev fab0 && ip -n "$ns_iou" addr add 10.99.0.8/24 dev fab0 || fail "no new address"
  names_replaced "10.99.0.8 unit.example"
  within "traffic by the new address" 10000 looked_for_at "10.99.0.8:7471"
  within "a reply" 10000 reply
}
# names_replaced LINE...: a new /etc/hosts in place of the old one, for check_key.
names_replaced() {
  names "$@"
  mv "$work/hosts" "$work/etc/hosts"
}

# start_switch VARIABLE: a switch in the namespace that it names once the test hosts are made, with the host at its port 7501 and the unit at 7502.
start_switch() {
  plain
  topology_three || fail "the test hosts cannot be made"
  printf '[switches.sw1]\nlid = 1\n[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.unit]\nlid = 10\nat = "sw1:2"\n' >"$work/fabric.toml"
  start switch1 "${!1}" "$bin/splitnic-switch" --name sw1 --topology "$work/fabric.toml" --insecure-lab --control "$work/switch1.sock" \
    --port udp://0.0.0.0:7501 --port udp://0.0.0.0:7502
}

# The name of the switch before the unit.
check_switch() {
  start_switch ns_iou
  attach_at=udp://127.0.0.1:7502
  start_iou
  names "10.99.0.2 switch.example"
  start_named_host 'udp://unit:1?via=switch.example:7501'
  nic_up
  pings_begin
  unit_moves_to 10.99.0.2/24 10.99.0.8/24 "10.99.0.8 switch.example"
  within "a reply by the new address" 10000 reply_again
  pings_within "the name of a switch moved to another address" 5000
  counts host host.unit.addresses 1 || fail "not counted"
}
reply_again() { counts host host.unit.addresses 1 && reply; }

# The name of a switch in a port with ,connect of another one.
check_cable() {
  plain
  topology_three || fail "the test hosts cannot be made"
  printf '%s\n' 'cables = ["sw1:2 - sw2:1"]' '[switches.sw1]' 'lid = 1' '[switches.sw2]' 'lid = 2' '[nodes.hosta]' 'lid = 11' 'at = "sw1:1"' \
    '[nodes.unit]' 'lid = 10' 'at = "sw2:2"' >"$work/fabric.toml"
  start switch2 "$ns_iou" "$bin/splitnic-switch" --name sw2 --topology "$work/fabric.toml" --insecure-lab --control "$work/switch2.sock" \
    --port udp://0.0.0.0:7501 --port udp://0.0.0.0:7502
  names
  # shellcheck disable=SC2016 # for that shell
  start switch1 "$ns_host" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$work/hosts" \
    "$bin/splitnic-switch" --name sw1 --topology "$work/fabric.toml" --insecure-lab --control "$work/switch1.sock" \
    --port udp://127.0.0.1:7500 --port udp://switch.example:7501,connect
  wait_until 10 grep -q 'no address found for "switch.example:7501"' "$work/switch1.log" || fail "the switch does not wait: $(cat "$work/switch1.log")"
  names "10.99.0.2 switch.example"
  attach_at=udp://127.0.0.1:7502
  start_iou
  iou_address='unit:1?via=127.0.0.1:7500'
  start_host
  nic_up
  pings_begin
  unit_moves_to 10.99.0.2/24 10.99.0.8/24 "10.99.0.8 switch.example"
  within "a reply by the new address" 10000 reply_by_cable
  pings_within "the name of a switch at a cable moved to another address" 5000
}
reply_by_cable() { [ "$("$bin/splitnic" stats switch.addresses --control "$work/switch1.sock")" = "switch.addresses 1" ] && reply; }

# The name of the switch in --attach of the unit.
check_attach() {
  start_switch ns_host
  names
  # shellcheck disable=SC2016 # for that shell
  start iou "$ns_iou" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$work/hosts" \
    "$bin/splitnic-iou" --lan "$port:lan0" --attach udp://switch.example:7502 --insecure-lab --name unit --control "$work/iou.sock"
  wait_until 10 grep -q 'no address found for "switch.example:7502"' "$work/iou.log" || fail "the unit does not wait: $(cat "$work/iou.log")"
  names "10.99.0.1 switch.example"
  iou_address='unit:1?via=127.0.0.1:7501'
  start_host
  nic_up
  pings_begin
  ip -n "$ns_host" addr del 10.99.0.1/24 dev fab0 && ip -n "$ns_host" addr add 10.99.0.8/24 dev fab0 || fail "no new address"
  names "10.99.0.8 switch.example"
  within "traffic by the new address" 10000 counts iou iou.switch.addresses 1
  within "a reply" 10000 reply
  pings_within "the name in --attach moved to another address" 5000
}
