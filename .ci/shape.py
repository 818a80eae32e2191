# SPDX-License-Identifier: Apache-2.0
"""Checks the types of `Sources`, at the outermost level of their files: a type has at most 25 stored properties, its instance
members lie in at most four files of its target, no two types have one name, and a file with a public type is named after a type
that it declares."""
import collections
import pathlib
import re
import sys

PROPERTIES, FILES = 25, 4
# Types that may have more properties, each with its reason.
LARGE = {
    "RequestSpecification": "only holds the options of the command line",
    "Exchange": "one request from queue to end, whose parts change together",
}
TYPE = re.compile(r"(?:@\S+ )*((?:[a-z]+(?:\([a-z]+\))? )*)(struct|class|enum|actor|protocol|extension) (\w+)")
MEMBER = re.compile(r"  (?:@\w+(?:\([^)]*\))? )*((?:[a-z]+(?:\([a-z]+\))? )*)(let|var|func|init|subscript)\b(.*)")
# A brace opens the body of a computed property, or the observers of a stored one.
COMPUTED = re.compile(r"[^=]*\{(?! *(?:didSet|willSet))")

stored = collections.Counter()
files = collections.defaultdict(set)
declared = collections.defaultdict(list)
problems = []


def read(path):
    target, name, kind, types = path.parts[2], None, None, {}
    lines = path.read_text("utf-8").splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""]):
        if found := TYPE.match(line):
            modifiers, kind, name = found.groups()
            if kind != "extension" and "private" not in modifiers:
                types[name] = modifiers
        elif name and (found := MEMBER.match(line)) and "static" not in found[1]:
            # One file's own helpers do not spread a type.
            if "fileprivate" not in found[1]:
                files[target, name].add(path)
            # The type of a long declaration stands on the next line.
            rest = found[3] + (next_line if found[3].endswith((",", "(")) else "")
            if found[2] in ("let", "var") and kind != "protocol" and not COMPUTED.match(rest):
                stored[target, name] += len(re.split("[:=]", found[3])[0].split(","))
    for name, modifiers in types.items():
        declared[name].append(path)
        if "public" in modifiers and path.stem.split("+")[0] not in types:
            problems.append(f"{path} has the public type {name}, and none that it is named after")


for source in sorted(pathlib.Path("Sources").glob("*/*/**/*.swift")):
    read(source)
for (module, owner), count in stored.items():
    if (count > PROPERTIES) != (owner in LARGE):
        problems.append(f"{module}: {owner} has {count} stored properties; {PROPERTIES} are allowed, but for the types in LARGE")
for (module, owner), paths in files.items():
    if len(paths) > FILES and module in [path.parts[2] for path in declared.get(owner, [])]:
        problems.append(f"{module}: {owner} lies in {len(paths)} files")
problems += [f"{owner} is declared twice: {', '.join(map(str, paths))}" for owner, paths in declared.items() if len(paths) > 1]
sys.exit("\n".join(problems) or 0)
