# shellcheck shell=bash
# --hosts: who may attach, reload, SIGHUP, peers and evict.

# hosts_are NAME...: the hosts file has these; what stands in extra[NAME] is added to their tables.
declare -A extra=()
hosts_are() {
  local name
  : >"$work/new.toml"
  for name in "$@"; do
    printf '[hosts.%s]\nkey = "%s"\n%s\n' "$name" "$(public "$name")" "${extra[$name]:-}" >>"$work/new.toml"
  done
  chmod 644 "$work/new.toml"
  mv "$work/new.toml" "$work/hosts.toml"
}

# The host of topology_three is "office", the second one "lab".
bring_up_keyed() {
  keyed
  make_keys unit office lab
  hosts_are office lab
  listen_at=0.0.0.0:7471
  iou_options=(--key-file "$work/unit.key" --hosts "$work/hosts.toml" "$@")
  host_options=(--key-file "$work/office.key" --peer "$(public unit)" "$@")
  bring_up
  make_second
  start_lab "$@"
  second_up
}

start_lab() { # [OPTION...]
  local host_options=(--key-file "$work/lab.key" --peer "$(public unit)" "$@")
  start_second
}

second_up() {
  wait_up host2
  silence_interface "$ns_second" nic0
  ask_often "$ns_second" nic0
  ip -n "$ns_second" addr replace 10.77.0.3/24 dev nic0 && ip -n "$ns_second" link set nic0 up || fail "no nic0"
  wait_until 10 in_ns "$ns_second" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond to lab"
}

# peer NAME FIELD: of splitnic peers --json.
peer() {
  ask iou peers --json | "$python" -c 'import json, sys
print([p for p in json.load(sys.stdin)["peers"] if p["name"] == sys.argv[1]][0].get(sys.argv[2], "none"))' "$1" "$2"
}
peer_is() { [ "$(peer "$1" "$2")" = "$3" ]; }

# ends_connection NS PROGRAM COMMAND...: the carrier of nic0 goes by it, and because the program was notified, not after 0.9 s of
# silence. It may be back soon, so what counts is that it was gone.
ends_connection() {
  local ns=$1 who=$2 before
  before=$(carrier_losses "$ns")
  shift 2
  "$@" || fail "$*"
  within "carrier lost" 10000 has_lost_carrier "$ns" "$before"
  grep -m 1 -E "the peer disconnected|is gone" "$work/$who.log" | has "the peer disconnected" || fail "$who was not notified"
}
carrier_losses() { in_ns "$1" cat /sys/class/net/nic0/carrier_down_count; }
has_lost_carrier() { [ "$(carrier_losses "$1")" -gt "$2" ]; }

reload() { ask iou reload; }
reloads_as() { equal "the reply" "$(reload)" "$1"; }

reloads_refused() { [ "$(grep -c "hosts file is not reloaded" "$work/iou.log")" -ge "$1" ]; }

check_reload() {
  bring_up_keyed --queues "${1:-1}"
  local queues=${1:-1}
  equal "states" "$(peer office state) $(peer lab state)" "up up"
  wait_until 10 peer_is office queues "$queues" && wait_until 10 peer_is lab queues "$queues" ||
    fail "queues: $(peer office queues) $(peer lab queues), not $queues $queues"
  begin_pings pings "$ns_host" 10.77.0.2

  hosts_are office
  ends_connection "$ns_second" host2 reloads_as "1 host: 0 added, 1 removed, 0 changed"
  grep -q "host lab disconnected: it is not in the hosts file any more" "$work/iou.log" ||
    grep -q "host hostb disconnected: it is not in the hosts file any more" "$work/iou.log" || fail "no line in the log"
  wait_until 10 counts iou session.rx.drop.unknown_key 1 || fail "its key is still known"
  ! is_up host2 || fail "the host that was removed is up"
  ask iou peers | has "^lab " && fail "peers still lists it"

  # An error keeps what is in force.
  printf '[hosts.office]\nkey = "%s"\nvlan = [1]\n' "$(public office)" >"$work/hosts.toml"
  local got=0
  reload >"$work/reload.out" 2>"$work/reload.err" || got=$?
  equal "status of a reload with an error" "$got" 1
  equal "lines" "$(wc -l <"$work/reload.err")" 1
  grep -q "hosts.toml: line 3, column 1: \[hosts.office\]: 'vlan' is not a field" "$work/reload.err" ||
    fail "no place of the error: $(cat "$work/reload.err")"
  grep -q "not reloaded: .*line 3, column 1" "$work/iou.log" || fail "no place of the error in the log"
  cat "$work/reload.err"
  kill -HUP "${pid_of[iou]}"
  wait_until 10 reloads_refused 2 || fail "SIGHUP is not in the log"
  echo "[hosts.office" >"$work/hosts.toml"
  reload 2>/dev/null && fail "a file that is no TOML was accepted"
  equal "state after errors" "$(peer office state)" up

  # SIGHUP reads it, too.
  hosts_are office lab
  kill -HUP "${pid_of[iou]}"
  within "the host that is back" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.2 10.77.0.2
  end_pings pings
  equal "states" "$(peer office state) $(peer lab state)" "up up"
}

