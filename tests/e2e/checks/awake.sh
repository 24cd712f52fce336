# shellcheck shell=bash
# --keep-awake: the requests of the programs to the power management of the kernel, read as the kernel combines all requests of the
# machine. A request of another program hides them: then the check looks at the descriptors only.

device=/dev/cpu_dma_latency
any_latency=2000000000  # without any request

# latency: what all programs of the machine permit together, in microseconds.
latency() { od -An -N4 -td4 "$device" | tr -d ' '; }
latency_is() { [ "$(latency)" = "$1" ]; }

descriptors_of() { find "/proc/${pid_of[$1]}/fd" -lname "$device" | grep -c .; }
# The thread of queue 0 has the name of the program.
data_threads_of() { echo $((1 + $(grep -h '^queue-' "/proc/${pid_of[$1]}/task"/*/comm | grep -c .))); }

# A thread has its name a moment after its start.
has_descriptors() { [ "$(descriptors_of "$1")" = "$(data_threads_of "$1")" ]; }

# has_request WHO [MILLISECONDS]: while frames come; and, if the time is given, the end of the request within it.
has_request() {
  wait_until 20 has_descriptors "$1" || fail "descriptors of $1: $(descriptors_of "$1"), not $(data_threads_of "$1")"
  begin_pings pinger "$ns_host" 10.77.0.2
  [ "$is_visible" = 0 ] || within "no latency is permitted while frames come, by $1" 20000 latency_is 0
  end_pings pinger
  [ "$is_visible" = 0 ] || [ $# = 1 ] || within "any latency is permitted after that" "$2" latency_is $any_latency
}

# opens_nothing MESSAGE [COMMAND...]: either program, run by COMMAND, ends with MESSAGE, and before it makes anything.
opens_nothing() {
  local message=$1
  shift
  refuses 1 "$message" ip netns exec "$ns_host" "$@" "$bin/splitnic-host" --control "$work/n.sock" --connect udp://127.0.0.1:7471 \
    --tap nic1 --insecure-lab --keep-awake 1000
  refuses 1 "$message" ip netns exec "$ns_iou" "$@" "$bin/splitnic-iou" --control "$work/n.sock" --lan "$port:lan0" \
    --listen udp://127.0.0.1:7471 --insecure-lab --keep-awake 1000
  [ ! -e "$work/n.sock" ] || fail "a control socket is left"
}

check_request() {
  local is_visible=0
  if ! latency >"$work/latency" 2>&1; then  # as in most containers
    topology_three || fail "the test hosts cannot be made"
    echo "$device cannot be read here: $(cat "$work/latency")"
    opens_nothing "--keep-awake: opening $device: "
    return
  fi
  if latency_is $any_latency; then is_visible=1; else echo "another program permits $(latency) us: the requests cannot be seen"; fi

  # One program at a time, since the kernel does not show whose request it obeys. The request of the host ends with the host.
  host_options=(--keep-awake 60000)
  bring_up
  has_request host
  equal "descriptors of the unit" "$(descriptors_of iou)" 0
  [ $is_visible = 0 ] || equal "the latency behind the last frame" "$(latency)" 0
  stop host TERM || fail "the host did not stop"
  [ $is_visible = 0 ] || within "any latency is permitted without the host" 20000 latency_is $any_latency
  stop iou TERM || fail "the unit did not stop"

  # The LAN sends a frame now and then, which begins the second once more.
  host_options=() iou_options=(--keep-awake 1000)
  start_iou && start_host
  nic_up
  has_request iou 20000
  ping_all "$ns_host" 10.77.0.2 50

  chmod 777 "$work"
  opens_nothing "--keep-awake: opening $device: Permission denied: permit the user" \
    setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all
}
