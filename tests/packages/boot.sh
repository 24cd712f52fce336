# shellcheck shell=bash
# A root folder that systemd boots, for packages.sh; sourced. REQUIRES a private mount namespace.
#   boot ROOT            returns when systemd has reached basic.target
#   inside COMMAND...    runs a command there
#   network COMMAND...   runs a command of this machine in the network namespace of the booted root
#   power_off            ends it; nothing of it is left

leader='' nspawn='' cgroups=()

# Control groups of this test, so that two tests at once do not meet.
own_cgroups() {
  local hierarchy
  for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    [ -e "$hierarchy/cgroup.procs" ] || continue
    mkdir "$hierarchy/splitnic-$$" && echo $$ >"$hierarchy/splitnic-$$/cgroup.procs" && cgroups+=("$hierarchy/splitnic-$$")
  done
}

boot() {
  mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/lock /run/netns || return 1
  own_cgroups
  # udev gives this mode to the device of a real machine.
  mknod "$work/tun" c 10 200 && chmod 666 "$work/tun" || return 1
  systemd-nspawn --quiet --directory="$1" --register=no --keep-unit --private-network --capability=all --bind="$work/tun:/dev/net/tun" \
    --system-call-filter='bpf' --console=pipe --boot systemd.unit=basic.target systemd.firstboot=no </dev/null >"$work/boot.log" 2>&1 &
  nspawn=$!
  wait_until 40 is_booted || fail "systemd does not come up: $(cat "$work/boot.log")"
}

is_booted() { find_leader && inside systemctl is-active --quiet basic.target; }

# The first child of systemd-nspawn makes the leader, and ends: who is found early is not the one.
find_leader() {
  leader=$(pgrep -P "$nspawn" | head -n 1)
  [ -n "$leader" ]
}

inside() { nsenter --target "$leader" --mount --uts --ipc --net --pid --root --wdns=/ env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
network() { nsenter --target "$leader" --net "$@"; }

power_off() {
  local end=$((SECONDS + 15)) group
  if [ -n "$nspawn" ] && kill -0 "$nspawn" 2>/dev/null; then
    [ -z "$leader" ] || kill -RTMIN+4 "$leader" 2>/dev/null
    while kill -0 "$nspawn" 2>/dev/null && [ $SECONDS -lt $end ]; do sleep 0.1; done
    kill -KILL ${leader:+"$leader"} "$nspawn" 2>/dev/null
    wait "$nspawn" 2>/dev/null
  fi
  leader=''
  for group in "${cgroups[@]}"; do
    echo $$ >"$(dirname "$group")/cgroup.procs"
    find "$group" -depth -type d -exec rmdir {} +
  done
  cgroups=()
}
