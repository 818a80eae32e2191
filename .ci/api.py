# SPDX-License-Identifier: Apache-2.0
"""Compares `Docs/API/MODULE.txt`, the public declarations, with the symbol graphs of `.ci/symbols`; `api.py update` writes the text.
A module's page links to what the module adds to types of others. `api.py freeze` writes the names of a released version: one may
only disappear with a row of CHANGELOG, above that version, that begins with Breaking and has it or the type around it."""
import collections
import json
import pathlib
import re
import subprocess
import sys

from tree import read, version

TEXTS, FOUND, FROZEN = map(pathlib.Path, ("Docs/API", ".build/api", "Docs/Frozen.txt"))
# What the compiler adds to every type that may be copied.
IMPLIED = {prefix + name for prefix in ("", "Swift.") for name in ("Copyable", "Escapable", "SendableMetatype")}


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


def described(module, graphs):
    """The module's own symbols, then those that it adds to types of other modules."""
    names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"])
             for graph in graphs.values() for symbol in graph["symbols"]}
    yield f"// The public declarations of {module}: `make api` writes this file.\n"
    for extended, graph in sorted(graphs.items()):
        yield from [f"\n// added to {extended}"] if extended else []
        yield from declarations(extended, graph, names)


def removed(names):
    released, *frozen = read(FROZEN).splitlines() if FROZEN.exists() else [""]
    rows = read("CHANGELOG.md").split(f"\n## {released}")[0].split("\n- ")
    known = set(re.findall(r"\w+", " ".join(row for row in rows if row.startswith("Breaking"))))
    for name in sorted(gone := set(frozen) - names):
        parts = name.split("(")[0].split(".")
        around = (".".join(parts[:end]) in gone for end in range(1, len(parts)))
        if not any(around) and parts[-1].split()[-1] not in known:
            yield f"removed without a row in CHANGELOG.md that begins with Breaking: {name}"


def unlisted(module, extended, path):
    page = f"Docs/{module}.docc/{module}.md"
    if extended and not re.search(rf"``{extended}/{path[0]}(``|{re.escape('/'.join(('', *path[1:])))})", read(page)):
        yield f"{page}: no link to {'/'.join((extended, *path))}"


graphs = collections.defaultdict(dict)
for path in pathlib.Path(".build/symbols").glob("*/*.symbols.json"):
    graphs[path.parent.name][path.name.removesuffix(".symbols.json").partition("@")[2]] = json.loads(read(path))
symbols = [(module, extended, symbol["pathComponents"]) for module in graphs for extended, graph in graphs[module].items()
           for symbol in graph["symbols"] if symbol["kind"]["identifier"] != "swift.extension"]
names = {f"{module}: {'.'.join(path)}" for module, _, path in symbols}
if sys.argv[1:] == ["freeze"]:
    sys.exit(FROZEN.write_text("\n".join([version(), *sorted(names)]) + "\n", "utf-8") == 0)
if problems := [*removed(names), *(problem for symbol in symbols for problem in unlisted(*symbol))]:
    sys.exit("\n".join(problems))
updating = sys.argv[1:] == ["update"]
folder = TEXTS if updating else FOUND
folder.mkdir(parents=True, exist_ok=True)
for path in folder.glob("*.txt"):
    path.unlink()
for module in graphs:
    if len(lines := [*described(module, graphs[module])]) > 1:
        (folder / f"{module}.txt").write_text("\n".join(lines) + "\n", "utf-8")
if not updating and subprocess.run(["diff", "-U1", "-r", TEXTS, FOUND]).returncode:
    sys.exit(f"The public API differs from {TEXTS}. If that is intended: make api")
