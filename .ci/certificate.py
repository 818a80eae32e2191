# SPDX-License-Identifier: Apache-2.0
"""`certificate.py COMMIT TREE` writes Docs/Certificate.md from LongRun.md and the pages whose numbers tools print."""
import pathlib
import re
import sys

from tree import read, version


def cells(page):
    return [line.strip("| ").split(" | ") for line in read(f"Docs/{page}.md").splitlines() if line.startswith("| ")]


commit, tree = sys.argv[1:]
rows = {row[0]: row for row in cells("LongRun")}
table, wanting = [], []
parts = re.findall(r"^part (\w+) ", read(".ci/long"), re.MULTILINE)
for part in parts:
    _, _, tried, tested, day, _, result = rows.get(part, [""] * 6 + ["no result"])
    verdict, _, last = result.partition(": ")
    state = verdict + (", with another tree" if tested not in ("", tree) or tested == "none" else "")
    wanting += [part] * (state != "passed")
    table.append(" | ".join((part, state if state == "passed" else f"**{state}**", tried, day, last)))
machines = [row[3:] for row in cells("Machines") if row[3:] and row[3][0].isdigit()]
histories, states = (sum(int(number.replace(",", "")) for row in machines for number in row[column]) for column in
                     (slice(1), slice(1, 2)))
differences = [row for row in cells("Readers") if re.search(r"\| (reads|refuses|other) ", " | ".join(row) + " ")]
failures = re.search(r"last run: (.*?)\. ", read("Docs/Torture.md").replace("\n", " "))[1]
limits = read("Docs/Internals.md").partition("## What is not good about it\n")[2].partition("\n- ")[2].strip()
rest = f" These did not, or have no result: {', '.join(wanting)}." if wanting else ""
pathlib.Path("Docs/Certificate.md").write_text(f"""# Certificate of Lastro {version()}

`make long` writes this page. It shows what was tried of commit {commit}, whose `Sources`, `Tests` and `Package.swift` have the
tree {tree}, and what was not. {len(parts) - len(wanting)} of {len(parts)} parts passed with this tree.{rest}

| part | state | commit | day | last line |
| --- | --- | --- | --- | --- |
{chr(10).join(f"| {row} |" for row in table)}

- [Machines](Machines.md): {histories:,} histories and combinations, every one up to a bound, with {states:,} states.
- [Readers](Readers.md): {len(differences)} kinds of input on which Lastro and other readers differ.
- [Failures, each once](Torture.md): {failures}.

## Known limits

- {limits}
""", "utf-8")
