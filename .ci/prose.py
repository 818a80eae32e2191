# SPDX-License-Identifier: Apache-2.0
"""Finds doc comments and paragraphs that open with a clause, and vague words. A few are allowed."""
import re
import sys

import tree

CLAUSE = re.compile(r"(?:What|How|Why|Where|Which|When|Whom|Whose|Those|Of|One|As|That of|Who|Beside|Amid)\b(?!-)")
VAGUE = re.compile(r"\b(?:told|tells of|anew|stands?|stood|goes on|go on|by itself|is had|be had|comes to its end|lies)\b", re.I)
openings, clauses, vague = 0, [], []
for path in tree.files("README.md", "Docs/*.md", "Sources/*.swift", "Tests/*.swift"):
    mark, before, fenced = "///" if path.suffix == ".swift" else "", False, False
    for number, line in enumerate(map(str.strip, tree.read(path).splitlines()), 1):
        fenced ^= line.startswith("```")
        text = line.lstrip("/ ") if not mark or line.startswith("//") else ""
        if text and not fenced:
            opens = not before and line.startswith(mark) and text[0].isalpha()
            openings += opens
            found = [f"{path}:{number}: {text}"]
            clauses += found if opens and CLAUSE.match(text) else []
            vague += found if VAGUE.search(text) else []
        before = line and line.startswith(mark)
if len(clauses) > openings / 100 or len(vague) > 60:
    print(*clauses, *vague, sep="\n")
    sys.exit(f"{len(clauses)} of {openings} open with a clause; {len(vague)} lines have a vague word")
