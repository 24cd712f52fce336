# shellcheck shell=bash
# What the end-to-end checks share; sourced by run.sh after scripts/lib/topology.sh.
#   bring_up [FABRIC_MTU [LAN_MTU]]   three test hosts with both programs; nic0 is up and has 10.77.0.1; both are
#                                     started with what stands in the arrays iou_options and host_options
#   topology_ipv6                     three test hosts; the fabric has fd99::1 at the host and fd99::2 at the unit too
#   make_second                       $ns_second fab0 (10.98.0.1) -- fab1 $ns_iou: another host for the unit
#   make_second_lan                   lan1 of the unit, and $ns_lan1 with its other end, which has 10.77.0.2 too
#   start_iou [OPTIONS]  start_host [OPTIONS]  start_second [OPTIONS]  wait_up HOST  second_nic_up ADDRESS
#   other_nic_up HOST NS ADDRESS      the same as second_nic_up, for any host
#   plain  keyed                      from now on the programs are started with --insecure-lab; with keys. Keyed is how they are
#                                     started otherwise, unless the options of SPLITNIC_IOU_OPTIONS name --insecure-lab
#   identity_of unit|host|second OPTION...   leaves in $identity what a program that is started with these options needs for
#                                     either; nothing if they name --key-file
#   make_keys NAME...  public NAME    $work/NAME.key, unless it is there; its public key
#   queues_up WHO                     the numbers of the queues whose connection is up
#   has_queues NUMBERS                do host and unit have these? nic0 is up when queue 0 is: the others come later
#   host_option NAME DEFAULT          what the host is started with for that option
#   host_has NAME                     is the host started with that option?
#   small_pages                       from now on the unit is started without huge pages, so that its resident memory grows by what it uses
#   resident_kib WHO                  memory of the program that is present
#   counters WHO NAME...              the program's counters of these names at one moment; fails, with a text that is no number in
#                                     place of the value, if it has none of a name
#   counter WHO NAME                  the same of one name
#   counter_if_any WHO NAME           the same, and 0 as long as there is none: of a host that may not be attached
#   counts WHO NAME NUMBER            has that counter reached the number?
#   pings_begin, pings_end WHAT       a ping every 12 ms, replies flow; when they flow again, prints the longest time without one, in $gap too
#   pings_within WHAT MILLISECONDS    pings_end, and fails above that time
#   gaps_within WHAT GOAL BOUND COMMAND   rounds of it, each with pings_begin and pings_end; prints their median
#   median_gap_within WHAT ROUNDS GOAL BOUND COMMAND   this number of rounds; prints all, and fails if their median is above GOAL
#   fail TEXT                         prints the logs and ends the check
#   within WHAT MILLISECONDS COMMAND  until it succeeds; prints how long it took, fails after that time

long=${SPLITNIC_LONG:-0}
iou_address=10.99.0.2:7471  # what hosts connect to
listen_at=                  # what the unit listens at, if that is not the same
attach_at=                  # the port of a switch that the unit attaches to in place of that
next_to_host=unit           # whose key each has, if links are keyed: behind a switch that of the switch
next_to_second=unit
next_to_unit=
host_via= second_via=       # the port of a switch that each host attaches to
fabric=udp                  # or shm
shm_address=e2e             # what hosts connect to then
port_option=                # of the LAN port, with a comma before it
host_name=hosta
second_name=hostb
iou_options=() host_options=()
iou_through=()              # a program that becomes the unit
host_through=()             # and the host
# For whoever runs a check with other options than it has here; the options of the check itself come first.
more_iou_options=${SPLITNIC_IOU_OPTIONS:-} more_host_options=${SPLITNIC_HOST_OPTIONS:-}
links=keyed
plain() { links=plain; }
keyed() { links=keyed; }
[[ $more_iou_options != *--insecure-lab* ]] || plain
read -ra more_iou_options <<<"${more_iou_options//--insecure-lab/}"
read -ra more_host_options <<<"${more_host_options//--insecure-lab/}"
python=python3
[ -x /usr/bin/python3 ] && python=/usr/bin/python3

