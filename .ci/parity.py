# SPDX-License-Identifier: Apache-2.0
"""Keeps the checklist of Docs/Parity.md true.

Every row `| EP01 | … | `FILE` |` names a file under Tests with a test that has the trait `.parity("EP01")`, and every
identifier of such a trait has its row. Rows without a file have to give a reason. Titles of tests have no identifiers.
"""
import pathlib
import re
import sys

FAMILIES = "EP HT BR ED NW NS MD ER ST IN RT CB WC DC UT OL AU SH PK SC CF TE".split()
IDENTIFIER = re.compile(rf"\b(?:{'|'.join(FAMILIES)})\d\d\b")
NAME = re.compile(r'@Test\(\s*"((?:[^"\\]|\\.)*)"')
TRAIT = re.compile(r"\.parity\(([^)]*)\)")
ROW = re.compile(r"^\| ([A-Z]{2}\d\d) \| (.+) \| (.+?) \|$", re.MULTILINE)

problems = []
tested = {}
for path in sorted(pathlib.Path("Tests").rglob("*.swift")):
    if ".build" in path.parts:
        continue
    text = path.read_text(encoding="utf-8")
    problems += [f"{path} has {name!r} in a title: use .parity" for name in NAME.findall(text) if IDENTIFIER.search(name)]
    for identifier in re.findall(r'"(\w+)"', " ".join(TRAIT.findall(text))):
        tested.setdefault(identifier, set()).add(str(path.relative_to("Tests")))
rows = ROW.findall(pathlib.Path("Docs/Parity.md").read_text(encoding="utf-8"))
listed = [identifier for identifier, _, _ in rows]
problems += [f"{identifier} has several rows" for identifier in set(listed) if listed.count(identifier) > 1]
problems += [f"{identifier} is tested and has no row" for identifier in tested.keys() - set(listed)]
for identifier, _, place in rows:
    if file := re.fullmatch(r"`(.+)`", place):
        if file[1] not in tested.get(identifier, set()):
            problems.append(f"{identifier}: no test of {file[1]} has it in .parity")
    elif not re.match(r"(no counterpart|superseded): ", place):
        problems.append(f"{identifier}: neither a file nor a reason: {place}")
print("\n".join(f"Docs/Parity.md: {problem}" for problem in sorted(problems)), end="\n" if problems else "")
sys.exit(1 if problems else 0)
