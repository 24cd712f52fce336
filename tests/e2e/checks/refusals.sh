# shellcheck shell=bash
# Peers that do not go together: one line that names the cause and the remedy, once, and it recovers automatically.

# That there are more queues than processors is no matter of these checks.
warnings_of() { grep -E ' (warning|error) ' "$work/$1.log" | grep -v "data threads share"; }
warns() { [ -n "$(warnings_of "$1")" ]; }

# warns_once WHO SECONDS WORDS...: within that time one warning with all the words, and in that time no second.
warns_once() {
  local who=$1 seconds=$2 word lines
  shift 2
  wait_until "$seconds" warns "$who" || fail "$who reports nothing"
  sleep 1.5
  lines=$(warnings_of "$who")
  [ "$(wc -l <<<"$lines")" = 1 ] || fail "$who reports more than one line: $lines"
  for word in "$@"; do grep -qF -- "$word" <<<"$lines" || fail "no word of '$word': $lines"; done
  echo "$lines"
}

# heals WHAT: the host that was refused comes up without being touched.
heals() { within "$1" 10000 is_up host; }

check_profile() {
  topology_three || fail "the test hosts cannot be made"
  start_iou
  wait_up iou
  start_host --link-profile full
  warns_once host 15 profile --link-profile 10.99.0.2:7471
  stop iou TERM
  start_iou --link-profile full
  heals "up with the same profile at both ends"
}

# A host whose peer has no socket yet warns of that first.
takes_datagrams() { [ -n "$(in_ns "$ns_iou" ss -Hlun "sport = :$1")" ]; }

# A peer of another version: the one that replies is made by hand.
check_version() {
  plain
  topology_three || fail "the test hosts cannot be made"
  start stranger "$ns_iou" "$python" "$e2e/tool.py" refuse "${iou_address##*:}" 1
  wait_until 20 takes_datagrams "${iou_address##*:}" || fail "the stranger has no socket"
  start_host
  warns_once host 15 version "same release" 10.99.0.2:7471
  stop stranger
  start_iou
  heals "up with a unit of the same version"
}

check_busy() {
  topology_three || fail "the test hosts cannot be made"
  start_iou --max-hosts 1
  local identity
  identity_of second
  start hostb "$ns_host" "$bin/splitnic-host" --connect "udp://$iou_address" --tap nic1 "${identity[@]}" --name hostb \
    --control "$work/hostb.sock" "${more_host_options[@]}"
  wait_up hostb
  start_host
  warns_once host 15 busy --max-hosts 10.99.0.2:7471
  stop hostb TERM
  heals "up when the other has left"
}

# Who is not named by --allow gets no reply at all, and its log names the possible reasons; so does a host that calls nobody.
check_silence() {
  topology_three || fail "the test hosts cannot be made"
  start_iou --allow 10.1.0.0/16
  wait_up iou
  start_host
  warns_once host 15 "no reply" --allow 10.99.0.2:7471
  [ "$(counter iou iou.allow.drop.address)" -gt 0 ] || fail "the unit does not count whom it does not allow"
  stop iou TERM
  start_iou --allow 10.99.0.1
  heals "up when the unit allows it"
}

# A unit that was started with a mode speaks no other.
check_mode() {
  topology_three || fail "the test hosts cannot be made"
  start_iou --mode send
  wait_up iou
  start_host
  warns_once host 15 mode --mode
  stop iou TERM
  start_iou
  heals "up with a unit that takes either mode"
  ask host show --json | has '"mode":"rdma"' || fail "not rdma"
}
