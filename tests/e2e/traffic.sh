# shellcheck shell=bash
# Traffic that the checks send through nic0, and how they check it; sourced by run.sh after lib.sh.
#   ping_all NS ADDRESS COUNT [INTERVAL [OPTIONS of ping]]   none may be lost; without INTERVAL each goes when the one before has its
#                                     reply. ping spins while it waits for 10 ms or less, so intervals are longer
#   files_both_ways MIB               by curl from nginx, each side serving once; equal SHA-256
#   begin_pings NAME NS ADDRESS [OPTIONS of ping]   as NAME in the background, one each 12 ms; returns after the first reply
#   end_pings NAME [OTHERS]           none of them was lost, of OTHERS that were sent from there meanwhile neither
#   stream FROM_NS TO_NS ADDRESS FILE one TCP connection that carries FILE; equal SHA-256
#   replay FROM_NS FROM_IF TO_NS TO_IF LABEL [WINDOW]   the frames of tool.py make, byte for byte and in order; with
#                                     several queues, in order within each flow. WINDOW frames are on the way at once
#   begin_taking NS IF COUNT          the frames that come in there, into $work/taken.pcap
#   has_taken ADDRESS COUNT           have COUNT frames to that MAC address come?
#   replay_both_ways                  the same between nic0 and the LAN's lan0
#   serve_iperf NS ADDRESS [OPTIONS]  iperf3 listens there, as "server"
#   iperf [OPTIONS]                   one run of an iperf3 client of the host against "server" at 10.77.0.2
#   throughput [SECONDS]              iperf3 each way, in Mbit/s; not checked, but it must run
#   send_tagged VLAN [IF]            five frames of the LAN to nic0, with that tag
#   tagged_frames COUNT TAG NS IF TO  frames with that tag, VLAN and priority
#   quieten                           nobody but the check speaks on either end
#   address_ipv6                      gives nic0 fd77::1 and the LAN fd77::2
#   static_neighbours                 nor asks who has an address; both keep theirs

