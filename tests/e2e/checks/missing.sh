# shellcheck shell=bash
# What is not there yet, or not any more, and comes: NICs, names and routes. Nothing ends for it that other parts can do without.

# shellcheck source=tests/e2e/checks/monitor.sh
. "$(dirname "${BASH_SOURCE[0]}")/monitor.sh"

log_has() { grep -q "$2" "$work/$1.log"; }
reply() { in_ns "$1" ping -q -c 1 -W 0.3 "$2" >/dev/null; }

# waits_for WHO TEXT: it reports that once, responds on its control socket, and ends on SIGTERM.
waits_for() {
  wait_until 10 log_has "$1" "$2; waiting for that to change" || fail "$1 does not wait: $(cat "$work/$1.log")"
  ask "$1" show --json | has '"connecting"' || fail "$1 does not respond while it waits"
  sleep 1.2
  equal "reports of $1" "$(grep -c "waiting for that" "$work/$1.log")" 1
}

check_lan_late() {
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_iou" link set lan0 down
  ip -n "$ns_iou" link set lan0 name later0
  start_iou
  waits_for iou "lan0: no such interface"
  stop iou TERM || fail "the unit does not stop while it waits"
  start_iou
  start_host
  wait_until 10 log_has iou "waiting for that" || fail "the unit does not wait"
  ip -n "$ns_iou" link set later0 name lan0
  ip -n "$ns_iou" link set lan0 up
  nic_up
  log_has iou "what was missing is there" || fail "nothing about it in the log"
}

check_lan_down() {
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_iou" link set lan0 down
  start_iou
  [ "$port" != pcap ] || waits_for iou "lan0: the interface is down: ip link set lan0 up"
  start_host
  ip -n "$ns_iou" link set lan0 up
  nic_up
}

# The second NIC is unplugged and plugged in again while hosts of both work.
bring_up_both() {
  topology_three && make_second && make_second_lan || fail "the test hosts cannot be made"
  "$@"
  start_iou --lan "$port:lan1"
  start_host
  start_second --nic 1
  nic_up
  wait_up host2
  ip -n "$ns_second" addr add 10.77.0.1/24 dev nic0 && ip -n "$ns_second" link set nic0 up || fail "no nic0 of the second host"
}
unplug_lan1() { ip -n "$ns_iou" link del lan1; }
plug_in_lan1() {
  veth_between "$ns_iou" lan1 "$ns_lan1" lan1 && silence_interface "$ns_iou" lan1 && ip -n "$ns_lan1" addr add 10.77.0.2/24 dev lan1 ||
    fail "no second LAN"
}

check_one_unplugged() {
  bring_up_both true
  within "the second NIC" 10000 reply "$ns_second" 10.77.0.2
  begin_pings pinger "$ns_host" 10.77.0.2
  watches_from_now iou
  ip -n "$ns_iou" link del lan1
  within "no carrier at the host of the NIC that is gone" 10000 carrier_is "$ns_second" nic0 0
  comes_times iou gone "$port:lan1" 1
  wait_until 10 log_has iou "$port:lan1 is gone" || fail "not reported"
  equal "reports" "$(grep -c "$port:lan1 is gone" "$work/iou.log")" 1
  equal "events of a NIC that is not there yet" "$(events_of iou back "$port:lan1")" 0
  plug_in_lan1
  check_used_again lan1 "$ns_second"
  sleep 1.5
  equal "times that it came back" "$(grep -c "$port:lan1 is back" "$work/iou.log")" 1
  comes_times iou back "$port:lan1" 1
  equal "events of the other NIC" "$(events_of iou gone "$port:lan0") $(events_of iou back "$port:lan0")" "0 0"
  comes_times iou gone "$port:lan1" 1
  flap_lan1
  end_pings pinger  # of the host of the other NIC
}

