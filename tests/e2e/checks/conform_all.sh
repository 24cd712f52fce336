# shellcheck shell=bash
# scripts/conform-all: every role of the conformance suite against our programs. SPLITNIC_LONG=1 takes all cases, within 4 minutes.

conform_all() { "$e2e/../../scripts/conform-all" --bin "$bin" "$@"; }

check_all() {
  if [ "$long" = 1 ]; then
    conform_all || fail "our programs do not conform"
    return
  fi
  conform_all --select frame --select path --select 'agent.p*' >"$work/all.log" || fail "our programs do not conform"
  cat "$work/all.log"
  # A line of the table for each role, carrier and form of the target, and one for the sum.
  equal "runs in the table" "$(grep -cE '^\| (host|iou|switch|manager) \| splitnic-(host|iou|switch) \| (UDP|shm)' "$work/all.log")" 15
  equal "cases that failed" "$(sed -nE 's/^\| all \|( \|){3} [0-9]+ \| [0-9]+ \| ([0-9]+) .*/\2/p' "$work/all.log")" 0
  # What must not pass does not.
  conform_all --select cm.reply --limit 0 >"$work/limit.log" 2>&1 && fail "the limit is not obeyed"
  has "more than 0" <"$work/limit.log" || fail "no word of the limit: $(cat "$work/limit.log")"
  conform_all --select no.such >/dev/null 2>"$work/none.log" && fail "no case is enough"
  has "no role has such a case" <"$work/none.log" || fail "$(cat "$work/none.log")"
}
