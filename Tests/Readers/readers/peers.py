# SPDX-License-Identifier: Apache-2.0
"""The programs that read, one for each reader and implementation, and what they return."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "Tests/Readers/peers"
BUILT = ROOT / ".build/readers"
OURS = "Lastro"
NODE, GO, CURL = "Node", "Go", "libcurl"
# The others by reader; a name ending in .py is a script of the folder `peers`.
PEERS = {
    "heads": {
        "h11": "heads_h11.py",
        "aiohttp": "heads_aiohttp.py",
        NODE: "heads_node.js",
        "http.client": "heads_stdlib.py",
        GO: GO,
        CURL: CURL
    },
    "cookies": {
        "aiohttp": "cookies_aiohttp.py",
        "http.cookiejar": "cookies_cookiejar.py",
        "http.cookies": "cookies_stdlib.py",
        GO: GO
    },
    "cache": {
        "werkzeug": "cache_werkzeug.py",
        "CacheControl": "cache_cachecontrol.py",
        "requests-cache": "cache_requests.py",
        "hishel": "cache_hishel.py"
    },
    "events": {
        "httpx-sse": "events_httpx.py",
        "sseclient-py": "events_sseclient.py",
        "requests-sse": "events_requests.py",
        "aiohttp-sse-client": "events_aiohttp.py"
    },
    "multipart": {
        "python-multipart": "multipart_python.py",
        "multipart": "multipart_defnull.py",
        "werkzeug": "multipart_werkzeug.py",
        "email": "multipart_email.py",
        GO: GO
    },
}


def build():
    """Builds the programs in C and Go unless they are newer than their sources."""
    BUILT.mkdir(parents=True, exist_ok=True)
    curl, go = SOURCES / "heads_curl.c", SOURCES / "gopeer/main.go"
    _make(BUILT / "curl", curl, ["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", BUILT / "curl", curl, "-lcurl"], {})
    settings = {"GO111MODULE": "off", "GOFLAGS": "", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOCACHE": str(BUILT / "cache")}
    _make(BUILT / "gopeer", go, ["go", "build", "-o", BUILT / "gopeer", go], settings)


def _make(result, source, command, settings):
    if not result.exists() or result.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(command, env=os.environ | settings, check=True)


def _command(reader, program):
    if program == GO:
        return [BUILT / "gopeer", reader]
    if program == CURL:
        return [BUILT / "curl"]
    return ["node" if program.endswith(".js") else sys.executable, SOURCES / program]


def read_all(ours, reader, cases):
    """What each implementation reads of each case, (argument, bytes), by its name."""
    frames = b"".join(b"%s %d\n%s" % (argument.encode("latin-1"), len(data), data) for argument, data in cases)
    commands = {OURS: [ours, reader]} | {name: _command(reader, program) for name, program in PEERS[reader].items()}
    with ThreadPoolExecutor(len(commands)) as pool:
        results = dict(zip(commands, pool.map(lambda command: _run(command, frames), commands.values())))
    for name, lines in results.items():
        if len(lines) != len(cases):
            raise SystemExit(f"{name} read {len(lines)} of {len(cases)} cases of {reader}")
    return results


def _run(command, frames):
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}
    output = subprocess.run(command, input=frames, stdout=subprocess.PIPE, env=environment, check=True).stdout
    return [json.loads(line) for line in output.split(b"\n") if line]
