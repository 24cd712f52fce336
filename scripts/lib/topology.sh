# shellcheck shell=bash
# Test hosts in network namespaces, for scripts/demo.sh, tests/e2e and tests/bench. Source it, then:
#   topology_begin                      a work folder ($work), names of this process, clean-up on exit
#   topology_three [FABRIC_MTU [LAN_MTU]]
#                                       $ns_host fab0 -- fab0 $ns_iou lan0 -- lan0 $ns_lan
#                                       10.99.0.1      10.99.0.2              10.77.0.2
#   host_namespace NAME; veth_between NS IF NS IF [MTU]     for other shapes
#   in_ns NS COMMAND...                 runs a command there
#   start NAME NS COMMAND...            in the background, output to $work/NAME.log, its pid in ${pid_of[NAME]}
#   stop NAME [SIGNAL [SECONDS]]        false if it did not end in time (then it is killed) or failed
#   wait_until SECONDS COMMAND...       until the command succeeds
#   start_dhcp_server NS IF [FIRST_THREE_NUMBERS_OF_ADDRESSES]; start_web_server NS FOLDER; lease_address NS IF
# On exit everything is stopped and removed, and what is left behind is an error (exit status 1).
# Nothing is ever made in the caller's own namespace. Names carry the process id, so runs do not meet.

declare -gA pid_of=()
declare -ga namespaces=()
topology_leftovers=0

