# shellcheck shell=bash
# One router between host and unit, each of which is a node of another subnet, in a separate network namespace:
#   $ns_host fab0 -- port 1 of sw1, port 2 of sw1 -- fab0 $ns_iou lan0 -- lan0 $ns_lan

# shellcheck source=tests/e2e/checks/switches.sh
. "$(dirname "${BASH_SOURCE[0]}")/switches.sh"

of_host=fd00:a::b of_unit=fd00:b::b  # LID 11 of each subnet

# bring_up_router: LIDs count inside a subnet: the switch and the nodes have the same in both.
bring_up_router() {
  make_switches 1
  {
    printf 'prefix = "fd00:a::/64"\n'
    entry switches.sw1 1 '' sw1
    entry nodes.hosta 11 sw1:1 host
    printf '[routes]\n"fd00:b::/64" = "sw1"\n[remotes]\nunit = "%s"\n' $of_unit
  } >"$work/fabric.toml"
  {
    printf 'prefix = "fd00:b::/64"\n'
    entry switches.sw1 1 '' sw1
    entry nodes.unit 11 sw1:2 unit
    printf '[routes]\n"::/0" = "sw1"\n'
  } >"$work/second.toml"
  switch_options+=(--topology "$work/second.toml")
  start_switch 1 1
  start_iou && start_host
  nic_up
}

check_routed() {
  bring_up_router
  # A first HELLO may come before the node has heard from the switch where it is: that is one of these drops.
  local unplaced who
  unplaced="$(counter host path.rx.drop.network) $(counter iou path.rx.drop.network)"
  traffic 8 1
  "$bin/splitnic" peers --control "$work/iou.sock" || fail "no peers"
  ask switch1 stats | grep '^router' || fail "no counters of the router"
  [ "$(counter switch1 router.cell)" -gt 1000 ] || fail "no traffic was routed"
  for who in header source destination hop_limit route neighbour; do equal "router.drop.$who" "$(counter switch1 "router.drop.$who")" 0; done
  equal "path.rx.drop.network" "$(counter host path.rx.drop.network) $(counter iou path.rx.drop.network)" "$unplaced"
  equal "wrong packet CRCs" "$(counter host fabric.cell.drop.packet_crc) $(counter iou fabric.cell.drop.packet_crc)" "0 0"
  for who in destination origin; do
    equal "path.rx.drop.$who" "$(counter host "path.rx.drop.$who") $(counter iou "path.rx.drop.$who")" "0 0"
  done
}

# fields_of FILE FILTER FIELD...: the fields of each datagram that has something for the filter.
fields_of() {
  local name fields=()
  for name in "${@:3}"; do fields+=(-e "splitnic.$name"); done
  tshark -X "lua_script:$e2e/../../tools/wireshark/splitnic.lua" -r "$1" -Y "$2" -T fields -E aggregator=, "${fields[@]}" \
    2>>"$work/tshark.log" || fail "tshark: $(tail -n 3 "$work/tshark.log")"
}

# cells_of FILE: fields of the cells of each datagram that has one with a global header, in the order of router_hops.py.
cells_of() {
  fields_of "$1" splitnic.cell.gnh \
    cell.{flags.global,gnh.source,gnh.hop_limit,sl,pos,op,flags.packet_crc,dqpn,sqpn,psn,csn,payload_bytes,partition,lcn,crc,payload}
}

# has_packet_crcs FILE: both sides of the connection have stated a packet CRC for each queue pair. FILE: mgmt.kind and mgmt.flags.
has_packet_crcs() {
  awk -F '\t' '{ ++seen[$1] } $2 !~ /^0x0002(,0x0002)*$/ { other = 1 } END { exit other || !seen[1] || !seen[2] }' "$1"
}

# The datagrams on both sides of the router, without keys, as host and unit capture them.
check_hops() {
  plain
  host_options=(--capture "$work/host.pcapng") iou_options=(--capture "$work/iou.pcapng")
  bring_up_router
  ping_all "$ns_host" 10.77.0.2 100 0.012 -s 1000
  local who
  for who in host iou; do
    stop $who TERM || fail "$who did not stop cleanly"
    cells_of "$work/$who.pcapng" >"$work/$who.cells"
    fields_of "$work/$who.pcapng" 'splitnic.mgmt.kind <= 2' mgmt.kind mgmt.flags >"$work/$who.connect"
    has_packet_crcs "$work/$who.connect" || fail "CONNECT without packet CRCs: $(cat "$work/$who.connect")"
  done
  "$python" -B "$e2e/router_hops.py" "$work/host.cells" "$work/iou.cells" $of_host $of_unit 50 || fail "what the router has changed"
}
