# SPDX-License-Identifier: Apache-2.0
"""The public declarations of each library as text, so that a change of the API is seen in review.

`api.py` compares `Docs/API/MODULE.txt` with the symbol graphs in `.build/symbols` (`.ci/symbols` writes them) and fails where
they differ; `api.py update` writes the text.
"""
import collections
import json
import pathlib
import subprocess
import sys

SYMBOLS, TEXTS, FOUND = map(pathlib.Path, (".build/symbols", "Docs/API", ".build/api"))
# What the compiler adds to every type that may be copied.
IMPLIED = {"Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype", "Copyable", "Escapable", "SendableMetatype"}


def declarations(extended, graph, names):
    """A line for each symbol. Members stand below their type, in the order of their names."""
    protocols, required = collections.defaultdict(set), set()
    for relationship in graph["relationships"]:
        kind, source, target = (relationship[key] for key in ("kind", "source", "target"))
        if kind in ("conformsTo", "inheritsFrom"):
            protocols[source].add(names.get(target) or relationship.get("targetFallback") or target)
        elif kind in ("requirementOf", "optionalRequirementOf"):
            required.add(source)
    rows = []
    for symbol in graph["symbols"]:
        identifier, path = symbol["identifier"]["precise"], symbol["pathComponents"]
        known = sorted(protocols[identifier] - IMPLIED)
        # An extension's block stands for its members.
        if symbol["kind"]["identifier"] == "swift.extension" and not known:
            continue
        text = " ".join("".join(fragment["spelling"] for fragment in symbol["declarationFragments"]).split())
        text += "  // " + ", ".join(known) if known else ""
        text += "  // required" if identifier in required else ""
        before = "  " * (len(path) - 1) if not extended else f"{'.'.join(path[:-1])}: " if path[1:] else ""
        rows.append((path[:-1] + [path[-1].split("(")[0]], path, text, before + text))
    return [line for *_, line in sorted(rows)]


def described(module):
    """The module's own symbols, then those that it adds to types of other modules."""
    paths = sorted((SYMBOLS / module).glob("*.symbols.json"), key=lambda path: ("@" in path.name, path.name))
    graphs = [(path.name.removesuffix(".symbols.json").partition("@")[2], json.loads(path.read_text("utf-8"))) for path in paths]
    names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"])
             for _, graph in graphs for symbol in graph["symbols"]}
    lines = [f"// The public declarations of {module}: `make api` writes this file.", ""]
    for extended, graph in graphs:
        lines += ["", f"// added to {extended}"] if extended else []
        lines += declarations(extended, graph, names)
    return lines


texts = {folder.name: described(folder.name) for folder in SYMBOLS.iterdir()}
updating = sys.argv[1:] == ["update"]
folder = TEXTS if updating else FOUND
folder.mkdir(parents=True, exist_ok=True)
for path in folder.glob("*.txt"):
    path.unlink()
for module, lines in texts.items():
    # A module that declares nothing in public has no file.
    if len(lines) > 2:
        (folder / f"{module}.txt").write_text("\n".join(lines) + "\n", "utf-8")
if not updating and subprocess.run(["diff", "-U1", "-r", TEXTS, FOUND]).returncode != 0:
    sys.exit(f"The public API differs from {TEXTS}. If that is intended: make api")
