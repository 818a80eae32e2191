# SPDX-License-Identifier: Apache-2.0
"""Keeps the samples of README and the guides equal to code that is run.

Every ```swift block of Docs/*.docc/*.md stands below a line `<!-- sample: NAME -->` and equals the lines between
`// sample: NAME` and `// end` of Playgrounds/Sources/Pages/GUIDE.swift (or of a file in Pages/GUIDE/), without their common
indentation; the pages run them. README's example is the program of Tests/Consumer. `samples.py update` copies the code.

Lines below `<!-- imports -->` are lines of the guide's page. Blocks below `<!-- file: PATH -->` are files of a package that the
guide's reader makes: `.ci/outside` builds it. The page compares a block below `<!-- prints: NAME -->` with the output of its
sample. A test that CONTRIBUTING.md shows is one that is run. A ```sh block stands below `<!-- run: NAME -->`, which
`.ci/firsthour` or `.ci/installed` enters on a bare system, or below `<!-- not run: REASON -->`. A recipe has at most ten lines.
"""
import pathlib
import re
import sys
import textwrap

import guides

PAGES = pathlib.Path("Playgrounds/Sources/Pages")
EXAMPLE = pathlib.Path("Tests/Consumer/Sources/ReadmeExample/main.swift")
DOCTOR = pathlib.Path("Sources/Tools/LastroCommand/Doctor/Checkup+Headers.swift")
REGION = re.compile(r"^[ \t]*// sample: ([^\n]+)\n(.*?)^[ \t]*// end$", re.DOTALL | re.MULTILINE)

problems = []
# The code that is run, by guide and name of the sample, and the code of each guide's page.
code_of = {("README", "readme"): EXAMPLE.read_text("utf-8")}
page_of = {}
for path in sorted(PAGES.rglob("*.swift")):
    guide, text = path.relative_to(PAGES).parts[0].removesuffix(".swift"), path.read_text("utf-8")
    page_of[guide] = page_of.get(guide, "") + text
    for name, code in REGION.findall(text):
        if (guide, name) in code_of:
            problems.append(f"{path}: the guide {guide} has two samples named {name}")
        code_of[guide, name] = textwrap.dedent(code)
RUNNERS = "".join(pathlib.Path(".ci", runner).read_text("utf-8") for runner in ("firsthour", "installed"))


def problems_of_block(page, kind, name, language, text):
    """Problems of a block that is no sample."""
    first = text.split("\n")[0]
    if language == "swift" and kind not in ("file", "imports") and page.name != "README.md":
        yield f"a swift block without `<!-- sample: NAME -->`: {first}"
    if language == "sh" and kind not in ("run", "not run"):
        yield f"a shell block without `<!-- run: NAME -->` or `<!-- not run: REASON -->`: {first}"
    # The first guide is followed as a whole.
    if kind == "run" and f'"{name}"' not in RUNNERS and str(page) != guides.FIRST:
        yield f"nothing runs the commands {name}: .ci/firsthour and .ci/installed do"
    if kind == "prints" and not text.strip():
        yield f"nothing stands below <!-- prints: {name} -->: write what the sample prints"
    if kind == "imports":
        known = {line.strip() for line in page_of.get(page.stem, "").splitlines()}
        yield from (f"its page has no line `{line}`" for line in text.splitlines() if line not in known)


def problems_of_tests():
    tests = [path.read_text("utf-8") for path in pathlib.Path("Tests").rglob("*Tests.swift")]
    for _, _, language, code in guides.blocks("CONTRIBUTING.md"):
        if language == "swift" and not any(textwrap.indent(code, "  ") in test for test in tests):
            yield f"CONTRIBUTING.md: in no test: {code.splitlines()[0]}"


def problems_of_packages():
    """Places that name other packages than README, whose line `.ci/setup` installs."""
    wanted = guides.block("README.md", "run", "packages").strip()
    if not guides.block(guides.FIRST, "run", "packages").strip().endswith(wanted):
        yield f"{guides.FIRST} installs other packages than README: {wanted}"
    if sorted(re.findall(r'^    \("([a-z0-9.+-]+)", ', DOCTOR.read_text("utf-8"), re.MULTILINE)) != sorted(wanted.split()[3:]):
        yield f"{DOCTOR} names other packages than README: {wanted}"


updating = sys.argv[1:] == ["update"]
unshown = set(code_of)
for page in [pathlib.Path("README.md"), *sorted(pathlib.Path("Docs").glob("*.docc/*.md"))]:
    text = page.read_text("utf-8")
    for kind, name, language, shown in guides.blocks(page):
        sample = page.stem, name
        if kind != "sample":
            problems += [f"{page}: {problem}" for problem in problems_of_block(page, kind, name, language, shown)]
            continue
        unshown.discard(sample)
        code = code_of.get(sample)
        if page.stem == "Recipes" and shown.count("\n") > 10:
            problems.append(f"{page}: the recipe {name} has more than ten lines")
        if code is None:
            problems.append(f"{page}: no page has the sample {name} of {page.stem}")
        elif code != shown and updating:
            above = f"<!-- sample: {name} -->\n```swift\n"
            text = text.replace(f"{above}{shown}```", f"{above}{code}```")
        elif code != shown:
            problems.append(f"{page}: the sample {name} is not what is run: .ci/samples.py update copies that")
    if updating:
        page.write_text(text, "utf-8")
problems += [f"{PAGES}: the sample {name} of {guide} is in no guide" for guide, name in sorted(unshown)]
sys.exit("\n".join([*problems, *problems_of_tests(), *problems_of_packages()]) or 0)
