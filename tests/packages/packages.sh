#!/usr/bin/env bash
# The Debian packages, from the programs of a finished build: builds them, has lintian look at them, and installs them with apt in a
# root folder that has no other packages than those that they depend on (clean_root.py). That root is booted by
# systemd-nspawn, so that systemd itself starts, reloads, restarts and stops the units. In it, as README.md describes: two
# settings files, two `systemctl enable --now`, traffic; a user's host over shm://; an upgrade from the version before; removal.
#   packages.sh BUILD
# Everything is in a private mount namespace, a network namespace and a work folder; nothing is left. Needs root.
set -uo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd) || exit 2
if [ -z "${SPLITNIC_OWN_MOUNTS:-}" ]; then
  SPLITNIC_OWN_MOUNTS=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
# shellcheck source=boot.sh
. "$here/boot.sh"
package_version=$(dpkg-parsechangelog -l "$tree/debian/changelog" -S Version)
programs_version=${package_version%-*}
work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
dnsmasq='' pinger='' holder=''
clean_up() {
  local status=$?
  trap '' INT TERM
  kill ${dnsmasq:+"$dnsmasq"} ${pinger:+"$pinger"} 2>/dev/null
  [ -z "$holder" ] || { kill -KILL "$holder" && wait "$holder"; } 2>/dev/null
  power_off
  rm -rf "$work"
  exit $status
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "FAILED: $1" >&2
  [ -z "${leader:-}" ] || inside journalctl --no-pager -q -n 60 -u "splitnic*" >&2
  exit 1
}
equal() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }
wait_until() {
  local end=$((SECONDS + $1 + 1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
step() { echo "$(date +%T) $1"; }

build_packages() {
  mkdir -p "$work/build/src" "$work/machine/packages/new" "$work/machine/packages/old"
  tar -C "$tree" --exclude=./build --exclude=./.git --exclude=./.cache -cf - . | tar -C "$work/build/src" -xf - || fail "no copy of the tree"
  (cd "$work/build/src" && SPLITNIC_BUILD=$build DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -us -uc) >"$work/build.log" 2>&1 ||
    fail "dpkg-buildpackage: $(tail -n 30 "$work/build.log")"
  # That tag concerns uploads to Debian's archive only.
  lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$work"/build/*.changes >"$work/lintian" 2>&1 || fail "lintian: $(cat "$work/lintian")"
  local deb
  for deb in "$work"/build/splitnic-{host,iou,tools}_*.deb; do cp "$deb" "$work/machine/packages/new/"; done
}

# The version before this one. It has today's programs, which only state a smaller number, and another sample file. So this test does
# not find out whether the new programs can use the state files and the kept interface of programs that are really older.
make_old_packages() {
  local deb name
  for deb in "$work"/machine/packages/new/*.deb; do
    name=$(basename "$deb")
    dpkg-deb -R "$deb" "$work/repack" || fail "unpacking $deb"
    sed -i -E 's/^Version: .*/Version: 0.0.9-1/; s/(splitnic-[a-z]+ \((=|<<)) [^)]*\)/\1 0.0.9-1)/g' "$work/repack/DEBIAN/control"
    sed -i "s/ $programs_version/ 0.0.9/" "$work"/repack/usr/bin/splitnic* || fail "no version in the programs"
    if [ -f "$work/repack/etc/splitnic/nic0.toml" ]; then echo '# of version 0.0.9' >>"$work/repack/etc/splitnic/nic0.toml"; fi
    (cd "$work/repack" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -b "$work/repack" "$work/machine/packages/old/${name/_[0-9]*_/_0.0.9-1_}" >/dev/null || fail "packing $name"
    rm -rf "$work/repack"
  done
}

# dependencies_of DEB...: the names of packages of others.
dependencies_of() {
  for deb in "$@"; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' | sed -E 's/^ *([a-z0-9.+-]+).*/\1/' | grep -v '^splitnic-' | sort -u
}

make_root() {
  local needed
  needed=$(dependencies_of "$work"/machine/packages/new/*.deb)
  # shellcheck disable=SC2086
  python3 -B "$here/clean_root.py" "$work/machine" apt $needed || fail "no root folder"
}

apt_get() { inside env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o APT::Sandbox::User=root "$@" >"$work/apt.log" 2>&1 || fail "apt-get $*: $(cat "$work/apt.log")"; }
debs() { (cd "$work/machine" && printf '/%s\n' packages/"$1"/*.deb); }
is_active() { inside systemctl is-active --quiet "$1"; }
state_of() { inside systemctl is-enabled "$1" 2>/dev/null || true; }
pid_of() { inside systemctl show -P MainPID "$1"; }
splitnic() { inside splitnic "$@"; }
# has PATTERN...: what comes in holds it. Reads all of it: who writes into a closed pipe fails.
has() { grep "$@" >/dev/null; }
logged() { inside journalctl --no-pager -q -u "$1" | has -F -- "$2"; }
ping_lan() { network ping -q -c "${1:-3}" -i 0.02 -W 1 -I nic0 10.77.0.2; }
is_connected() { splitnic show --json --control /run/splitnic/nic0.sock | has '"state":"up"'; }

# programs_have VERSION: those that run, as the unit and the host connected to it report.
programs_have() {
  local shown
  shown=$(splitnic show unit --json) || return 1
  [[ $shown == *"\"splitnic-iou $1\""* && $shown == *"\"splitnic-host $1\""* ]]
}

check_installed() {
  equal "the user" "$(inside id -un splitnic)" splitnic
  equal "/etc/splitnic" "$(inside stat -c '%a %U %G' /etc/splitnic)" "750 root splitnic"
  equal "/run/splitnic" "$(inside stat -c '%a %U %G' /run/splitnic)" "755 splitnic splitnic"
  local key
  for key in unit nic0; do
    equal "$key.key" "$(inside stat -c '%a %U' "/etc/splitnic/$key.key")" "600 splitnic"
    has -F -- "$(splitnic pubkey "/etc/splitnic/$key.key")" <"$work/apt.log" || fail "the installation does not print the public key of $key.key"
  done
  local unit
  for unit in splitnic-host@nic0 splitnic-iou@unit; do
    equal "$unit" "$(state_of $unit)" disabled
    ! is_active $unit || fail "$unit runs though nobody has started it"
  done
  local plugin script
  plugin=$work/machine/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/wireshark/plugins/splitnic.lua
  script=$(sed -n 's/^dofile("\(.*\)")$/\1/p' "$plugin")
  [ -n "$script" ] && [ -e "$work/machine$script" ] || fail "no dissector"
  equal "version of the old packages" "splitnic 0.0.9" "$(splitnic --version)"
  grep -q "^## $programs_version\$" "$tree/CHANGELOG.md" || fail "CHANGELOG.md does not have $programs_version"
  [ -e "$work/machine/usr/share/zsh/vendor-completions/_splitnic" ] || fail "no completion of zsh"
}

# Another root has tshark, what it depends on, and the files of splitnic-tools: tshark loads the plugin without an option.
check_dissector() {
  local shark=$work/shark
  python3 -B "$here/clean_root.py" "$shark" tshark || fail "no root folder with tshark"
  ! chroot "$shark" tshark -G protocols 2>/dev/null | has -w splitnic || fail "tshark has a dissector without the package"
  dpkg-deb -x "$work"/machine/packages/new/splitnic-tools_*.deb "$shark" || fail "unpacking splitnic-tools"
  chroot "$shark" tshark -G plugins 2>/dev/null | has $'^splitnic\\.lua\t.*\tlua script\t' || fail "tshark does not load the plugin"
  chroot "$shark" tshark -G protocols 2>/dev/null | has $'\tsplitnic$' || fail "tshark does not have the protocol"
  PYTHONPATH=$tree/tests/wireshark python3 -B -c 'import sys, capture_file
capture = capture_file.Capture()
capture_file.Connection(capture, 1)
capture.write(sys.argv[1])' "$shark/connect.pcap" || fail "no capture"
  equal "what tshark shows" "$(chroot "$shark" tshark -r /connect.pcap -T fields -e _ws.col.Info 2>"$work/tshark.log" | paste -sd ' ')" \
    "CONNECT_REQ CONNECT_REP"
  ! grep -q Lua "$work/tshark.log" || fail "the dissector has an error: $(cat "$work/tshark.log")"
  rm -rf "$shark"
}

# Another root has a compiler, what splitnic-dev depends on, and its files: the example in it is built there, and runs.
check_library() {
  local root=$work/developer deb
  deb=$(echo "$work"/build/splitnic-dev_*.deb)
  # shellcheck disable=SC2046
  python3 -B "$here/clean_root.py" "$root" g++ cmake ninja-build pkg-config $(dependencies_of "$deb") || fail "no root folder with a compiler"
  dpkg-deb -x "$deb" "$root" && cp "$here/library.sh" "$root/" && touch "$root/dev/null" || fail "unpacking splitnic-dev"
  unshare --mount --propagation private bash -c 'mount -t proc proc "$0/proc" && mount --bind /dev/null "$0/dev/null" &&
    exec chroot "$0" env -i PATH=/usr/bin:/bin bash /library.sh --installed /usr/share/doc/splitnic-dev/examples/rdma_write /usr' "$root" ||
    fail "the library of splitnic-dev"
  rm -rf "$root"
}

# The samples are complete but for what only the administrator knows, and a service without it ends with one clear line.
check_samples() {
  inside systemctl start splitnic-host@nic0 2>/dev/null && fail "it starts without --connect"
  wait_until 5 logged splitnic-host@nic0 '--connect' || fail "the log does not name --connect"
  inside systemctl start splitnic-iou@unit 2>/dev/null && fail "it starts without --lan"
  wait_until 5 logged splitnic-iou@unit '--lan' || fail "the log does not name --lan"
  sleep 1.5
  equal "no restart of bad settings" "$(inside systemctl show -P NRestarts splitnic-host@nic0)" 0
  inside systemctl reset-failed
}

make_lan() {
  ip netns add lan && ip -n lan link set lo up
  network ip link set lo up
  network ip link add lan0 type veth peer name lan1 || fail "no LAN"
  network ip link set lan1 netns /run/netns/lan || fail "no LAN host"
  ip -n lan addr add 10.77.0.2/24 dev lan1 && ip -n lan link set lan1 up
  network sh -c 'echo 1 >/proc/sys/net/ipv6/conf/lan0/disable_ipv6; ip link set lan0 up'
}

# set_in FILE NAME VALUE: the commented line of the sample, with this value and without its comment.
set_in() {
  grep -q "^#$2 = " "$work/machine/etc/splitnic/$1" || fail "the sample $1 has no $2"
  sed -i "s|^#$2 = .*|$2 = $3|" "$work/machine/etc/splitnic/$1"
}

configure() {
  local unit_key host_key
  unit_key=$(splitnic pubkey /etc/splitnic/unit.key) && host_key=$(splitnic pubkey /etc/splitnic/nic0.key) || fail "no keys"
  set_in unit.toml lan '["lan0"]'
  set_in unit.toml key-file '"/etc/splitnic/unit.key"'
  set_in unit.toml allow-key "[\"$host_key\"]"
  set_in nic0.toml connect '"udp://127.0.0.1:7471"'
  set_in nic0.toml key-file '"/etc/splitnic/nic0.key"'
  set_in nic0.toml peer "\"$unit_key\""
}

# has_given_up UNIT: the program runs as splitnic, without privileges beyond those it keeps, behind a filter of system calls.
has_given_up() {
  local status
  status=$(inside cat "/proc/$(pid_of "$1")/status") || fail "$1 has no process"
  equal "user of $1" "$(awk '/^Uid:/ {print $2}' <<<"$status")" "$(inside id -u splitnic)"
  equal "filter of $1" "$(awk '/^Seccomp:/ {print $2}' <<<"$status")" 2
  equal "no-new-privileges of $1" "$(awk '/^NoNewPrivs:/ {print $2}' <<<"$status")" 1
  case $(awk '/^CapEff:/ {print $2}' <<<"$status") in
    0000000000000000 | 0000000000001000) ;;
    *) fail "capabilities of $1: $status" ;;
  esac
}

check_services() {
  inside systemctl enable --now --quiet splitnic-iou@unit || fail "the I/O unit does not start"
  inside systemctl enable --now --quiet splitnic-host@nic0 || fail "the host does not start"
  wait_until 10 is_connected || fail "not connected"
  network ip addr add 10.77.0.1/24 dev nic0 && network ip link set nic0 up
  wait_until 5 ping_lan || fail "the LAN does not respond through nic0"
  ping_lan 50 || fail "frames are lost"
  has_given_up splitnic-iou@unit
  has_given_up splitnic-host@nic0
  start_switch
  has_given_up splitnic-switch@sw1
  ! inside journalctl -q | has 'the sandbox refused' || fail "the sandbox refuses what the services need"
  equal "enabled" "$(state_of splitnic-host@nic0)" enabled
}

# A switch of the package splitnic-tools, to which nothing is attached.
start_switch() {
  printf '%s\n' '[switches.sw1]' 'lid = 1' '[nodes.office]' 'lid = 10' 'at = "sw1:1"' >"$work/machine/etc/splitnic/fabric.toml"
  printf '%s\n' 'topology = ["/etc/splitnic/fabric.toml"]' 'port = ["shm://sw1"]' >"$work/machine/etc/splitnic/sw1.toml"
  inside systemctl enable --now --quiet splitnic-switch@sw1 || fail "the switch does not start"
}

# pings_begin: a ping through nic0 every 12 ms. pings_end WHAT: when replies flow again, prints the longest time without one and leaves it in
# $gap, in ms.
pings_begin() {
  nsenter --target "$leader" --net ping -D -i 0.012 -W 1 -I nic0 10.77.0.2 >"$work/pings" &
  pinger=$!
  sleep 0.5
}
replies() { grep -c ' time=' "$work/pings"; }
has_replies() { [ "$(replies)" -ge "$1" ]; }
pings_end() {
  sleep 0.5
  wait_until 15 has_replies $(($(replies) + 20)) || fail "$1: no replies any more"
  kill -INT "$pinger" && wait "$pinger"
  pinger=''
  gap=$(sed -n 's/^\[\([0-9.]*\)\] .* icmp_seq=.* time=.*/\1/p' "$work/pings" |
    awk 'NR > 1 && $1 - last > gap { gap = $1 - last } { last = $1 } END { printf "%d", gap * 1000 }')
  echo "$1: $gap ms without traffic"
  [ "$gap" -gt 0 ] || fail "$1: no time between replies"
}

# empty_restart: leaves in $empty how many ms this machine needs now to restart a service that does nothing.
empty_restart() {
  local begun=${EPOCHREALTIME/./}
  inside systemctl restart empty || fail "a service that does nothing does not restart"
  empty=$(((${EPOCHREALTIME/./} - begun) / 1000))
}

# How often nic0 has lost its carrier, as the kernel counts it.
carrier_losses() { inside cat /sys/class/net/nic0/carrier_down_count; }

# carrier_stayed WHAT BEFORE SERVICE...: leaves in $lost how often nic0 has lost its carrier since carrier_losses was BEFORE, and in $away
# for how many ms the slowest of these services was away at its last restart, from the start of its stop until it was ready.
# docs/operation.md promises the carrier if the host is connected again within 500 ms. 100 of them are for what is done after the
# service is ready, so a loss is a fault if it was away for no more than 400 ms.
carrier_stayed() {
  local what=$1 before=$2 left ready
  shift 2
  lost=$(carrier_losses) || fail "$what: no nic0"
  lost=$((lost - before)) away=0
  while [ $# -gt 0 ]; do
    left=$(inside systemctl show -P ActiveExitTimestampMonotonic "$1") ready=$(inside systemctl show -P ActiveEnterTimestampMonotonic "$1")
    [ "$left" -gt 0 ] && [ "$ready" -gt "$left" ] || fail "$what: systemd has not restarted $1"
    [ $(((ready - left) / 1000)) -le "$away" ] || away=$(((ready - left) / 1000))
    shift
  done
  echo "$what: $away ms without the service, $lost losses of the carrier of nic0"
  [ "$lost" -eq 0 ] || [ "$away" -gt 400 ] || fail "$what: nic0 has lost its carrier"
}

# restarts UNIT: up to five clean ones, until one has no more than 500 ms without traffic and nic0 keeps its carrier. Other work on the
# machine makes any of them longer, and that of a service that does nothing as well: it is done next to each, and ten of it may come on
# top. With these ten a lost carrier could pass, therefore carrier_stayed has the kernel's count; it decides nothing if the
# machine is too busy for any restart within its time.
restarts() {
  local round before in_time=no
  inside systemd-run --quiet --unit=empty sleep infinity || fail "a service that does nothing does not start"
  for ((round = 0; round < 5; ++round)); do
    before=$(carrier_losses) || fail "no nic0"
    pings_begin
    inside systemctl restart "$1" || fail "$1 does not restart"
    pings_end "systemctl restart $1"
    carrier_stayed "systemctl restart $1" "$before" "$1"
    empty_restart
    if [ "$gap" -le $((500 + 10 * empty)) ]; then
      in_time=yes
      [ "$lost" -gt 0 ] || break
    fi
  done
  echo "a service that does nothing: $empty ms"
  inside systemctl stop empty
  [ $in_time = yes ] || fail "$1: never less than 500 ms without traffic and ten times $empty ms"
}

# [B-13] The interface is the same one after a restart, with its address and its bridge.
check_restart() {
  local host index
  restarts splitnic-host@nic0
  restarts splitnic-iou@unit
  host=$(pid_of splitnic-host@nic0) index=$(index_of nic0)
  network ip link add br0 type bridge && network ip link set nic0 master br0 || fail "no bridge"
  inside systemctl restart splitnic-host@nic0 || fail "the host does not restart"
  wait_until 10 is_connected || fail "not connected after the restart"
  [ "$(pid_of splitnic-host@nic0)" != "$host" ] || fail "the old program still runs"
  equal "the interface after the restart" "$(index_of nic0)" "$index"
  network ip -o link show nic0 | has ' master br0 ' || fail "nic0 has left its bridge"
  network ip -o addr show nic0 | has ' 10\.77\.0\.1/24 ' || fail "nic0 has lost its address"
  network ip link del br0
  wait_until 10 ping_lan || fail "the LAN does not respond after the restart"
}

# A data thread that stands still, as by a fault of the kernel: systemd notices that within WatchdogSec= and starts the program again, and
# the interface stays. A program whose threads all run outlives that time. docs/operation.md
check_watchdog() {
  local drop_in=/etc/systemd/system/splitnic-host@nic0.service.d/watchdog.conf host index
  inside mkdir -p "${drop_in%/*}"
  printf '[Service]\nWatchdogSec=5\n' >"$work/machine$drop_in"
  inside systemctl daemon-reload && inside systemctl restart splitnic-host@nic0 || fail "the host does not restart"
  wait_until 10 is_connected || fail "not connected"
  host=$(pid_of splitnic-host@nic0) index=$(index_of nic0)
  sleep 5.5
  equal "the host, whose threads all run" "$(pid_of splitnic-host@nic0)" "$host"
  ! logged splitnic-host@nic0 'Watchdog timeout' || fail "the watchdog has ended a host whose threads all run"
  hold_data_thread
  wait_until 15 logged splitnic-host@nic0 'Watchdog timeout' || fail "the watchdog does not notice a data thread that stands still"
  # The kernel reports the end of a program only after whoever holds a thread of it has let go.
  kill -KILL "$holder" && wait "$holder" 2>/dev/null
  holder=''
  wait_until 5 logged splitnic-host@nic0 "Failed with result 'watchdog'" || fail "the watchdog does not end the host"
  wait_until 10 is_active splitnic-host@nic0 || fail "systemd does not start the host again after the watchdog"
  wait_until 10 is_connected || fail "not connected after the watchdog"
  equal "starts by systemd after the watchdog" "$(inside systemctl show -P NRestarts splitnic-host@nic0)" 1
  [ "$(pid_of splitnic-host@nic0)" != "$host" ] || fail "the program whose thread stood still still runs"
  equal "the interface after the watchdog" "$(index_of nic0)" "$index"
  network ip -o addr show nic0 | has ' 10\.77\.0\.1/24 ' || fail "nic0 has lost its address with the watchdog"
  wait_until 10 ping_lan || fail "the LAN does not respond after the watchdog"
  # The next restart applies the watchdog of the package again.
  inside rm -r "${drop_in%/*}" && inside systemctl daemon-reload || fail "the drop-in cannot be removed"
}

# Leaves in $holder the process that holds the thread of the host's last queue. Without queue 1, on one processor, that is the main thread.
hold_data_thread() {
  local host thread=splitnic-host
  host=$(pgrep --ns "$leader" --nslist pid -x splitnic-host) && [[ $host =~ ^[0-9]+$ ]] || fail "not one process of the host: $host"
  ! grep -qx queue-1 "/proc/$host"/task/*/comm || thread=queue-1
  python3 -B "$tree/tests/e2e/hold_thread.py" "$host" "$thread" >"$work/held" 2>&1 &
  holder=$!
  wait_until 5 grep -qx held "$work/held" || fail "the thread $thread of the host cannot be held: $(cat "$work/held")"
}

# docs/CLI.md, announcements: with announce and connect = "any" the packaged services find each other. Both are in one network namespace,
# where each hears the other's multicasts on fab0, and on nic0 while that has its carrier.
check_announcements() {
  local settings=$work/machine/etc/splitnic
  cp -p "$settings/unit.toml" "$settings/nic0.toml" "$work/" || fail "no copy of the settings"
  network ip link add fab0 type veth peer name fab1 || fail "no fab0"
  network ip link set fab1 netns /run/netns/lan && ip -n lan link set fab1 up
  network ip addr add 10.99.0.2/24 dev fab0 && network ip link set fab0 up
  set_in unit.toml announce true
  sed -i 's|^connect = .*|connect = "any"|' "$settings/nic0.toml"
  inside systemctl restart splitnic-iou@unit || fail "the I/O unit does not start with announce"
  inside systemctl restart splitnic-host@nic0 || fail 'the host does not start with connect = "any"'
  wait_until 15 is_connected || fail "the unit is not found: $(splitnic show --control /run/splitnic/nic0.sock)"
  splitnic show --json --control /run/splitnic/nic0.sock | has -E '"address":"10\.(99\.0\.2|77\.0\.1):7471"' ||
    fail "the host does not use an address that the unit announces: $(splitnic show --json --control /run/splitnic/nic0.sock)"
  wait_until 10 ping_lan || fail "the LAN does not respond through a unit that was found"
  ! inside journalctl -q | has 'the sandbox refused' || fail "the sandbox refuses what announcements need"
  cp -p "$work/unit.toml" "$work/nic0.toml" "$settings/"
  network ip link del fab0
  inside systemctl restart splitnic-iou@unit && inside systemctl restart splitnic-host@nic0 || fail "the services do not restart"
  wait_until 10 is_connected && wait_until 10 ping_lan || fail "the LAN does not respond without announcements"
}

# docs/recipes.md: systemd-networkd asks for an address on nic0 by DHCP, and makes it the default route of nothing.
check_networkd() {
  network ip addr flush dev nic0 && network ip link set nic0 down
  bash "$here/recipes.sh" --print /etc/systemd/network/50-nic0.network >"$work/machine/etc/systemd/network/50-nic0.network" || fail "no recipe"
  ip netns exec lan dnsmasq --keep-in-foreground -C /dev/null --no-ping --bind-interfaces --interface=lan1 --except-interface=lo --port=0 \
    --user=root --no-resolv --no-hosts --pid-file= --dhcp-leasefile="$work/leases" --dhcp-range=10.77.0.100,10.77.0.199,255.255.255.0,10m \
    >"$work/dnsmasq.log" 2>&1 &
  dnsmasq=$!
  inside systemctl start systemd-networkd || fail "systemd-networkd does not start"
  wait_until 20 has_lease || fail "no address by DHCP: $(network ip addr show nic0) $(cat "$work/dnsmasq.log")"
  ! network ip route | has '^default' || fail "a default route through nic0"
  ping_lan || fail "the LAN does not respond at the address of DHCP"
  inside systemctl stop systemd-networkd
  kill $dnsmasq && wait $dnsmasq
  network ip addr replace 10.77.0.1/24 dev nic0 && network ip link set nic0 up
}
has_lease() { network ip -4 -o addr show nic0 | has '10\.77\.0\.1[0-9][0-9]/'; }

# Another user than the packaged unit's, over shared memory, by the hosts file [S-56].
check_user_over_shm() {
  set_in unit.toml listen '["udp://0.0.0.0:7471", "shm://lab"]'
  set_in unit.toml hosts '"/etc/splitnic/hosts.toml"'
  printf '[hosts.lab]\nuid = 65534\n' >>"$work/machine/etc/splitnic/hosts.toml"
  inside systemctl restart splitnic-iou@unit || fail "the I/O unit does not restart"
  inside systemd-run --quiet --unit=lab --uid=nobody -p RuntimeDirectory=lab -p CapabilityBoundingSet= /usr/bin/splitnic-host \
    --connect shm://lab --tap file:,/run/lab/out.pcap --name lab --control /run/lab/lab.sock || fail "the user's host does not start"
  wait_until 10 lab_is_up || fail "the user's host is not attached: $(inside journalctl -q -u lab)"
  inside systemctl stop lab && equal "the stop of the user's host" "$(inside systemctl show -P Result lab)" success
  sed -i 's/^uid = 65534/uid = 65533/' "$work/machine/etc/splitnic/hosts.toml"
  inside systemctl reload splitnic-iou@unit || fail "no reload"
  splitnic peers --json --control /run/splitnic/unit.sock | has '"uid":65533' || fail "the reload did not read the file"
  wait_until 10 ping_lan || fail "the LAN does not respond after the restart"
}
lab_is_up() { splitnic show --json --control /run/lab/lab.sock | has '"state":"up"'; }

index_of() { network ip -o link show "$1" | grep -oE '^[0-9]+' || fail "no $1"; }

check_upgrade() {
  local host iou index switch before
  wait_until 10 programs_have 0.0.9 || fail "the old programs are not those that run"
  host=$(pid_of splitnic-host@nic0) iou=$(pid_of splitnic-iou@unit) index=$(index_of nic0) switch=$(pid_of splitnic-switch@sw1)
  before=$(carrier_losses) || fail "no nic0"
  pings_begin
  # shellcheck disable=SC2046
  apt_get -o Dpkg::Options::=--force-confold install $(debs new)
  pings_end "upgrade of all packages by apt"
  # Both programs restart, one after the other. [F-46]
  [ "$gap" -le $((3000 + 20 * empty)) ] || fail "the upgrade takes too long"
  carrier_stayed "upgrade of all packages by apt" "$before" splitnic-host@nic0 splitnic-iou@unit
  [ "$away" -le $((1000 + 10 * empty)) ] || fail "the upgrade stops a service for $away ms"
  inside dpkg -s splitnic-host | has "^Version: $package_version\$" || fail "not the new version"
  wait_until 10 is_active splitnic-host@nic0 && wait_until 10 is_active splitnic-iou@unit || fail "the services do not run"
  [ "$(pid_of splitnic-host@nic0)" != "$host" ] && [ "$(pid_of splitnic-iou@unit)" != "$iou" ] || fail "the old programs still run"
  wait_until 10 is_active splitnic-switch@sw1 && [ "$(pid_of splitnic-switch@sw1)" != "$switch" ] || fail "the switch was not restarted"
  wait_until 10 ping_lan || fail "the LAN does not respond after the upgrade"
  wait_until 10 programs_have "$programs_version" || fail "the new programs are not those that run: $(splitnic show unit --json)"
  equal "version of debian/changelog" "splitnic $programs_version" "$(splitnic --version)"
  equal "the interface" "$(index_of nic0)" "$index"
  grep -q '^key-file = ' "$work/machine/etc/splitnic/nic0.toml" || fail "the settings were replaced"
  equal "enabled after the upgrade" "$(state_of splitnic-host@nic0)" enabled
}

# A stop removes the interface, unless the settings keep it.
check_stop() {
  inside systemctl stop splitnic-host@nic0 || fail "the host does not stop"
  wait_until 5 is_gone nic0 || fail "nic0 is left after a stop"
  set_in nic0.toml keep-tap true
  inside systemctl start splitnic-host@nic0 && inside systemctl stop splitnic-host@nic0 || fail "the host does not start and stop"
  ! is_gone nic0 || fail "keep-tap = true does not keep nic0"
  inside systemctl start splitnic-host@nic0 || fail "the host does not start with the interface that was kept"
}

# docs/recipes.md: nic0 in another network namespace, which the unit permits with a drop-in, and with the capability alone does not.
check_netns() {
  local drop_in=/etc/systemd/system/splitnic-host@nic0.service.d/override.conf
  inside systemctl stop splitnic-host@nic0 && network ip link del nic0 || fail "nic0 cannot be deleted"
  inside mkdir -p /run/netns "${drop_in%/*}" && inside touch /run/netns/pod && inside unshare --net=/run/netns/pod true || fail "no namespace"
  set_in nic0.toml netns '"pod"'
  bash "$here/recipes.sh" --print $drop_in >"$work/drop-in" || fail "no recipe"
  grep -v RestrictNamespaces "$work/drop-in" >"$work/machine$drop_in"
  inside systemctl daemon-reload
  ! inside systemctl start splitnic-host@nic0 2>/dev/null || fail "the unit enters a namespace without RestrictNamespaces="
  wait_until 5 logged splitnic-host@nic0 'also with RestrictNamespaces=net' || fail "the log does not name RestrictNamespaces"
  inside systemctl stop splitnic-host@nic0
  cp "$work/drop-in" "$work/machine$drop_in"
  inside systemctl daemon-reload
  inside systemctl start splitnic-host@nic0 || fail "the host does not start with --netns"
  has_given_up splitnic-host@nic0
  wait_until 10 is_connected || fail "not connected with --netns"
  is_gone nic0 || fail "nic0 is in the namespace of the service"
  inside nsenter --net=/run/netns/pod grep -q '^ *nic0:' /proc/thread-self/net/dev || fail "nic0 is not in the namespace"
}
is_gone() { ! network ip link show "$1" >/dev/null 2>&1; }

# Each line has its own priority in the journal, as `journalctl -p` selects it. The journal gives all lines of one stream the priority
# SyslogLevel= except those that begin with another one. So what differs in the stream of a program is from the program; what systemd itself
# logs about the service is left out.
check_log() {
  equal "priority of lines that begin with none" "$(inside systemctl show -P SyslogLevel splitnic-host@nic0)" 6
  read_log splitnic-host@nic0
  log_has info 'connected to the I/O unit' 'is up as nic0' 'it has carrier'
  log_has warning 'does not permit promiscuous mode'
  log_has err 'also with RestrictNamespaces=net'
  read_log splitnic-iou@unit
  log_has info 'host nic0 attached' 'is up as unit'
  log_has warning 'may not use promiscuous mode'
}
# read_log SERVICE: for log_has, what it has logged with each priority.
read_log() {
  local priority
  for priority in info warning err; do
    inside journalctl --no-pager -q -o cat -p $priority..$priority _TRANSPORT=stdout "_SYSTEMD_UNIT=$1.service" >"$work/log.$priority"
  done
  ! grep '^<[0-7]>' "$work"/log.* || fail "the journal does not read the priorities of $1"
}
# log_has PRIORITY TEXT...: each text is in the log, always with this priority.
log_has() {
  local wanted=$1 priority text
  shift
  for text in "$@"; do
    for priority in info warning err; do
      if [ $priority = "$wanted" ]; then
        grep -qF -- "$text" "$work/log.$priority" || fail "no line with priority $priority: $text"
      else
        ! grep -F -- "$text" "$work/log.$priority" || fail "a line with priority $priority in place of $wanted"
      fi
    done
  done
}

# Each package takes what is its own: the host goes first, and the services of the other two keep running, with their state.
check_removal() {
  local state=$work/machine/var/lib/splitnic
  inside dpkg -P splitnic-host >/dev/null || fail "dpkg -P splitnic-host"
  ! is_active splitnic-host@nic0 || fail "the host runs without its package"
  is_active splitnic-iou@unit && is_active splitnic-switch@sw1 || fail "other services have ended with the host's package"
  [ -d "$state/unit" ] && [ -d "$state/sw1" ] || fail "the state of other packages is gone: $(ls "$state")"
  apt_get remove splitnic-iou splitnic-tools
  ! is_active splitnic-iou@unit && ! is_active splitnic-switch@sw1 || fail "a service runs without its package"
  [ ! -e "$work/machine/usr/bin/splitnic-iou" ] && [ ! -e "$work/machine/usr/bin/splitnic-switch" ] || fail "a program is left"
  [ -e "$work/machine/etc/splitnic/unit.toml" ] && [ -e "$state" ] || fail "the settings or the state are gone"
  inside dpkg -P splitnic-iou splitnic-tools >/dev/null || fail "dpkg -P"
  [ ! -e "$work/machine/etc/splitnic/nic0.toml" ] && [ ! -e "$state" ] || fail "something is left"
  [ -e "$work/machine/etc/splitnic/nic0.key" ] || fail "the administrator's key is gone"
}

step "packages" && build_packages && make_old_packages
step "dissector" && check_dissector
step "library" && check_library
step "clean root" && make_root
step "boot" && boot "$work/machine"
# shellcheck disable=SC2046
step "install of the version before" && apt_get install $(debs old) && check_installed && check_samples
step "services" && make_lan && configure && check_services
step "restart" && check_restart
step "watchdog" && check_watchdog
step "announcements" && check_announcements
step "systemd-networkd" && check_networkd
step "a user's host over shm" && check_user_over_shm
step "upgrade" && check_upgrade
step "stop" && check_stop
step "network namespace" && check_netns
step "log" && check_log
step "removal" && check_removal
step "packages: ok"