# check_used_again NIC NS: frames cross at all queues, and the NIC receives all of them.
check_used_again() {
  within "the carrier of the NIC that is back" 10000 carrier_is "$2" nic0 1
  within "frames through the NIC that is back" 10000 reply "$2" 10.77.0.2
  # The carrier is that of queue 0; each queue opens its own socket.
  wait_until 10 all_queues_use "$1" "$(queues_of iou)" || fail "sockets at $1: $(packet_sockets "$1"), not $(queues_of iou)"
  equal "promiscuity of $1" "$(ip -n "$ns_iou" -d link show "$1" | sed -nE 's/.* promiscuity ([0-9]+).*/\1/p')" 1
  wait_until 10 log_has iou "$port:$1 is back" || fail "nothing about it in the log"
}
all_queues_use() { [ "$(packet_sockets "$1")" = "$2" ]; }
packet_sockets() { in_ns "$ns_iou" awk -v index_="$(ip -n "$ns_iou" -o link show "$1" | cut -d : -f 1)" 'NR > 1 && $5 == index_ { n++ } END { print n + 0 }' /proc/net/packet; }

# It goes and comes a few times, at once and after a while.
flap_lan1() {
  local round
  for ((round = 0; round < 4; ++round)); do
    unplug_lan1
    [ $((round % 2)) = 0 ] || within "no carrier" 10000 carrier_is "$ns_second" nic0 0
    plug_in_lan1
  done
  check_used_again lan1 "$ns_second"
}

# The only NIC of the unit: the process stays, also under a service manager.
check_last_unplugged() {
  topology_three || fail "the test hosts cannot be made"
  export NOTIFY_SOCKET=$work/notify
  start_iou --lan-mtu follow
  unset NOTIFY_SOCKET
  start_host
  nic_up
  ip -n "$ns_host" link set nic0 mtu 1400
  within "the MTU of nic0 at the NIC" 10000 lan_mtu_is 1400
  within "frames" 10000 reply "$ns_host" 10.77.0.2
  ip -n "$ns_iou" link del lan0
  within "no carrier" 10000 carrier_is "$ns_host" nic0 0
  reply "$ns_host" 10.77.0.2 && fail "a NIC that is gone replies"
  veth_between "$ns_iou" lan0 "$ns_lan" lan0 && silence_interface "$ns_iou" lan0 && ip -n "$ns_lan" addr add 10.77.0.2/24 dev lan0 || fail "no new LAN"
  check_used_again lan0 "$ns_host"
  within "the MTU of nic0 at the NIC that is back" 10000 lan_mtu_is 1400
  equal "MTU of nic0" "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" 1400
  # The offload that the host sets, a bulk of data, and a clean stop.
  make_blob 4
  stream "$ns_host" "$ns_lan" 10.77.0.2 "$work/www/blob"
  stream "$ns_lan" "$ns_host" 10.77.0.1 "$work/www/blob"
  stop iou TERM || fail "the unit did not stop cleanly"
}

lan_mtu_is() { [ "$(in_ns "$ns_iou" cat /sys/class/net/lan0/mtu)" = "$1" ]; }

# The process that opens NICs has the rights for that, and without it the unit needs another start.
check_opener() {
  bring_up_both true
  local opener
  opener=$(pgrep -P "${pid_of[iou]}" -x splitnic-nics) || fail "no process opens NICs"
  equal "capabilities of $opener" "$(awk '/^CapEff:/ { print $2 }' "/proc/$opener/status")" 0000000000003000
  equal "what it may gain" "$(awk '/^(NoNewPrivs|CapBnd):/ { printf $2 }' "/proc/$opener/status")" 00000000000000001
  kill -KILL "$opener"
  watches_from_now iou
  unplug_lan1
  within "no carrier" 10000 carrier_is "$ns_second" nic0 0
  plug_in_lan1
  within "the NIC is noticed" 10000 log_has iou "the process that opens NICs has ended: start again"
  within "what to do" 10000 log_has iou "$port:lan1 is back: start again to use it"
  comes_times iou gone "$port:lan1" 1
  comes_times iou back "$port:lan1" 1
  running iou || fail "the unit has ended"
  within "the other NIC" 10000 reply "$ns_host" 10.77.0.2
}

