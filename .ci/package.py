# SPDX-License-Identifier: Apache-2.0
"""Lists what targets share, with the reason: who needs it.

For each library with a public API, `Docs/API/package/TARGET.txt` has its `package` declarations: types and functions, and what
they add to public types, with the targets of `Sources` whose code has the name; members of a `package` type are there because
of their type. Targets that declare the same name themselves are left out: which of the two they mean, a name does not tell.
`package.py` fails where a list differs, and where no other target, nor a test, has the name of a declaration, nor another
declaration needs it: it can be `internal`. `package.py update` writes the lists.
"""
import pathlib
import re
import sys

import kept
from rooms import code_of

LISTS = pathlib.Path("Docs/API/package")
# Without API for users: what is not internal there, is for other targets.
WITHOUT = {"LastroSupport", "LastroWire", "LastroHTTP2", "LastroObfuscation"}
WORD = re.compile(r"\w+")
DECLARED = re.compile(r"\b(?:func|var|let|struct|class|enum|protocol|actor|typealias|case)\s+(\w+)|(\w+):")
NAME = re.compile(r"\b(?:func|var|let|struct|class|enum|protocol|actor|typealias)\s+(\w+|[^\s\w(]+)|\b(init|subscript)\b")
SHARED = re.compile(r"\s*(?:@\S+\s+|[a-z]+\s+)*package (?!import\b)")
OWNER = re.compile(r"\s*(?:@\S+\s+|[a-z]+(?:\([a-z]+\))?\s+)*(?:extension|struct|class|enum|protocol|actor)\s+([\w.]+)")
# What protocols of the standard library ask for: no code has to write the name.
REQUIRED = {"==", "hash", "rawValue", "description"}


def declarations(text):
    """Owner, name and text of each `package` declaration."""
    owners = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        depth = (len(line) - len(line.lstrip())) // 2
        if line.strip() and line[depth * 2] not in ")}#":
            owners = [owner for owner in owners if owner[0] < depth]
        if SHARED.match(line) and (found := NAME.search(line)):
            yield ".".join(name for _, name in owners), found[1] or found[2], signature("\n".join(lines[number:]))
        if opened := OWNER.match(line):
            owners.append((depth, opened[1]))


def signature(text):
    """The declaration on one line, up to its body or its value."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if depth == 0 and (character == "{" or character == "=" and text[index - 1] == text[index + 1] == " "
                           or character == "\n" and not text[index + 1:].lstrip(" ").startswith((")", "where "))):
            text = text[:index]
            break
    text = re.sub(r"\bpackage (?!\()", "", " ".join(text.split()))
    return text.replace("( ", "(").replace(" )", ")")


def main(updating):
    code = {path: code_of(path.read_text(encoding="utf-8")) for folder in ("Sources", "Tests")
            for path in sorted(pathlib.Path(folder).rglob("*.swift"))}
    words, declared = {}, {}
    for path, text in code.items():
        words.setdefault(path.parts[:2], set()).update(WORD.findall(text))
        declared.setdefault(path.parts[:2], set()).update(name for pair in DECLARED.findall(text) for name in pair if name)
    lists, unneeded = {}, []
    for target in sorted({path.parts[1] for path in code if path.parts[0] == "Sources"} - WITHOUT):
        found = [(path, *row) for path in code if path.parts[:2] == ("Sources", target)
                 for row in declarations(path.read_text(encoding="utf-8"))]
        types = {name for _, _, name, text in found if OWNER.match(text)}
        rows = []
        for path, owner, name, text in found:
            # An initializer is named by its type.
            sought = owner.split(".")[-1] if name in ("init", "subscript") else name
            users = [key for key in words if key != ("Sources", target) and sought in words[key]]
            if not users and sought not in REQUIRED and not any(
                    sought in WORD.findall(other) for _, _, other_name, other in found if other_name != name):
                unneeded.append(f"{path}: no other target needs {name}: it can be internal")
            sure = [key[1] for key in users if key[0] == "Sources" and sought not in declared[key]]
            reason = ", ".join(sure) or ("tests" if all(key[0] == "Tests" for key in users) else "")
            is_member = owner.split(".")[-1] in types
            rows.append(((f"{owner}." if owner else "") + name, text + (f"  // {reason}" if reason and not is_member else "")))
        if rows:
            head = f"// The package declarations of {target}, and who needs them: `make api` writes this file."
            lists[f"{target}.txt"] = "\n".join([head, "", *(f"{name}: {text}" for name, text in sorted(rows))]) + "\n"
    if updating:
        kept.renew(LISTS, lists)
    difference = kept.difference(LISTS, lists)
    if difference:
        difference.append("What targets share differs from Docs/API/package. If that is intended: make api")
    if difference or unneeded:
        print("\n".join(difference + unneeded))
    return 1 if difference or unneeded else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["update"]))
