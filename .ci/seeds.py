# SPDX-License-Identifier: Apache-2.0
"""Keeps the tables of Docs/Seeds.md true: each row names suites that are there, and guides that are there."""
import pathlib
import re
import sys

SUITE = re.compile(r'@Suite\(\s*"((?:[^"\\]|\\.)*)"')
suites = {name for path in pathlib.Path("Tests").rglob("*.swift") if not any(part.startswith(".build") for part in path.parts)
          for name in SUITE.findall(path.read_text(encoding="utf-8"))}
guides = {path.stem for path in pathlib.Path("Docs").glob("*.docc/*.md")}
problems = []
rows = 0
for number, line in enumerate(pathlib.Path("Docs/Seeds.md").read_text(encoding="utf-8").splitlines(), 1):
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    if not line.startswith("| ") or len(cells) != 4 or cells[2] == "test":
        continue
    rows += 1
    problems += [f"{number}: no suite is named {name}" for name in cells[2].split("; ") if name not in suites | {"none"}]
    problems += [f"{number}: there is no guide {name}" for name in cells[3].split(", ") if name not in guides | {"none"}]
if rows < 40:
    problems.append(f"only {rows} rows were read: is the form of the tables another?")
print("\n".join(f"Docs/Seeds.md:{problem}" for problem in problems), end="\n" if problems else "")
sys.exit(1 if problems else 0)