# Under a service manager the unit has itself started again for a NIC that is back and that nobody can open.
check_one_returns() {
  export NOTIFY_SOCKET=$work/notify
  bring_up_both true
  unset NOTIFY_SOCKET
  kill -KILL "$(pgrep -P "${pid_of[iou]}" -x splitnic-nics)"
  ip -n "$ns_iou" link del lan1
  within "no carrier" 10000 carrier_is "$ns_second" nic0 0
  plug_in_lan1
  wait_until 10 process_ended "${pid_of[iou]}" || fail "the unit runs on"
  local status=0
  wait "${pid_of[iou]}" || status=$?
  unset "pid_of[iou]"
  equal "exit status" "$status" 1
  log_has iou "$port:lan1 is back: starting again to use it" || fail "no reason in the log"
}

check_one_missing() {
  bring_up_both unplug_lan1
  log_has iou "lan1: no such interface; the other NICs are used without it" || fail "not reported"
  carrier_is "$ns_second" nic0 0 || fail "nic0 has the carrier of a NIC that is not there"
  reply "$ns_second" 10.77.0.2 && fail "a NIC that is not there replies"
  within "the other NIC" 10000 reply "$ns_host" 10.77.0.2
  equal "links" "$(ask iou show --json | "$python" -c 'import json, sys
print(*(lan["link"] for lan in json.load(sys.stdin)["lan"]))')" "up down"
  plug_in_lan1
  check_used_again lan1 "$ns_second"
}

check_route_late() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  ip -n "$ns_host" addr flush dev fab0
  start_host
  waits_for host ".*Network is unreachable"
  stop host TERM || fail "the host does not stop while it waits"
  start_host
  ip -n "$ns_host" addr add 10.99.0.1/24 dev fab0
  nic_up
}

# The unit listens at an address that is there, at one that comes later, and serves metrics at the latter.
check_address_late() {
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_iou" addr flush dev fab0
  ip -n "$ns_iou" link set lo up
  listen_at=127.0.0.1:7499
  iou_options+=(--listen "$(endpoint "$iou_address")" --metrics 10.99.0.2:9477 --metrics-remote)
  start_iou
  wait_until 10 log_has iou "listening on udp://$iou_address: .*has this address; waiting for that to change" || fail "the unit does not wait"
  ask iou show --json | has '"connecting"' || fail "the unit does not respond while it waits"
  sleep 1.2
  equal "reports" "$(grep -c "listening on" "$work/iou.log")" 1
  equal "reports of --metrics" "$(grep -c -- "--metrics: .*the address 10.99.0.2; waiting" "$work/iou.log")" 1
  stop iou TERM || fail "the unit does not stop while it waits"
  start_iou
  wait_until 10 log_has iou "listening on" || fail "the unit does not wait"
  start_host
  ip -n "$ns_iou" addr add 10.99.0.2/24 dev fab0
  nic_up
  within "metrics at that address" 10000 in_ns "$ns_iou" curl -sS --max-time 2 -o /dev/null http://10.99.0.2:9477/metrics
}

check_name_late() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  echo "127.0.0.1 localhost" >"$work/hosts"
  identity_of host
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" unshare -m sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$work/hosts" \
    "$bin/splitnic-host" --connect udp://unit.example:7471 --tap nic0 "${identity[@]}" --name hosta --control "$work/host.sock"
  waits_for host '.*no address found for "unit.example:7471": .*'
  echo "10.99.0.2 unit.example" >>"$work/hosts"
  nic_up
}

