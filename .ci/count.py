# SPDX-License-Identifier: Apache-2.0
"""Counts the tests in Swift Testing's event streams, `count.py FILE…`, and names those that did not pass. A test counts once, by
its worst state in any run. The exit status is 1 if anything failed, and 2 if no test ran."""
import collections
import json
import sys

ORDER = ["passed", "skipped", "failed: did not end", "failed"]


def states(stream):
    """Name and state of each test function in one run, by its identifier."""
    # A test is skipped that was announced and never began: the run ended before it, or its suite was skipped.
    names, found = {}, collections.defaultdict(lambda: "skipped")
    for line in stream:
        # A process that crashes may leave half of a last line.
        if not line.endswith("\n") or not line.strip():
            continue
        record = json.loads(line)
        payload = record["payload"]
        test, kind, issue = payload.get("testID"), payload["kind"], payload.get("issue", {})
        if record["kind"] == "test":
            if kind == "function":
                names[payload["id"]] = payload.get("displayName") or payload["name"]
        elif kind == "issueRecorded" and not issue.get("isKnown") and issue.get("severity", "error") == "error":
            found[test] = "failed"
            # A suite's issue, or one of a task that outlived its test, is a failure too.
            names.setdefault(test, f"issue outside a test: {test}")
        elif kind == "testStarted":
            found[test] = "failed: did not end"
        elif kind == "testEnded" and found[test] != "failed":
            found[test] = "passed"
    return {test: (name, found[test]) for test, name in names.items()}


tests = {}
for path in sys.argv[1:]:
    with open(path, encoding="utf-8", errors="replace") as stream:
        for test, known in states(stream).items():
            tests[test] = max(tests.get(test, known), known, key=lambda known: ORDER.index(known[1]))
counts = collections.Counter(state.split(":")[0] for _, state in tests.values())
for test, (name, state) in sorted(tests.items(), key=str):
    if state != "passed":
        print(f"{state}: {str(test).split('.')[0]}: {name}")
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
sys.exit(1 if counts["failed"] else 0 if counts["passed"] else 2)
