# shellcheck shell=bash
# scripts/demo.sh --offline: a capture crosses host module, shared-memory fabric and I/O unit, in both directions at
# once, and every record is compared with what came out. Needs no privilege, no git, no HOME and no network; writes
# to a temporary folder (or --out DIR) only. Sourced; $root is the tree.

# Hex digits on stdin, blanks allowed, as bytes on stdout.
bytes_of_hex() { tr -d ' \n' | sed 's/../\\x&/g' | while IFS= read -r text || [ -n "$text" ]; do printf '%b' "$text"; done; }

# frame_hex HEX LENGTH: padded to LENGTH bytes with a count.
frame_hex() {
  local head=${1// /} i
  printf '%s' "$head"
  for ((i = ${#head} / 2; i < $2; ++i)); do printf '%02x' $((i & 255)); done
  echo
}

# The frames of the capture that the demo makes: one line of hex each.
demo_frames() {
  local to=ffffffffffff a=020000000a01 b=020000000b02 ip
  frame_hex "$to $a 0806 0001 0800 0604 0001 $a 0a4d0001 000000000000 0a4d0002" 60               # ARP
  frame_hex "0180c200000e $a 88cc 0207 04 $a 0403 05 7031 0602 0078 0000" 60                     # LLDP
  frame_hex "0180c2000000 $a 0026 4242 03 0000 00 00 00 8000" 60                                 # 802.3 length (STP)
  frame_hex "$b $a 002e aaaa 03 00000c 2000" 60                                                  # 802.3 with SNAP
  ip="4500 05dc 1234 2000 4011 0000 0a4d0001 0a4d0002 1000 1001 0bb8 0000"
  frame_hex "$b $a 0800 $ip" 1514                                                                # first fragment
  ip="4500 05dc 1234 20b9 4011 0000 0a4d0001 0a4d0002"
  frame_hex "$b $a 0800 $ip" 1514                                                                # middle fragment
  ip="4500 001c 1234 0172 4011 0000 0a4d0001 0a4d0002"
  frame_hex "$b $a 0800 $ip" 60                                                                  # last fragment
  frame_hex "$b $a 88b5" 14                                                                      # the head only
  frame_hex "$b $a 88b5" 60                                                                      # minimum
  frame_hex "$b $a 88b5" 61
  frame_hex "$b $a 88b5" 1514                                                                    # maximum at MTU 1500
  frame_hex "$b $a 8100 0064 0806 0001 0800 0604 0001 $a 0a4d0001 000000000000 0a4d0002" 64      # VLAN
  frame_hex "$b $a 8100 e00a 88b5" 1518                                                          # VLAN, full, priority 7
  frame_hex "$b $a 88a8 0005 8100 0006 88b5" 64                                                  # QinQ
  frame_hex "$b $a 88a8 0005 8100 0006 88b5" 1522                                                # QinQ, full
  ip="6000 0000 0018 3aff fe80000000000000 00000000000000a1 ff02000000000000 00000000000000b2 8700 0000"
  frame_hex "3333ff0000b2 $a 86dd $ip" 78                                                        # IPv6 neighbour
}

# make_capture FILE ROUNDS
make_capture() {
  local frames line n=0 size
  frames=$(demo_frames)
  {
    printf 'd4c3b2a1 0200 0400 00000000 00000000 00000400 01000000'
    for ((n = 0; n < $2; ++n)); do
      while IFS= read -r line; do
        size=$(printf '%08x' $((${#line} / 2)))
        size=${size:6:2}${size:4:2}${size:2:2}${size:0:2}
        printf '%s' "00000000 00000000 $size $size $line"
      done <<<"$frames"
    done
  } | bytes_of_hex >"$1"
}

# records FILE: each record of a pcap file as a line of hex, in order. Status 1: no such file format, or cut off.
records() {
  od -An -v -tx1 "$1" | awk '
    function value(at, i, v) {
      v = 0
      for (i = 0; i < 4; ++i) v = v * 256 + number[big ? byte[at + i] : byte[at + 3 - i]]
      return v
    }
    BEGIN {
      for (i = 0; i < 256; ++i) number[sprintf("%02x", i)] = i
      count = base = want = 0
    }
    {
      for (i = 1; i <= NF; ++i) {
        byte[count++] = $i
        if (base == 0 && count == 24) {
          magic = byte[0] byte[1] byte[2] byte[3]
          if (magic == "a1b2c3d4" || magic == "a1b23c4d") big = 1
          else if (magic != "d4c3b2a1" && magic != "4d3cb2a1") exit 1
          base = 1
          count = 0
        } else if (base == 1 && count == 16) {
          want = 16 + value(8)
        }
        if (base == 1 && count >= 16 && count == want) {
          line = ""
          for (j = 16; j < want; ++j) line = line byte[j]
          print line
          count = want = 0
        }
      }
    }
    END { exit !(base == 1 && count == 0) }'
}

offline_stop() {
  local pid
  for pid in "${offline_pids[@]}"; do kill -TERM "$pid" 2>/dev/null; done
  for pid in "${offline_pids[@]}"; do wait "$pid" || offline_status=1; done
  offline_pids=()
}

offline_end() {
  offline_stop
  rm -rf "$work"
}

# compare WHAT WANTED GOT: files of records.
compare() {
  local wanted got
  wanted=$(wc -l <"$2") got=$(wc -l <"$3")
  if cmp -s "$2" "$3"; then
    echo "$1: $got of $wanted records arrived, equal byte for byte and in order"
    return 0
  fi
  echo "$1: $got of $wanted records arrived, and they differ:" >&2
  diff "$2" "$3" | cut -c1-160 | head -n 6 >&2
  return 1
}

# wait_for_records FILE BYTES: until it has that many, or has not grown for two seconds.
wait_for_records() {
  local size before=-1 same=0 tries
  for ((tries = 0; tries < 300; ++tries)); do
    size=$(stat -c %s "$1" 2>/dev/null || echo 0)
    [ "$size" -ge "$2" ] && return 0
    if [ "$size" -eq "$before" ] && [ "$size" -gt 24 ]; then same=$((same + 1)); else same=0; fi
    [ $same -ge 20 ] && return 1
    kill -0 "${offline_pids[@]}" 2>/dev/null || return 1
    before=$size
    sleep 0.1
  done
  return 1
}

# offline IN OUT_DIR: either may be empty.
offline() {
  local in=$1 out=$2 bytes
  offline_pids=() offline_status=0
  work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic-offline-XXXXXX") || return 1
  trap offline_end EXIT
  trap 'exit 130' INT TERM
  if [ ! -x "$bin/splitnic-iou" ] || [ ! -x "$bin/splitnic-host" ]; then
    echo "there is no $bin: building in a temporary folder"
    bin=$work/build/bin
    { cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF &&
      CCACHE_DIR="$work/ccache" cmake --build "$work/build" --target splitnic-iou splitnic-host; } \
      >"$work/build.log" 2>&1 || {
      tail -n 20 "$work/build.log" >&2
      return 1
    }
  fi
  [ -n "$out" ] || out=$work
  mkdir -p "$out" || return 1
  if [ -z "$in" ]; then
    in=$out/in.pcap
    make_capture "$in" 20 || return 1
    echo "made a capture: ARP, LLDP, 802.3, fragments, VLAN, QinQ, 14 to 1522 bytes, $(wc -c <"$in") bytes"
  fi
  if ! records "$in" >"$work/wanted"; then
    echo "demo.sh: $in is no whole pcap file; a pcapng file becomes one with: editcap -F pcap" >&2
    return 1
  fi
  bytes=$((24 + $(wc -l <"$work/wanted") * 16 + ($(wc -c <"$work/wanted") - $(wc -l <"$work/wanted")) / 2))
  rm -f "$out/at-lan.pcap" "$out/at-host.pcap"
  export SPLITNIC_SHM_DIR=$work
  "$bin/splitnic-iou" --lan "file:$in,$out/at-lan.pcap" --listen shm://offline --max-hosts 1 --control "$work/iou.sock" \
    >"$work/iou.log" 2>&1 &
  offline_pids+=($!)
  "$bin/splitnic-host" --connect shm://offline --tap "file:$in,$out/at-host.pcap" --control "$work/host.sock" \
    >"$work/host.log" 2>&1 &
  offline_pids+=($!)
  wait_for_records "$out/at-lan.pcap" "$bytes"
  wait_for_records "$out/at-host.pcap" "$bytes"
  offline_stop
  touch "$out/at-lan.pcap" "$out/at-host.pcap"
  records "$out/at-lan.pcap" >"$work/at-lan" && records "$out/at-host.pcap" >"$work/at-host" || offline_status=1
  compare "host to LAN" "$work/wanted" "$work/at-lan" || offline_status=1
  compare "LAN to host" "$work/wanted" "$work/at-host" || offline_status=1
  if [ $offline_status -ne 0 ]; then
    tail -n 10 "$work/iou.log" "$work/host.log" >&2
    return 1
  fi
  [ "$out" = "$work" ] || echo "the captures are in $out"
}
