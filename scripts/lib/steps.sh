# shellcheck shell=bash
# Shared by scripts/test.sh and .ci/run: timed steps and one count of passed and failed checks. Sourced from the root.
passed=0
failed=0

# What failed, for the end of the output: a reader may have no more of it. A script that another one calls adds to the
# file of its caller.
if [ -z "${SPLITNIC_FAILURES:-}" ]; then
  SPLITNIC_FAILURES=$(mktemp) || exit 1
  export SPLITNIC_FAILURES
  failures_are_ours=1
fi

# ccache wants a home; where there is none it lives in the tree.
[ -n "${HOME:-}" ] || export CCACHE_DIR="${CCACHE_DIR:-$PWD/.cache/ccache}"

# timed NAME COMMAND...: runs it and prints how long it took.
timed() {
  local name=$1 began=$SECONDS status=0
  shift
  echo "== $name"
  "$@" || status=$?
  echo "== $name: $((SECONDS - began)) s$([ $status -eq 0 ] || echo ", failed with status $status")"
  return $status
}

configure() { timed "$1: configure" cmake --preset "$1"; }

# compile PRESET [TARGET...]: ninja prints how many of how many commands are done.
compile() {
  local preset=$1
  shift
  timed "$preset: build${*:+ $*}" cmake --build --preset "$preset" -j "$(nproc)" ${1:+--target "$@"}
}

build() { configure "$1" && compile "$@"; }

one_passed() { passed=$((passed + 1)); }

one_failed() {
  failed=$((failed + 1))
  echo "FAILED: $1" | tee -a "$SPLITNIC_FAILURES"
}

# run_ctest PRESET JOBS ARGUMENTS...: runs tests of build/PRESET, JOBS at once, one process each.
run_ctest() {
  local preset=$1 jobs=$2 junit="$PWD/build/$1/ctest.xml"
  shift 2
  rm -f "$junit"
  timed "$preset: ctest $*" ctest --test-dir "build/$preset" --output-on-failure --progress -j"$jobs" \
    --no-tests=error --output-junit "$junit" "$@" || true
  count_results "$preset" "$junit"
}

# run_gtest PRESET JOBS ARGUMENTS...: the same for tests of GoogleTest only, many in one process (gtest-groups).
run_gtest() {
  local preset=$1 jobs=$2 junit="$PWD/build/$1/gtest.xml"
  shift 2
  rm -f "$junit"
  timed "$preset: gtest $*" scripts/lib/gtest-groups "build/$preset" "$jobs" "$junit" -L '^gtest$' "$@" || true
  count_results "$preset" "$junit"
}

# count_results PRESET JUNIT: counts each test by its own status: ctest's summary takes a skipped test for a passed one.
# The result is in the counts; the status is always 0. Nothing of a test that passes has been printed: its lines
# "note: ..." are printed here, with how many tests had each.
count_results() {
  local preset=$1 junit=$2 total ran
  total=$(grep -cE '^[[:space:]]*<testcase ' "$junit" 2>/dev/null) || total=0
  ran=$(grep -cE '^[[:space:]]*<testcase .* status="run"' "$junit" 2>/dev/null) || ran=0
  if [ "$total" -eq 0 ]; then
    one_failed "$preset: no test ran"
    return 0
  fi
  scripts/lib/failed-tests "$preset" "$junit" >>"$SPLITNIC_FAILURES"
  sed -nE 's/^(.*<system-out>)?(note: [^<]*).*/'"$preset"': \2/p' "$junit" | sort | uniq -c
  echo "== $preset: $ran of $total tests passed"
  passed=$((passed + ran))
  failed=$((failed + total - ran))
}

# What failed, the closing line, and the exit status.
finish() {
  echo "all steps: $SECONDS s"
  cat "$SPLITNIC_FAILURES"
  [ -z "${failures_are_ours:-}" ] || rm -f "$SPLITNIC_FAILURES"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
  exit
}
