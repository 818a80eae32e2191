# SPDX-License-Identifier: Apache-2.0
"""`man.py PROGRAM`: the program's manual page, made of what `--experimental-dump-help` says, on standard output."""
import json
import re
import subprocess
import sys


def escaped(text):
    """Text of roff: backslashes, hyphens that are typed, and lines that would begin with a control character."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.split("\n"))


def paragraphs(text):
    return "\n.PP\n".join(escaped(part.strip()) for part in re.split(r"\n\s*\n", text) if part.strip())


def names(argument):
    words = []
    for name in argument.get("names", []):
        dash = "--" if name["kind"] == "long" else "-"
        words.append(f"\\fB{escaped(dash + name['name'])}\\fR")
    value = f"\\fI{escaped(argument.get('valueName', 'value'))}\\fR"
    if argument["kind"] == "positional":
        return value
    return ", ".join(words) + (f" {value}" if argument["kind"] == "option" else "")


def shown(command):
    hidden = {"help", "version"}
    return [a for a in command.get("arguments", []) if a.get("shouldDisplay", True) and a.get("valueName") not in hidden]


def options(command):
    return "".join(f".TP\n{names(a)}\n{escaped(a.get('abstract', ''))}\n" for a in shown(command))


def section(title, text):
    return f".SH {title}\n{text}\n" if text else ""


def page(dump, version):
    root = dump["command"]
    name = root["commandName"]
    commands = [c for c in root["subcommands"] if c["commandName"] != "help" and c.get("shouldDisplay", True)]
    text = f'.TH {name.upper()} 1 "" "{name} {version}"\n'
    text += section("NAME", f"{name} \\- {escaped(root['abstract'].rstrip('.'))}")
    text += section("SYNOPSIS", f"\\fB{name}\\fR \\fIcommand\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]")
    listed = "".join(f".TP\n\\fB{escaped(c['commandName'])}\\fR\n{escaped(c.get('abstract', ''))}\n" for c in commands)
    text += section("COMMANDS", listed)
    for command in commands:
        body = paragraphs(command.get("discussion", "")) + "\n" + options(command)
        text += section(f"{name.upper()} {command['commandName'].upper()}", body.strip())
    return text


def main():
    program = sys.argv[1]
    dump = json.loads(subprocess.run([program, "--experimental-dump-help"], capture_output=True, check=True).stdout)
    version = subprocess.run([program, "--version"], capture_output=True, check=True, text=True).stdout.strip()
    sys.stdout.write(page(dump, version))


main()
