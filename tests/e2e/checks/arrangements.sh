# shellcheck shell=bash
# What the seed leaves open, as options of the programs: how writes are indicated, how the channels are connected, what a pool is
# for, and the end of one pool.

# shown WHO EXPRESSION: of `show --json`, as the dictionary s.
shown() { ask "$1" show --json | "$python" -c "import json, sys; s = json.load(sys.stdin); print($2)"; }
of_peer() { shown "$1" "s['peers'][0].get('$2')"; }

traffic() {
  ping_all "$ns_host" 10.77.0.2 100
  files_both_ways 4
}

# idata FORM COUNTER OTHER: both sides request the form, and only that counter counts.
idata() {
  iou_options=(--idata "$1" --queues 1) host_options=(--idata "$1" --queues 1)
  bring_up
  local who way
  for who in host iou; do
    for way in in out; do equal "idata_$way of $who" "$(of_peer $who idata_$way)" "$1"; done
  done
  traffic
  for who in host iou; do
    [ "$(counter $who "$2")" -ge 150 ] || fail "$2 of $who: $(counter $who "$2")"
    equal "$3 of $who" "$(counter $who "$3")" 0
  done
}
check_idata_offset() { idata offset msg.rx.writes msg.rx.indicated; }
check_idata_message() { idata message msg.rx.indicated msg.rx.writes; }

# The two directions need not agree.
check_idata_mixed() {
  iou_options=(--idata message --queues 1) host_options=(--idata offset --queues 1)
  bring_up
  equal "idata of the host" "$(of_peer host idata_in) $(of_peer host idata_out)" "offset message"
  equal "idata of the unit" "$(of_peer iou idata_in) $(of_peer iou idata_out)" "message offset"
  traffic
}

# channels_of_both_are CHANNELS COUNT: as both programs show them.
channels_of_both_are() {
  local who
  for who in host iou; do
    equal "channels of $who" "$(of_peer $who channels) $(shown $who "len(s['channels'])")" "$1 $2"
  done
}

# Messages and frames share a queue pair.
check_one_channel() {
  host_options=(--channels 1 --queues 1) iou_options=(--queues 1)
  bring_up
  channels_of_both_are 1 1
  traffic
  ask host ping --count 3 >/dev/null || fail "no echo over the channel"
  stop iou KILL
  start_iou
  within "replies after the unit's kill" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
}

check_separate_connections() {
  host_options=(--mode send --channels separate --queues 1) iou_options=(--queues 1)
  bring_up
  channels_of_both_are separate 2
  traffic
  equal "RDMA writes" "$(counter host msg.tx.writes)$(counter iou msg.tx.writes)" 00
  refuses 2 "1 is for --mode rdma" "$bin/splitnic-host" --connect shm://x --mode send --channels 1
  refuses 2 "separate is for --mode send" "$bin/splitnic-host" --connect shm://x --channels separate
}

# frames_of CONTEXT: frames in the host's pools of this context.
frames_of() { shown host "sum(p['frames'] for p in s['pools'] if p['side'] == 'own' and p.get('context', '') == '$1')"; }

# The page comes from port 80 of the LAN into the pool that is for it; pings do not.
check_pool_context() {
  host_options=(--pool 256x2048 --pool 64x65536 --pool "64x65536,source-port=80,source=10.77.0.2" --queues 1)
  iou_options=(--queues 1)
  bring_up
  local context="source-port=80,source=10.77.0.2" before after
  ping_all "$ns_host" 10.77.0.2 100
  equal "frames of the pool before the page" "$(frames_of "$context")" 0
  make_blob 1
  wanted=$(hash_of "$work/www/blob")
  before=$(frames_of "")
  serve_and_fetch "$ns_lan" "$ns_host" 10.77.0.2 "the file from the LAN"
  after=$(frames_of "")
  echo "frames of the page: $(frames_of "$context"), of all other pools meanwhile: $((after - before))"
  [ "$(frames_of "$context")" -ge 16 ] || fail "the page did not come into its pool"
  [ $((after - before)) -le 20 ] || fail "the page came into other pools"
  # The last frames of the page have come when its connection has ended, and are in front of the reply to one more ping.
  wait_until 20 no_connection || fail "the connection of the page does not end"
  ping_all "$ns_host" 10.77.0.2 1
  before=$(frames_of "$context")
  ping_all "$ns_host" 10.77.0.2 100
  equal "frames of the pool after pings" "$(frames_of "$context")" "$before"
}

# references WHO SIDE SIZE: the pools of that side.
references() { shown "$1" "*(p['ref'] for p in s['pools'] if p['side'] == '$2' and p['size'] == $3)"; }
has_pool() { [ -n "$(references "$@")" ]; }
gone() {
  local left
  left=$(references "$1" "$2" 2048) && [ -z "$left" ]
}

check_flush() {
  host_options=(--pool 64x2048 --pool 64x65536 --queues 1) iou_options=("${host_options[@]}")
  bring_up
  local own theirs
  wait_until 20 has_pool host own 2048 && wait_until 20 has_pool host peer 2048 || fail "no pools of 2048 bytes"
  own=$(references host own 2048) theirs=$(references host peer 2048)
  ask host flush "$own" || fail "flush of an own pool"
  wait_until 20 gone host own || fail "the pool is still there"
  wait_until 20 gone iou peer || fail "the unit still knows the pool"
  ask iou flush "$theirs" --peer hosta || fail "flush at the unit"
  wait_until 20 gone host peer || fail "the host still knows the pool"
  traffic
  refuses 1 "no pool $own" "$bin/splitnic" flush "$own" --control "$work/host.sock"
  refuses 1 "is the last" "$bin/splitnic" flush "$(references host own 65536)" --control "$work/host.sock"
  refuses 1 "is the last" "$bin/splitnic" flush --theirs "$(references host peer 65536)" --control "$work/host.sock"
  refuses 1 "no queue 7" "$bin/splitnic" flush 0 --queue 7 --control "$work/host.sock"
  refuses 1 "no host 'nobody'" "$bin/splitnic" flush 0 --peer nobody --control "$work/iou.sock"
  equal "what the peers refused" "$(counter host msg.drop.state)$(counter iou msg.drop.state)" 00
}
