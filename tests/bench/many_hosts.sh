# shellcheck shell=bash disable=SC2154 # variables of bench_head.sh and of the scripts that source this
# An I/O unit and many hosts, each a process in a separate namespace; a bridge joins them to the unit. For hosts.sh and show.sh,
# which source bench_head.sh before and set $bin.
#   make_unit_side; make_host_side I    namespaces, once; hosts are numbered from 1
#   start_all N; take_down N            the unit and N hosts, with nic0 up at each; and their end

# $ns_iou has the bridge of the fabric, 10.99.0.1, and lan0; $ns_lan 10.77.0.2.
make_unit_side() {
  ns_iou=sn$$-u ns_lan=sn$$-l
  host_namespace "$ns_iou" && host_namespace "$ns_lan" && veth_between "$ns_iou" lan0 "$ns_lan" lan0 &&
    ip -n "$ns_iou" link add fab0 type bridge && ip -n "$ns_iou" link set fab0 up &&
    ip -n "$ns_iou" addr add 10.99.0.1/16 dev fab0 && ip -n "$ns_lan" addr add 10.77.0.2/16 dev lan0 || return 1
  silence_interface "$ns_iou" lan0
  wide_sockets "$ns_iou"
}

make_host_side() { # I
  local ns=sn$$-h$1
  host_namespace "$ns" && veth_between "$ns" fab0 "$ns_iou" "f$1" && ip -n "$ns_iou" link set "f$1" master fab0 &&
    ip -n "$ns" addr add "10.99.1.$1/16" dev fab0 && forget_tcp "$ns"
}

start_host() { # I
  start "host$1" "sn$$-h$1" "$bin/splitnic-host" --connect udp://10.99.0.1:7471 --tap nic0 --control "$work/h$1.sock" \
    --insecure-lab --name "h$1" --payload-crc on
}

open_host() { # I
  wait_until 20 host_is_up "$work/h$1.sock" && nic0_replies "sn$$-h$1" "10.77.1.$1/16" 10
}

start_all() { # N
  local i
  start iou "$ns_iou" "$bin/splitnic-iou" --lan packet:lan0 --listen udp://10.99.0.1:7471 --control "$work/iou.sock" \
    --insecure-lab --name iou --max-hosts "$1" --payload-crc on
  for i in $(seq "$1"); do start_host "$i"; done
  for i in $(seq "$1"); do
    open_host "$i" && continue
    echo "host $i does not come up" >&2
    last_lines 1 "host$i"
    return 1
  done
}

# Hosts first, all of them at once. A second signal would break off a clean stop.
take_down() { # N
  local i
  for i in $(seq "$1"); do [ -z "${pid_of[host$i]:-}" ] || kill -TERM "${pid_of[host$i]}" 2>/dev/null; done
  for i in $(seq "$1"); do
    [ -z "${pid_of[host$i]:-}" ] || wait_until 10 process_ended "${pid_of[host$i]}"
    stop "host$i" TERM 5
  done
  stop iou TERM 5
  rm -f "$work"/*.log
}