check_reload_two_queues() { check_reload 2; }

# The file is a symbolic link, as management of configurations makes it.
check_reload_symlink() {
  topology_three || fail "the test hosts cannot be made"
  make_keys unit office lab
  hosts_are office
  mkdir "$work/cfg" "$work/real"
  mv "$work/hosts.toml" "$work/real/hosts.toml"
  ln -s ../real/hosts.toml "$work/cfg/hosts.toml"
  start_iou --key-file "$work/unit.key" --hosts "$work/cfg/hosts.toml"
  wait_until 10 ask iou peers >/dev/null || fail "the unit does not start"
  hosts_are office lab
  mv "$work/hosts.toml" "$work/real/hosts.toml"
  equal "the reply" "$(reload)" "2 hosts: 1 added, 0 removed, 0 changed"
  # Another file takes its place, below the folder of the link.
  mkdir "$work/cfg/new"
  hosts_are office
  mv "$work/hosts.toml" "$work/cfg/new/hosts.toml"
  ln -sf new/hosts.toml "$work/cfg/hosts.toml"
  equal "the reply" "$(reload)" "1 host: 0 added, 1 removed, 0 changed"
}

check_peers() {
  extra[office]=$'memory = "32M"\nmacs = ["02:00:00:00:00:10"]'
  bring_up_keyed
  ping_all "$ns_host" 10.77.0.2 5
  ask iou peers
  ask iou peers --json | "$python" -c '
import json, sys
office, lab = json.load(sys.stdin)["peers"]
assert office["name"] == "office" and office["key"] == sys.argv[1] and office["state"] == "up", office
assert office["address"].startswith("10.99.0.1:") and lab["address"].startswith("10.98.0.1:"), (office, lab)
assert 0 <= office["last_handshake_seconds"] < 60, office
assert office["rx_bytes"] > 490 and office["tx_bytes"] > 490 and office["queues"] >= 1, office
assert office["rights"] == "macs=1 memory=32M" and lab["rights"] == "default", (office, lab)
' "$(public office)" || fail "peers --json"
  ask iou peers | has "^office  *up .* s ago .*memory=32M .*$(public office | cut -c1-20)" || fail "peers"
  stop host2 TERM
  wait_until 10 peer_is lab state absent || fail "a host that stopped is not absent"
  # Other rights: the host stays, and the log reports them.
  extra[office]="sniff = true"
  begin_pings pings "$ns_host" 10.77.0.2
  hosts_are office lab
  equal "the reply" "$(reload)" "2 hosts: 0 added, 0 removed, 1 changed"
  wait_until 10 grep -q "the rights of host office at 10.99.0.1:[0-9]* have changed: sniff" "$work/iou.log" || fail "no line in the log"
  equal "rights" "$(peer office rights)" sniff
  end_pings pings
  ask host peers 2>/dev/null && fail "a host has no peers"
  ask host reload 2>/dev/null && fail "a host has nothing to reload"
  start_lab
  wait_up host2
}

