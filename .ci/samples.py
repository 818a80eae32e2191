# SPDX-License-Identifier: Apache-2.0
"""Keeps the samples of the guides equal to code that is run.

Every ```swift block of Docs/*.docc/*.md stands below a line `<!-- sample: NAME -->` and equals the lines between
`// sample: NAME` and `// end` of Playgrounds/Sources/Pages/GUIDE.swift (or of a file in Pages/GUIDE/), without their common
indentation; the pages run them. `samples.py update` copies the code into the guides.

A guide with samples begins with the modules that they need, below `<!-- imports -->`: lines that its page has too. Blocks below
`<!-- file: PATH -->` are files of a package that the guide's reader makes: `.ci/newcomer` builds it. A block
below `<!-- prints: NAME -->` is what the page compares with what its sample prints, and is never empty. A test that
CONTRIBUTING.md shows is one that is run. A ```sh block of a guide or of README stands below `<!-- run: NAME -->`, which
`.ci/firsthour` or `.ci/installed` enters on a bare system, or below `<!-- not run: REASON -->`.
"""
import pathlib
import re
import sys
import textwrap

import hello

PAGES = pathlib.Path("Playgrounds/Sources/Pages")
REGION = re.compile(r"^[ \t]*// sample: ([^\n]+)\n(.*?)^[ \t]*// end$", re.DOTALL | re.MULTILINE)
PRINTS = re.compile(r"<!-- prints: ([^\n]+) -->\n(?:```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
IMPORTS = re.compile(r"<!-- imports -->\n```swift\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^(.*)\n```sh$", re.MULTILINE)
BLOCK = re.compile(r"(?:<!-- (sample|file): ([^\n]+) -->\n)?```swift\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def regions(problems):
    """What the pages show, by guide and name."""
    found = {}
    for path in sorted(PAGES.rglob("*.swift")):
        guide = path.relative_to(PAGES).parts[0].removesuffix(".swift")
        for name, code in REGION.findall(path.read_text(encoding="utf-8")):
            if (guide, name) in found:
                problems.append(f"{path}: the guide {guide} has two samples named {name}")
            found[(guide, name)] = textwrap.dedent(code)
    return found


def imports(guide, text):
    """Problems of the modules that a guide says its samples need."""
    pages = [path for path in PAGES.rglob("*.swift") if path.relative_to(PAGES).parts[0].removesuffix(".swift") == guide.stem]
    known = {line.strip() for path in pages for line in path.read_text(encoding="utf-8").splitlines()}
    shown = [line for code in IMPORTS.findall(text) for line in code.splitlines()]
    if "<!-- sample:" in text and "<!-- file:" not in text and not shown:
        yield f"{guide}: says nowhere what its samples import: write a block below <!-- imports -->"
    for line in shown:
        if not line.startswith("import ") or line not in known:
            yield f"{guide}: its page has no line `{line}`"


def commands(page, text):
    """Problems of a page's shell blocks."""
    runners = "".join(pathlib.Path(".ci", name).read_text(encoding="utf-8") for name in ("firsthour", "installed"))
    for above in SHELL.findall(text):
        name = re.fullmatch(r"<!-- run: (.+) -->", above)
        # The first guide is followed as a whole.
        if name and f'"{name[1]}"' not in runners and str(page) != hello.PAGE:
            yield f"{page}: nothing runs the commands {name[1]}: .ci/firsthour and .ci/installed do"
        elif not name and not re.fullmatch(r"<!-- not run: .+ -->", above):
            yield f"{page}: a shell block without `<!-- run: NAME -->` or `<!-- not run: REASON -->`, below: {above}"


def tests_that_are_shown():
    """Problems of CONTRIBUTING.md, whose swift blocks stand in a test, in a suite."""
    tests = [path.read_text(encoding="utf-8") for path in pathlib.Path("Tests").rglob("*Tests.swift")]
    for _, _, code in BLOCK.findall(pathlib.Path("CONTRIBUTING.md").read_text(encoding="utf-8")):
        if not any(textwrap.indent(code, "  ") in test for test in tests):
            yield f"CONTRIBUTING.md: in no test: {code.splitlines()[0]}"


def main(updating):
    problems = []
    shown = set()
    code_of = regions(problems)
    for guide in sorted(pathlib.Path("Docs").glob("*.docc/*.md")):
        text = guide.read_text(encoding="utf-8")

        def checked(match):
            kind, name, code = match.groups()
            if text[:match.start()].endswith("<!-- imports -->\n"):
                return match[0]
            key = (guide.stem, name)
            if kind == "file":
                return match[0]
            shown.add(key)
            if name is None:
                problems.append(f"{guide}: a swift block without `<!-- sample: NAME -->`: {code.splitlines()[0]}")
            elif key not in code_of:
                problems.append(f"{guide}: no page has the sample {name} of {guide.stem}")
            elif code_of[key] != code:
                if updating:
                    return f"<!-- sample: {name} -->\n```swift\n{code_of[key]}```"
                problems.append(f"{guide}: the sample {name} is not what is run: .ci/samples.py update copies that")
            return match[0]

        problems += [f"{guide}: nothing stands below <!-- prints: {name} -->: write what the sample prints"
                     for name, printed in PRINTS.findall(text) if not printed.strip()]
        problems += imports(guide, text)
        problems += commands(guide, text)
        new = BLOCK.sub(checked, text)
        if new != text:
            guide.write_text(new, encoding="utf-8")
    problems += [f"{PAGES}: the sample {name} of {guide} is in no guide" for guide, name in sorted(code_of.keys() - shown)]
    problems += commands("README.md", pathlib.Path("README.md").read_text(encoding="utf-8"))
    problems += tests_that_are_shown()
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


sys.exit(main(sys.argv[1:] == ["update"]))
