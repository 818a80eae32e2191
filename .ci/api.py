# SPDX-License-Identifier: Apache-2.0
"""The public declarations of each library as text, so that a change of the API is seen in review.

`api.py` compares `Docs/API/MODULE.txt` with the symbol graphs in `.build/symbols` (`.ci/symbols` writes them) and fails where
they differ; `api.py update` writes the text.
"""
import json
import pathlib
import subprocess
import sys

SYMBOLS = pathlib.Path(".build/symbols")
TEXTS = pathlib.Path("Docs/API")
FOUND = pathlib.Path(".build/api")
# What the compiler adds to every type that may be copied.
IMPLIED = {"Swift.Copyable", "Swift.Escapable", "Swift.SendableMetatype", "Copyable", "Escapable", "SendableMetatype"}


def declaration(symbol):
    return " ".join("".join(fragment["spelling"] for fragment in symbol["declarationFragments"]).split())


def graphs(module):
    """What the module declares, then what it adds to types of other modules."""
    for path in sorted((SYMBOLS / module).glob("*.symbols.json"), key=lambda path: ("@" in path.name, path.name)):
        yield path.name.removesuffix(".symbols.json").partition("@")[2], json.loads(path.read_text("utf-8"))


def conformances(graph, names):
    """Names of the protocols of each type, by the type's identifier. The module's own symbols have their names by identifier."""
    found = {}
    for relationship in graph["relationships"]:
        if relationship["kind"] in ("conformsTo", "inheritsFrom"):
            name = names.get(relationship["target"]) or relationship.get("targetFallback") or relationship["target"]
            if name not in IMPLIED:
                found.setdefault(relationship["source"], set()).add(name)
    return found


def described(module):
    lines = []
    names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"])
             for _, graph in graphs(module) for symbol in graph["symbols"]}
    for extended, graph in graphs(module):
        protocols = conformances(graph, names)
        required = {relationship["source"] for relationship in graph["relationships"]
                    if relationship["kind"] in ("requirementOf", "optionalRequirementOf")}
        if extended:
            lines += ["", f"// added to {extended}"]
        rows = []
        for symbol in graph["symbols"]:
            # An extension's block stands for its members.
            if symbol["kind"]["identifier"] == "swift.extension" and symbol["identifier"]["precise"] not in protocols:
                continue
            path, text = symbol["pathComponents"], declaration(symbol)
            if known := sorted(protocols.get(symbol["identifier"]["precise"], [])):
                text += "  // " + ", ".join(known)
            if symbol["identifier"]["precise"] in required:
                text += "  // required"
            owner = f"{'.'.join(path[:-1])}: " if extended and len(path) > 1 else ""
            rows.append((path[:-1] + [path[-1].split("(")[0]], path, text, owner))
        # Members stand below their type, in the order of their names.
        for _, path, text, owner in sorted(rows):
            lines.append(owner + text if extended else "  " * (len(path) - 1) + text)
    return [f"// The public declarations of {module}: `make api` writes this file.", "", *lines]


def main(updating):
    if not any(SYMBOLS.glob("*/*.symbols.json")):
        print(f"{SYMBOLS} has no symbol graphs: run .ci/symbols, which makes them (make api does so, and renews {TEXTS})")
        return 1
    modules = sorted(folder.name for folder in SYMBOLS.iterdir() if folder.is_dir())
    # A module that declares nothing in public has no file.
    texts = {f"{module}.txt": "\n".join(lines) + "\n" for module in modules if len(lines := described(module)) > 2}
    folder = TEXTS if updating else FOUND
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.txt"):
        path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    if not updating and subprocess.run(["diff", "-U1", "-r", TEXTS, FOUND]).returncode != 0:
        print(f"The public API differs from {TEXTS}. If that is intended: make api")
        return 1
    return 0


sys.exit(main(sys.argv[1:] == ["update"]))
