# shellcheck shell=bash
# SIGHUP and `splitnic reload`: what a program reads again, what it applies and what it reports.

# config WHO LINE...: the configuration file of that program, replaced as an editor does.
config() {
  local who=$1
  shift
  printf '%s\n' "$@" >"$work/new.toml"
  mv "$work/new.toml" "$work/$who.toml"
}

# reloads WHO TEXT: the program does so by its control socket and by SIGHUP, and reports the same.
reloads() {
  local who=$1 text=$2 before
  equal "the reply of $who" "$(ask "$who" reload)" "$text"
  grep -qF "reloaded: $text" "$work/$who.log" || fail "no line of it in the log of $who"
  before=$(lines_of "$who" reloaded)
  kill -HUP "${pid_of[$who]}"
  wait_until 10 has_lines "$who" reloaded $((before + 1)) || fail "SIGHUP is not in the log of $who"
}
lines_of() { grep -c "$2" "$work/$1.log"; }
has_lines() { [ "$(lines_of "$1" "$2")" -ge "$3" ]; }

# refuses_reload WHO WORDS: both ways are refused with these words, and nothing changes.
refuses_reload() {
  local who=$1 words=$2 before
  before=$(lines_of "$who" "is reloaded\|is not reloaded")
  ask "$who" reload 2>"$work/reload.err" && fail "$who has accepted it"
  grep -qF -- "$words" "$work/reload.err" || fail "no word of '$words': $(cat "$work/reload.err")"
  cat "$work/reload.err"
  kill -HUP "${pid_of[$who]}"
  wait_until 10 has_lines "$who" "is reloaded\|is not reloaded" $((before + 2)) || fail "SIGHUP is not in the log of $who"
}

both_reload() {
  pings_begin
  reloads iou "nothing has changed"
  reloads host "nothing has changed"
  pings_end "both reload"
}

check_programs() {
  config host 'failback = 60' 'log-level = "info"' 'metrics = "127.0.0.1:9478"'
  config iou 'log-level = "info"'
  iou_options=(--config "$work/iou.toml")
  host_options=(--config "$work/host.toml")
  bring_up
  pings_begin

  reloads host "nothing has changed"
  reloads iou "nothing has changed"

  # What can change does, and only the first time; the rest is named each time.
  config host 'failback = "never"' 'log-level = "debug"' 'metrics = "127.0.0.1:9479"' 'busy-poll = true'
  equal "the reply" "$(ask host reload)" \
    "failback and log-level have changed; busy-poll and metrics differ: start the program again"
  reloads host "nothing has changed; busy-poll and metrics differ: start the program again"
  ip -n "$ns_host" link set nic0 promisc on
  ip -n "$ns_host" link set nic0 promisc off

  # An error: line and name; everything stays.
  config host 'failback = 5' 'colour = "red"'
  refuses_reload host "in the configuration file, line 2, column 1: 'colour' is not an option"
  config host '' 'log-level = "loud"'
  refuses_reload host "in the configuration file, line 2, column 1: --log-level: 'loud'"
  rm "$work/host.toml"
  refuses_reload host "host.toml"
  config host 'failback = "never"' 'log-level = "debug"' 'metrics = "127.0.0.1:9478"'
  reloads host "nothing has changed"

  pings_end "reloads"
  gaps_within "reloads of both" 100 5000 both_reload
  equal "connections that ended" "$(counter host host.pair.downs)" 0
}

address_is() { [ "$(in_ns "$ns_host" cat /sys/class/net/nic0/address)" = "$1" ]; }
mtu_is() { [ "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" = "$1" ]; }