# missing_of OWN MORE: leaves in $missing the options of the array MORE that the array OWN does not name.
missing_of() {
  local -n given=$1 more=$2
  local word is_missing=1
  missing=()
  for word in "${more[@]}"; do
    if [[ $word == --* ]]; then
      is_missing=1
      if [[ " ${given[*]} " == *" $word "* ]]; then is_missing=0; fi
    fi
    [ $is_missing = 0 ] || missing+=("$word")
  done
}

# option_of host|iou NAME DEFAULT: its value there.
option_of() {
  local -n own=$1_options
  local word value=$3 before="" missing
  missing_of "$1_options" "more_$1_options"
  for word in "${own[@]}" "${missing[@]}"; do
    if [ "$before" = "$2" ]; then value=$word; fi
    before=$word
  done
  echo "$value"
}
host_option() { option_of host "$@"; }

# queues_of host|iou: as requested, or one per processor, up to 4; behind a switch one.
queues_of() {
  local auto=$(($(nproc) < 4 ? $(nproc) : 4))
  [ "$switches" = 0 ] || auto=1
  option_of "$1" --queues "$auto"
}

queues_up() { ask "$1" show --json | "$python" -c 'import json, sys
print(*sorted({c.get("queue", 0) for c in json.load(sys.stdin)["channels"] if c["state"] == "RTS"}))'; }
has_queues() { [ "$(queues_up host)" = "$1" ] && [ "$(queues_up iou)" = "$1" ]; }

host_has() { [[ " ${host_options[*]} ${more_host_options[*]} " == *" $1 "* ]]; }

fail() {
  echo "FAILED: $1" >&2
  local log
  for log in "$work"/*.log; do
    [ -s "$log" ] && echo "--- $(basename "$log")" >&2 && tail -n 20 "$log" >&2
  done
  exit 1
}

start_iou() {
  local lan=$port:lan0$port_option missing identity where
  bring_up_switches
  missing_of iou_options more_iou_options
  identity_of unit "${iou_options[@]}" "$@"
  [ "$port" = tap ] && lan=tap:tap0
  where=(--listen "$(endpoint "${listen_at:-$iou_address}")")
  [ -z "$attach_at" ] || where=(--attach "$attach_at")
  start iou "$ns_iou" "${iou_through[@]}" "$bin/splitnic-iou" --lan "$lan" "${where[@]}" "${identity[@]}" \
    --name unit --control "$work/iou.sock" "${iou_options[@]}" "${missing[@]}" "$@"
  if [ "$port" = tap ]; then bridge_tap; fi
}

start_host() {
  local missing identity
  bring_up_switches
  missing_of host_options more_host_options
  identity_of host "${host_options[@]}" "$@"
  start host "$ns_host" "${host_through[@]}" "$bin/splitnic-host" --connect "$(way_of "$host_via")" --tap nic0 "${identity[@]}" \
    --name "$host_name" --control "$work/host.sock" "${host_options[@]}" "${missing[@]}" "$@"
}

# After make_second.
start_second() {
  local missing identity
  bring_up_switches
  missing_of host_options more_host_options
  identity_of second "${host_options[@]}" "$@"
  start host2 "$ns_second" "$bin/splitnic-host" --connect "$(way_of "$second_via")" --tap nic0 "${identity[@]}" \
    --name "$second_name" --control "$work/host2.sock" "${host_options[@]}" "${missing[@]}" "$@"
}

identity_of() {
  local who=$1
  shift
  identity=()
  [ "$fabric" != shm ] && [[ " $* " != *" --key-file "* ]] || return 0
  if [ "$links" = plain ]; then
    identity=(--insecure-lab)
    return
  fi
  make_keys unit host second
  identity=(--key-file "$work/$who.key")
  case $who in
    unit)
      if [ -n "$attach_at" ]; then
        identity+=(--peer "$(public "$next_to_unit")")
      else
        identity+=(--allow-key "$(public host)" --allow-key "$(public second)")
      fi
      ;;
    host) identity+=(--peer "$(public "$next_to_host")") ;;
    *) identity+=(--peer "$(public "$next_to_second")") ;;
  esac
}

# way_of PORT_OF_A_SWITCH: what a host connects to.
way_of() {
  if [ -n "$1" ]; then echo "udp://unit:1?via=$1"; else endpoint "$iou_address"; fi
}

endpoint() {
  if [ "$fabric" = shm ]; then echo "shm://$shm_address"; else echo "udp://$1"; fi
}

make_keys() {
  local name
  for name in "$@"; do
    [ -e "$work/$name.key" ] || "$bin/splitnic" keygen --out "$work/$name.key" >"$work/$name.pub" || fail "no key for $name"
  done
}
public() { cat "$work/$1.pub"; }

# refuses STATUS WORDS COMMAND...: it ends with that status, and WORDS are in what it reports.
refuses() {
  local status=$1 words=$2 got=0
  shift 2
  timeout 20 "$@" >/dev/null 2>"$work/refused.err" </dev/null || got=$?
  equal "status of $*: $(cat "$work/refused.err")" "$got" "$status"
  grep -qF -- "$words" "$work/refused.err" || fail "no word of '$words': $(cat "$work/refused.err")"
  tail -n 1 "$work/refused.err"
}

# Port tap: a bridge joins the unit's TAP to lan0. It passes on what it may (LLDP), and no firewall of the kernel
# looks at what it carries (that would cut trailers off).
bridge_tap() {
  wait_until 20 in_ns "$ns_iou" test -e /sys/class/net/tap0 || fail "the unit made no tap0"
  if ! in_ns "$ns_iou" test -e /sys/class/net/br0; then
    ip -n "$ns_iou" link add br0 type bridge mcast_snooping 0 group_fwd_mask 0x4000
    silence_interface "$ns_iou" br0
    in_ns "$ns_iou" sh -c 'for f in /proc/sys/net/bridge/bridge-nf-call-*; do [ ! -e "$f" ] || echo 0 >"$f"; done'
    ip -n "$ns_iou" link set lan0 master br0 && ip -n "$ns_iou" link set br0 up || fail "no bridge"
  fi
  silence_interface "$ns_iou" tap0
  ip -n "$ns_iou" link set tap0 master br0 && ip -n "$ns_iou" link set tap0 up || fail "no TAP in the bridge"
}

ask() {
  local who=$1
  shift
  "$bin/splitnic" "$@" --control "$work/$who.sock"
}

is_up() { [[ $(ask "$1" show --json 2>/dev/null) =~ \"state\":\ *\"up\" ]]; }

wait_up() {
  wait_until 20 is_up "${1:-host}" || fail "${1:-host} did not come up"
}

carrier_is() { [ "$(in_ns "$1" cat "/sys/class/net/$2/carrier" 2>/dev/null)" = "$3" ]; }

bring_up() {
  topology_three "$@" || fail "the test hosts cannot be made"
  start_iou && start_host
  nic_up
}

topology_ipv6() {
  topology_three || fail "the test hosts cannot be made"
  ip -n "$ns_host" addr add fd99::1/64 dev fab0 nodad
  ip -n "$ns_iou" addr add fd99::2/64 dev fab0 nodad
}

# A test host $ns_second on a separate wire. It asks for an address that is not on it: the unit must reply from there.
make_second() {
  ns_second=sn$$-e
  host_namespace "$ns_second" && veth_between "$ns_second" fab0 "$ns_iou" fab1 || fail "no second host"
  ip -n "$ns_second" addr add 10.98.0.1/24 dev fab0
  ip -n "$ns_iou" addr add 10.98.0.2/24 dev fab1
  ip -n "$ns_second" route add 10.99.0.0/24 via 10.98.0.2
}

make_second_lan() {
  ns_lan1=sn$$-f
  host_namespace "$ns_lan1" && veth_between "$ns_iou" lan1 "$ns_lan1" lan1 || fail "no second LAN"
  ip -n "$ns_lan1" addr add 10.77.0.2/24 dev lan1
  silence_interface "$ns_iou" lan1
}

# ask_often NS IF: ARP requests without a reply are repeated after 100 ms, not after one second, and for the same 3 s: how soon
# something is reached again is then a matter of the programs, not of that timer.
ask_often() {
  in_ns "$1" sh -c 'cd "/proc/sys/net/ipv4/neigh/$0" && echo 100 >retrans_time_ms && echo 30 | tee mcast_solicit >ucast_solicit' "$2"
}

# ask_as_usual NS IF: with the timer of the kernel, as a user has it.
ask_as_usual() {
  in_ns "$1" sh -c 'cd "/proc/sys/net/ipv4/neigh/$0" && echo 1000 >retrans_time_ms && echo 3 | tee mcast_solicit >ucast_solicit' "$2"
}

# nic0 up, with its address and its carrier.
nic_up() {
  wait_up host
  silence_interface "$ns_host" nic0
  ask_often "$ns_host" nic0
  ip -n "$ns_host" addr replace 10.77.0.1/24 dev nic0 && ip -n "$ns_host" link set nic0 up || fail "nic0 cannot be set up"
  wait_until 20 carrier_is "$ns_host" nic0 1 || fail "nic0 has no carrier"
  wait_until 20 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2 >/dev/null ||
    fail "the LAN does not respond; neighbours of the host, of the LAN, and counters:
$(ip -n "$ns_host" neigh; ip -s -n "$ns_host" link show nic0; ip -n "$ns_lan" neigh; ip -s -n "$ns_lan" link show type veth; ask host stats; ask iou stats)"
}

# second_nic_up ADDRESS: until the nic0 of the second host has that address and a carrier.
second_nic_up() { other_nic_up host2 "$ns_second" "$1"; }
other_nic_up() {
  wait_up "$1"
  silence_interface "$2" nic0
  ask_often "$2" nic0
  ip -n "$2" addr replace "$3/24" dev nic0 && ip -n "$2" link set nic0 up
  wait_until 20 carrier_is "$2" nic0 1 || fail "no carrier at $1"
}

stop_all() {
  local name
  for name in "${!pid_of[@]}"; do
    case $name in
      host* | iou* | switch*) running "$name" || fail "$name ended unexpectedly" ;;
    esac
  done
  for name in "${!pid_of[@]}"; do
    case $name in
      host* | iou* | switch*) stop "$name" TERM || fail "$name did not stop cleanly" ;;
    esac
  done
  # No feature needs a call that the sandbox does not allow; a check that makes such calls sets may_refuse.
  [ -n "${may_refuse:-}" ] || ! grep -hs "the sandbox refused" "$work"/*.log >&2 || fail "the sandbox refused a system call"
}

counters() {
  local who=$1
  shift
  # The text is the name of no variable, so that arithmetic with it ends the check.
  ask "$who" stats | awk -v who="$who" -v names="$*" '
    { value[$1] = $2 }
    END {
      if (NR == 0) exit 1
      count = split(names, wanted)
      for (i = 1; i <= count; i++) {
        is_known = wanted[i] in value
        if (!is_known) {
          print who " has no counter " wanted[i] >"/dev/stderr"
          status = 1
        }
        printf "%s%s", is_known ? value[wanted[i]] : "no_such_counter", i < count ? " " : "\n"
      }
      exit status
    }'
}

counter_if_any() { ask "$1" stats | awk -v name="$2" 'BEGIN { value = 0 } $1 == name { value = $2 } END { if (NR == 0) exit 1; print value }'; }

small_pages() { iou_through=("$python" -B "$e2e/stranger.py" small-pages); }
resident_kib() { awk '/^Rss:/ {print $2}' "/proc/${pid_of[$1]}/smaps_rollup"; }

counter() { counters "$1" "$2"; }

counts() { [ "$(counter_if_any "$1" "$2")" -ge "$3" ]; }

# memory_of_both: what the host and the unit both map shared and writable, files and memory, by device and inode.
memory_of_both() { comm -12 <(shared_memory_of host) <(shared_memory_of iou); }
shared_memory_of() { awk '$2 ~ /^.w.s$/ && $5 != 0 { print $4, $5 }' "/proc/${pid_of[$1]}/maps" | sort -u; }

# has [OPTIONS] PATTERN: what comes in holds it. Reads all of it: who writes into a closed pipe fails.
has() { grep -c "$@" >/dev/null; }

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

within() {
  local what=$1 bound=$2 began
  shift 2
  began=$(milliseconds)
  until "$@" >/dev/null 2>&1; do
    [ $(($(milliseconds) - began)) -lt "$bound" ] || fail "$what: not within $bound ms"
    sleep 0.02
  done
  echo "$what: $(($(milliseconds) - began)) ms"
}

# lan_is_silent: the LAN replies to no ping of the host.
lan_is_silent() { ! in_ns "$ns_host" ping -q -c 3 -i 0.2 -W 0.3 10.77.0.2; }

pings_begin() { start pinger "$ns_host" ping -D -i 0.012 -W 1 10.77.0.2; wait_until 20 pings_have 20 || fail "no replies to pings"; }
pings_replied() { grep -c ' time=' "$work/pinger.log"; }
pings_have() { [ "$(pings_replied)" -ge "$1" ]; }
# The replies must flow again before it ends: what is lost until then is part of the gap.
pings_end() {
  sleep 0.5
  wait_until 15 pings_have $(($(pings_replied) + 20)) || fail "$1: no replies any more"
  stop pinger INT
  gap=$(sed -n 's/^\[\([0-9.]*\)\] .* icmp_seq=.* time=.*/\1/p' "$work/pinger.log" |
    awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { printf "%d", gap * 1000 }')
  echo "$1: $gap ms without traffic"
  [ "$gap" -gt 0 ] || fail "$1: no time between replies"
}

pings_within() {
  pings_end "$1"
  [ "$gap" -le "$2" ] || fail "$1: $gap ms without traffic, more than $2"
}

# gaps_within WHAT GOAL BOUND COMMAND: runs it three times, and more often, up to ten times, until one round has no more than GOAL
# milliseconds without traffic: other work on the machine makes any round longer, and a timer that is too long makes all of them
# so. None may have more than BOUND. The command ends with pings_end.
gaps_within() {
  local gaps=() best=$(($3 + 1))
  while [ ${#gaps[@]} -lt 3 ] || { [ "$best" -gt "$2" ] && [ ${#gaps[@]} -lt 10 ]; }; do
    "$4" || fail "$1"
    [ "$gap" -le "$3" ] || fail "$1: $gap ms without traffic, more than $3"
    gaps+=("$gap")
    [ "$gap" -ge "$best" ] || best=$gap
  done
  echo "$1: median $(median "${gaps[@]}") ms of ${#gaps[@]}, goal $2"
  [ "$best" -le "$2" ] || fail "never less than $2 ms without traffic: $1"
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

# median_gap_within WHAT ROUNDS GOAL BOUND COMMAND: half of the rounds may have more than GOAL milliseconds without traffic, none
# more than BOUND. The command ends with pings_end.
median_gap_within() {
  local gaps=()
  while [ ${#gaps[@]} -lt "$2" ]; do
    "$5" || fail "$1"
    [ "$gap" -le "$4" ] || fail "$1: $gap ms without traffic, more than $4"
    gaps+=("$gap")
  done
  echo "$1: ${gaps[*]} ms without traffic, median $(median "${gaps[@]}"), goal $3"
  [ "$(median "${gaps[@]}")" -le "$3" ] || fail "$1: the median of ${gaps[*]} ms without traffic is more than $3"
}

equal() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }
