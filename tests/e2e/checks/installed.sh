# shellcheck shell=bash
# What `cmake --install` puts in place, used from there: programs, units with their own command lines, man pages.

# Not the prefix of CMake's default, so that a path which is fixed when CMake configures is found. [B-11]
prefix=/usr settings=/etc/splitnic

# The unit's ExecStart with another root and an instance: $root, $2.
command_of() {
  sed -n "s|%i|$2|g; s|^ExecStart=||p" "$1" | sed "s|$prefix/bin/|$root&|g; s|$settings/|$root&|g"
}

# The units name the folders of the prefix, and no installed text but the pages for users names those of the default.
verify_paths() {
  local program unit
  for program in splitnic-host splitnic-iou splitnic-switch; do
    unit=$units/$program@.service
    grep -q "^ExecStart=$prefix/bin/$program --config $settings/%i.toml --name %i\$" "$unit" || fail "$unit starts $(grep ExecStart "$unit")"
    grep -q "^ExecReload=$prefix/bin/splitnic reload %i\$" "$unit" || fail "$unit reloads by $(grep ExecReload "$unit")"
  done
  ! grep -rI --exclude-dir=doc /usr/local "$root" >"$work/paths" || fail "another prefix: $(cat "$work/paths")"
}

# A root with the few targets that units speak of, so that systemd-analyze can load them.
verify_units() {
  local target unit output
  mkdir -p "$root/usr/lib/systemd/system"
  for target in sysinit basic shutdown network-online multi-user; do
    printf '[Unit]\nDescription=%s\n' $target >"$root/usr/lib/systemd/system/$target.target"
  done
  for unit in splitnic-host splitnic-iou splitnic-switch; do
    [ -f "$units/$unit@.service" ] || fail "no unit of $unit"
    output=$(systemd-analyze verify "--root=$root" --man=no "${units#"$root"}/$unit@lab.service" 2>&1) && [ -z "$output" ] ||
      fail "systemd-analyze verify $unit: $output"
  done
  echo "units verified"
}

# systemd's own count of what a unit leaves open: 0.0 to 10.0.
check_exposure() {
  topology_three || fail "the test hosts cannot be made"
  install_programs
  local unit output
  for unit in splitnic-host splitnic-iou splitnic-switch; do
    output=$(systemd-analyze security --no-pager --offline=true --threshold=20 "$units/$unit@.service" 2>&1) ||
      fail "$unit is exposed: $output"
    [[ $output != *ignoring* ]] || fail "$unit: $output"
    tail -n 1 <<<"$output" | has "Overall exposure level for $unit" || fail "$unit: no exposure: $output"
    tail -n 1 <<<"$output"
    grep -q '^User=splitnic$' "$units/$unit@.service" || fail "$unit runs as root"
  done
  # A threshold that cannot be met shows that one is applied.
  systemd-analyze security --no-pager --offline=true --threshold=5 "$units/$unit@.service" >/dev/null 2>&1 &&
    fail "no threshold is applied"
  grep -q '^u splitnic ' "$root$prefix/lib/sysusers.d/splitnic.conf" || fail "nobody makes the user"
}

# commands_of COMMAND...: those below it in the help of splitnic, with all words, one per line.
commands_of() {
  local word
  for word in $("$bin/splitnic" "$@" --help | awk '/^Subcommands:/ { found = 1; next } found && NF { print $1 }'); do
    echo "$*${*:+ }$word"
    commands_of "$@" "$word"
  done
}

# part_of PAGE COMMAND: what the page has of the command, in its synopsis and in its paragraph with all options below it.
part_of() {
  sed 's/\\-/-/g' "$1" | awk -v command="$2" '
    /^\.(SH|br)/ { inside = 0 }
    /^\.RS/ { ++depth }
    /^\.RE/ { --depth }
    /^\.TP/ && !depth { inside = 0; tag = 1; next }
    tag { sub(/^\\fB/, ""); name = $0; sub(/ *\\f.*/, "", name); inside = name == command; tag = 0 }
    /^\.B splitnic / { name = substr($0, 13); inside = name == command || index(name, command " --") == 1 }
    inside'
}

