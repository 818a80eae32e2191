# SPDX-License-Identifier: Apache-2.0
"""Checks the types of `Sources`, at the outermost level of their files: a type has at most 25 stored properties, no two have one
name, and a file with a public type is named after a type that it declares."""
import collections
import pathlib
import re
import sys

PROPERTIES = 25
# Types that may have more properties, each with its reason.
LARGE = {
    "RequestSpecification": "only holds the options of the command line",
    "Exchange": "one request from queue to end, whose parts change together",
    "StreamHub": "all dials of a loop; file reads and races are to leave it",
    "StreamSession": "a dial and the open stream in one, to be cut in two",
}
TYPE = re.compile(r"(?:@\S+ )*((?:[a-z]+(?:\([a-z]+\))? )*)(struct|class|enum|actor|protocol|extension) (\w+)")
STORED = re.compile(r"  (?:@\w+(?:\([^)]*\))? )*(?!static)(?:(?!static)[a-z]+(?:\([a-z]+\))? )*(?:let|var) (.*)")
# A brace opens the body of a computed property, or the observers of a stored one.
COMPUTED = re.compile(r"[^=]*\{(?! *(?:didSet|willSet))")


def properties(lines):
    """Outermost types of a file, each with its modifiers and the number of properties that each declaration stores."""
    found = []
    for index, line in enumerate(lines):
        if match := TYPE.match(line):
            found.append((match[3], match[2], match[1], []))
        elif found and found[-1][1] != "protocol" and (match := STORED.match(line)):
            # The type of a long declaration stands on the next line.
            rest = match[1] + (lines[index + 1] if match[1].endswith((",", "(")) else "")
            if not COMPUTED.match(rest):
                found[-1][3].append(len(re.split("[:=]", match[1])[0].split(",")))
    return found


def main():
    stored, declared, problems = collections.Counter(), collections.defaultdict(list), []
    for path in sorted(pathlib.Path("Sources").glob("*/*/**/*.swift")):
        types = properties(path.read_text(encoding="utf-8").splitlines())
        own = [(name, modifiers) for name, kind, modifiers, _ in types if kind != "extension" and "private" not in modifiers]
        for name, _, _, counts in types:
            stored[path.parts[2], name] += sum(counts)
        for name, modifiers in own:
            declared[name].append(str(path))
            if "public" in modifiers and path.stem.split("+")[0] not in [other for other, _ in own]:
                problems.append(f"{path} has the public type {name}, and none that it is named after")
    for (target, name), count in stored.items():
        if (count > PROPERTIES) != (name in LARGE):
            problems.append(f"{target}: {name} has {count} stored properties; {PROPERTIES} are allowed, but for the types in LARGE")
    problems += [f"{name} is declared twice: {', '.join(paths)}" for name, paths in declared.items() if len(paths) > 1]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main())