# A right that a reload takes away is lost at once: frames of lab do not reach office any more.
check_withdrawn() {
  extra[office]="sniff = true"
  bring_up_keyed
  ip -n "$ns_host" link set nic0 promisc on
  of_office() { counter_if_any iou host.office.iou.to_host.frames; }
  hears_lab() {
    local before
    before=$(of_office)
    ping_all "$ns_second" 10.77.0.2 40
    [ "$(of_office)" -gt $((before + 30)) ]
  }
  wait_until 10 hears_lab || fail "office does not receive the frames of others"
  extra[office]=
  hosts_are office lab
  reload
  wait_until 10 counts iou iou.from_host.refused_promiscuous 1 || fail "it has not requested its settings again"
  hears_lab && fail "office receives the frames of others"
  is_up host || wait_up host
}

check_evict() {
  bring_up_keyed
  local got=0 handshakes
  ask iou evict nobody 2>"$work/evict.err" || got=$?
  equal "status of an unknown name" "$got" 1
  grep -q "no host 'nobody' is attached" "$work/evict.err" || fail "$(cat "$work/evict.err")"
  handshakes=$(counter iou session.rx.initiation)
  begin_pings pings "$ns_host" 10.77.0.2
  ends_connection "$ns_second" host2 ask iou evict lab
  within "the evicted host is back" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.2 10.77.0.2
  end_pings pings
  [ "$(counter iou session.rx.initiation)" -gt "$handshakes" ] || fail "it came back under the old keys"
  equal "names" "$(peer lab state)" up
}

# Its addresses are those of the file, for the handshake and after a reload.
check_from() {
  extra[lab]='from = ["10.98.0.0/24"]'
  bring_up_keyed
  extra[lab]='from = ["10.97.0.0/24", "fd00::/8"]'
  hosts_are office lab
  ends_connection "$ns_second" host2 reloads_as "2 hosts: 0 added, 0 removed, 1 changed"
  wait_until 10 counts iou session.rx.drop.address 1 || fail "its INITIATION is not counted"
  sleep 1
  ! is_up host2 || fail "up from an address that is not in the file"
  extra[lab]='from = ["10.98.0.1"]'
  hosts_are office lab
  reload
  within "the host from an address of the file" 10000 in_ns "$ns_second" ping -q -c 1 -W 0.2 10.77.0.2
}

# users_are TEXT: the unit over shared memory has this hosts file, and root is attached.
users_are() {
  topology_three || fail "the test hosts cannot be made"
  fabric=shm
  printf '%b' "$1" >"$work/hosts.toml"
  chmod 644 "$work/hosts.toml"
  iou_options=(--hosts "$work/hosts.toml")
  start_iou
  start_host
  nic_up
}

# start_guest NAME: a host of that name that another user runs.
start_guest() {
  mkdir -m 777 "$work/other"
  start host3 "$ns_host" setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all \
    "$bin/splitnic-host" --connect shm://e2e --tap "file:,$work/other/out.pcap" --name "$1" --control "$work/other/guest.sock"
}

guest_is_refused() { "$bin/splitnic" show --json --control "$work/other/guest.sock" | has '"connecting"'; }

# Over shared memory a host is known by its user.
check_users() {
  users_are '[hosts.root]\nuid = 0\n'
  equal "root" "$(peer root state) $(peer root uid)" "up 0"
  # Another user may not, until the file has it.
  start_guest guest
  wait_until 10 counts iou shm.refused.user 1 || fail "another user is not refused"
  wait_until 10 guest_is_refused || fail "another user is attached"
  printf '[hosts.root]\nuid = 0\n[hosts.guest]\nuid = 65534\n' >"$work/hosts.toml"
  reload
  wait_until 10 peer_is guest state up || fail "the user of the file is not attached: $(ask iou peers)"
  # Root is not in the file any more, and the other user still is.
  printf '[hosts.guest]\nuid = 65534\n' >"$work/hosts.toml"
  ends_connection "$ns_host" host reload
  equal "the other user" "$(peer guest state)" up
  ! is_up host || fail "root is still attached"
}