# Each long option of a command of splitnic is in what the page has of that command.
verify_commands() {
  local page command option
  page=$(find "$root" -name splitnic.1)
  commands_of >"$work/commands"
  [ "$(wc -l <"$work/commands")" -gt 25 ] || fail "few commands: $(cat "$work/commands")"
  while read -r command; do
    part_of "$page" "$command" >"$work/part"
    # shellcheck disable=SC2086
    for option in $("$bin/splitnic" $command --help | grep -oE -- '^ *(-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
      [ "$option" = --help ] || grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" "$work/part" || echo "$option of splitnic $command"
    done
  done <"$work/commands" >"$work/missing"
  [ ! -s "$work/missing" ] || fail "not in the page of splitnic: $(paste -sd, "$work/missing")"
  # Each command but one with commands below it.
  while read -r command; do
    part_of "$page" "$command" | has . || grep -q "^$command " "$work/commands" || fail "the page has nothing of splitnic $command"
  done <"$work/commands"
  echo "$(wc -l <"$work/commands") commands verified"
}

verify_pages() {
  local page program option output
  for program in splitnic splitnic-host splitnic-iou splitnic-switch; do
    page=$(find "$root" -name "$program.[18]")
    [ -f "$page" ] || fail "no man page of $program"
    output=$(groff -man -Tutf8 -ww -z "$page" 2>&1) && [ -z "$output" ] || fail "$page: $output"
    # Each long option of --help has its place in the page.
    groff -man -Tascii -P-c -P-b -P-u "$page" >"$work/page.txt" 2>/dev/null
    for option in $("$root$prefix/bin/$program" --help | grep -oE -- '^ *(-[a-zA-Z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
      grep -q -- "$option" "$work/page.txt" || fail "$option is not in the page of $program"
    done
  done
  page=$(find "$root" -name splitnic-counters.7)
  [ -f "$page" ] || fail "no man page of the counters"
  output=$(groff -man -Tutf8 -ww -z "$page" 2>&1) && [ -z "$output" ] || fail "$page: $output"
  echo "pages rendered without a warning"
}

# From a topology to results.
verify_simulator() {
  "$bin/splitnic" sim --make fattree:4 >"$work/tree.toml" || fail "no topology is made"
  "$bin/splitnic" sim "$work/tree.toml" --fail spine0@50us --duration 200us --json "$work/sim.json" --svg "$work/sim.svg" >"$work/sim.log" ||
    fail "the simulation fails"
  grep -q '^deadlock *none' "$work/sim.log" || fail "a tree has a deadlock: $(cat "$work/sim.log")"
  [ -s "$work/sim.json" ] && grep -q '</svg>' "$work/sim.svg" || fail "the simulator writes no results"
  echo "simulated"
}

# completes WORDS... : what bash offers for the last of the words, in one line.
completes() {
  bash -c '. "$0/share/bash-completion/completions/splitnic" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _splitnic &&
    printf "%s\n" "${COMPREPLY[@]}"' "$prefix" "$@" | sort | paste -sd' '
}

# Completion finds in --help what there is, in each shell.
check_completion() {
  topology_three || fail "the test hosts cannot be made"
  local prefix=$work/prefix program
  cmake --install "$bin/.." --prefix "$prefix" >"$work/install.log" 2>&1 || fail "cmake --install"
  PATH=$prefix/bin:$PATH
  equal "commands" "$(completes splitnic sho)" show
  equal "words of a command" "$(completes splitnic set "")" "filter link mac mtu"
  equal "options of a command" "$(completes splitnic show --j)" --json
  equal "commands of a command" "$(completes splitnic capture st)" "start stop"
  equal "options of those" "$(completes splitnic capture start --ri)" --ring
  equal "words of an option" "$(completes splitnic-iou --payload-crc "")" "auto off on"
  equal "words of a described option" "$(completes splitnic-host --log-level "")" "debug error info warn"
  equal "interfaces" "$(in_ns "$ns_host" bash -c "$(declare -f completes); prefix=$prefix; completes splitnic-iou --lan f")" fab0
  equal "files" "$(cd "$prefix" && completes splitnic-iou --config sha)" share
  equal "options" "$(completes splitnic-host --fab)" --fabric-dev
  for program in splitnic-host splitnic-iou; do
    equal "all options of $program" "$(completes $program - | tr ' ' '\n' | wc -l)" \
      "$("$prefix/bin/$program" --help | grep -cE -- '^ *(-[a-zA-Z],)?--[a-z]')"
  done
  fish --no-config -c ". $prefix/share/fish/vendor_completions.d/splitnic.fish; complete -C 'splitnic set m'" >"$work/fish" || fail "fish"
  equal "fish" "$(sort "$work/fish" | paste -sd' ')" "mac mtu"
  # The function as zsh calls it; the last word is empty. What draws the list is zsh's own.
  zsh -f -c '_describe() { print -rl -- "${(@P)argv[-1]%%:*}" }; words=(splitnic-host --payload-crc ""); CURRENT=3; . "$0"' \
    "$prefix/share/zsh/site-functions/_splitnic" >"$work/zsh" || fail "zsh"
  equal "zsh" "$(sort "$work/zsh" | paste -sd' ')" "auto off on"
}

is_notified_of() { grep -qs "$1" "$work/$2.log"; }

# under_manager NAME NS TOML...: the unit's command line, with a config file of the TOML lines and a NOTIFY_SOCKET.
under_manager() {
  local name=$1 ns=$2
  shift 2
  mkdir -p "$root$settings"
  printf '%s\n' "$@" "control = \"$work/$name.sock\"" >"$root$settings/$name.toml"
  start "notify-$name" "$ns" "$python" "$e2e/tool.py" notified "$work/notify.$name"
  wait_until 10 test -S "$work/notify.$name" || fail "no socket for notifications"
  # shellcheck disable=SC2046
  start "$name" "$ns" env "NOTIFY_SOCKET=$work/notify.$name" $(command_of "$units/splitnic-$name@.service" "$name")
  wait_until 10 is_notified_of READY=1 "notify-$name" || fail "$name did not report READY=1"
}

install_programs() {
  root=$work/root
  DESTDIR=$root cmake --install "$bin/.." --prefix $prefix >"$work/install.log" 2>&1 || fail "cmake --install"
  units=$(dirname "$(find "$root" -name 'splitnic-iou@.service')")
}

check_installed() {
  topology_three || fail "the test hosts cannot be made"
  install_programs
  bin=$root$prefix/bin
  local program
  for program in splitnic splitnic-host splitnic-iou splitnic-switch; do
    [[ $("$bin/$program" --version) =~ [0-9]+\.[0-9]+ ]] || fail "$program --version"
    "$bin/$program" --help | has -i usage || fail "$program --help"
  done
  verify_paths
  verify_units
  verify_pages
  verify_commands
  verify_simulator
  make_keys unit host
  under_manager iou "$ns_iou" "lan = [\"$port:lan0\"]" "listen = [\"udp://$iou_address\"]" "key-file = \"$work/unit.key\"" \
    "allow-key = [\"$(public host)\"]"
  under_manager host "$ns_host" "connect = \"udp://$iou_address\"" 'tap = "nic0"' "key-file = \"$work/host.key\"" \
    "peer = \"$(public unit)\""
  nic_up
  ping_all "$ns_host" 10.77.0.2 50
  [[ $(ask host show) =~ host ]] || fail "show does not contain the name of --name"
  stop host TERM && stop iou TERM || fail "not a clean stop"
  wait_until 10 is_notified_of STOPPING=1 notify-host || fail "host did not report STOPPING=1"
  wait_until 10 is_notified_of STOPPING=1 notify-iou || fail "iou did not report STOPPING=1"
}

# The sample settings, which are those of the package, with what is missing in them, under a service manager that keeps a descriptor: nic0 stays over
# a restart and a crash, with its address and its bridge, and goes with a stop; with keep-tap it stays.
check_kept() {
  topology_three || fail "the test hosts cannot be made"
  install_programs
  make_keys unit host
  start_iou
  { cat "$(find "$root" -name nic0.toml)" && printf '%s\n' "connect = \"udp://$iou_address\"" "key-file = \"$work/host.key\"" \
    "peer = \"$(public unit)\"" "control = \"$work/host.sock\""; } >"$work/nic0.toml"
  local store
  store=$(sed -n 's/^Environment=//p' "$units/splitnic-host@.service")
  equal "the store of the unit" "$(grep -c '^FileDescriptorStoreMax=1$' "$units/splitnic-host@.service") $store" "1 FDSTORE=1"
  start_service "$store"
  nic_up
  ip -n "$ns_host" link add br0 type bridge && ip -n "$ns_host" link set nic0 master br0 || fail "no bridge"
  restarted_service USR1 "$(pgrep -P "${pid_of[service]}")"
  restarted_service KILL "$(pgrep -P "${pid_of[service]}")"
  ip -n "$ns_host" link del br0 && ping_all "$ns_host" 10.77.0.2 20
  ask_as_usual "$ns_host" nic0
  gaps_within "restarts by the service manager" 500 5000 restart_under_pings
  stop service TERM 10 || fail "not a clean stop"
  in_ns "$ns_host" test ! -e /sys/class/net/nic0 || fail "nic0 is left after a stop"
  sed -i 's/^#keep-tap = true$/keep-tap = true/' "$work/nic0.toml"
  start_service "$store"
  stop service TERM 10 || fail "not a clean stop"
  in_ns "$ns_host" test -e /sys/class/net/nic0 || fail "keep-tap = true does not keep nic0"
  # From a version without the store: the interface is adopted, and from then on the service takes it along.
  sed -i 's/^keep-tap = true$/#keep-tap = true/' "$work/nic0.toml"
  start_service "$store"
  stop service TERM 10 || fail "not a clean stop"
  in_ns "$ns_host" test ! -e /sys/class/net/nic0 || fail "an adopted nic0 is left after a stop"
  kept_in_a_container
  # Other settings: the interface that was kept goes.
  start_service "$store"
  sed -i 's/^#tap = .*/tap = "nic1"/' "$work/nic0.toml"
  restart_service USR1 "$(pgrep -P "${pid_of[service]}")"
  wait_until 10 in_ns "$ns_host" test ! -e /sys/class/net/nic0 || fail "nic0 is left though the settings name nic1"
  wait_until 10 in_ns "$ns_host" test -e /sys/class/net/nic1 || fail "no nic1"
  stop service TERM 10 || fail "not a clean stop"
}

# Moved to another network namespace, where the program can set nothing.
kept_in_a_container() {
  local index pod=sn$$-p
  start_service "$store"
  wait_up host
  host_namespace "$pod" && ip -n "$ns_host" link set nic0 netns "$pod" || fail "nic0 cannot be moved"
  silence_interface "$pod" nic0
  ip -n "$pod" addr add 10.77.0.1/24 dev nic0 && ip -n "$pod" link set nic0 up || fail "nic0 cannot be set up in the container"
  wait_until 10 in_ns "$pod" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "no traffic from the container"
  index=$(in_ns "$pod" cat /sys/class/net/nic0/ifindex)
  restart_service USR1 "$(pgrep -P "${pid_of[service]}")"
  wait_up host
  equal "the index of nic0 in the container" "$(in_ns "$pod" cat /sys/class/net/nic0/ifindex)" "$index"
  wait_until 10 in_ns "$pod" ping -q -c 1 -W 1 10.77.0.2 >/dev/null || fail "no traffic from the container after a restart"
  stop service TERM 10 || fail "not a clean stop"
  in_ns "$pod" test ! -e /sys/class/net/nic0 || fail "nic0 is left in the container after a stop"
}

# start_service STORE: the host with the settings of the check, under a manager that keeps a descriptor if STORE names the store.
start_service() {
  rm -f "$work/manager"
  start service "$ns_host" env "$1" "$python" "$e2e/service_manager.py" "$work/manager" "$root$prefix/bin/splitnic-host" --config "$work/nic0.toml"
  wait_until 10 is_ready_times 1 || fail "the service is not ready"
}
is_ready_times() { [ "$(grep -c '^ready$' "$work/service.log")" -ge "$1" ]; }

# restart_service USR1|KILL PID: by the manager, which ends that process and starts the next, or by the end of the process.
restart_service() {
  local ready
  ready=$(grep -c '^ready$' "$work/service.log")
  if [ "$1" = KILL ]; then kill -KILL "$2"; else kill -USR1 "${pid_of[service]}"; fi
  wait_until 10 is_ready_times $((ready + 1)) || fail "the service is not ready again"
}

# Its carrier stays, and its neighbours with it.
restart_under_pings() {
  local losses
  losses=$(in_ns "$ns_host" cat /sys/class/net/nic0/carrier_down_count)
  pings_begin
  restart_service USR1
  pings_end "a restart by the service manager"
  equal "losses of the carrier" "$(in_ns "$ns_host" cat /sys/class/net/nic0/carrier_down_count)" "$losses"
}

# events_have ALIAS: gives lo that alias and another MTU, which is an event behind all before it; has the monitor printed one of these?
events_have() {
  ip -n "$ns_host" link set lo alias "$1"
  ip -n "$ns_host" link set lo mtu 65535
  ip -n "$ns_host" link set lo mtu 65536
  grep -q "alias $1" "$work/events.log"
}

# The interface is the same one, and was there all the time.
restarted_service() {
  local index
  index=$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)
  start events "$ns_host" ip -d monitor link
  wait_until 10 events_have "before_$1" || fail "no events of interfaces"
  restart_service "$@"
  wait_up host
  wait_until 10 events_have "after_$1" || fail "no events of interfaces any more"
  stop events TERM
  equal "deletions of nic0 at SIG$1" "$(grep -c '^Deleted.*nic0' "$work/events.log")" 0
  equal "the index of nic0 after SIG$1" "$(in_ns "$ns_host" cat /sys/class/net/nic0/ifindex)" "$index"
  ip -n "$ns_host" -o link show nic0 | has ' master br0 ' || fail "nic0 has left its bridge"
  ip -n "$ns_host" -o addr show nic0 | has ' 10\.77\.0\.1/24 ' || fail "nic0 has lost its address"
}
