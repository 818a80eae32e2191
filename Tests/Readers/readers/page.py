# SPDX-License-Identifier: Apache-2.0
"""Docs/Readers.md: what each reader makes of unusual input."""
from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.metadata import version

from . import compare
from .peers import BUILT, CURL, GO, NODE, OURS, PEERS, ROOT

PAGE = ROOT / "Docs/Readers.md"
STANDARD = ("http.client", "http.cookiejar", "http.cookies", "email")
HEAD = """# Readers

This page lists how Lastro's readers and those of others differ. `Tests/Readers/run --write` writes it. Lastro refuses what two readers
could read differently if that decides where a response ends, and is lenient where the end is the same for all. [Wire.md](Wire.md) has the
rules.

A row is an input that shows a difference which no row above it in its class shows. `Tests/Readers/run` generates inputs, and fails if
readers differ in a way that no row shows. Lastro also reads each input in pieces: byte by byte, and cut at random. Responses are read
once more as a server's second response, whose lines are compared with those of the first.

| word | meaning |
|---|---|
| reads | The input is accepted, and read as Lastro reads it. If Lastro refuses a response, its body follows as it is read. |
| refuses | An error is reported, or nothing is returned. |
| other … | The input is accepted, and this part of the result is not what Lastro returns. |

{versions}
"""


def versions():
    found = {}
    for peers in PEERS.values():
        for name in peers:
            if name == NODE:
                found[name] = _first(["node", "--version"]).removeprefix("v")
            elif name == GO:
                found[name] = _first(["go", "version"]).split(" ")[2].removeprefix("go")
            elif name == CURL:
                found[name] = _first([BUILT / "curl", "--version"])
            elif name in STANDARD:
                found[name] = "Python " + ".".join(str(part) for part in sys.version_info[:3])
            else:
                found[name] = version(name)
    text = "Compared with Lastro: " + ", ".join(f"{name} {number}" for name, number in found.items()) + "."
    return textwrap.fill(text, 130, break_on_hyphens=False)


def _first(command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\n")[0]


def text(tables):
    lines = [HEAD.format(versions=versions())]
    for table in tables:
        peers = list(PEERS[table.reader])
        lines += [f"## {table.title}", "", table.text, ""] if table.text else [f"## {table.title}", ""]
        latest = None
        for each, example, row in table.rows:
            if each is not latest:
                latest = each
                lines += [
                    "", f"**{each.name[0].upper() + each.name[1:]}.** {each.reason}.", "",
                    "| input | Lastro | " + " | ".join(peers) + " |", "|---" * (2 + len(peers)) + "|"
                ]
            cells = [_cell(table.reader, peer, row) for peer in peers]
            ours = "refuses" if "no" in row[OURS] else "reads"
            lines.append(f"| {_label(example)} | {ours} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def _label(example):
    return example.label.replace(
        "|", "\\|") + (f" ({example.argument})" if example.argument == "HEAD" and "HEAD" not in example.label else "")


def _cell(reader, peer, row):
    if "no" in row[peer]:
        return "refuses"
    kinds = compare.kinds(reader, peer, row[OURS], row[peer])
    if kinds == ["accepts"] and "body" in row[peer]:
        return f"reads {_code(row[peer]['body'])}"
    return "reads" if kinds in ([], ["accepts"]) else "other " + ", ".join(kinds)


def _code(body):
    shown = body.encode("unicode_escape").decode().replace("|", "\\|")
    return f"`{shown[:24]}`" + "…" * (len(shown) > 24) if shown else "no body"