# The interface, of two queues.
check_interface() {
  local own status=0
  config host '# nothing'
  host_options=(--config "$work/host.toml" --queues 2) iou_options=(--queues 2)
  bring_up
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  own=$(in_ns "$ns_host" cat /sys/class/net/nic0/address)

  config host 'mac = "02:00:00:00:00:77"' 'mtu = 1400' 'idle-release = 60'
  equal "the reply" "$(ask host reload)" "idle-release, mac and mtu have changed"
  address_is 02:00:00:00:00:77 && mtu_is 1400 || fail "nic0 is as it was"
  within "the LAN responds" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
  reloads host "nothing has changed"
  # What the user sets meanwhile stays.
  ask host set mtu 1300 || fail "the MTU cannot be set"
  reloads host "nothing has changed"
  mtu_is 1300 || fail "the reload has undone what the user has set"

  # A value that is none: nothing of the file is applied.
  config host 'mtu = 1450' 'mac = "02:00"'
  refuses_reload host "in the configuration file, line 2, column 1: --mac: '02:00'"
  address_is 02:00:00:00:00:77 && mtu_is 1300 || fail "the reload with an error has changed nic0"

  # What the I/O unit does not take: the interface is as with splitnic set.
  config host 'mtu = 9000' 'mac = "nic"'
  ask host reload >"$work/reload.out" 2>"$work/reload.err" || status=$?
  equal "status of what the unit refuses" "$status" 1
  grep -q "idle-release, mac and mtu have changed; the I/O unit refused the interface's MAC address: it is that of the NIC" \
    "$work/reload.err" || fail "no reason: $(cat "$work/reload.err" "$work/reload.out")"
  grep -q "has an MTU of 1500" "$work/reload.err" || fail "no MTU of the LAN: $(cat "$work/reload.err")"

  # Two in quick succession, and the defaults.
  config host 'mac = "02:00:00:00:00:78"' 'mtu = 1350'
  kill -HUP "${pid_of[host]}"
  config host '# nothing'
  ask host reload >/dev/null || fail "the second of two reloads fails"
  wait_until 10 address_is "$own" || fail "nic0 has not its own address again"
  wait_until 10 mtu_is 1500 || fail "nic0 has not the MTU of the LAN again"
  within "the LAN responds" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
}

# The addresses and rights of hosts, while one is attached.
check_unit() {
  config iou 'allow = ["10.99.0.0/24"]'
  iou_options=(--config "$work/iou.toml")
  bring_up
  equal "refused addresses" "$(counter iou iou.allow.drop.address)" 0
  config iou 'allow = ["10.55.0.0/24"]' 'grant = "sniff"' 'max-hosts = 3'  # of 64
  equal "the reply" "$(ask iou reload)" "allow, grant and max-hosts have changed"
  wait_until 10 counts iou iou.allow.drop.address 1 || fail "the host may still come from its address"
  within "nic0 without carrier" 10000 carrier_is "$ns_host" nic0 0
  ip -n "$ns_host" link set nic0 promisc on
  config iou 'allow = ["10.99.0.0/24"]' 'grant = "sniff"'
  equal "the reply" "$(ask iou reload)" "allow and max-hosts have changed"
  within "the LAN responds again" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.2 10.77.0.2
  wait_until 10 grep -q "is in promiscuous mode" "$work/iou.log" || fail "promiscuous mode is not there, which the reload has granted"
  # The other way round.
  config iou 'allow = ["10.99.0.0/24"]'
  equal "the reply" "$(ask iou reload)" "grant has changed"
  ip -n "$ns_host" link set nic0 promisc off
  sleep 0.3
  ip -n "$ns_host" link set nic0 promisc on
  wait_until 10 has_lines iou "may not use promiscuous mode" 1 || fail "promiscuous mode is still permitted"
}

# How many hosts, at both queues. Who is attached stays, and the number of the start is the largest.
check_max_hosts() {
  config iou 'max-hosts = 2'
  iou_options=(--config "$work/iou.toml" --queues 2)
  host_options=(--queues 2)
  bring_up
  make_second
  start_second
  second_nic_up 10.77.0.3
  wait_until 10 has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  pings_begin
  config iou '' 'max-hosts = 0'
  refuses_reload iou "in the configuration file, line 2, column 1: --max-hosts: '0'"
  config iou 'max-hosts = 1'
  equal "the reply" "$(ask iou reload)" "max-hosts has changed"
  ask iou show --verbose | has "hosts.at.most.*\b1$" || fail "show has another number: $(ask iou show --verbose)"
  sleep 0.5
  ping_all "$ns_second" 10.77.0.2 5
  has_queues "0 1" || fail "queues that are up: $(queues_up host) and $(queues_up iou)"
  stop host2 TERM
  start_second
  wait_until 10 grep -qs -- --max-hosts "$work/host2.log" || fail "the second host does not mention --max-hosts"
  is_up host2 && fail "one host more than max-hosts was admitted"
  # More than at the start, and both changes in quick succession: the last one holds.
  config iou 'max-hosts = 2'
  kill -HUP "${pid_of[iou]}"
  config iou 'max-hosts = 7'
  equal "the reply" "$(ask iou reload | sed 's/^max-hosts has changed/nothing has changed/')" \
    "nothing has changed; max-hosts is 2, the number at the start: start the program again for 7"
  within "the second host" 10000 is_up host2
  reloads iou "nothing has changed; max-hosts is 2, the number at the start: start the program again for 7"
  pings_end "reloads of max-hosts"
  equal "connections that ended" "$(counter host host.pair.downs)" 0
}

