# shellcheck shell=bash
# Each offload of the interfaces at both ends switched off in turn, as their owners do it, while the traffic continues.

# mean_frame NS IF COMMAND...: leaves in $mean how long a frame was that the interface was given to send.
mean_frame() {
  local ns=$1 interface=$2 bytes frames folder=/sys/class/net/$2/statistics
  shift 2
  read -r bytes frames < <(in_ns "$ns" sh -c "echo \$(cat $folder/tx_bytes $folder/tx_packets)")
  "$@"
  mean=$(in_ns "$ns" sh -c "echo \$(cat $folder/tx_bytes $folder/tx_packets)" |
    awk -v o="$bytes" -v f="$frames" '{printf "%d", ($1 - o) / ($2 - f)}')
}

# useful_set: leaves the mean lengths of the frames sent in to_lan and to_host, of: TCP over IPv4, IPv6, UDP.
useful_set() {
  to_lan=() to_host=()
  ping_all "$ns_host" 10.77.0.2 20 >/dev/null
  ping_all "$ns_lan" fd77::1 20 >/dev/null
  local address
  for address in 10.77.0.2 fd77::2; do
    mean_frame "$ns_host" nic0 stream "$ns_host" "$ns_lan" $address "$work/www/blob" && to_lan+=("$mean")
  done
  mean_frame "$ns_host" nic0 datagrams_arrive "$ns_host" "$ns_lan" 10.77.0.2 && to_lan+=("$mean")
  for address in 10.77.0.1 fd77::1; do
    mean_frame "$ns_lan" lan0 stream "$ns_lan" "$ns_host" $address "$work/www/blob" && to_host+=("$mean")
  done
  mean_frame "$ns_lan" lan0 datagrams_arrive "$ns_lan" "$ns_host" fd77::1 && to_host+=("$mean")
  wait_until 10 nothing_moves || fail "a connection does not end"  # its last frames are none of the capture
  replay_both_ways >/dev/null
}

# switch NS IF FEATURE on|off
switch() { in_ns "$1" ethtool -K "$2" "$3" "$4" >/dev/null 2>&1 || fail "$2: ethtool -K $3 $4"; }

begin_offloads() {
  bring_up
  address_ipv6
  static_neighbours
  make_blob 4
  # What libpcap shows of a UDP super-frame does not indicate where its datagrams end.
  if [ "$port" = pcap ]; then switch "$ns_lan" lan0 tx-udp-segmentation off; fi
  wait_until 10 nothing_moves || fail "somebody speaks on a quiet LAN"
}

# small FEATURE WAY MEAN...: which of the three kinds of super-frame must be gone without the feature.
small() {
  local feature=$1 way=$2
  shift 2
  local -a mean_of=("$@") gone
  case $feature in
    tx) gone=(1 1 1) ;;
    sg | tso) gone=(1 1 0) ;;
    tx-tcp6-segmentation) gone=(0 1 0) ;;
    tx-udp-segmentation) gone=(0 0 1) ;;
    *) gone=(0 0 0) ;;
  esac
  [ "$port $way" = "pcap to the host" ] && gone[2]=1
  [ "$way" = "to the LAN" ] && host_has --no-uso && gone[2]=1
  local i
  for i in 0 1 2; do
    if [ "${gone[i]}" = 1 ]; then
      [ "${mean_of[i]}" -le 1514 ] || fail "$way without $feature: frames of ${mean_of[i]} bytes"
    else
      [ "${mean_of[i]}" -gt 3000 ] || fail "$way without $feature: no super-frames, ${mean_of[i]} bytes"
    fi
  done
}

check_nic0() {
  begin_offloads
  local feature
  local features=(none tx tso tx-tcp6-segmentation)
  host_has --no-uso || features+=(tx-udp-segmentation)
  [ "$long" = 1 ] && features+=(sg tx-vlan-offload)
  for feature in "${features[@]}"; do
    [ $feature = none ] || switch "$ns_host" nic0 $feature off
    useful_set
    echo "nic0 without $feature: bytes per frame to the LAN ${to_lan[*]}, to the host ${to_host[*]}"
    small $feature "to the LAN" "${to_lan[@]}"
    [ $feature = none ] || switch "$ns_host" nic0 $feature on
  done
}

check_lan() {
  begin_offloads
  local feature off on
  local features=(tx tso tx-udp-segmentation gro rx-vlan-offload)
  [ "$long" = 1 ] && features+=(gso tx-vlan-offload)
  for feature in "${features[@]}"; do
    # The other way of what a veth begins with.
    off=off on=on
    [ $feature = gro ] && off=on on=off
    switch "$ns_lan" lan0 $feature $off
    switch "$ns_iou" lan0 $feature $off
    useful_set
    echo "LAN with $feature $off: bytes per frame to the LAN ${to_lan[*]}, to the host ${to_host[*]}"
    small "$feature" "to the host" "${to_host[@]}"
    [ "$port $feature" = "pcap tx-udp-segmentation" ] && continue
    switch "$ns_lan" lan0 $feature $on
    switch "$ns_iou" lan0 $feature $on
  done
}
