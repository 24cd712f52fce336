# shellcheck shell=bash
# Interfaces that are elsewhere, or that others have made: moved to another network namespace, made there, prepared by ip, passed
# as a descriptor. And a LAN NIC that gets another name.

reply_from() { in_ns "$1" ping -q -c 1 -W 0.3 10.77.0.2 >/dev/null; }
index_in() { in_ns "$1" cat /sys/class/net/nic0/ifindex; }

make_pod() {
  ns_pod=sn$$-p
  host_namespace "$ns_pod" || fail "no namespace for a container"
}

# set_up NS [IF]: as the user does there.
set_up() {
  silence_interface "$1" "${2:-nic0}"
  ask_often "$1" "${2:-nic0}"
  ip -n "$1" addr replace 10.77.0.1/24 dev "${2:-nic0}" && ip -n "$1" link set "${2:-nic0}" up || fail "nic0 cannot be set up in $1"
}

check_moved() {
  bring_up
  make_pod
  ip -n "$ns_host" link set nic0 netns "$ns_pod" || fail "the interface cannot be moved"
  set_up "$ns_pod"
  within "the carrier in the container" 10000 carrier_is "$ns_pod" nic0 1
  within "traffic from the container" 10000 reply_from "$ns_pod"
  running host || fail "the host has ended"
  # The user's settings are followed there, also under another name.
  ip -n "$ns_pod" link set nic0 mtu 1400
  wait_until 10 settled_mtu 1400 || fail "the MTU is not followed: $(ask host show --json)"
  ip -n "$ns_pod" link set nic0 down && ip -n "$ns_pod" link set nic0 name eth0
  set_up "$ns_pod" eth0
  within "traffic under another name" 10000 reply_from "$ns_pod"
  ip -n "$ns_pod" link set eth0 down && ip -n "$ns_pod" link set eth0 name nic0
  # To a third one, and back.
  ip -n "$ns_pod" link set nic0 netns "$ns_iou" && set_up "$ns_iou"
  wait_until 10 reply_from "$ns_iou" || fail "no traffic from a third namespace"
  ip -n "$ns_iou" link set nic0 netns "$ns_host" && set_up "$ns_host"
  within "traffic where it came from" 10000 reply_from "$ns_host"
  stop host TERM || fail "the host did not stop"
  in_ns "$ns_host" test ! -e /sys/class/net/nic0 || fail "the interface is left"
}
settled_mtu() { ask host show --json | has "\"mtu\": *$1\\b"; }

check_netns() {
  topology_three || fail "the test hosts cannot be made"
  ns_pod=sn$$-p
  start_iou
  start_host --netns "$ns_pod"
  wait_until 10 log_has host "no network namespace $ns_pod: ip netns add $ns_pod; waiting for that to change" || fail "it does not wait"
  make_pod
  wait_up host
  set_up "$ns_pod"
  within "traffic from the namespace" 10000 reply_from "$ns_pod"
  in_ns "$ns_host" test ! -e /sys/class/net/nic0 || fail "nic0 is in the namespace of the host"
  ask host set mtu 1400 || fail "the MTU cannot be set"
  equal "MTU" "$(in_ns "$ns_pod" cat /sys/class/net/nic0/mtu)" 1400
  local index
  index=$(index_in "$ns_pod")
  stop host KILL
  start_host --netns "$ns_pod"
  within "traffic after a restart" 10000 reply_from "$ns_pod"
  equal "index" "$(index_in "$ns_pod")" "$index"
  refuses 1 "--netns: opening the network namespace /dev/null/x: Not a directory" "$bin/splitnic-host" --connect shm://x --tap nic0 --netns /dev/null/x --control "$work/x.sock"
}
log_has() { grep -q "$2" "$work/$1.log"; }

# A user without any privilege, with a TAP that is his.
check_adopted() {
  topology_three || fail "the test hosts cannot be made"
  plain
  start_iou
  refuses 1 "; --tap-adopt uses it as it is" ip netns exec "$ns_iou" "$bin/splitnic-host" --connect shm://x --tap fab0 --control "$work/x.sock"
  start_host --tap-adopt
  wait_until 10 log_has host "nic0: no such interface: ip tuntap add dev nic0 mode tap vnet_hdr; waiting" || fail "it does not wait"
  stop host TERM
  ip -n "$ns_host" tuntap add dev nic0 mode tap vnet_hdr user 65534 && ip -n "$ns_host" link set nic0 address 02:00:00:00:00:77 ||
    fail "no TAP"
  chmod 777 "$work"
  # Any user may open it, as udev has it.
  mknod "$work/tun" c 10 200 && chmod 666 "$work/tun" || fail "no device"
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" unshare -m sh -c 'mount --bind "$0" /dev/net/tun && exec "$@"' "$work/tun" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "$bin/splitnic-host" --connect udp://10.99.0.2:7471 --tap nic0 --tap-adopt --insecure-lab --name hosta --control "$work/host.sock"
  nic_up
  equal "address" "$(mac_of "$ns_host" nic0)" 02:00:00:00:00:77
  equal "alias" "$(in_ns "$ns_host" cat /sys/class/net/nic0/ifalias)" ""
  stop host TERM || fail "the host did not stop"
  in_ns "$ns_host" test -e /sys/class/net/nic0 || fail "the interface of the user was removed"
}

# start_with_fd FLAGS OPTION...: the host gets a TAP that another program opened, as descriptor 9. IFF_TAP is 2, IFF_NO_PI 0x1000,
# IFF_VNET_HDR 0x4000.
start_with_fd() {
  local flags=$1
  shift
  identity_of host
  start host "$ns_host" "$python" -c 'import fcntl, os, struct, sys
tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, 0x400454CA, struct.pack("16sH22x", b"nic0", int(sys.argv[1], 0)))
os.dup2(tap, 9, inheritable=True)
os.execv(sys.argv[2], sys.argv[2:])' "$flags" "$bin/splitnic-host" --connect "$(way_of "")" "${identity[@]}" --name hosta \
    --control "$work/host.sock" --tap-fd 9 "$@"
}

check_passed() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  start_with_fd 0x5002
  nic_up
  make_pod
  ip -n "$ns_host" link set nic0 netns "$ns_pod" && set_up "$ns_pod"
  within "traffic from the container" 10000 reply_from "$ns_pod"
  stop host TERM || fail "the host did not stop"
  start_with_fd 0x1002
  wait_until 10 log_has host "descriptor 9 is not a TAP with a virtio-net header" || fail "a TAP without the header is taken"
  wait "${pid_of[host]}"
  unset "pid_of[host]"
  start_with_fd 0x5002 --tap nic7
  wait_until 10 log_has host "descriptor 9 is the TAP nic0: give --tap nic0" || fail "a TAP of another name is taken"
  wait "${pid_of[host]}"
  unset "pid_of[host]"
  refuses 1 "descriptor 55 is not a TAP" "$bin/splitnic-host" --connect shm://x --tap-fd 55 --control "$work/x.sock"
}

check_renamed() {
  bring_up
  ip -n "$ns_iou" link set lan0 down && ip -n "$ns_iou" link set lan0 name lan9 && ip -n "$ns_iou" link set lan9 up || fail "no other name"
  within "traffic by a NIC with another name" 10000 reply_from "$ns_host"
  ip -n "$ns_iou" link set lan9 down
  within "no carrier" 10000 carrier_is "$ns_host" nic0 0
  ip -n "$ns_iou" link set lan9 up
  within "carrier" 10000 carrier_is "$ns_host" nic0 1
}