# The program does not start with a file that has an error.
check_start() {
  topology_three || fail "the test hosts cannot be made"
  make_keys unit office lab
  hosts_are office
  local iou=(ip netns exec "$ns_iou" "$bin/splitnic-iou" --lan "$port:lan0" --listen "udp://$iou_address" --control "$work/o.sock")
  local keyed=("${iou[@]}" --key-file "$work/unit.key" --hosts)
  refuses 2 "--hosts: --key-file is missing" "${iou[@]}" --hosts "$work/hosts.toml" --insecure-lab
  refuses 1 "No such file" "${keyed[@]}" "$work/none.toml"
  printf '[hosts.office]\nkey = "%s"\n' "$(public unit)" >"$work/bad.toml"
  refuses 1 "bad.toml: line 2, column 7: [hosts.office] key: this is the key of the I/O unit" "${keyed[@]}" "$work/bad.toml"
  printf '[hosts.office]\nuid = 1\nnic = [1]\n' >"$work/bad.toml"
  refuses 1 "line 3, column 8: [hosts.office] nic: there is no NIC 1" "${keyed[@]}" "$work/bad.toml"
  chmod 666 "$work/hosts.toml"
  refuses 1 "chmod go-w" "${keyed[@]}" "$work/hosts.toml"
}

# refused_for NAME WORDS: WORDS are in the log of this host.
refused_for() { grep -qF -- "$2" "$work/$1.log"; }

# address_space_rests PID: each queue frees its memory of a host, which may be a moment after the host is absent.
address_space_rests() {
  local before
  before=$(awk '{ print $1 }' "/proc/$1/statm")
  sleep 0.5
  [ "$(awk '{ print $1 }' "/proc/$1/statm")" = "$before" ]
}

# The limit of a host, then a unit that is short of memory. The limit of its address space stands in for a machine without.
check_memory() {
  extra[lab]='memory = "2M"'
  make_keys unit office lab
  hosts_are office lab
  listen_at=0.0.0.0:7471
  iou_options=(--key-file "$work/unit.key" --hosts "$work/hosts.toml")
  host_options=(--key-file "$work/office.key" --peer "$(public unit)")
  bring_up
  make_second
  start_lab
  wait_until 10 refused_for host2 "KiB of the I/O unit's memory" || fail "no reason in the log of the host that was refused"
  ! is_up host2 || fail "a host without memory is attached"
  counts iou iou.hosts.refused_memory 1 || fail "it is not counted"
  local used
  used=$(peer office memory_bytes)
  echo "office uses $used bytes"
  { [ "$used" -gt $((6 << 20)) ] && [ "$used" -le $((64 << 20)) ]; } || fail "office uses $used bytes"

  extra[lab]='memory = "64M"'
  hosts_are office lab
  reload
  second_up

  # Hardly more address space than without it: the host is refused, and the others are served.
  local pid=${pid_of[iou]} before
  stop host2 || fail "the second host did not stop"
  wait_until 10 peer_is lab state absent || fail "the second host is still there"
  wait_until 10 address_space_rests "$pid" || fail "the address space of the unit changes all the time"
  prlimit --pid "$pid" --as=$(($(awk '{ print $1 }' "/proc/$pid/statm") * $(getconf PAGESIZE) + (2 << 20))): || fail "no limit"
  before=$(counter iou iou.hosts.refused_memory)
  start_lab
  wait_until 10 counts iou iou.hosts.refused_memory $((before + 1)) || fail "a host is attached without memory"
  wait_until 10 refused_for host2 "the I/O unit is short of memory" || fail "no reason in the log of the host"
  kill -0 "$pid" || fail "the I/O unit has ended"
  ping_all "$ns_host" 10.77.0.2 20 0.01
  prlimit --pid "$pid" --as=unlimited: || fail "the limit stays"
  second_up
}

# Two users of the machine, whose hosts have the same name: both state the same EUI-64, which follows from it.
check_same_name() {
  users_are '[hosts.root]\nuid = 0\n[hosts.guest]\nuid = 65534\n'
  start_guest hosta
  wait_until 10 peer_is guest state up || fail "the other user is not attached: $(ask iou peers)"
  sleep 2
  equal "states" "$(peer root state) $(peer guest state)" "up up"
  equal "connections that ended" "$(counter iou iou.hosts.downs)" 0
  ping_all "$ns_host" 10.77.0.2 5 0.01
}
