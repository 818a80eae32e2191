# SPDX-License-Identifier: Apache-2.0
"""In which ways two results of one input differ."""
from __future__ import annotations

from .peers import GO


def kinds(reader, peer, ours, theirs):
    """`accepts` or `refuses` where only the other one does, else the names of the parts that differ."""
    if "no" in ours or "no" in theirs:
        return [] if "no" in ours and "no" in theirs else ["accepts"] if "no" in ours else ["refuses"]
    ours, theirs = (PREPARED[reader](peer, ours, theirs) if reader in PREPARED else (ours, theirs))
    # A part that a reader does not have, it does not return.
    return [part for part in ours if part in theirs and ours[part] != theirs[part]]


def _heads(peer, ours, theirs):
    ours, theirs = _head(peer, ours), _head(peer, theirs)
    if not ours["keeps"]:
        # Only a connection that Lastro alone keeps may be read otherwise.
        ours.pop("keeps")
    return ours, {part: value for part, value in theirs.items() if value is not None}


def _head(peer, head):
    head = dict(head)
    if head.pop("raw", None):
        for part in ("fields", "trailers"):
            head[part] = [[name.lower(), utf8(value)] for name, value in head[part]]
    for part in ("fields", "trailers"):
        if head[part] is not None:
            # Go does not keep the order of names, nor the fields that it has interpreted.
            left_out = ("transfer-encoding", "trailer", "connection") if peer == GO else ()
            head[part] = sorted((field for field in head[part] if field[0] not in left_out), key=lambda field: field[0])
    return head


def _events(peer, ours, theirs):
    if theirs["events"] and len(theirs["events"][0]) == 2:
        ours = {"events": [event[:2] for event in ours["events"]]}
    if peer == "httpx-sse":
        # It returns events without data, too, and leaves them to its caller, who cannot tell them from empty data.
        ours, theirs = ({"events": [event for event in each["events"] if event[1]]} for each in (ours, theirs))
    if len(ours["events"]) != len(theirs["events"]):
        return {"count": len(ours["events"])}, {"count": len(theirs["events"])}
    parts = ("names", "data", "identifiers")
    return tuple({
        part: [event[at] for event in each["events"] if at < len(event)]
        for at, part in enumerate(parts)
    } for each in (ours, theirs))


def _parts(peer, ours, theirs):
    if len(ours["parts"]) != len(theirs["parts"]):
        return {"count": len(ours["parts"])}, {"count": len(theirs["parts"])}
    # Go does not keep the order of names.
    return tuple({
        "fields": [sorted(fields, key=lambda field: field[0]) for fields, _ in each["parts"]],
        "bodies": [body for _, body in each["parts"]]
    } for each in (ours, theirs))


def _cache(peer, ours, theirs):
    known = theirs["known"]
    return ours | {"flags": [flag for flag in ours["flags"] if flag in known]}, theirs


PREPARED = {"heads": _heads, "events": _events, "multipart": _parts, "cache": _cache}


def utf8(value):
    """A text of ISO 8859-1 as Lastro decodes its bytes: UTF-8, or else ISO 8859-1."""
    try:
        value.encode("latin-1").decode("utf-8")
        return value
    except UnicodeDecodeError:
        return value.encode("utf-8").decode("latin-1")
