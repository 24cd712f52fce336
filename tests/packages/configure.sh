#!/usr/bin/env bash
# Who builds without tests needs none of their libraries, and no warning of another compiler ends the build.
#   configure.sh SOURCE
set -uo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/splitnic.XXXXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2 && exit 1; }

# configure FOLDER OPTION...: as on a machine without the libraries of the tests.
configure() {
  local folder=$1
  shift
  cmake -S "$source" -B "$work/$folder" -G Ninja -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON "$@" \
    >"$work/$folder.log" 2>&1
}
source=$1
configure users -DBUILD_TESTING=OFF || fail "without tests: $(tail -n 20 "$work/users.log")"
! grep -q -e '-Werror' "$work/users/compile_commands.json" || fail "warnings are errors"
configure developers -DSPLITNIC_WERROR=ON && fail "the tests need no GoogleTest?"
grep -q 'GTest' "$work/developers.log" || fail "another error: $(tail -n 20 "$work/developers.log")"
configure strict -DBUILD_TESTING=OFF -DSPLITNIC_WERROR=ON || fail "with SPLITNIC_WERROR: $(tail -n 20 "$work/strict.log")"
grep -q -e ' -Werror ' "$work/strict/compile_commands.json" || fail "SPLITNIC_WERROR does nothing"
echo "configured: ok"
