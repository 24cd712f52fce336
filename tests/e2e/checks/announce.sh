# shellcheck shell=bash
# Where a host has come, the LAN hears of its addresses without asking: an ARP announcement and an unsolicited neighbour
# advertisement from nic0's own MAC. The kernel sends neither automatically (arp_notify and ndisc_notify are 0, no DAD).

# heard_on NS IF COMMAND...: what comes in while it runs, and soon after, holds both.
heard_on() {
  local ns=$1 interface=$2 mac
  shift 2
  mac=$(mac_of "$ns_host" nic0)
  begin_taking "$ns" "$interface" 1000
  "$@"
  wait_until 20 announces "arp.isgratuitous && arp.src.proto_ipv4 == 10.77.0.1 && arp.src.hw_mac == $mac && eth.src == $mac" ||
    fail "no ARP announcement on the LAN"
  wait_until 20 announces "icmpv6.type == 136 && icmpv6.nd.na.target_address == fd77::1 && icmpv6.nd.na.flag.s == 0 &&
    icmpv6.opt.linkaddr == $mac && eth.src == $mac" || fail "no neighbour advertisement on the LAN"
  stop taker INT || fail "the frames were not taken"
}

announces() { tshark -r "$work/taken.pcap" -Y "$1" 2>"$work/tshark.log" | has .; }

# The taker reads for at most 60 s: no reason to wait for more.
restarted() {
  stop "$1" KILL
  "start_$1"
  within "$1 is back" 30000 announced
}
announced() { [ "$(counter host host.tx.announced)" -ge $((known + 2)) ]; }

check_restarted() {
  bring_up
  address_ipv6
  known=0
  heard_on "$ns_lan" lan0 restarted host
  known=$(counter host host.tx.announced)
  heard_on "$ns_lan" lan0 restarted iou
}

check_moved() {
  topology_three || fail "the test hosts cannot be made"
  make_second_lan
  start_iou --lan "$port:lan1"
  start_host --mac 02:00:00:00:00:55 --keep-tap
  nic_up
  address_ipv6
  known=0
  heard_on "$ns_lan1" lan1 moved_to 1
}

moved_to() {
  stop host TERM || fail "the host did not stop"
  start_host --mac 02:00:00:00:00:55 --keep-tap --nic "$1"
  within "the host at NIC $1" 30000 announced
}
