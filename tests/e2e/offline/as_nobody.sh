#!/usr/bin/env bash
# as_nobody.sh BIN: scripts/demo.sh --offline as the user nobody, with an empty environment, in a copy of what it
# needs that nobody may read and not write. It must compare every record, find a record that was changed, and leave
# nothing behind.
set -uo pipefail
export LC_ALL=C
bin=$1
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
tree=$(mktemp -d /tmp/splitnic-nobody-XXXXXX) || exit 1
trap 'rm -rf "$tree"' EXIT

fail() {
  echo "as_nobody.sh: $1" >&2
  [ -s "$tree/log" ] && cat "$tree/log" >&2
  exit 1
}

mkdir -p "$tree/build/release/bin" "$tree/temp" "$tree/out"
cp -r "$root/scripts" "$tree/"
cp "$bin/splitnic-iou" "$bin/splitnic-host" "$tree/build/release/bin/" || fail "the programs are not built"
chmod -R a+rX "$tree"
chmod 1777 "$tree/temp" "$tree/out"
as_nobody=()
[ "$(id -u)" -eq 0 ] && as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs)

demo() { env -i PATH=/usr/bin:/bin TMPDIR="$tree/temp" "${as_nobody[@]}" "$tree/scripts/demo.sh" --offline "$@"; }

demo >"$tree/log" 2>&1 || fail "the demo failed"
[ "$(grep -c '320 of 320 records arrived, equal byte for byte' "$tree/log")" -eq 2 ] || fail "not every record was compared"

demo --out "$tree/out" >"$tree/log" 2>&1 || fail "the demo failed with --out"
for name in at-lan at-host; do
  [ "$(stat -c %s "$tree/out/$name.pcap")" -eq "$(stat -c %s "$tree/out/in.pcap")" ] || fail "$name.pcap is not as long"
done
demo "$tree/out/in.pcap" >"$tree/log" 2>&1 || fail "the demo failed with a capture given"

# A comparison that cannot fail would show nothing.
# shellcheck source=../../../scripts/lib/offline.sh
. "$root/scripts/lib/offline.sh"
records "$tree/out/in.pcap" >"$tree/a" || fail "the capture cannot be read"
printf '\x55' | dd of="$tree/out/at-lan.pcap" bs=1 seek=5000 conv=notrunc status=none
records "$tree/out/at-lan.pcap" >"$tree/b" || fail "the changed capture cannot be read"
compare changed "$tree/a" "$tree/b" >"$tree/log" 2>&1 && fail "a changed byte was not found"

[ -z "$(ls -A "$tree/temp")" ] || fail "left behind: $(ls -A "$tree/temp")"
