# SPDX-License-Identifier: Apache-2.0
"""Counts tests in Swift Testing's event streams.

`count.py FILE…` prints `N passed, N failed, N skipped`, each test counted once: failed if it failed in any run, skipped
if it was skipped in any run, passed only if it ran to its end in every run that began it. It names what did not pass, and
exits with 1 if anything failed, with 2 if no test ran.
"""
import json
import sys


def records(stream):
    """The stream's records. A process that crashes may leave half of a last line, which is left out."""
    for line in stream:
        if line.endswith("\n") and line.strip():
            yield json.loads(line)


def is_failure(payload):
    """Whether an event is an issue that fails its test: not a known one, nor a warning."""
    issue = payload.get("issue", {})
    return (payload["kind"] == "issueRecorded" and not issue.get("isKnown", False)
            and issue.get("severity", "error") == "error")


def read(path):
    """State of each test function in one run: its display name and one of passed, failed, skipped."""
    names, states, failures = {}, {}, set()
    with open(path, encoding="utf-8", errors="replace") as stream:
        for record in records(stream):
            payload = record["payload"]
            if record["kind"] == "test":
                if payload["kind"] == "function":
                    names[payload["id"]] = payload.get("displayName") or payload["name"]
                continue
            test, kind = payload.get("testID"), payload["kind"]
            if is_failure(payload):
                failures.add(test)
            elif kind == "testStarted":
                states[test] = "unfinished"
            elif kind == "testSkipped":
                states[test] = "skipped"
            elif kind == "testEnded":
                states[test] = "passed"
    result = {}
    for test, name in names.items():
        if test in failures or states.get(test) == "unfinished":
            result[test] = (name, "failed")
        elif test in states:
            result[test] = (name, states[test])
        else:
            # Announced and never begun: the run ended before it, or its suite was skipped.
            result[test] = (name, "skipped")
    # An issue that belongs to no test function (a suite's, or of a task that outlived its test) is a failure too.
    for stray in failures - names.keys():
        result[f"issue outside a test: {stray}"] = (f"issue outside a test: {stray}", "failed")
    return result


def main(paths):
    order = {"passed": 0, "skipped": 1, "failed": 2}
    tests = {}
    for path in paths:
        for test, (name, state) in read(path).items():
            if test not in tests or order[state] > order[tests[test][1]]:
                tests[test] = (name, state)
    counts = {state: sum(1 for _, other in tests.values() if other == state) for state in order}
    for test, (name, state) in sorted(tests.items()):
        if state != "passed":
            print(f"{state}: {test.split('.')[0]}: {name}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    if counts["failed"]:
        return 1
    return 0 if counts["passed"] else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
