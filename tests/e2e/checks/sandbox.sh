# shellcheck shell=bash
# What the programs have given up once they are up, read from the kernel; and what happens to code that wants it back.

net_admin=0000000000001000
none=0000000000000000

# thread_has WHO FIELD VALUE: in every thread of the program.
threads_have() {
  local task got
  for task in "/proc/${pid_of[$1]}/task"/*; do
    got=$(awk -v field="$2:" '$1 == field {print $2}' "$task/status")
    equal "$2 of $1, $(cat "$task/comm")" "$got" "$3"
  done
}

# in_sandbox WHO CAPABILITIES
in_sandbox() {
  threads_have "$1" CapEff "$2"
  threads_have "$1" CapPrm "$2"
  threads_have "$1" CapInh "$none"
  threads_have "$1" CapAmb "$none"
  threads_have "$1" CapBnd "$none"
  threads_have "$1" NoNewPrivs 1
  threads_have "$1" Seccomp 2
  # Not dumpable: its files in /proc do not belong to its user. Root's do either way.
  echo "$1: $(find "/proc/${pid_of[$1]}/task" -mindepth 1 -maxdepth 1 | wc -l) threads, capabilities $2"
}

# What the unit keeps: a small net.core.wmem_max leaves CAP_NET_ADMIN as the only way to a send buffer of 1 MiB.
of_unit() {
  if [ "$port" != tap ] && [ "$(cat /proc/sys/net/core/wmem_max)" -lt 524288 ]; then echo "$net_admin"; else echo "$none"; fi
}

check_given_up() {
  bring_up
  in_sandbox host "$net_admin"
  in_sandbox iou "$(of_unit)"
  # Every right that stayed is used, and none that went is missed.
  ask host set mtu 1400 || fail "set mtu"
  within "the MTU of nic0" 10000 mtu_is 1400
  ip -n "$ns_host" link set nic0 address 02:00:00:00:00:55
  ping_all "$ns_host" 10.77.0.2 50
  equal "refused calls of the host" "$(counter host sandbox.drop.call)" 0
  equal "refused calls of the unit" "$(counter iou sandbox.drop.call)" 0
}
mtu_is() { [ "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" = "$1" ]; }

# As many threads as there can be: malloc asks for the number of processors when they are more.
check_queues() {
  iou_options=(--queues 8) host_options=(--queues 8)
  bring_up
  in_sandbox host "$net_admin"
  in_sandbox iou "$(of_unit)"
  ping_all "$ns_host" 10.77.0.2 50
}

# The unit changes the MTU of the NIC: it keeps the capability for that.
check_follows() {
  topology_three || fail "the test hosts cannot be made"
  start_iou --lan-mtu follow
  start_host
  nic_up
  in_sandbox iou "$net_admin"
}

check_off() {
  host_options=(--no-sandbox) iou_options=(--no-sandbox)
  bring_up
  local who
  for who in host iou; do
    threads_have "$who" Seccomp 0
    threads_have "$who" NoNewPrivs 0
    grep -q -- "--no-sandbox: the program keeps its privileges" "$work/$who.log" || fail "$who does not log it"
  done
}

# refuses WHO RESULTS CALL...: the program makes the calls, which have these results.
refuses() {
  local who=$1 wanted=$2
  shift 2
  "$python" -B "$e2e/inject.py" "${pid_of[$who]}" "$@" >"$work/injected" || fail "$who: no calls: $(cat "$work/injected")"
  equal "results of $* in $who" "$(awk '{print $2}' "$work/injected" | paste -sd' ')" "$wanted"
}

# Calls of x86-64: execve, clone, ptrace, mount, socket(AF_PACKET), socket(AF_INET, SOCK_STREAM), mmap of code, bpf, capset,
# prctl(PR_SET_DUMPABLE); setsockopt and getpid show that the calls are made at all, the one allowed and the other not.
check_refused() {
  may_refuse=1
  bring_up
  local who before
  for who in host iou; do
    before=$(counter "$who" sandbox.drop.call)
    equal "refused before" "$before" 0
    refuses "$who" "-1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1" 59:/bin/sh:0:0 56:17:0 101:16:1 165:none:/mnt:tmpfs:0:0 41:17:3:768 41:2:1:0 \
      9:0:4096:5:34:-1:0 321:5:0:0 126:0:0 157:4:1 62:1:0 39
    refuses "$who" "-88" 54:2:1:2:0:0  # ENOTSOCK: stderr is a file
    refuses "$who" "-1 -88" 49:2:none:20 49:2:none:12  # bind: to an interface (sockaddr_ll), to netlink
    running "$who" || fail "$who ended"
    equal "refused calls of $who" "$(counter "$who" sandbox.drop.call)" 13
    grep -q "the sandbox refused system call 59: " "$work/$who.log" || fail "$who does not log it: $(cat "$work/$who.log")"
  done
  # The host opens files: those of /proc, and no others. The unit opens none, but behind a switch those of its state folder.
  local of_unit="-1 -1"
  [ "$switches" = 0 ] || of_unit="-13 -13"
  refuses host "-13 -13" 257:-100:/etc/shadow:0:0 "257:-100:$work/new:65:384"
  refuses iou "$of_unit" 257:-100:/etc/shadow:0:0 "257:-100:$work/new:65:384"
  [ ! -e "$work/new" ] || fail "a file was made"
  # A program stands still while the calls are made, which may be for longer than a link lives.
  wait_until 10 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "the LAN does not respond after the calls"
  ping_all "$ns_host" 10.77.0.2 50
}


check_group() {
  topology_three || fail "the test hosts cannot be made"
  { cat /etc/group && echo 'splitnic:x:7471:'; } | awk -F: '!seen[$1]++ || $1 != "splitnic"' >"$work/group"
  start_iou
  local identity
  identity_of host
  start host "$ns_host" sh -c 'mount --bind "$0" /etc/group && exec "$@"' "$work/group" \
    "$bin/splitnic-host" --connect "$(endpoint "$iou_address")" --tap nic0 "${identity[@]}" --name hosta --control "$work/host.sock"
  nic_up
  local own
  own=$(getent group splitnic | cut -d: -f3)
  if [ -z "$own" ]; then equal "mode without the group" "$(stat -c %a "$work/iou.sock")" 600; fi
  equal "mode and group" "$(stat -c '%a %g' "$work/host.sock")" "660 $(awk -F: '$1 == "splitnic" {print $3}' "$work/group")"
  local member=(setpriv --reuid 65534 --regid 65534 --groups "$(stat -c %g "$work/host.sock")" --inh-caps=-all --bounding-set=-all)
  local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
  cp "$bin/splitnic" "$work/splitnic" && chmod 755 "$work/splitnic"
  local ask=("$work/splitnic")
  "${member[@]}" "${ask[@]}" show --control "$work/host.sock" | has nic0 || fail "a member of the group cannot look"
  "${member[@]}" "${ask[@]}" stats --control "$work/host.sock" | has sandbox.drop.call || fail "a member cannot read stats"
  "${member[@]}" "${ask[@]}" set mtu 1400 --control "$work/host.sock" 2>"$work/set.err" && fail "a member of the group may set"
  grep -q "not permitted" "$work/set.err" || fail "not reported: $(cat "$work/set.err")"
  local command
  for command in "evict hosta" reload; do
    # shellcheck disable=SC2086
    "${member[@]}" "${ask[@]}" $command --control "$work/host.sock" 2>"$work/set.err" && fail "a member of the group may $command"
    grep -q "not permitted" "$work/set.err" || fail "$command: not reported: $(cat "$work/set.err")"
  done
  "${nobody[@]}" "${ask[@]}" show --control "$work/host.sock" >/dev/null 2>&1 && fail "anybody can look"
  equal "the MTU" "$(in_ns "$ns_host" cat /sys/class/net/nic0/mtu)" 1500
  ask host set mtu 1400 || fail "root may not set"
}

# What the linker and the compiler put into the programs.
check_built() {
  topology_three || fail "the test hosts cannot be made"
  local program
  for program in splitnic splitnic-host splitnic-iou; do
    readelf -hW "$bin/$program" | has 'Type:.*DYN' || fail "$program is not position independent"
    readelf -lW "$bin/$program" | has GNU_RELRO || fail "$program: no relro"
    readelf -dW "$bin/$program" | has -E 'BIND_NOW|FLAGS.*NOW' || fail "$program: lazy binding"
    readelf -lW "$bin/$program" | grep GNU_STACK | has 'RWE' && fail "$program: an executable stack"
    readelf --dyn-syms -W "$bin/$program" | has __stack_chk_fail || fail "$program: no stack protector"
    echo "$program: PIE, relro, now, stack protector"
  done
}
