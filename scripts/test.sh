#!/usr/bin/env bash
# Installs what is missing, builds, and runs tests. Steps need root (namespaces, TAP) and take it through sudo.
#   scripts/test.sh               every test once: the step check
#   scripts/test.sh all           what CI runs: the steps release, asan and tsan
#   scripts/test.sh STEP...       only the named steps, in the given order
#   scripts/test.sh FOLDER        the unit tests of one folder and the tidy tests, in the preset dev: after each edit.
#                                 FOLDER is a name such as transport, fabric_emul/link, messaging, sim or tidy, or a folder
#                                 whose tests are in that of the folder above it, such as control/socket. It is built and
#                                 tested as the caller; sudo is used for missing packages, and for the tests of lan_bridge
#                                 and fabric_emul/underlay
# The steps:
#   check    -O1, no sanitizer: every unit, protocol, simulator, corpus, end-to-end and report test
#   release  the programs as they are installed (-O3, LTO): end-to-end tests, seeds, loss sweep, reports
#   asan     AddressSanitizer and UndefinedBehaviorSanitizer, every test but those labelled e2e, bench or once
#   tsan     ThreadSanitizer, the tests labelled threads
# In the steps asan and tsan up to 25 unit tests share a process; in all others each has its own.
# Needs no git and no HOME. A skipped, disabled or unbuilt test counts as failed. Last line: "N passed, N failed".
set -uo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# Folders of unit tests, relative to tests/ (and to tests/unit/ for those below it), one per line.
folders_of_tests() { find tests -name '*_test.cc' -printf '%h\n' | sed -E 's|^tests/(unit/)?||' | sort -u; }

