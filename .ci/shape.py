# SPDX-License-Identifier: Apache-2.0
"""Checks the shape of the types in `Sources`, at the outermost level of their files.

A type has at most 25 stored properties, and its instance members lie in at most four files of its target.
No two types have one name. A file with a public type is named after a type that it declares.
"""
import collections
import pathlib
import re
import sys

PROPERTIES, FILES = 25, 4
# Types that may have more properties, each with its reason.
LARGE = {
    "RequestSpecification": "only holds the options of the command line",
    "Exchange": "one request from queue to end, whose parts change together",
    "StreamHub": "all dials of a loop; file reads and races are to leave it",
}
TYPE = re.compile(r"(?:@\S+ )*((?:[a-z]+(?:\([a-z]+\))? )*)(struct|class|enum|actor|protocol|extension) (\w+)")
MEMBER = re.compile(r"  (?:@\w+(?:\([^)]*\))? )*(?:[a-z]+(?:\([a-z]+\))? )*(let|var|func|init|subscript)\b(.*)")
# A brace opens the body of a computed property, or the observers of a stored one.
COMPUTED = re.compile(r"[^=]*\{(?! *(?:didSet|willSet))")


class Survey:
    def __init__(self):
        self.properties = collections.Counter()
        self.files = collections.defaultdict(set)
        self.declared = collections.defaultdict(list)

    def read(self, path):
        name = kind = None
        lines = path.read_text(encoding="utf-8").splitlines()
        for index, line in enumerate(lines):
            if found := TYPE.match(line):
                kind, name = found[2], found[3]
                if kind != "extension" and "private" not in found[1]:
                    self.declared[name].append((path, "public" in found[1]))
            elif name and (found := MEMBER.match(line)):
                modifiers = line[:found.start(1)].split()
                if "static" in modifiers:
                    continue
                # One file's own helpers do not spread a type.
                if "fileprivate" not in modifiers:
                    self.files[path.parts[2], name].add(path)
                # The type of a long declaration stands on the next line.
                rest = found[2] + (lines[index + 1] if found[2].endswith((",", "(")) else "")
                if found[1] in ("let", "var") and not COMPUTED.match(rest) and kind != "protocol":
                    self.properties[path.parts[2], name] += len(re.split("[:=]", found[2])[0].split(","))

    def problems(self):
        for (target, name), count in self.properties.items():
            if (count > PROPERTIES) != (name in LARGE):
                yield f"{target}: {name} has {count} stored properties; {PROPERTIES} are allowed, but for the types in LARGE"
        own = {(path.parts[2], name) for name, places in self.declared.items() for path, _ in places}
        for key, files in self.files.items():
            if key in own and len(files) > FILES:
                yield f"{key[0]}: {key[1]} lies in {len(files)} files"
        for name, places in self.declared.items():
            if len(places) > 1:
                yield f"{name} is declared twice: {', '.join(str(path) for path, _ in places)}"
            for path, is_public in places:
                stem = path.stem.split("+")[0]
                if is_public and path not in [place for place, _ in self.declared.get(stem, [])]:
                    yield f"{path} has the public type {name}, and no type {stem}"


def main():
    survey = Survey()
    for path in sorted(pathlib.Path("Sources").glob("*/*/**/*.swift")):
        survey.read(path)
    problems = list(survey.problems())
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
