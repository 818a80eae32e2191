# SPDX-License-Identifier: Apache-2.0
"""Keeps the samples of the articles equal to code that is compiled.

Every ```swift block of Docs/*.docc/*.md stands below a line `<!-- sample: NAME -->` and equals the lines between
`// sample: NAME` and `// end` of Playgrounds/Sources/Samples/ARTICLE.swift, without their common indentation.
`samples.py update` copies the compiled code into the articles.
"""
import pathlib
import re
import sys
import textwrap

SAMPLES = pathlib.Path("Playgrounds/Sources/Samples")
REGION = re.compile(r"^[ \t]*// sample: ([^\n]+)\n(.*?)^[ \t]*// end$", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"(?:<!-- sample: ([^\n]+) -->\n)?```swift\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def main(updating):
    problems = []
    shown = set()
    compiled = {}
    for path in sorted(SAMPLES.glob("*.swift")):
        for name, code in REGION.findall(path.read_text(encoding="utf-8")):
            compiled[(path.stem, name)] = textwrap.dedent(code)
    for article in sorted(pathlib.Path("Docs").glob("*.docc/*.md")):
        text = article.read_text(encoding="utf-8")

        def checked(match):
            name, code = match.groups()
            key = (article.stem, name)
            shown.add(key)
            if name is None:
                problems.append(f"{article}: a swift block without `<!-- sample: NAME -->`: {code.splitlines()[0]}")
            elif key not in compiled:
                problems.append(f"{article}: no sample {name} in {SAMPLES / article.stem}.swift")
            elif compiled[key] != code:
                if updating:
                    return f"<!-- sample: {name} -->\n```swift\n{compiled[key]}```"
                problems.append(f"{article}: the sample {name} is not the compiled one: .ci/samples.py update copies it")
            return match[0]

        new = BLOCK.sub(checked, text)
        if new != text:
            article.write_text(new, encoding="utf-8")
    problems += [f"{SAMPLES / page}.swift: the sample {name} is in no article" for page, name in compiled.keys() - shown]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main(sys.argv[1:] == ["update"]))