# What the command line has stays, whatever the file has.
check_command_line() {
  config iou 'max-hosts = 5'
  iou_options=(--config "$work/iou.toml" --max-hosts 9)
  bring_up
  config iou 'max-hosts = 3'
  reloads iou "nothing has changed"
}

# Without a file there is nothing to read, and SIGHUP ends nothing.
check_without_file() {
  bring_up
  refuses_reload host "start splitnic-host with --config FILE"
  refuses_reload iou "start splitnic-iou with --hosts FILE or --config FILE"
  ping_all "$ns_host" 10.77.0.2 5
}

# What a service manager hears.
check_notices() {
  local pid
  config host 'log-level = "info"'
  topology_three || fail "the test hosts cannot be made"
  start_iou
  wait_until 10 ask iou show >/dev/null 2>&1 || fail "the unit does not start"
  identity_of host
  start service "$ns_host" "$python" "$e2e/service_manager.py" "$work/manager" "$bin/splitnic-host" --connect "$(endpoint "$iou_address")" \
    --tap nic0 --name hosta --control "$work/host.sock" "${identity[@]}" --config "$work/host.toml"
  wait_up host
  wait_until 10 has_lines service "^ready$" 1 || fail "not ready"
  wait_until 10 has_lines service "^status: connected to udp://$iou_address, nic0 is set down$" 1 || fail "no status"
  silence_interface "$ns_host" nic0
  ip -n "$ns_host" link set nic0 up
  within "the status of nic0" 10000 has_lines service "^status: connected to udp://$iou_address, nic0 up$" 1
  pid=$(pgrep -P "${pid_of[service]}")
  kill -HUP "$pid"
  wait_until 10 has_lines service "^ready$" 2 || fail "not ready after SIGHUP"
  equal "the order" "$(grep -E '^(ready|reloading)' "$work/service.log" | sed 's/ at .*//' | xargs)" "ready reloading ready"
  ask host reload >/dev/null || fail "splitnic reload fails"
  wait_until 10 has_lines service "^ready$" 3 || fail "not ready after splitnic reload"
  # The unit stops, and the status has why.
  stop iou TERM || fail "the unit did not stop"
  unset 'pid_of[iou]'
  within "the status without the unit" 10000 has_lines service "^status: connecting to udp://$iou_address: " 1
  grep '^status' "$work/service.log"
  stop service TERM || fail "not a clean stop"
}

# With one switch between host and unit. Of its topology files lanes and partitions change at once.
check_switch() {
  bring_up
  reloads switch1 "nothing has changed"
  echo "# a comment" >>"$work/fabric.toml"
  reloads switch1 "nothing has changed"
  cp "$work/fabric.toml" "$work/before"
  printf '[partitions.lab]\nid = 0x8002\nmembers = ["unit"]\n' >>"$work/fabric.toml"
  reloads switch1 "$work/fabric.toml: lanes or partitions have changed"
  within "the host is cut off" 10000 lan_is_silent
  [ "$(counter switch1 switch.drop.partition)" -gt 0 ] || fail "the switch drops nothing"
  cp "$work/before" "$work/fabric.toml"
  reloads switch1 "$work/fabric.toml: lanes or partitions have changed"
  within "the LAN responds" 15000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  printf 'pin_vl = true\n' | cat - "$work/before" >"$work/fabric.toml"
  reloads switch1 "nothing has changed; $work/fabric.toml differs: start the program again"
  echo "colour = 1" >>"$work/fabric.toml"
  refuses_reload switch1 "there is no field colour"
  ping_all "$ns_host" 10.77.0.2 5
}
