# shellcheck shell=bash
# Programs to which the system refuses a descriptor, memory or a thread, and programs that are killed: at each step of their start, and
# while they work. strace makes a system call fail, or sends the signal at it. [F-51] [F-52]

# What a start may meet: a system call, and the error that it has when the system is short of something.
start_errors=(
  "socket EMFILE" "openat EMFILE" "eventfd2 EMFILE" "epoll_create1 EMFILE" "pipe2 EMFILE" "memfd_create EMFILE" "bind ENOBUFS"
  "listen ENOBUFS" "connect ENOBUFS" "setsockopt ENOBUFS" "sendto ENOBUFS" "sendmsg ENOBUFS" "recvmsg ENOMEM" "ioctl ENOMEM"
  "mmap ENOMEM" "mprotect ENOMEM" "mlock2 ENOMEM" "clone EAGAIN" "clone3 EAGAIN" "ppoll ENOMEM" "bpf ENOMEM" "seccomp ENOMEM"
  "landlock_create_ruleset ENOMEM" "landlock_add_rule ENOMEM"
)

# through WHO STRACE_OPTION...: from now on WHO, host or iou, is started under strace, which writes $work/trace.
through() {
  local -n command=$1_through
  command=(strace -D -f -q -o "$work/trace" "${@:2}")
}
# on_its_own WHO: without strace.
on_its_own() {
  local -n command=$1_through
  command=()
}

is_ready() { grep -q " is up as " "$work/$1.log"; }
is_settled() { process_ended "${pid_of[$1]}" || is_ready "$1"; }

