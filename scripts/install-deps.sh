#!/usr/bin/env bash
# Installs what the build, the demo and the tests need on Debian 12, prints what it installs,
# and starts no service: packages that would start one (nginx, dnsmasq, openvpn) are unpacked
# under a policy that returns "do not start", and their units stay as Debian ships them. Those that
# configure networks are here for their parsers, and Open vSwitch for a comparison: their units are
# disabled if this installs them, so that they do not take over the network at the next boot.
#   scripts/install-deps.sh            everything (build, demo, tests)
#   scripts/install-deps.sh --build    only what a build needs
#   scripts/install-deps.sh --package  that, and what makes packages of it
#   scripts/install-deps.sh --demo     what a build and scripts/demo.sh need
set -euo pipefail

build=(g++ cmake ninja-build ccache lld pkg-config git
  libboost1.81-dev libprotobuf-dev protobuf-compiler libssl-dev libpcap-dev libisal-dev
  libcli11-dev libspdlog-dev libfmt-dev libmnl-dev libtomlplusplus-dev libgtest-dev libgmock-dev
  librapidcheck-dev libfabric-dev libavahi-core-dev)
# Intel's library is packaged for this architecture only; without it OpenSSL does its work.
[ "$(dpkg --print-architecture)" = amd64 ] && build+=(libipsec-mb-dev)
demo=(iproute2 iputils-ping dnsmasq-base udhcpc nginx-light curl iperf3 procps ethtool)
tests=(clang clang-tidy clang-format libclang-rt-14-dev tcpreplay tshark openvpn socat strace
  wireguard-go wireguard-tools openvswitch-switch
  libfabric-bin linux-perf
  python3 python3-cryptography groff-base cmark-gfm python3-jsonschema python3-prometheus-client systemd
  lintian systemd-container zsh fish chromium-headless-shell poppler-utils
  network-manager ifupdown netplan.io libvirt-clients libxml2-utils)
# A guest of QEMU: its kernel is the one of Debian's installer, whose package changes nothing on the machine that has it.
[ "$(dpkg --print-architecture)" = amd64 ] && tests+=(qemu-system-x86 debian-installer-12-netboot-amd64 busybox)
# Of the runtimes of podman the one that runs on any kind of cgroups.
tests+=(podman runc)
# Package and units of those that configure networks.
configurators=(network-manager:NetworkManager.service,NetworkManager-wait-online.service,NetworkManager-dispatcher.service
  ifupdown:networking.service
  openvswitch-switch:openvswitch-switch.service
  podman:podman.socket,podman.service,podman-auto-update.timer,podman-auto-update.service,podman-restart.service)
# build-essential is what dpkg-buildpackage asks for besides the Build-Depends.
package=(build-essential dpkg-dev debhelper)

wanted=("${build[@]}" "${package[@]}" "${demo[@]}" "${tests[@]}")
[ "${1:-}" = "--build" ] && wanted=("${build[@]}")
[ "${1:-}" = "--package" ] && wanted=("${build[@]}" "${package[@]}")
[ "${1:-}" = "--demo" ] && wanted=("${build[@]}" "${demo[@]}")

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: everything is there"
  exit 0
fi

run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: run this as root, or install sudo; missing: ${missing[*]}" >&2; exit 1; }
  run=(sudo)
fi

echo "install-deps: installing ${missing[*]}"
policy=/usr/sbin/policy-rc.d
made_policy=no
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${run[@]}" tee "$policy" >/dev/null
  "${run[@]}" chmod 755 "$policy"
  made_policy=yes
fi
trap '[ "$made_policy" = yes ] && "${run[@]}" rm -f "$policy"' EXIT
export DEBIAN_FRONTEND=noninteractive
"${run[@]}" apt-get update -q
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
for configurator in "${configurators[@]}"; do
  [[ " ${missing[*]} " == *" ${configurator%%:*} "* ]] || continue
  IFS=, read -ra units <<<"${configurator#*:}"
  "${run[@]}" systemctl disable --quiet "${units[@]}"
done
