# SPDX-License-Identifier: Apache-2.0
"""Checks the types of `Sources`: a type has at most 25 stored properties, with those of a nested struct that it stores directly, as
an optional or behind a `Lock`. At the outermost level of its file, its instance members lie in at most four files of its target,
no two types have one name, and a public type's file is named after it."""
import collections
import re
import sys

import tree

PROPERTIES, FILES = 25, 4
# Types that only hold data, whose properties do not count: options and limits that a caller or a command line sets, and the
# fields of HTTP archives and traces, as the formats name them.
DATA = {"DialerTransport.Configuration", "HAR.Entry", "RequestSpecification", "TraceEvent", "WebSocketSession.Configuration"}
COMPANIONS = {"UploadToken", "GeminiRequest", "ConnectionSendCompletion", "ProtocolOptions", "ProtocolMetadata", "WebSocketState",
              "WebSocketFragment"}
TYPE = re.compile(r" *(?:@\S+ )*((?:[a-z]+(?:\([a-z]+\))? )*)(struct|class|enum|actor|protocol|extension) (\w+)")
MEMBER = re.compile(r" *(?:@\w+(?:\([^)]*\))? )*((?:[a-z]+(?:\([a-z]+\))? )*)(let|var|func|init|subscript)\b(.*)")
# A brace opens the body of a computed property, or the observers of a stored one.
COMPUTED = re.compile(r"[^=]*\{(?! *(?:didSet|willSet))")
# The type of a property, by its annotation or its initial value: `: X`, `: X?`, `: Lock<X>`, `= X(…)`, `= Lock(X(…))`.
VALUE = re.compile(r"[^:=]*[:=] *(?:Lock[<(])?(?:(\w+)\.)*(\w+)")

stored = collections.Counter()
held = collections.defaultdict(set)
structs = set()
files = collections.defaultdict(set)
declared = collections.defaultdict(set)
problems = []


def scan(path):
    target, scopes = path.parts[2], []
    lines = tree.read(path).splitlines()
    for line, next_line in zip(lines, [*lines[1:], ""]):
        if not line.strip() or line.startswith("#"):
            continue
        # The types around the line, as `swift format` indents it. A line that is not in a type directly has fewer.
        depth = (len(line) - len(line.lstrip())) // 2
        del scopes[depth + (line[2 * depth] != "}") :]
        owner = (target, *[name for name, _ in scopes])
        if len(scopes) >= depth and (found := TYPE.match(line)):
            modifiers, kind, name = found.groups()
            scopes[depth:] = [] if line.endswith("}") else [(name, kind)]
            if kind == "struct":
                structs.add((*owner[: depth + 1], name))
            if not depth and kind != "extension" and "private" not in modifiers:
                declared[name].add(path)
                if "public" in modifiers and (path.stem.split("+")[0] == name) == (name in COMPANIONS):
                    problems.append(f"{path} is not named after the public type {name}, or COMPANIONS has it")
        elif len(scopes) == depth > 0 and (found := MEMBER.match(line)) and "static" not in found[1]:
            # One file's own helpers do not spread a type.
            if depth == 1 and "fileprivate" not in found[1]:
                files[owner].add(path)
            # The type of a long declaration stands on the next line.
            rest = found[3] + (next_line if found[3].endswith((",", "(")) else "")
            if found[2] in ("let", "var") and scopes[-1][1] != "protocol" and not COMPUTED.match(rest):
                stored[owner] += len(re.split("[:=]", found[3])[0].split(","))
                value = VALUE.match(rest)
                if value and value[1] in (None, "Self", scopes[-1][0]):
                    held[owner].add(value[2])


def count(owner, exempt=DATA):
    """Returns the number of stored properties of a type, with those of the nested structs that it holds."""
    parts = [owner]
    for part in parts:
        for name in held[part]:
            inner = next((part[:end] + (name,) for end in range(len(part), 1, -1) if part[:end] + (name,) in structs), None)
            if inner and inner not in parts and ".".join(inner[1:]) not in exempt:
                parts.append(inner)
    return sum(stored[part] for part in parts)


for source in tree.files("Sources/*/*/*.swift"):
    scan(source)
needed = set()
for owner in list(stored):
    name = ".".join(owner[1:])
    if name not in DATA and (properties := count(owner)) > PROPERTIES:
        problems.append(f"{owner[0]}: {name} has {properties} stored properties; {PROPERTIES} are allowed")
    if any(count(owner[:end], exempt=()) > PROPERTIES for end in range(2, len(owner) + 1)):
        needed.add(name)
problems += [f"{name} needs no exemption in DATA of .ci/shape.py" for name in DATA - needed]
for (module, owner), paths in files.items():
    if len(paths) > FILES and module in [path.parts[2] for path in declared.get(owner, ())]:
        problems.append(f"{module}: {owner} lies in {len(paths)} files")
problems += [f"{owner} is declared twice: {', '.join(map(str, sorted(paths)))}" for owner, paths in declared.items() if len(paths) > 1]
sys.exit("\n".join(problems) or 0)