# note_calls WHO: a start as any other; leaves in $work/calls the system calls of its main thread with their numbers, from the first
# of main(), which ignores SIGHUP, to the filter of system calls, which would refuse an injected call as such.
note_calls() {
  through "$1"
  "start_$1"
  wait_until 10 is_ready "$1" || fail "$1 does not start under strace"
  local pid=${pid_of[$1]}
  stop "$1" TERM || fail "$1 does not stop under strace"
  awk -v pid="$pid" '
    $1 == pid && match($2, /^[a-z0-9_]+\(/) {
      name = substr($2, 1, RLENGTH - 1)
      number[name]++
      if ($0 ~ /rt_sigaction\(SIGHUP/) begun = 1
      if (begun) print name, number[name]
      if (name == "seccomp") exit
    }' "$work/trace" >"$work/calls"
  grep -q "^seccomp " "$work/calls" || fail "the calls of a start of $1: $(wc -l <"$work/calls")"
  on_its_own "$1"
}

# numbers_of CALL: which of the calls of that name to take: all, or the first, the middle one and the last.
numbers_of() {
  local all=()
  mapfile -t all < <(sed -n "s/^$1 //p" "$work/calls")
  if [ "$long" != 0 ] || [ ${#all[@]} -le 1 ]; then
    printf '%s\n' "${all[@]}"
  else
    printf '%s\n' "${all[0]}" "${all[${#all[@]} / 2]}" "${all[-1]}" | sort -nu
  fi
}

# leaves_nothing WHO: neither its interface nor its sockets.
leaves_nothing() {
  [ ! -e "$work/$1.sock" ] || fail "$2: $1 left its control socket"
  ! in_ns "$ns_host" test -e /sys/class/net/nic0 || fail "$2: nic0 is still there"
  [ "$1" != iou ] || [ -z "$(find "$work" -maxdepth 1 -type s)" ] || fail "$2: $(find "$work" -maxdepth 1 -type s)"
}

# as_before WHO: a start that works in spite of an error is one like any other: it replies, and nic0 has the address that it had.
as_before() {
  local address
  wait_until 10 replies_to "$1" || fail "$2: $1 does not reply"  # its control thread may meet the error once, too
  [ "$1" = host ] || return 0
  address=$(in_ns "$ns_host" cat /sys/class/net/nic0/address)
  equal "$2: address of nic0" "$address" "${nic0_address:=$address}"
}
nic0_address=

# A program starts with its sandbox or not at all.
never_left_out="seccomp landlock_create_ruleset landlock_add_rule"

# fails_well WHO CALL ERROR NUMBER: it starts nevertheless, and stops when asked to; or it ends with one line, which is not that of a bug.
declare -A outcomes
fails_well() {
  local who=$1 at="$2 $4 of $1: $3" status=0 last
  through "$who" -e "trace=$2" -e "inject=$2:error=$3:when=$4"
  "start_$who"
  wait_until 10 is_settled "$who" || fail "$at: neither up nor ended"
  if is_ready "$who"; then
    [[ " $never_left_out " != *" $2 "* ]] || ! has_injected || fail "$at: it works without"
    as_before "$who" "$at"
    stop "$who" TERM || fail "$at: it did not stop"
    outcomes[up]=$((${outcomes[up]:-0} + 1))
  else
    wait "${pid_of[$who]}" || status=$?
    unset "pid_of[$who]"
    last=$(tail -n 1 "$work/$who.log")
    equal "status of $at" "$status" 1
    [[ $last == *"splitnic-$who: "* ]] || fail "$at: no reason"
    outcomes[refused]=$((${outcomes[refused]:-0} + 1))
    echo "$at: ${last#*splitnic-}"
  fi
  wait_until 2 has_injected || missed=$((missed + 1))
  tried=$((tried + 1))
  leaves_nothing "$who" "$at"
}
has_injected() { grep -q INJECTED "$work/trace"; }

# A start may need a call less than the first one did: a few places are not reached, and no more.
missed=0 tried=0 stops=()
few_missed() {
  echo "$1: $tried places of its start, $missed not reached"
  [ "$tried" -ge 10 ] && [ $((missed * 10)) -le "$tried" ] || fail "$missed of $tried places were not reached"
  [ ${#stops[@]} = 0 ] && return
  [ "$(printf '%s\n' "${stops[@]}" | sort -n | sed -n "$(((${#stops[@]} + 1) / 2))p")" -le 1000 ] ||
    fail "seldom an end within 1000 ms: ${stops[*]}"
}

# with_settings WHO: from now on it is started with a file of settings, as the service is.
with_settings() {
  local -n own=$1_options
  echo 'log-level = "info"' >"$work/$1.toml"
  own+=(--config "$work/$1.toml")
}

# every_error WHO
every_error() {
  local call error number
  with_settings "$1"
  note_calls "$1"
  while read -r call error; do
    for number in $(numbers_of "$call"); do fails_well "$1" "$call" "$error" "$number"; done
  done < <(printf '%s\n' "${start_errors[@]}")
  on_its_own "$1"
  few_missed "$1"
}

check_start_host() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  every_error host
  echo "starts of the host with an error: ${outcomes[up]} up, ${outcomes[refused]} refused"
  start_host
  nic_up
}

check_start_iou() {
  topology_three || fail "the test hosts cannot be made"
  every_error iou
  echo "starts of the unit with an error: ${outcomes[up]} up, ${outcomes[refused]} refused"
  start_iou
  start_host
  nic_up
}

# some_calls: all of $work/calls, or about twelve, evenly spread.
some_calls() {
  local count
  count=$(wc -l <"$work/calls")
  awk -v step=$((long == 0 ? (count + 11) / 12 : 1)) 'NR % step == 0' "$work/calls"
}

has_no_process() { [ -z "$(ip netns pids "$1")" ]; }

# ends_at WHO NS CALL NUMBER KILL|TERM: a signal at that call ends it. On SIGTERM it cleans up within a second.
ends_at() {
  local who=$1 at="SIG$5 at $3 $4 of $1" status=0 took
  through "$who" -ttt -e "trace=$3" -e "inject=$3:signal=$5:when=$4"
  "start_$who"
  wait_until 10 has_met_its_end "$who" 2>/dev/null || fail "$at: it continues"
  tried=$((tried + 1))
  if ! process_ended "${pid_of[$who]}"; then
    missed=$((missed + 1))
    stop "$who" TERM || fail "$at: it did not stop"
    return
  fi
  wait "${pid_of[$who]}" 2>/dev/null || status=$?
  unset "pid_of[$who]"
  wait_until 10 has_no_process "$2" || fail "$at: processes are left: $(ip netns pids "$2")"
  if [ "$5" = KILL ]; then
    equal "status of $at" "$status" 137
    wait_until 10 no_interface_of_others || fail "$at: a nic0 is left that the next start would not take"
  else
    [ "$status" = 0 ] || [ "$status" = 143 ] || fail "$at: status $status"  # 143: before it listens to signals
    leaves_nothing "$who" "$at"
    took=$(awk '/--- SIGTERM/ && !at { at = $2 } END { printf "%d", ($2 - at) * 1000 }' "$work/trace")
    [ "$took" -le 5000 ] || fail "$at: it takes $took ms"
    stops+=("$took")
  fi
}
# It ended, or works without having been at that call.
has_met_its_end() { process_ended "${pid_of[$1]}" || { is_ready "$1" && sleep 0.5 && ! grep -q "^[0-9].*--- SIGTERM" "$work/trace"; }; }
# A nic0 that is left has the alias by which the next start knows it.
no_interface_of_others() {
  ! in_ns "$ns_host" test -e /sys/class/net/nic0 || in_ns "$ns_host" grep -q splitnic /sys/class/net/nic0/ifalias
}

# ends_anywhere WHO NS: each start is one over what the one before has left.
ends_anywhere() {
  local call number
  note_calls "$1"
  while read -r call number; do
    ends_at "$1" "$2" "$call" "$number" KILL
    ends_at "$1" "$2" "$call" "$number" TERM
  done < <(some_calls)
  on_its_own "$1"
  few_missed "$1"
}

# The one that remains serves the next start.
check_dies_host() {
  topology_three || fail "the test hosts cannot be made"
  [ "${1:-udp}" = udp ] || fabric=shm
  start_iou
  wait_up iou
  ends_anywhere host "$ns_host"
  start_host
  nic_up
  stop host TERM || fail "the host does not stop"
  leaves_nothing host "a clean stop"
}
check_dies_host_shm() { check_dies_host shm; }

check_dies_iou() {
  topology_three || fail "the test hosts cannot be made"
  [ "${1:-udp}" = udp ] || fabric=shm
  ends_anywhere iou "$ns_iou"
  start_iou
  start_host
  nic_up
}
check_dies_iou_shm() { check_dies_iou shm; }

# at_most WHO RESOURCE VALUE: a limit of the running program; "unlimited" lifts it.
at_most() { prlimit --pid "${pid_of[$1]}" "--$2=$3:" || fail "no limit of $2 for $1"; }

# no_descriptor WHO: it gets none from now on.
no_descriptor() {
  local free=0
  while [ -e "/proc/${pid_of[$1]}/fd/$free" ]; do free=$((free + 1)); done
  at_most "$1" nofile $free
}

# ticks WHO: hundredths of a second of processor time that it has used.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/${pid_of[$1]}/stat"; }
replies_to() { timeout 1 "$bin/splitnic" show --control "$work/$1.sock" >/dev/null 2>&1; }

# Who has no descriptor for a client of its control socket, or for a capture, works on, spins not, and serves them once it has.
check_descriptors() {
  bring_up
  local who used
  begin_pings pinger "$ns_host" 10.77.0.2
  for who in host iou; do
    no_descriptor $who
    "$bin/splitnic" show --control "$work/$who.sock" >"$work/waiter.$who" 2>&1 &
    pid_of[waiter]=$!
    wait_until 10 lets_wait $who || fail "$who does not report that it cannot accept"
    used=$(ticks $who)
    sleep 1
    [ $(($(ticks $who) - used)) -le 60 ] || fail "$who spins while it cannot accept: $(($(ticks $who) - used)) ticks in a second"
    equal "lines about it of $who" "$(lines_about_clients $who)" 1
    at_most $who nofile 1024
    wait_until 10 process_ended "${pid_of[waiter]}" || fail "$who does not serve the client that has waited"
    wait "${pid_of[waiter]}" || fail "the client that has waited: $(cat "$work/waiter.$who")"
    unset "pid_of[waiter]"
    wait_until 10 replies_to $who || fail "$who does not reply any more"
  done
  end_pings pinger
}

lines_about_clients() { grep -c "accepting a client: Too many open files; it waits" "$work/$1.log"; }
lets_wait() { [ "$(lines_about_clients "$1")" -ge 1 ]; }

# A unit that gets no more memory refuses what it must, and loses no host that it has.
check_memory() {
  bring_up
  make_second
  begin_pings pinger "$ns_host" 10.77.0.2
  # Enough for a program that works, and less than a host needs.
  at_most iou as $(($(awk '/^VmSize:/ { print $2 }' "/proc/${pid_of[iou]}/status") * 1024 + 2097152))
  start_second
  wait_until 10 counts iou iou.hosts.refused_memory 1 || fail "the unit refuses nobody: $(ask iou stats | grep iou.hosts)"
  ! is_up host2 || fail "the second host is up"
  wait_until 10 replies_to iou || fail "the unit does not reply"
  at_most iou as unlimited
  wait_up host2
  end_pings pinger
}

# failing WHO CALL ERROR WHEN: some calls of all threads of the running program fail from now on, until recovered.
failing() {
  strace -f -q -o "$work/trace" -e "trace=$2" -e "inject=$2:error=$3:when=$4" -p "${pid_of[$1]}" 2>"$work/strace.log" &
  pid_of[injector]=$!
  wait_until 10 is_traced "$1" || fail "no strace: $(cat "$work/strace.log")"
}
is_traced() { grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/${pid_of[$1]}/status"; }
recovered() {
  stop injector INT 10
  has_injected || fail "nothing was injected"
  echo "$1: $(grep -c INJECTED "$work/trace") calls failed"
}

# What the kernel does not send or give for want of memory is lost on the way, and no more: connections and files survive. One in
# five calls of all threads fails, or in four or eight where a frame of TCP is lost.
work_errors=(
  "host sendmsg ENOBUFS 5" "host recvmsg ENOMEM 5" "host write ENOMEM 8" "host read ENOMEM 8" "host ppoll ENOMEM 5"
  "iou sendmsg ENOBUFS 5" "iou recvmsg ENOMEM 5" "iou sendmmsg ENOBUFS 4" "iou ppoll ENOMEM 5"
)
check_buffers() {
  iou_options+=(--no-sandbox) host_options+=(--no-sandbox)
  bring_up
  local who call error often
  while read -r who call error often; do
    failing "$who" "$call" "$error" "$often+$often"
    files_both_ways 1
    recovered "$call of $who: $error"
  done < <(printf '%s\n' "${work_errors[@]}")
  files_both_ways 4
  for who in "host link.tx.drop.refused" "iou link.tx.drop.refused" "host tap.tx.drop.queue"; do
    counts ${who% *} ${who#* } 1 || fail "not counted: $who"
  done
  equal "peers" "$(ask iou show --json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["peers"]))')" 1
}

# Where stderr takes nothing more, as on a full disk, nothing but the log is lost.
check_full_log() {
  iou_through=(sh -c 'exec "$@" 2>/dev/full' sh) host_through=(sh -c 'exec "$@" 2>/dev/full' sh)
  iou_options+=(--log-level debug) host_options+=(--log-level debug)
  bring_up
  files_both_ways 1
  ask iou evict "$host_name" >/dev/null || fail "no eviction"
  wait_until 10 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2 >/dev/null || fail "not back after it"
  equal "lines of the log" "$(cat "$work/iou.log" "$work/host.log" | wc -l)" 0
}