topology_begin() {
  work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
  # nginx and dnsmasq may give up root: they must reach their files.
  chmod 755 "$work"
  # What a program that is killed leaves among its temporary files goes with the folder.
  export TMPDIR=$work
  trap topology_exit EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

topology_exit() {
  local status=$?
  trap - EXIT
  trap '' INT TERM  # who asks twice would leave the rest behind
  topology_end
  if [ $status -eq 0 ] && [ "$topology_leftovers" -gt 0 ]; then status=1; fi
  exit $status
}

# Stops all in reverse order of start, removes the namespaces and the work folder, and checks that they are gone.
topology_end() {
  local name ns pid
  for name in "${!pid_of[@]}"; do stop "$name" TERM 3 || true; done
  # No `ip netns pids`, which is a process for each namespace: starting processes is most of the time of a small test.
  for pid in /proc/[0-9]*; do
    for ns in "${namespaces[@]}"; do
      [ "$pid/ns/net" -ef "/run/netns/$ns" ] || continue
      # The process that a program has for lookups or for NICs ends a moment after the program: it learns of that from the kernel.
      wait_until 10 process_ended "${pid##*/}" && continue
      leftover "process ${pid##*/} ($(tr '\0' ' ' 2>/dev/null <"$pid/cmdline")) in $ns"
      kill -KILL "${pid##*/}" 2>/dev/null
    done
  done
  printf 'netns del %s\n' "${namespaces[@]}" | ip -force -batch - 2>/dev/null
  for ns in "${namespaces[@]}"; do
    if [ -e "/run/netns/$ns" ]; then leftover "namespace $ns"; fi
  done
  namespaces=()
  rm -rf "$work"
}

leftover() {
  echo "left behind: $1" >&2
  topology_leftovers=$((topology_leftovers + 1))
}

host_namespace() {
  namespaces+=("$1")  # before it is there: a signal may come between
  ip netns add "$1" || return 1
  ip -n "$1" link set lo up
}

veth_between() {
  ip link add "$2" netns "$1" mtu "${5:-1500}" type veth peer name "$4" netns "$3" mtu "${5:-1500}" &&
    ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up
}

in_ns() {
  local ns=$1
  shift
  ip netns exec "$ns" "$@"
}

# The interface carries frames for others: the machine itself must not speak on it.
silence_interface() { in_ns "$1" sh -c "echo 1 >/proc/sys/net/ipv6/conf/$2/disable_ipv6"; }

topology_three() {
  ns_host=sn$$-a
  ns_iou=sn$$-b
  ns_lan=sn$$-c
  local fabric_mtu=${1:-1500} lan_mtu=${2:-1500}
  namespaces+=("$ns_host" "$ns_iou" "$ns_lan")  # before they are there: a signal may come between
  # What host_namespace and veth_between do, by four processes.
  ip -batch - <<BATCH || return 1
netns add $ns_host
netns add $ns_iou
netns add $ns_lan
link add fab0 netns $ns_host mtu $fabric_mtu type veth peer name fab0 netns $ns_iou mtu $fabric_mtu
link add lan0 netns $ns_iou mtu $lan_mtu type veth peer name lan0 netns $ns_lan mtu $lan_mtu
BATCH
  ip_commands "$ns_host" "link set fab0 up" "addr add 10.99.0.1/24 dev fab0" &&
    ip_commands "$ns_iou" "link set fab0 up" "link set lan0 up" "addr add 10.99.0.2/24 dev fab0" &&
    ip_commands "$ns_lan" "link set lan0 up" "addr add 10.77.0.2/24 dev lan0" || return 1
  silence_interface "$ns_iou" lan0
}

# ip_commands NS COMMAND...: commands of ip in a new namespace, in one process.
ip_commands() {
  local ns=$1
  shift
  printf '%s\n' "link set lo up" "$@" | ip -n "$ns" -batch -
}

start() {
  local name=$1 ns=$2
  shift 2
  : >"$work/$name.log"  # here: whoever looks into it next must not find what the program before it has written
  ip netns exec "$ns" "$@" >>"$work/$name.log" 2>&1 </dev/null &
  pid_of[$name]=$!
}

running() { [ -n "${pid_of[$1]:-}" ] && kill -0 "${pid_of[$1]}" 2>/dev/null; }

stop() {
  local name=$1 signal=${2:-TERM} seconds=${3:-10} pid=${pid_of[$1]:-} status=0
  [ -n "$pid" ] || return 0
  unset "pid_of[$name]"
  kill "-$signal" "$pid" 2>/dev/null
  # bash reports the job that was killed while it waits: nobody needs that of a signal that is sent here.
  if ! wait_until "$seconds" process_ended "$pid" 2>/dev/null; then
    echo "$name did not end within $seconds s of SIG$signal; killing it" >&2
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    return 1
  fi
  wait "$pid" 2>/dev/null || status=$?
  # A program without a handler ends by the signal itself, which is a clean stop too.
  [ $status -eq 0 ] || [ $status -eq $((128 + $(kill -l "$signal"))) ]
}

# Gone, or a zombie that only waits to be reaped.
process_ended() { ! grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status"; }

wait_until() {
  local end=$((SECONDS + $1 + 1))
  shift
  until "$@"; do
    if [ $SECONDS -ge $end ]; then
      "$@"  # once more: this shell may have stood still since the command looked
      return
    fi
    sleep 0.05
  done
}

start_dhcp_server() {
  start dnsmasq "$1" dnsmasq --keep-in-foreground -C /dev/null --no-ping --bind-interfaces --interface="$2" \
    --except-interface=lo --port=0 --user=root --no-resolv --no-hosts --pid-file= \
    --dhcp-leasefile="$work/dnsmasq.leases" --dhcp-authoritative \
    --dhcp-range="${3:-10.77.0}.100,${3:-10.77.0}.199,255.255.255.0,10m" --log-facility=-
}

# Serves FOLDER on port 80 of every address of the namespace.
start_web_server() {
  mkdir -p "$work/nginx"
  cat >"$work/nginx.conf" <<CONF
daemon off;
master_process off;
pid $work/nginx/pid;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $work/nginx/body;
  proxy_temp_path $work/nginx/proxy;
  fastcgi_temp_path $work/nginx/fastcgi;
  uwsgi_temp_path $work/nginx/uwsgi;
  scgi_temp_path $work/nginx/scgi;
  server { listen 80; root $2; }
}
CONF
  start nginx "$1" nginx -e "$work/nginx/error.log" -p "$work/nginx" -c "$work/nginx.conf"
}

# Asks for a lease and sets the address, nothing else: no route, no resolv.conf.
lease_address() {
  cat >"$work/udhcpc.script" <<'SCRIPT'
#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add "$ip/${mask:-24}" dev "$interface"
SCRIPT
  chmod 755 "$work/udhcpc.script"
  in_ns "$1" udhcpc -i "$2" -f -q -n -t 20 -T 1 -s "$work/udhcpc.script" >"$work/udhcpc.log" 2>&1
}
