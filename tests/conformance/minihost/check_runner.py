"""Runs checks: functions that raise where something is not as it should be."""
import traceback


def run(tests, fixture, names=()):
    """Each of `tests`, or those with one of `names`, with a fresh `fixture()`. Returns the exit status: 1 if one fails, 2 for a wrong name."""
    unknown = set(names) - {function.__name__ for function in tests}
    if unknown:
        print(f"no test {', '.join(sorted(unknown))}")
        return 2
    chosen = [function for function in tests if not names or function.__name__ in names]
    failed = 0
    for function in chosen:
        try:
            function(fixture())
        except Exception:
            failed += 1
            print(f"FAILED {function.__name__}")
            traceback.print_exc(limit=-2)
    print(f"{len(chosen)} tests, {failed} failed")
    return 1 if failed else 0
