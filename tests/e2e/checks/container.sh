# shellcheck shell=bash
# A container whose only network is nic0: it reaches the LAN of another card over shared memory, as in docs/recipes.md. It has the
# programs of this machine and no image; its file system and all that podman notes are in the folder of the test.

podman() {
  command podman --root "$work/podman" --runroot "$work/podman-run" --tmpdir "$work/podman-tmp" --cgroup-manager cgroupfs --runtime runc \
    --storage-driver vfs --events-backend none "$@"
}
# contained COMMAND...: in the container.
contained() { podman exec lab "$@"; }
# Where a check fails, its container ends with it.
end_container() {
  local status=$?
  podman rm --force --time 1 lab >/dev/null 2>&1
  return $status
}
carrier_there() { [ "$(contained cat /sys/class/net/nic0/carrier 2>/dev/null)" = 1 ]; }

check_lan() {
  fabric=shm
  topology_three
  start_iou
  make_blob 16
  start_web_server "$ns_lan" "$work/www"
  local folder
  mkdir -p "$work/root"/{usr,opt,proc,sys,dev,tmp,run,etc}
  for folder in bin sbin lib lib64; do ln -s "usr/$folder" "$work/root/$folder"; done
  trap 'end_container; topology_exit' EXIT
  podman run --detach --name lab --network none --cap-add NET_ADMIN --device /dev/net/tun --env SPLITNIC_SHM_DIR=/run/splitnic \
    --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 --volume /usr:/usr:ro --volume "$(realpath "$bin"):/opt:ro" --volume "$work:/run/splitnic" \
    --rootfs "$work/root" /opt/splitnic-host --connect shm://e2e --tap nic0 --name lab >"$work/lab.id" 2>"$work/podman.log" || fail "no container"
  wait_until 30 contained ip link set nic0 up || fail "no nic0: $(podman logs lab 2>&1)"
  wait_until 30 carrier_there || fail "no carrier: $(podman logs lab 2>&1)"
  contained ip addr add 10.77.0.1/24 dev nic0
  equal "cards of the container" "$(contained ls /sys/class/net | tr '\n' ' ')" "lo nic0 "
  contained curl -sf -o /tmp/blob http://10.77.0.2/blob || fail "no file from the LAN"
  equal "the file from the LAN" "$(hash_of "$work/root/tmp/blob")" "$wanted"
  ping_all "$ns_lan" 10.77.0.1 20 0.01
  # When the container stops, its interface is gone with it, and the unit has no host.
  podman stop --time 5 lab >/dev/null || fail "the container does not stop"
  wait_until 20 has_no_host || fail "the unit has a host still: $(ask iou show)"
}
has_no_host() { [ "$(ask iou show --json | "$python" -c 'import json, sys; print(len(json.load(sys.stdin)["peers"]))')" = 0 ]; }
