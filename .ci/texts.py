# SPDX-License-Identifier: Apache-2.0
"""Checks the form of the error texts in `Sources`.

A text is a string literal in the arguments of an error's initializer or of any call with `hint:`, an argument labelled `message:`,
`hint:` or `reason:`, or a literal of several words in the body of an error type or an extension of one. A text is one line without
a full stop at its end; it begins in lower case, except for proper names and identifiers; it says neither "is none" nor "is no …", nor
whoever, somebody, nobody; and it has no "1 bytes". The command line's parser prints sentences, so its `ValidationError` may end in a
full stop. A text that is assembled from parts is checked part by part.

A call of an initializer in `TEACHING` whose message is a literal has a `hint:`, or its message has a range or a remedy. The check does
not see whether a computed hint is nil, nor whether the errors have a hint that a factory makes of its parameters.
"""
import pathlib
import re
import sys

ERRORS = r"(?:\w*(?:Error|Failure|Violation|Refusal)|Misunderstood|Problem|Flaw)"
TEACHING = {"TransportError", "ConfigurationError", "GeminiError", "GeminiKnownHostsError", "PinningPolicyValidationError"}
CALL = re.compile(r"(?<![\w\"])(\.?\w+(?:<any Error>)?)\(")
TYPE = re.compile(rf"^( *)(?:[\w()]+ )*?(?:struct|enum|class|extension) (?:\w+\.)*{ERRORS}\b.*\{{$", re.MULTILINE)
# Names, identifiers, and two texts of Foundation that a decoder's message is compared with.
PROPER = re.compile(r"[\w'/]*[A-Z][\w'/]*[A-Z0-9]|[A-Z][a-z]+[A-Z]|[A-Z]\w*\.|Parsed JSON|The given data was|"
                    r"(?:Gemini|Lastro|Shadowsocks|Connection|Content|Host|Transfer|Upload|Unix)\b")
PLURAL = re.compile(r"(?:^|[^o…0-9] )1 (?:attempt|blank|byte|character|coding|event|field|header|interim|model|new|part|request|response"
                    r"|retrie|segment|stream|time|trailer)[a-z ]*s\b")
COMMENT = re.compile(r'(^(?:[^"\n/]|/(?!/)|"(?:[^"\\\n]|\\.)*")*)//[^\n]*', re.MULTILINE)
WORDS = re.compile(r"[A-Za-z)\"']+[,;:]? [a-z]")
# A range or a remedy; or the cause has it, the caller adds it, or only the caller knows more.
SAYS = re.compile(r"[…)]|; |^its? |, as {}$|listed twice|was cancelled|own judge(?:$|: {})|is a URL|number from 1 to 65535")


def end_of_literal(text, at):
    """The end of the literal that begins at `at`, and its text, with {} for an interpolation."""
    quotes, fixed = '"""' if text.startswith('"""', at) else '"', ""
    at += len(quotes)
    while not text.startswith(quotes, at):
        if text.startswith("\\(", at):
            at, fixed = end_of_arguments(text, at + 2)[0], fixed + "{}"
        else:
            step = 2 if text[at] == "\\" else 1
            fixed += {"\\n": "\n", "\\\n": " "}.get(text[at:at + step], text[at + step - 1])
            at += step
    return at + len(quotes), re.sub(r" {2,}", " ", fixed).strip("\n ") if len(quotes) == 3 else fixed


def end_of_arguments(text, at):
    """The position behind the parenthesis that closes a call, and the arguments: label, start, end."""
    depth, start, found = 1, at, []
    while depth:
        if text[at] == '"' or text.startswith('#"', at):
            at = text.index('"#', at + 2) + 2 if text[at] == "#" else end_of_literal(text, at)[0]
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 or depth == 1 and text[at] == ",":
            found.append((re.match(r"(?:\s*(\w+):)?", text[start:at])[1] or "", start, at))
            start = at + 1
        at += 1
    return at, found


def literals(text, at, end):
    """Start, end and text of each literal between two positions, outside of other literals."""
    while at < end:
        if text.startswith('#"', at):
            at = text.index('"#', at + 2) + 2
        elif text[at] == '"':
            stop, fixed = end_of_literal(text, at)
            yield at, stop, fixed
            at = stop
        else:
            at += 1


def complaints(text, at, stop, fixed, is_sentence):
    unquoted = re.sub(r'"[^"]*"', "", fixed)
    if "\n" in unquoted or len(fixed) > 400:
        yield "has several lines, or is longer than 400 characters"
    if fixed.endswith(".") and not text[stop:].lstrip().startswith("+") and not is_sentence:
        yield "ends in a full stop"
    if text[:at].rstrip()[-1:] not in "+[" and fixed[:1].isupper() and WORDS.search(fixed) and not PROPER.match(fixed):
        yield "begins in upper case"
    if re.search(r" is none\b| is no [a-z]+|\b(?:whoever|somebody|nobody)\b", unquoted):
        yield "says is none, is no …, whoever, somebody or nobody"
    if PLURAL.search(fixed):
        yield "has a plural after 1"


def findings(text):
    """The literals that are texts of errors, by their start, and the findings: position, complaint, text."""
    found, problems = {}, []
    for call in CALL.finditer(text):
        if re.search(r"\b(?:func|case) *$", text[call.start() - 9:call.start()]):
            continue
        name, arguments = call[1].split("<")[0], end_of_arguments(text, call.end())[1]
        has_hint = any(label == "hint" for label, _, _ in arguments)
        for label, start, end in arguments:
            if label in ("message", "hint") or label in ("", "reason") and (has_hint or re.fullmatch(ERRORS, name)):
                for at, stop, fixed in literals(text, start, end):
                    found[at] = (stop, fixed, name == "ValidationError")
                    is_message = re.fullmatch(r"\s*(?:\w+:)?\s*", text[start:at]) and WORDS.search(fixed)
                    if is_message and name in TEACHING and not has_hint and not SAYS.search(fixed):
                        problems.append((at, "has no hint", fixed))
    for body in TYPE.finditer(text):
        end = re.compile(rf"^{body[1]}\}}|\Z", re.MULTILINE).search(text, body.end())
        for at, stop, fixed in literals(text, body.end(), end.start()):
            if WORDS.search(fixed):
                found.setdefault(at, (stop, fixed, False))
    return found, problems + [(at, complaint, row[1]) for at, row in found.items() for complaint in complaints(text, at, *row)]


count = total = 0
for path in sorted(pathlib.Path("Sources").rglob("*.swift")):
    source = COMMENT.sub(lambda comment: comment[1], path.read_text("utf-8"))
    known, problems = findings(source)
    count += len(known)
    for at, complaint, fixed in sorted(problems):
        if path.parts[1] != "Testing" or complaint != "has no hint":  # Doubles need no remedy.
            total += 1
            print(f"{path}:{source.count(chr(10), 0, at) + 1}: an error text {complaint}: {fixed!r}")
sys.exit(f"only {count} error texts were found in Sources" if count < 900 else total > 0)
