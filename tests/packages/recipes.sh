#!/usr/bin/env bash
# The files of docs/recipes.md: each tool parses the file for it, and systemd-networkd applies its own in packages.sh.
#   recipes.sh                    checks
#   recipes.sh --print PATH       prints the block of the page for the file PATH
set -uo pipefail
export LC_ALL=C.UTF-8
page=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/recipes.md

block_of() {
  awk -v path="\`$1\`" 'index($0, path) { found = 1 } found && /^```/ { if (inside) exit; inside = 1; next } inside' "$page" |
    grep . || { echo "docs/recipes.md has no block for $1" >&2 && return 1; }
}
[ "${1:-}" != --print ] || { block_of "$2" && exit; }

fail() { echo "FAILED: $1" >&2 && exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
trap 'rm -rf "$work"' EXIT

# file PATH: the block, as a file below $work with its mode.
file() {
  mkdir -p "$work$(dirname "$1")" && block_of "$1" >"$work$1" && chmod 600 "$work$1" || fail "no $1"
}

network_manager() {
  local path=/etc/NetworkManager/system-connections/nic0.nmconnection
  file $path
  nmcli --offline connection modify connection.autoconnect yes <"$work$path" >"$work/nm" 2>&1 || fail "nmcli: $(cat "$work/nm")"
  grep -q '^interface-name=nic0$' "$work/nm" && grep -q '^never-default=true$' "$work/nm" || fail "nmcli read $(cat "$work/nm")"
  # A file with a mistake is refused, so the check above can fail.
  sed 's/^type=.*/type=splitnic/' "$work$path" | nmcli --offline connection modify connection.autoconnect yes >/dev/null 2>&1 &&
    fail "nmcli takes anything"
  file /etc/NetworkManager/conf.d/50-splitnic.conf
  NetworkManager --print-config --config="$work/etc/NetworkManager/conf.d/50-splitnic.conf" --config-dir=/nonexistent \
    --system-config-dir=/nonexistent >"$work/nm" 2>&1 || fail "NetworkManager: $(cat "$work/nm")"
  grep -q '^match-device=interface-name:nic0$' "$work/nm" || fail "NetworkManager read $(cat "$work/nm")"
}

interfaces() {
  file /etc/network/interfaces.d/nic0
  ifquery --interfaces "$work/etc/network/interfaces.d/nic0" nic0 >"$work/if" 2>&1 || fail "ifquery: $(cat "$work/if")"
  grep -q '^pre-up: systemctl start splitnic-host@nic0$' "$work/if" || fail "ifquery read $(cat "$work/if")"
  [ "$(ifquery --interfaces "$work/etc/network/interfaces.d/nic0" --list --allow hotplug)" = nic0 ] || fail "ifquery: not allow-hotplug"
}

netplan_file() {
  file /etc/netplan/50-nic0.yaml
  generate_netplan
  grep -q '^DHCP=ipv4$' "$work/run/systemd/network/10-netplan-nic0.network" || fail "netplan wrote nothing for nic0"
  # The bond, alone.
  rm -r "$work/etc/netplan" "$work/run"
  file /etc/netplan/51-bond0.yaml
  generate_netplan
  grep -q '^Mode=active-backup$' "$work/run/systemd/network/10-netplan-bond0.netdev" || fail "netplan made no bond"
  grep -q '^FailOverMACPolicy=active$' "$work/run/systemd/network/10-netplan-bond0.netdev" || fail "netplan has another MAC policy"
  grep -q '^Bond=bond0$' "$work/run/systemd/network/10-netplan-nic0.network" || fail "nic0 is not in the bond"
  # A file with a mistake is refused, so the checks above can fail.
  sed -i 's/active-backup/splitnic/' "$work/etc/netplan/51-bond0.yaml"
  (generate_netplan) 2>/dev/null && fail "netplan takes anything"
}
generate_netplan() {
  /usr/libexec/netplan/generate --root-dir "$work" >"$work/np" 2>&1 || netplan generate --root-dir "$work" >"$work/np" 2>&1 ||
    fail "netplan: $(cat "$work/np")"
}

libvirt_card() {
  block_of guest-nic.xml >"$work/guest-nic.xml" || fail "no guest-nic.xml"
  { echo "<domain type='kvm'><name>guest</name><memory>1</memory><os><type>hvm</type></os><devices>" &&
    cat "$work/guest-nic.xml" && echo "</devices></domain>"; } >"$work/guest.xml"
  virt-xml-validate "$work/guest.xml" domain >"$work/vx" 2>&1 || fail "virt-xml-validate: $(cat "$work/vx")"
  # A file with a mistake is refused, so the check above can fail.
  sed -i 's/source bridge=/source network_bridge=/' "$work/guest.xml"
  virt-xml-validate "$work/guest.xml" domain >/dev/null 2>&1 && fail "virt-xml-validate takes anything"
  return 0
}

# with TOOL CHECK: one that is missing is no reason to check less.
with() {
  command -v "$1" >/dev/null || fail "$1 is not installed: scripts/install-deps.sh installs it"
  "$2"
  echo "$1: ok"
}
block_of /etc/systemd/network/50-nic0.network >/dev/null || exit 1
PATH=$PATH:/usr/sbin:/sbin
with nmcli network_manager
with ifquery interfaces
with netplan netplan_file
with virt-xml-validate libvirt_card
