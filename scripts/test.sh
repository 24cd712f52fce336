#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Needs root (namespaces, TAP), by itself through sudo.
#   scripts/test.sh                       all steps: release asan tsan
#   scripts/test.sh release               only the named steps, in the given order
#   release  optimised build, every test
#   asan     AddressSanitizer and UndefinedBehaviorSanitizer, every test but those labelled e2e or bench
#   tsan     ThreadSanitizer, the tests labelled threads
# Needs no git and no HOME. A skipped, disabled or unbuilt test counts as failed. Last line: "N passed, N failed".
set -uo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

all_steps=(release asan tsan)
steps=("$@")
[ ${#steps[@]} -eq 0 ] && steps=("${all_steps[@]}")
for step in "${steps[@]}"; do
  case "$step" in
    release | asan | tsan) ;;
    *)
      echo "test.sh: unknown step '$step'; the steps are: ${all_steps[*]}" >&2
      exit 2
      ;;
  esac
done

if [ "$(id -u)" -ne 0 ]; then
  if command -v sudo >/dev/null; then exec sudo -- "$root/scripts/test.sh" "$@"; fi
  echo "test.sh: the end-to-end tests make network namespaces: run this as root, or install sudo" >&2
  echo "0 passed, 1 failed"
  exit 1
fi

# shellcheck source=lib/steps.sh
. "$root/scripts/lib/steps.sh"
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1}

# Programs of splitnic_tests(NAME ... LABELS ... threads ...), on one line or several.
thread_targets() {
  find tests -name CMakeLists.txt -exec cat {} + | tr '\n' ' ' | grep -oE 'splitnic_tests\([^)]*\)' |
    sed -nE 's/^splitnic_tests\( *([A-Za-z0-9_]+).* LABELS( [^)]*)?[ "]threads[ ;")].*/\1/p'
}

# The thread_targets that this tree really builds (a folder that does not exist has no program).
tsan_targets() {
  local known
  known=$(cmake --build build/tsan --target help)
  thread_targets | while read -r target; do
    grep -qE "^$target:" <<<"$known" && printf '%s\n' "$target"
  done
}

run_release() {
  timed "release: configure" cmake --preset release &&
    timed "release: build" cmake --build --preset release -j "$(nproc)" || return 1
  run_ctest release
}

run_asan() {
  timed "asan: configure" cmake --preset asan &&
    timed "asan: build" cmake --build --preset asan -j "$(nproc)" || return 1
  run_ctest asan -LE '^(e2e|bench)$'
}

run_tsan() {
  timed "tsan: configure" cmake --preset tsan || return 1
  local targets
  mapfile -t targets < <(tsan_targets)
  if [ ${#targets[@]} -eq 0 ]; then
    echo "tsan: no test program is labelled threads"
    return 1
  fi
  timed "tsan: build ${targets[*]}" cmake --build --preset tsan -j "$(nproc)" --target "${targets[@]}" || return 1
  run_ctest tsan -L '^threads$'
}

if timed "install-deps" scripts/install-deps.sh; then
  for step in "${steps[@]}"; do
    "run_$step" || one_failed "$step"
  done
else
  one_failed "install-deps"
fi
finish
