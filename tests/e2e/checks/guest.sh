# shellcheck shell=bash
# A virtual machine whose only card leads to the LAN of another machine: nic0 and the TAP of QEMU are ports of one bridge, as in
# docs/recipes.md. The kernel is Debian's installer's, and everything else in the guest is busybox: it boots in seconds, without KVM.

images=/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64

# make_guest: $work/initrd, with the modules of a virtio card from the installer, and busybox of this machine.
make_guest() {
  local root=$work/guest file
  mkdir -p "$root"/{bin,lib,proc,sys,dev,tmp,www} "$work/installer"
  (cd "$work/installer" && zcat "$images/initrd.gz" | busybox cpio -id '*/net/core/failover.ko' '*/net/net_failover.ko' '*/net/virtio_net.ko' \
    '*/virtio/virtio*.ko' 2>/dev/null)
  find "$work/installer" -name '*.ko' -exec cp {} "$root/lib/" \;
  cp "$(command -v busybox)" "$root/bin/busybox"
  for file in $(ldd "$root/bin/busybox" 2>/dev/null | grep -oE '/lib[^ ]+'); do
    mkdir -p "$root$(dirname "$file")" && cp "$file" "$root$file"
  done
  cp "$e2e/guest/init" "$root/init"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\n[ "$1" = bound ] && ip addr add "$ip/${mask:-24}" dev "$interface"\nexit 0\n' >"$root/lease"
  chmod 755 "$root/init" "$root/lease"
  (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initrd" || fail "no initrd"
}

# reported WORD: what the guest has reported about it.
reported() { tr -d '\r' <"$work/guest.log" | sed -n "s/^guest: $1 //p" | tail -n 1; }
has_reported() { tr -d '\r' <"$work/guest.log" | grep -q "^guest: $1"; }

check_lan() {
  iou_options=(--grant sniff,forge)
  bring_up
  ip -n "$ns_host" addr flush dev nic0
  ip -n "$ns_host" link add br0 type bridge && ip -n "$ns_host" link set br0 up && ip -n "$ns_host" tuntap add vnet0 mode tap &&
    ip -n "$ns_host" link set nic0 master br0 && ip -n "$ns_host" link set vnet0 master br0 up || fail "no bridge of nic0 and vnet0"
  silence_interface "$ns_host" vnet0
  start_dhcp_server "$ns_lan" lan0
  wait_until 20 grep -q "sockets bound" "$work/dnsmasq.log" || fail "no DHCP server"
  make_blob 16
  start_web_server "$ns_lan" "$work/www"
  make_guest
  start guest "$ns_host" qemu-system-x86_64 -M q35 -m 256 -nographic -nic none -netdev tap,id=lan,ifname=vnet0,script=no,downscript=no \
    -device virtio-net-pci,netdev=lan,mac=52:54:00:77:00:01,romfile= -kernel "$images/linux" -initrd "$work/initrd" \
    -append 'console=ttyS0 quiet panic=-1' -no-reboot
  wait_until 180 has_reported serves || fail "the guest does not come up: $(tail -n 20 "$work/guest.log")"
  equal "the guest's cards" "$(reported cards)" "eth0 "
  equal "the guest's pings" "$(reported pings)" "50 of 50"
  equal "the file from the LAN" "$(reported file)" "$wanted"
  local address
  address=$(reported address)
  [[ $address =~ ^10\.77\.0\.1[0-9][0-9]$ ]] || fail "the guest has no address of the LAN's DHCP server: '$address'"
  ip -n "$ns_lan" neigh show "$address" | has 52:54:00:77:00:01 || fail "the LAN does not see the guest's own address"
  fetch "$ns_lan" "http://$address/blob" "$work/fetched"
  equal "the file from the guest" "$(hash_of "$work/fetched")" "$wanted"
  # The unit is restarted, and the guest notices nothing but the pause.
  start pinger "$ns_lan" ping -D -i 0.012 -W 1 "$address"
  wait_until 20 pings_have 20 || fail "no replies of the guest"
  stop iou TERM || fail "not a clean stop"
  start_iou
  pings_within "the guest over a clean restart of the I/O unit" 5000
  stop guest TERM 10
}