# A unit behind a switch, and a switch with a cable to another, come before the addresses of their interfaces.
check_attach_late() {
  plain
  topology_three || fail "the test hosts cannot be made"
  printf 'cables = ["sw1:2 - sw2:1"]\n[switches.sw1]\nlid = 1\n[switches.sw2]\nlid = 2\n' >"$work/fabric.toml"
  printf '[nodes.hosta]\nlid = 11\nat = "sw1:1"\n[nodes.unit]\nlid = 10\nat = "sw2:2"\n' >>"$work/fabric.toml"
  start_switches() {
    start switch1 "$ns_host" "$bin/splitnic-switch" --name sw1 --topology "$work/fabric.toml" --insecure-lab \
      --control "$work/switch1.sock" --port udp://127.0.0.1:7500 --port "udp://10.99.0.2:7501,connect"
    start switch2 "$ns_iou" "$bin/splitnic-switch" --name sw2 --topology "$work/fabric.toml" --insecure-lab \
      --control "$work/switch2.sock" --port udp://0.0.0.0:7501 --port udp://0.0.0.0:7502
  }
  ip -n "$ns_host" addr flush dev fab0
  ip -n "$ns_iou" link set lo down
  iou_address='unit:1?via=127.0.0.1:7500'
  attach_at=udp://10.99.0.2:7502
  ip -n "$ns_iou" addr flush dev fab0
  start_switches
  start_iou
  waits_for switch1 ".*Network is unreachable"
  waits_for iou ".*Network is unreachable"
  start_host
  ip -n "$ns_iou" link set lo up
  ip -n "$ns_iou" addr add 10.99.0.2/24 dev fab0
  ip -n "$ns_host" addr add 10.99.0.1/24 dev fab0
  nic_up
}

# A name server that takes requests and never replies holds up neither the control socket nor SIGTERM.
check_name_slow() {
  topology_three || fail "the test hosts cannot be made"
  echo "nameserver 10.99.0.2" >"$work/resolv.conf"
  start silent "$ns_iou" "$python" -c 'import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.99.0.2", 53))
print("bound", flush=True)
time.sleep(60)'
  wait_until 10 grep -q bound "$work/silent.log" || fail "no name server"
  identity_of host
  # shellcheck disable=SC2016 # for that shell
  start host "$ns_host" unshare -m sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$work/resolv.conf" \
    "$bin/splitnic-host" --connect udp://unit.example:7471 --tap nic0 "${identity[@]}" --name hosta --control "$work/host.sock"
  wait_until 10 is_connecting || fail "the host does not respond"
  sleep 1
  log_has host "no address found" && fail "the name server has replied"
  within "show, meanwhile" 1500 ask host show
  stop host TERM || fail "the host does not stop while it waits"  # a lookup takes 5 s and more
  stop silent KILL
}

is_connecting() { ask host show --json 2>/dev/null | has '"connecting"'; }

descriptors_of() { find "/proc/${pid_of[$1]}/fd" -mindepth 1 | wc -l; }
# has_descriptors MOST: no more than that, of the host and of the unit.
has_descriptors() { [ "$(descriptors_of host)" -le "${1% *}" ] && [ "$(descriptors_of iou)" -le "${1#* }" ]; }

# The LAN, the fabric and nic0 go down and come up again, over and over.
check_flaps() {
  bring_up
  local where what count=20 i before
  [ "$long" = 0 ] || count=100
  before="$(descriptors_of host) $(descriptors_of iou)"
  for where in "$ns_lan lan0" "$ns_host fab0" "$ns_host nic0"; do
    what=${where#* }
    for ((i = 0; i < count; i++)); do
      ip -n "${where% *}" link set "$what" down && sleep 0.05 && ip -n "${where% *}" link set "$what" up || fail "$what"
      sleep 0.05
    done
    within "$count flaps of $what" 10000 reply "$ns_host" 10.77.0.2
    within "no descriptor is left of the flaps of $what" 10000 has_descriptors "$before"
  done
  files_both_ways 1
}
