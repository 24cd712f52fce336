# shellcheck shell=bash
# Sourced by behind_switches.sh and with_options.sh, which run the end-to-end checks once more.
#   [--build FOLDER] [--only REGEX] [WORD...]
# Sets build (default build/release), only (as of ctest -R, default all end-to-end checks) and the array words, from the
# arguments of the script.
set -uo pipefail
export LC_ALL=C.UTF-8
build=build/release only='^E2e_'
while [[ ${1:-} =~ ^--(build|only)$ ]] && [ $# -gt 1 ]; do
  printf -v "${1#--}" %s "$2"
  shift 2
done
words=("$@")

# Runs the chosen checks with the further options of ctest; the output is in the file LOG.
run_checks() { # LOG [OPTION...]
  ctest --test-dir "$build" -L '^e2e$' -R "$only" "${@:2}" --no-tests=error --output-on-failure >"$1"
}
# Names the log of a run with a failed check; that of a good one goes.
keep_or_remove() { # LOG HAS_FAILED
  if [ "$2" = 1 ]; then
    echo "see $1"
  else
    rm "$1"
  fi
}
