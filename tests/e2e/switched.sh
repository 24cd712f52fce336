# shellcheck shell=bash
# One or two fabric switches between the hosts and the unit of any check; sourced by run.sh after lib.sh.
#   switches=COUNT                    0, 1 or 2, from run.sh or SPLITNIC_SWITCHES: the first program that a check starts brings
#                                     them up, unless the check has shared memory or switches already
#   $ns_host fab0 ---------------------- fab0 sw1 lo $ns_iou     COUNT 1: sw1 is at $iou_address
#   $ns_host lo sw1 fab0 --------------- fab0 sw2 lo $ns_iou     COUNT 2: the wire between the hosts is that between the switches
#   entry TABLE LID PLACES KEY        prints an entry of a topology file; LID: none where the manager gives it; PLACES: none, or SWITCH:PORT of each queue
# The second host attaches to the switch next to the unit. Each queue of a program has a port of its switch.

switches=${SPLITNIC_SWITCHES:-0}
are_switched=0
declare -A ports_of=() count_of=()  # options of the switches, and the numbers of their ports

entry() {
  local place places=""
  for place in $3; do places+="${places:+, }\"$place\""; done
  [[ $places != *,* ]] || places="[$places]"
  printf '[%s]\n' "$1"
  [ -z "$2" ] || printf 'lid = %s\n' "$2"
  [ -z "$places" ] || printf 'at = %s\n' "$places"
  [ "$links" = plain ] || { make_keys "$4" && printf 'key = "%s"\n' "$(public "$4")"; }
}

# take_ports SWITCH ADDRESS COUNT: the next ports of the switch, at ADDRESS and the COUNT - 1 port numbers behind it; leaves
# them in $places.
take_ports() {
  local i
  places=""
  for ((i = 0; i < $3; i++)); do
    ports_of[$1]+=" --port udp://${2%:*}:$((${2##*:} + i))"
    count_of[$1]=$((${count_of[$1]:-0} + 1))
    places+="${places:+ }$1:${count_of[$1]}"
  done
}

bring_up_switches() {
  [ "$switches" != 0 ] && [ $are_switched = 0 ] && [ "$fabric" = udp ] && [ -z "$attach_at" ] || return 0
  are_switched=1
  # A program behind a switch has one queue, unless it requests more.
  local of_host of_unit at=${listen_at:-$iou_address} port=${iou_address##*:} last=sw$switches places first cable
  of_host=$(option_of host --queues 1) of_unit=$(option_of iou --queues 1)
  host_via=$iou_address second_via=${iou_address%:*}:$((port + 10)) attach_at=udp://127.0.0.1:$((port + 20))
  first=$at
  [ "$switches" = 1 ] || first=127.0.0.1:$port host_via=127.0.0.1:$port
  next_to_host=sw1 next_to_second=$last next_to_unit=$last
  {
    take_ports sw1 "$first" "$of_host" && entry nodes.hosta 11 "$places" host
    take_ports "$last" "${at%:*}:$((port + 10))" "$of_host" && entry nodes.hostb 12 "$places" second
    take_ports "$last" "${attach_at#udp://}" "$of_unit" && entry nodes.unit 10 "$places" unit
    entry switches.sw1 1 "" sw1
    [ "$switches" = 1 ] || entry switches.sw2 2 "" sw2
  } >"$work/nodes.toml"
  if [ "$switches" = 1 ]; then
    cp "$work/nodes.toml" "$work/fabric.toml"
    start_a_switch 1 "$ns_iou"
    return
  fi
  take_ports sw1 "$iou_address" 1 && ports_of[sw1]+=,connect
  cable=$places
  take_ports sw2 "$at" 1
  { echo "cables = [\"$cable - $places\"]" && cat "$work/nodes.toml"; } >"$work/fabric.toml"
  start_a_switch 1 "$ns_host"
  start_a_switch 2 "$ns_iou"
}

# A path has the width that its ends offer, so the loopback interface has that of the wire.
start_a_switch() {
  ip -n "$2" link set lo mtu "$(in_ns "$2" cat /sys/class/net/fab0/mtu)"
  local identity=(--insecure-lab)
  [ "$links" = plain ] || identity=(--key-file "$work/sw$1.key")
  # shellcheck disable=SC2086  # options
  start "switch$1" "$2" "$bin/splitnic-switch" --name "sw$1" --topology "$work/fabric.toml" --control "$work/switch$1.sock" \
    ${ports_of[sw$1]} "${identity[@]}" --link-profile "$(option_of iou --link-profile speed)"
}
