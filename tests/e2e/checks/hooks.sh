# shellcheck shell=bash
# --up and --down: commands of the user, at the first carrier of nic0 and after the end of the host.

# The command writes what it has into the file $1; that of --up gives nic0 an address. Both take their time, until there is $1.go.
make_hook() {
  cat >"$work/hook.sh" <<'EOF'
{
  env | grep ^SPLITNIC_
  grep -E '^(NoNewPrivs|CapEff|Seccomp):' /proc/self/status
} >"$1.part"
mv "$1.part" "$1"
if [ "$SPLITNIC_HOOK" = up ]; then
  ip link set "$SPLITNIC_TAP" up && ip addr add 10.77.0.9/24 dev "$SPLITNIC_TAP" && echo "$SPLITNIC_TAP has an address"
fi
until [ -e "$1.go" ]; do sleep 0.05; done
exit 7
EOF
}
hook() { echo "sh $work/hook.sh $work/$1"; }
has_run() { [ -s "$work/$1" ]; }
logs() { grep -qF -- "$1" "$work/host.log"; }

# of_hook FILE LINE: what the command had.
of_hook() { grep -qxF -- "$2" "$work/$1" || fail "$1 has no $2: $(cat "$work/$1")"; }

check_run() {
  topology_three || fail "the test hosts cannot be made"
  make_hook
  start_iou
  start_host --up "$(hook up)" --down "$(hook down)"
  wait_until 10 has_run up || fail "--up has not run"
  # It waits for a file: nobody waits for it.
  within "a ping, meanwhile" 10000 in_ns "$ns_host" ping -q -c 1 -W 0.3 10.77.0.2
  within "show, meanwhile" 500 ask host show
  logs "--up ended" && fail "it has ended: nothing was shown"
  : >"$work/up.go"
  of_hook up SPLITNIC_HOOK=up
  of_hook up SPLITNIC_TAP=nic0
  of_hook up SPLITNIC_NAME=hosta
  of_hook up "SPLITNIC_UNIT=udp://$iou_address"
  of_hook up SPLITNIC_UNIT_NAME=unit
  of_hook up SPLITNIC_MTU=1500
  of_hook up "SPLITNIC_MAC=$(in_ns "$ns_host" cat /sys/class/net/nic0/address)"
  # The rights of the start: none is gained, and none that the program has given up is missing.
  of_hook up "NoNewPrivs:	1"
  of_hook up "$(grep Seccomp: /proc/self/status)"
  of_hook up "$(grep CapEff: /proc/self/status)"
  wait_until 15 logs "--up ended with status 7: $(hook up)" || fail "the log has no end of --up: $(cat "$work/host.log")"
  logs "--up: nic0 has an address" || fail "the log has no output of --up: $(cat "$work/host.log")"
  # Another carrier is not the first.
  : >"$work/up"
  ip -n "$ns_lan" link set lan0 down
  wait_until 10 carrier_is "$ns_host" nic0 0 || fail "nic0 keeps its carrier"
  ip -n "$ns_lan" link set lan0 up
  wait_until 10 carrier_is "$ns_host" nic0 1 || fail "nic0 has no carrier"
  sleep 0.3
  has_run up && fail "--up has run again"
  has_run down && fail "--down has run: the host runs"
  equal "refused calls" "$(counter host sandbox.drop.call)" 0
  stop host TERM || fail "the host waits for its hooks"
  wait_until 10 has_run down || fail "--down has not run"
  of_hook down SPLITNIC_HOOK=down
  of_hook down SPLITNIC_TAP=nic0
  : >"$work/down.go"
}

# From the settings, and when the host is killed; without a carrier nothing runs.
check_killed() {
  topology_three || fail "the test hosts cannot be made"
  make_hook
  printf 'up = "%s"\ndown = "%s"\n' "$(hook up)" "$(hook down)" >"$work/host.toml"
  start_host --config "$work/host.toml"
  wait_until 10 test -S "$work/host.sock" || fail "the host does not start"
  stop host TERM || fail "the host did not stop"
  start_iou
  start_host --config "$work/host.toml"
  wait_until 10 has_run up || fail "--up has not run"
  has_run down && fail "--down has run without --up"
  : >"$work/up.go"
  stop host KILL || fail "the host was not killed"
  wait_until 10 has_run down || fail "--down has not run"
  : >"$work/down.go"
  refuses 2 "--up: no command" "$bin/splitnic-host" --connect udp://192.0.2.7 --insecure-lab --up ""
}
