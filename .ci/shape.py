# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the types in `Sources`.

A type has at most 25 stored properties, and its instance members lie in at most four files of its target. No two types have one
name. A public type lies in a file that is named after it. The exceptions stand in `.ci/shape.txt`, each with its reason; a line that nothing
needs fails too.
"""
import collections
import pathlib
import re
import sys

PROPERTIES, FILES = 25, 4
EXCEPTIONS = pathlib.Path(".ci/shape.txt")
TYPE = re.compile(r"( *)(?:@\S+ )*((?:(?:public|package|internal|private|fileprivate|final|indirect|open|nonisolated) )*)"
                  r"(struct|class|enum|actor|protocol|extension) ([\w.]+)")
STORED = re.compile(r" *(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|private|fileprivate|final|weak|unowned|nonisolated|lazy)"
                    r"(?:\([a-z]+\))? )*(?:let|var) (.*)")
MEMBER = re.compile(r" *(?:@\S+ )*(?:(?:public|package|internal|private|final|mutating|nonisolated|consuming|borrowing|weak|unowned|lazy|"
                    r"convenience|required)(?:\([a-z]+\))? )*(?:let|var|func|init|subscript)\b")
COMPUTED = re.compile(r"[^=]*\{(?! *(?:didSet|willSet))")


def code_lines(path):
    """The lines of a file without comments and multi-line strings."""
    is_text = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.count('"""') % 2:
            is_text = not is_text
            line = line.partition('"""')[0] if is_text else ""
        elif is_text:
            line = ""
        yield re.sub(r"(?<!:)//.*", "", line).rstrip()


def names_of(declaration):
    """The names that a `let` or `var` declares."""
    depth, text = 0, ""
    for character in declaration:
        depth += (character in "([<{") - (character in ")]>}")
        text += character if depth == 0 else ""
    return [part for part in text.split("=")[0].split(",") if part.strip()]


class Survey:
    """What the files declare: stored properties, files and kinds of types, by target and name."""

    def __init__(self):
        self.properties = collections.Counter()
        self.files = collections.defaultdict(set)
        self.declared = collections.defaultdict(list)

    def read(self, path):
        target, owners = path.parts[2], []
        lines = list(code_lines(path))
        for index, line in enumerate(lines):
            depth = len(line) - len(line.lstrip())
            if line.strip() and line.strip()[0] not in ")}#":
                owners = [owner for owner in owners if owner[0] < depth]
            if owners and depth == owners[-1][0] + 2 and MEMBER.match(line):
                self.files[target, ".".join(owner[1] for owner in owners)].add(path)
            if found := TYPE.match(line):
                self.declare(path, target, found, owners)
                owners.append((depth, found[4], found[3]))
            elif owners and depth == owners[-1][0] + 2 and (found := STORED.match(line)):
                rest = found[1] if not found[1].rstrip().endswith((",", "(")) else found[1] + " " + lines[index + 1]
                if not re.search(r"\bstatic\b", line) and not COMPUTED.match(rest) and owners[-1][2] != "protocol":
                    self.properties[target, ".".join(owner[1] for owner in owners)] += len(names_of(found[1]))

    def declare(self, path, target, found, owners):
        name = ".".join([*(owner[1] for owner in owners), found[4]])
        if found[3] != "extension" and "private" not in found[2]:
            self.declared[name.split(".")[-1] if not owners else name].append((path, target, found[2], bool(owners)))


def findings(survey):
    """What breaks a rule: its name in `.ci/shape.txt`, and the complaint."""
    owned = collections.Counter()
    for (target, name), count in survey.properties.items():
        owned[target, name.split(".")[0]] += count if "." not in name else 0
        owned[target, name] += count if "." in name else 0
    for (target, name), count in owned.items():
        if count > PROPERTIES:
            yield f"properties {name}", f"{target}: {name} has {count} stored properties"
    own = {(place[1], name) for name, places in survey.declared.items() for place in places}
    for (target, name), files in survey.files.items():
        if (target, name) in own and len(files) > FILES:
            yield f"files {name}", f"{target}: {name} lies in {len(files)} files"
    for name, places in survey.declared.items():
        if len(places) > 1 and "." not in name:
            yield f"twice {name}", f"{name} is declared twice: {', '.join(str(place[0]) for place in places)}"
        for path, _, modifiers, is_nested in places:
            if "public" in modifiers and not is_nested and path.stem.split("+")[0] != name:
                yield f"file {name}", f"{path} has the public type {name}: name a file after it"


def main():
    survey = Survey()
    for path in sorted(pathlib.Path("Sources").glob("*/*/**/*.swift")):
        survey.read(path)
    rows = [line.partition(":")[0] for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    found = list(findings(survey))
    problems = [complaint for key, complaint in found if key not in rows]
    problems += [f"{EXCEPTIONS}: nothing needs the row {row!r}" for row in rows if row not in {key for key, _ in found}]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