# is_within FOLDER NAME: FOLDER is NAME, or a path that has NAME in it.
is_within() { [[ /$1/ == */$2/* ]]; }

# is_tested_by FOLDER NAME: NAME is a folder of sources without a folder of tests, and FOLDER is that of the folder above it.
is_tested_by() { [ "$1" = "${2%/*}" ] && compgen -G "$2/*.cc" >/dev/null && [ ! -d "tests/unit/$2" ] && [ ! -d "tests/$2" ]; }

all_steps=(release asan tsan)
steps=() folders=()
read_arguments() {
  local name folder found
  for name in "$@"; do
    name=${name%/} name=${name#tests/} name=${name#unit/}
    case "$name" in
      fabric_emul/routing | fabric_emul/subnet | fabric_emul/simulation) name=fabric_emul/switching ;;&
      all) steps+=("${all_steps[@]}") ;;
      check | release | asan | tsan) steps+=("$name") ;;
      *)
        found=0
        while read -r folder; do
          if is_within "$folder" "$name" || is_tested_by "$folder" "$name"; then folders+=("$folder") found=1; fi
        done < <(folders_of_tests)
        if [ $found = 0 ]; then
          echo "test.sh: '$name' is no step (check ${all_steps[*]} all) and no folder of tests" \
            "($(folders_of_tests | paste -sd' '))" >&2
          exit 2
        fi
        ;;
    esac
  done
  if [ ${#folders[@]} -gt 0 ]; then
    steps+=(folders)
  elif [ ${#steps[@]} -eq 0 ]; then
    steps=(check)
  fi
}
read_arguments "$@"

if [ "$(id -u)" -ne 0 ] && [ "${steps[*]}" != folders ]; then
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

cores=$(nproc)
e2e='^(e2e|e2e_pass)$'

# Of each step: build_STEP, and test_STEP, which counts what it runs.
build_check() { build check; }
build_release() { build release release_tests; }
build_asan() { build asan; }
build_tsan() { build tsan thread_tests; }

# An end-to-end test waits most of its time: five per processor run at once.
test_check() {
  run_ctest check "$cores" -LE "$e2e"
  run_ctest check $((7 * cores)) -L "$e2e"
}

test_release() {
  run_ctest release "$cores" -LE "$e2e"
  run_ctest release $((7 * cores)) -L "$e2e"
}

# A process of a sanitized program takes long to start: its tests share processes. In the step check each has its own.
test_asan() {
  run_gtest asan "$cores"
  run_ctest asan "$cores" -LE '^(gtest|e2e|bench|once)$'
}

test_tsan() { run_gtest tsan "$cores" -L '^threads$'; }

# Prints the programs of $folders: of each, the program whose own folder is the closest above it.
folder_programs() {
  local folder own program best best_program
  for folder in "${folders[@]}"; do
    best='' best_program=''
    while read -r own program; do
      own=${own#unit/}
      if [[ $folder/ == "$own"/* ]] && [ ${#own} -gt ${#best} ]; then best=$own best_program=$program; fi
    done <build/dev/tests/folders.txt
    printf '%s\n' "$best_program"
  done
}

# Those, and the program of the tidy tests.
programs_of_folders() { { folder_programs && echo tidy_tests; } | sort -u; }

run_programs() { run_ctest dev "$cores" -L "^($(IFS='|' && echo "$*"))\$"; }

# The programs whose tests make network namespaces.
needs_sudo() { [[ $1 == lan_tests || $1 == underlay_tests ]] && [ "$(id -u)" -ne 0 ]; }

# run_as_root PROGRAM...: runs their tests through sudo, and leaves build/dev to the caller.
run_as_root() {
  if ! command -v sudo >/dev/null; then
    echo "test.sh: the tests of lan_bridge and fabric_emul/underlay make network namespaces: run this as root, or install sudo" >&2
    return 1
  fi
  # shellcheck disable=SC2317  # run_ctest calls it
  ctest() { sudo -- "$(type -P ctest)" "$@"; }
  run_programs "$@"
  unset -f ctest
  sudo -- chown -R "$(id -u):$(id -g)" build/dev
}

build_folders() {
  configure dev || return 1
  local programs
  mapfile -t programs < <(programs_of_folders)
  compile dev "${programs[@]}"
}

test_folders() {
  local of_root=() of_caller=() program
  for program in $(programs_of_folders); do
    if needs_sudo "$program"; then of_root+=("$program"); else of_caller+=("$program"); fi
  done
  run_programs "${of_caller[@]}"
  [ ${#of_root[@]} -eq 0 ] || run_as_root "${of_root[@]}"
}

# build_ahead STEP...: builds them with the processor time that the tests of earlier steps leave. It prints the status of each
# build; its output is $ahead/STEP.
build_ahead() {
  local step
  chrt --idle --pid 0 "$BASHPID"
  for step in "$@"; do
    "build_$step" >"$ahead/$step" 2>&1 </dev/null
    echo $?
  done
}

# schedule_ahead POLICY: the policy of the processes that build ahead. While we wait for them, they do not give way to others.
schedule_ahead() {
  local pid
  for pid in $(pgrep -g "$ahead_group"); do chrt "--$1" --pid 0 "$pid" 2>/dev/null; done
}

# build_and_test STEP...: the first is built, then all the others are built ahead.
build_and_test() {
  local step status statuses follower began
  ahead=$(mktemp -d) || return 1
  mkfifo "$ahead/statuses"
  for step in "$@"; do
    status=0 began=$SECONDS
    if [ -z "${ahead_group:-}" ]; then
      "build_$step" || status=$?
      set -m  # a process group for all that is built ahead
      build_ahead "${@:2}" >"$ahead/statuses" &
      ahead_group=$!
      set +m
      trap 'kill -- -"$ahead_group" 2>/dev/null; rm -rf "$ahead"' EXIT
      exec {statuses}<"$ahead/statuses"
    else
      echo "== $step: what was built ahead"
      schedule_ahead other
      tail -n +1 -F -- "$ahead/$step" 2>/dev/null &
      follower=$!
      read -r status <&"$statuses" || status=1
      schedule_ahead idle
      sleep 1  # until the follower has printed the end
      kill "$follower"
      wait "$follower" 2>/dev/null
    fi
    if [ "$status" -eq 0 ]; then
      "test_$step" || one_failed "$step"
    else
      one_failed "$step: build"
    fi
    echo "== $step: $((SECONDS - began)) s in all"
  done
}

if timed "install-deps" scripts/install-deps.sh; then
  build_and_test "${steps[@]}"
else
  one_failed "install-deps"
fi
finish