ping_all() {
  local out before interval=(-f)
  [ $# -lt 4 ] || interval=(-i "$4")
  before=$(echo_replies "$1")
  out=$(in_ns "$1" ping -q -c "$3" "${interval[@]}" -W 2 "${@:5}" "$2") || true
  sed -n 's/^\([0-9]* packets.*\), time.*/'"$2"': \1/p; s/^rtt /'"$2"': rtt /p' <<<"$out"
  # ping itself gives up on the last reply after twice its longest round trip, which load may exceed.
  wait_until 10 has_replies "$1" $((before + $3)) || fail "ping $2 lost some"
}

declare -gA pinging_from=() replies_before=()
begin_pings() {
  pinging_from[$1]=$2 replies_before[$1]=$(echo_replies "$2")
  start "$1" "$2" ping -q -i 0.012 -W 2 "${@:4}" "$3"
  wait_until 20 has_replies "$2" $((replies_before[$1] + 1)) || fail "no reply to $1"
}

# The kernel counts the replies: ping leaves out those that are on their way when it ends.
end_pings() {
  local ns=${pinging_from[$1]} sent
  wait_until 20 has_replies "$ns" $(($(echo_replies "$ns") + 20)) || fail "no replies to $1"
  stop "$1" INT || true
  sent=$(sed -n 's/ packets transmitted.*//p' "$work/$1.log")
  [ "${sent:-0}" -ge 20 ] || fail "$1: $(cat "$work/$1.log")"
  wait_until 10 has_replies "$ns" $((replies_before[$1] + sent + ${2:-0})) || fail "$1 lost pings: $(cat "$work/$1.log")"
  echo "$1: $sent pings, none lost"
}

# echo_replies NS: that ever came there, of both families
echo_replies() {
  in_ns "$1" cat /proc/net/snmp /proc/net/snmp6 | awk '
    $1 == "Icmp:" && !column { for (i = 1; i <= NF; i++) if ($i == "InEchoReps") column = i; next }
    $1 == "Icmp:" { sum += $column }
    $1 == "Icmp6InEchoReplies" { sum += $2 }
    END { print sum + 0 }'
}

has_replies() { [ "$(echo_replies "$1")" -ge "$2" ]; }

serve_iperf() {
  start server "$1" iperf3 -s --forceflush -B "$2" "${@:3}"
  wait_until 20 grep -qs listening "$work/server.log" || fail "iperf3 does not listen"
}

# iperf_listens [NAME]: after a run the server closes its socket and opens another one; a client that comes between them is reset.
iperf_listens() {
  local log=$work/${1:-server}.log
  [ "$(grep -c "^Server listening" "$log")" -gt "$(grep -c "^Accepted connection" "$log")" ]
}

iperf() {
  wait_until 20 iperf_listens || fail "iperf3 does not listen again"
  in_ns "$ns_host" timeout 30 iperf3 -c 10.77.0.2 "$@"
}

throughput() {
  serve_iperf "$ns_lan" 10.77.0.2
  local way result
  for way in "" -R; do
    # shellcheck disable=SC2086
    result=$(iperf -t "${1:-1}" -f m $way) || fail "iperf3 $way: $result"
    awk -v way="$way" '/receiver/ {print "iperf3 " way ": " $7 " " $8}' <<<"$result"
  done
  stop server
}

# No connection that may still send something again; a listener stays.
no_connection() {
  local ns
  for ns in "$ns_host" "$ns_lan"; do
    [ -z "$(in_ns "$ns" ss -Htn exclude listening exclude time-wait)" ] || return 1
  done
}

hash_of() { sha256sum "$1" | cut -d' ' -f1; }

address_ipv6() {
  # Nothing unrequested: no link-local address, no solicitation, reports of groups only at once.
  local quiet='cd /proc/sys/net/ipv6/conf/$0 && echo 0 >router_solicitations && echo 1 >mldv2_unsolicited_report_interval'
  ip -n "$ns_host" link set nic0 addrgenmode none
  ip -n "$ns_lan" link set lan0 addrgenmode none
  in_ns "$ns_host" sh -c "$quiet && echo 0 >disable_ipv6" nic0
  in_ns "$ns_lan" sh -c "$quiet" lan0
  ip -n "$ns_host" addr replace fd77::1/64 dev nic0 nodad
  ip -n "$ns_lan" addr replace fd77::2/64 dev lan0 nodad
}

make_blob() {
  mkdir -p "$work/www"
  head -c "$1M" /dev/urandom >"$work/www/blob"
  wanted=$(hash_of "$work/www/blob")
}

# fetch NS URL OUTPUT
fetch() { in_ns "$1" curl -sS --max-time 120 -o "$3" "$2" || fail "curl $2"; }

# serve_and_fetch SERVER_NS CLIENT_NS ADDRESS WHAT
serve_and_fetch() {
  start_web_server "$1" "$work/www"
  wait_until 20 in_ns "$1" curl -s -o /dev/null "http://$3/blob" -r 0-0 || fail "no web server"
  fetch "$2" "http://$3/blob" "$work/fetched"
  equal "$4" "$(hash_of "$work/fetched")" "$wanted"
  rm "$work/fetched"
  stop nginx
}

# The second is on a connection that the LAN opens.
files_both_ways() {
  make_blob "$1"
  serve_and_fetch "$ns_lan" "$ns_host" 10.77.0.2 "the file from the LAN"
  serve_and_fetch "$ns_host" "$ns_lan" 10.77.0.1 "the file to the LAN"
  echo "$1 MiB both ways: equal"
}

listens() { [ -n "$(in_ns "$1" ss -Hlt "sport = :$2")" ]; }

stream() {
  local from=$1 to=$2 address=$3 file=$4 kind=TCP4
  [[ $address =~ : ]] && kind=TCP6 && address="[$address]"
  start receiver "$to" socat -u "$kind-LISTEN:5001,reuseaddr" "CREATE:$work/streamed"
  wait_until 20 listens "$to" 5001 || fail "socat does not listen"
  in_ns "$from" timeout 60 socat -u "OPEN:$file" "$kind:$address:5001" || fail "the stream to $address broke"
  wait "${pid_of[receiver]}" || fail "the stream to $address was not received"
  unset "pid_of[receiver]"
  equal "the stream to $address" "$(hash_of "$work/streamed")" "$(hash_of "$file")"
}

# datagrams_arrive FROM_NS TO_NS ADDRESS: UDP super-frames, each datagram compared.
datagrams_arrive() {
  local family=4
  [[ $3 =~ : ]] && family=6
  rm -f "$work/datagrams.log"
  start datagrams "$2" "$python" "$e2e/tool.py" udp_take $family 20
  wait_until 20 grep -qs ready "$work/datagrams.log" || fail "no socket for datagrams"
  in_ns "$1" "$python" "$e2e/tool.py" udp_send "$3" 20 || fail "datagrams to $3"
  wait "${pid_of[datagrams]}" || fail "datagrams to $3: $(tail -n 1 "$work/datagrams.log")"
  unset "pid_of[datagrams]"
}

mac_of() { in_ns "$1" cat "/sys/class/net/$2/address"; }

quieten() {
  local ns interface
  for ns in "$ns_host nic0" "$ns_lan lan0"; do
    interface=${ns#* } ns=${ns% *}
    ip -n "$ns" addr flush dev "$interface"
    silence_interface "$ns" "$interface"
    ip -n "$ns" link set "$interface" arp off
  done
  wait_until 20 nothing_moves || fail "somebody speaks on a quiet LAN"
}

# Do both ends count the same for 0.2 s?
nothing_moves() {
  local before
  before=$(frames_of_ends)
  sleep 0.2
  [ "$(frames_of_ends)" = "$before" ]
}
frames_of_ends() {
  in_ns "$ns_host" cat /sys/class/net/nic0/statistics/{rx,tx}_packets
  in_ns "$ns_lan" cat /sys/class/net/lan0/statistics/{rx,tx}_packets
}

static_neighbours() {
  local address
  for address in 10.77.0.2 fd77::2; do
    ip -n "$ns_host" neigh replace "$address" lladdr "$(mac_of "$ns_lan" lan0)" dev nic0 nud permanent
  done
  for address in 10.77.0.1 fd77::1; do
    ip -n "$ns_lan" neigh replace "$address" lladdr "$(mac_of "$ns_host" nic0)" dev lan0 nud permanent
  done
}

begin_taking() {
  rm -f "$work/taken.pcap" "$work/taker.log"
  start taker "$1" "$python" "$e2e/tool.py" take "$2" "$work/taken.pcap" "$3" 60
  wait_until 20 grep -qs ready "$work/taker.log" || fail "nothing can be taken from $2"
}

taken_of() { "$python" "$e2e/tool.py" count "$work/taken.pcap" "$1"; }
has_taken() { [ "$(taken_of "$1")" -ge "$2" ]; }

ended() { ! running taker; }

end_taking() {
  wait_until 70 ended
  unset "pid_of[taker]"
}

# begin_replay FROM_NS FROM_IF TO_NS TO_IF [PLAIN]: makes $work/sent.pcap (tool.py make) and begins to take it.
begin_replay() {
  local count bridged=""
  # A bridge keeps to itself what is sent to the bridges' own group address.
  if [ "$port" = tap ]; then bridged=bridged; fi
  count=$("$python" "$e2e/tool.py" make "$work/sent.pcap" "$(mac_of "$3" "$4")" "$(mac_of "$1" "$2")" "$bridged" "${@:5}") ||
    fail "no capture"
  begin_taking "$3" "$4" "$count"
}

# end_replay LABEL: what was taken is what was sent.
end_replay() {
  local order=all
  [ "$(queues_of host)" = 1 ] && [ "$(queues_of iou)" = 1 ] || order=flows
  end_taking
  echo "$1: $("$python" "$e2e/tool.py" same "$work/sent.pcap" "$work/taken.pcap" $order 2>&1)" | tee "$work/same.txt"
  grep -q "equal, in order" "$work/same.txt" ||
    fail "$(cat "$work/same.txt"); the unit's port lost $(counter iou lan.port.rx.drop.kernel) before it could read them"
}

replay() {
  begin_replay "${@:1:4}"
  in_ns "$1" "$python" "$e2e/tool.py" send "$2" "$work/sent.pcap" "$work/taken.pcap" "${6:-100}" || fail "not sent: $5"
  end_replay "$5"
}

replay_both_ways() {
  replay "$ns_host" nic0 "$ns_lan" lan0 "host to LAN" "$@"
  replay "$ns_lan" lan0 "$ns_host" nic0 "LAN to host" "$@"
}

# send_tagged VLAN [IF]: five frames of the LAN, from its interface lan0 or IF, to nic0 of the host, with that tag.
send_tagged() { tagged_frames 5 "$1" "$ns_lan" "${2:-lan0}" "$(mac_of "$ns_host" nic0)"; }

# tagged_frames COUNT TAG NS IF TO: from that interface to that address; TAG is the VLAN, with the priority in the upper bits.
tagged_frames() {
  in_ns "$3" "$python" -c 'import socket, sys
count, tag, interface = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((interface, 0))
source, to = (bytes.fromhex(text.replace(":", "")) for text in sys.argv[4:])
for _ in range(count):
    s.send(to + source + bytes.fromhex("8100") + tag.to_bytes(2, "big") + bytes.fromhex("88b5") + bytes(60))' \
    "$1" "$2" "$4" "$(mac_of "$3" "$4")" "$5"
}
