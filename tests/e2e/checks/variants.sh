# shellcheck shell=bash
# The same traffic in other ways: small cells, messages in place of writes, shared memory in place of UDP, ...

# all_of_it MIB
all_of_it() {
  ping_all "$ns_host" 10.77.0.2 200
  ping_all "$ns_lan" 10.77.0.1 200
  files_both_ways "$1"
  throughput
  quieten
  replay_both_ways
}

mode() { ask host show --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["peers"][0]["mode"])'; }

check_cell_256() {
  iou_options=(--cell 256) host_options=(--cell 256)
  bring_up
  # A frame of 1514 bytes is six cells of at most 256.
  local before cells
  before=$(counter host fabric.tx.cells)
  in_ns "$ns_host" ping -q -c 200 -i 0.002 -s 1472 10.77.0.2 >/dev/null || fail "ping"
  cells=$(($(counter host fabric.tx.cells) - before))
  echo "cells for 200 frames of 1514 bytes: $cells"
  [ $cells -ge 1200 ] || fail "the cells are larger than 256 bytes"
  all_of_it 8
}

check_send_mode() {
  iou_options=(--mode send) host_options=(--mode send)
  bring_up
  equal "mode" "$(mode)" send
  all_of_it 16
  equal "RDMA writes" "$(counter host msg.tx.writes)$(counter iou msg.tx.writes)" 00
  [ "$(counter host msg.tx.send_data)" -gt 1000 ] || fail "no SendData was counted"
}

check_shm() {
  fabric=shm
  bring_up
  ip -n "$ns_host" link del fab0  # there is no other way
  [ -n "$(memory_of_both)" ] || fail "the programs share no memory"
  all_of_it 48
}

# Milliseconds that the data thread of a program was on a processor or waited for one: what others take counts too.
awake_of() { awk '{ printf "%d", ($1 + $2) / 1000000 }' "/proc/${pid_of[$1]}/schedstat"; }

# Switches of speed change nothing of what arrives.
check_busy_poll() {
  # With a queue for each processor nobody may spin.
  iou_options=(--busy-poll --queues 1) host_options=(--busy-poll --queues 1)
  bring_up
  # Without traffic they continue to look; a program that sleeps takes next to nothing.
  local who before began share
  for who in host iou; do
    before=$(awake_of $who) began=$(milliseconds)
    sleep 1
    share=$((100 * ($(awake_of $who) - before) / ($(milliseconds) - began)))
    echo "$who was awake $share % of an idle second"
    [ $share -ge 50 ] || fail "$who sleeps with --busy-poll"
  done
  all_of_it 8
}

# All on one processor: a program that spun there would wait for those whom it keeps from running.
check_one_processor() {
  taskset -pc 0 $BASHPID >/dev/null || fail "no processor 0"
  iou_options=(--busy-poll) host_options=(--busy-poll)
  bring_up
  local who
  for who in host iou; do
    equal "lines about --busy-poll of $who" "$(grep -c "busy-poll is left out" "$work/$who.log")" 1
  done
  all_of_it 8
}

# Each datagram separately: as where the kernel has no UDP_SEGMENT and no UDP_GRO.
check_no_gso() {
  iou_options=(--no-gso) host_options=(--no-gso)
  bring_up
  all_of_it 8
  # Without GRO no batch has two datagrams. Keep-alives come all the time, so both are read at one moment.
  local datagrams batches
  read -r datagrams batches < <(counters iou link.rx.datagram link.rx.batch)
  [ "$batches" -gt 1000 ] || fail "hardly anything was received: $batches batches"
  equal "datagrams in the batches received" "$datagrams" "$batches"
}

# predicted_cells PROGRAM: the cells that it has sent and taken in runs.
predicted_cells() { counters "$1" fabric.tx.predicted fabric.rx.predicted; }

# Long frames leave and arrive in runs of cells, at both ends.
check_header_prediction() {
  if host_has --no-header-prediction; then
    check_no_header_prediction
    return
  fi
  bring_up
  all_of_it 8
  local program sent taken
  for program in host iou; do
    read -r sent taken < <(predicted_cells $program)
    [ "$sent" -gt 1000 ] || fail "cells that $program has sent in runs: $sent"
    [ "$taken" -gt 1000 ] || fail "cells that $program has taken in runs: $taken"
  done
}

check_no_header_prediction() {
  iou_options=(--no-header-prediction) host_options=(--no-header-prediction)
  bring_up
  all_of_it 8
  local program
  for program in host iou; do
    equal "cells of $program in runs" "$(predicted_cells $program)" "0 0"
  done
}

# As on systems without a packet socket: libpcap sends, frame by frame.
check_inject_pcap() {
  port_option=,inject=pcap
  bring_up
  equal "port" "$(ask iou show --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["lan"][0]["port"])')" \
    pcap:lan0,inject=pcap
  all_of_it 8
  local split
  split=$(counter iou lan.port.tx.split)
  echo "segments beyond the first of each super-frame: $split"
  [ "$split" -gt 1000 ] || fail "hardly any super-frame was segmented in software"
}

check_no_uso() {
  host_options=(--no-uso)
  bring_up
  all_of_it 8
  local features
  features=$(in_ns "$ns_host" ethtool -k nic0 | sed -nE 's/^ *tx-udp-segmentation: (on|off).*/\1/p')
  equal "UDP segmentation of nic0" "$features" off
}

# A little of everything, for builds that are slow: what sanitizers find ends a program, or makes it end with a status.
check_pass() {
  bring_up
  ping_all "$ns_host" 10.77.0.2 50
  files_both_ways 4
  stop host KILL
  start_host
  within "replies after the host's kill" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  stop iou KILL
  start_iou
  within "replies after the unit's kill" 20000 in_ns "$ns_host" ping -q -c 1 -W 1 10.77.0.2
  quieten
  replay_both_ways
  ! grep -lE "Sanitizer|runtime error" "$work"/*.log || fail "a sanitizer speaks"
}
