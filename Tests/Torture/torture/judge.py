# SPDX-License-Identifier: Apache-2.0
"""Judges how a run with a failure ended."""
import re

from .answers import FILE

TYPED = re.compile(rb"^lastro: (\w+/\w+:|.*\bcannot )", re.MULTILINE)
STATUSES = {1, 3, 5, 6, 7, 22, 23, 28, 35, 47, 55, 56, 60, 63, 77}


def judge(call, good, run):
    """Says what is wrong with the end of a run."""
    if run.errors.endswith(b"\nhang"):
        yield "hang"
    elif run.status < 0:
        yield f"crash by signal {-run.status}"
    elif call.free and run.status in (0, 1):
        pass
    elif run.status == 0 and good.status == 0:
        if call.batch:
            if any(run.output.get(key) != value and not run.output.get(key, (0, 0))[1] for key, value in good.output.items()):
                yield f"neither value nor error: {run.output}"
        elif run.output != good.output:
            yield f"wrong value: {run.output[:80]}"
    elif run.status == 0:
        yield "succeeded, and must be refused"
    elif run.status not in STATUSES:
        yield f"status {run.status}: {run.errors[:200]}"
    elif not TYPED.search(run.errors) and "write" not in (run.report["hit"] or [""])[0]:
        yield f"status {run.status} without a typed error: {run.errors[:200]}"
    elif not call.batch and not call.parted and not good.output.startswith(run.output):
        yield f"not a part of the value: {run.output[:80]}"
    if run.status >= 0:
        if not run.report["end"]:
            yield "no report at the end"
        else:
            yield from judge_rest(run)
    if call.upload and run.status == 0 and run.upload != FILE:
        yield f"the server has {len(run.upload)} bytes of the upload"
    for (method, name), count in run.seen.items():
        if call.refused:
            yield f"{method} {name} was received"
        elif method == "POST" and count > 1 and name not in call.repeats:
            yield f"POST {name} was received {count} times"
    for name, contents in call.outcomes.items():
        file = run.folder / name
        content = file.read_bytes() if file.exists() else None
        if content not in (contents[-1:] if run.status == 0 else contents):
            yield f"{name} has {'no' if content is None else len(content)} bytes: {(content or b'')[:40]}"


def judge_rest(run):
    if run.report["descriptors"] != [""]:
        yield f"descriptors left: {run.report['descriptors']}"
    if run.report["end"] != ["0"]:
        yield f"{run.report['end'][0]} threads left"
