# SPDX-License-Identifier: Apache-2.0
"""Keeps the samples of README and the guides equal to code that is run.

Every ```swift block of Docs/*.docc/*.md stands below a line `<!-- sample: NAME -->` and equals the lines between
`// sample: NAME` and `// end` of Playgrounds/Sources/Pages/GUIDE.swift (or of a file in Pages/GUIDE/), without their common
indentation; the pages run them. README's example is the program of Tests/Consumer. `samples.py update` copies the code.

A guide with samples begins with the modules that they need, below `<!-- imports -->`: lines that its page has too. Blocks below
`<!-- file: PATH -->` are files of a package that the guide's reader makes: `.ci/outside` builds it. A block
below `<!-- prints: NAME -->` is what the page compares with what its sample prints, and is never empty. A test that
CONTRIBUTING.md shows is one that is run. A ```sh block of a guide or of README stands below `<!-- run: NAME -->`, which
`.ci/firsthour` or `.ci/installed` enters on a bare system, or below `<!-- not run: REASON -->`. A recipe has at most ten lines.
"""
import pathlib
import re
import sys
import textwrap

import guides

PAGES = pathlib.Path("Playgrounds/Sources/Pages")
EXAMPLE = pathlib.Path("Tests/Consumer/Sources/ReadmeExample/main.swift")
REGION = re.compile(r"^[ \t]*// sample: ([^\n]+)\n(.*?)^[ \t]*// end$", re.DOTALL | re.MULTILINE)
EMPTY = re.compile(r"<!-- prints: ([^\n]+) -->\n(?!```text\n(?!\s*```))")


def guide_of(path):
    return path.relative_to(PAGES).parts[0].removesuffix(".swift")


def regions(pages, problems):
    """What is run, by guide and name."""
    found = {("README", "readme"): EXAMPLE.read_text("utf-8")}
    for path, text in pages.items():
        for name, code in REGION.findall(text):
            if (guide_of(path), name) in found:
                problems.append(f"{path}: the guide {guide_of(path)} has two samples named {name}")
            found[guide_of(path), name] = textwrap.dedent(code)
    return found


def problems_of_block(page, runners, kind, name, language, text):
    """Problems of a block that is no sample."""
    if language == "swift" and kind not in ("sample", "file", "imports") and page.name != "README.md":
        yield f"{page}: a swift block without `<!-- sample: NAME -->`: {text.splitlines()[0]}"
    elif language == "sh" and kind not in ("run", "not run"):
        yield f"{page}: a shell block without `<!-- run: NAME -->` or `<!-- not run: REASON -->`: {text.splitlines()[0]}"
    # The first guide is followed as a whole.
    elif kind == "run" and f'"{name}"' not in runners and str(page) != guides.FIRST:
        yield f"{page}: nothing runs the commands {name}: .ci/firsthour and .ci/installed do"


def problems_of_imports(page, pages):
    known = {line.strip() for path, text in pages.items() if guide_of(path) == page.stem for line in text.splitlines()}
    for line in [line for kind, _, _, text in guides.blocks(page) if kind == "imports" for line in text.splitlines()]:
        if not line.startswith("import ") or line not in known:
            yield f"{page}: its page has no line `{line}`"


def problems_of_tests():
    """Problems of CONTRIBUTING.md, whose swift blocks stand in a test, in a suite."""
    tests = [path.read_text("utf-8") for path in pathlib.Path("Tests").rglob("*Tests.swift")]
    for _, _, language, code in guides.blocks("CONTRIBUTING.md"):
        if language == "swift" and not any(textwrap.indent(code, "  ") in test for test in tests):
            yield f"CONTRIBUTING.md: in no test: {code.splitlines()[0]}"


def problems_of_packages():
    """Places that name other packages than the first guide."""
    setup = pathlib.Path(".ci/setup").read_text("utf-8")
    doctor = pathlib.Path("Sources/Tools/LastroCommand/Doctor/Checkup+Headers.swift").read_text("utf-8")
    wanted = guides.packages(guides.FIRST)
    for place, named in {
        "README.md": guides.packages("README.md"),
        ".ci/setup": re.findall(r"^need_library (?!libc6-dev)(\S+)", setup, re.MULTILINE),
        "lastro doctor": re.findall(r'^    \("([a-z0-9.+-]+)", ', doctor, re.MULTILINE),
    }.items():
        if sorted(named) != sorted(wanted):
            yield f"{guides.FIRST} names the packages {' '.join(wanted)}, and {place} names {' '.join(named)}"


def main(updating):
    problems, shown = [], set()
    pages = {path: path.read_text("utf-8") for path in sorted(PAGES.rglob("*.swift"))}
    code_of = regions(pages, problems)
    runners = "".join(pathlib.Path(".ci", runner).read_text("utf-8") for runner in ("firsthour", "installed"))
    for page in [pathlib.Path("README.md"), *sorted(pathlib.Path("Docs").glob("*.docc/*.md"))]:
        text = page.read_text("utf-8")
        for kind, name, language, shown_code in guides.blocks(page):
            problems += problems_of_block(page, runners, kind, name, language, shown_code)
            if kind != "sample":
                continue
            shown.add((page.stem, name))
            if page.stem == "Recipes" and shown_code.count("\n") > 10:
                problems.append(f"{page}: the recipe {name} has more than ten lines")
            code = code_of.get((page.stem, name))
            if code is None:
                problems.append(f"{page}: no page has the sample {name} of {page.stem}")
            elif code != shown_code and updating:
                above = f"<!-- sample: {name} -->\n```swift\n"
                text = text.replace(f"{above}{shown_code}```", f"{above}{code}```")
            elif code != shown_code:
                problems.append(f"{page}: the sample {name} is not what is run: .ci/samples.py update copies that")
        if updating:
            page.write_text(text, "utf-8")
        problems += [f"{page}: nothing stands below <!-- prints: {name} -->: write what the sample prints"
                     for name in EMPTY.findall(text)]
        problems += problems_of_imports(page, pages)
    problems += [f"{PAGES}: the sample {name} of {guide} is in no guide" for guide, name in sorted(code_of.keys() - shown)]
    problems += [*problems_of_tests(), *problems_of_packages()]
    return "\n".join(problems) or 0


sys.exit(main(sys.argv[1:] == ["update"]))
