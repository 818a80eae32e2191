# SPDX-License-Identifier: Apache-2.0
"""In which ways two results of one input differ."""
from __future__ import annotations

from .peers import CURL, GO, NODE


def kinds(reader, peer, ours, theirs):
    """`accepts` or `refuses` where only the other one does, else the names of the parts that differ."""
    if "no" in ours or "no" in theirs:
        return [] if "no" in ours and "no" in theirs else ["accepts"] if "no" in ours else ["refuses"]
    if reader == "heads":
        ours, theirs = _head(peer, ours), _head(peer, theirs)
    parts = [part for part in ours if theirs.get(part) is not None and ours[part] != theirs[part]]
    # Only a connection that Lastro alone keeps may be read otherwise.
    return [part for part in parts if part != "keeps" or ours["keeps"]]


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


def utf8(value):
    """A text of ISO 8859-1 as Lastro decodes its bytes: UTF-8, or else ISO 8859-1."""
    try:
        value.encode("latin-1").decode("utf-8")
        return value
    except UnicodeDecodeError:
        return value.encode("utf-8").decode("latin-1")
