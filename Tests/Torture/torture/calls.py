# SPDX-License-Identifier: Apache-2.0
"""The calls: command lines of `lastro`, and what they may leave behind."""
import dataclasses

from .answers import FILE, TEXT


@dataclasses.dataclass
class Call:
    line: str
    """The command line. Names in braces are attributes of `Places`, or the run's folder of the server."""
    input: bytes = b""
    files: dict = dataclasses.field(default_factory=dict)
    """Files at the start."""
    outcomes: dict = dataclasses.field(default_factory=dict)
    """The allowed contents of files at the end; None for a missing file. After the right value it is the last one."""
    again: bool = False
    """Whether a second run in the same folder, without a failure, must have the right value: the folder has state."""
    refused: bool = False
    """Whether the call must fail, and nothing may reach the server."""
    batch: bool = False
    repeats: tuple = ()
    """What may be posted again: the empty request that creates an upload has no content."""
    upload: bool = False
    """Whether the server must have the file after the right value."""
    free: bool = False
    """Whether the output says by itself what failed, as that of `doctor`."""
    parted: bool = False
    """Whether a part of the value may be missing in the midst, and not at the end alone."""


OLD = b"old\n"
TLS = "--cacert {ca} {https}/{run}"
TWO = "--cacert {ca} {http2}/{run}"
SAVED = {"files": {"out": OLD}, "outcomes": {"out": [OLD, FILE]}, "again": True}
LINES = "".join(
    '{{"id": %d, "url": "{http}/{run}/%s", "method": "%s", "body": "%s"}}\n' % (number, *rest)
    for number, rest in enumerate([("get", "GET", ""), ("file", "GET", ""), ("echo", "POST", "abc"), ("gzip", "GET", "")]))

CALLS = {
    "get": Call("get {http}/{run}/get"),
    "get-name": Call("get http://torture.test:{port}/{run}/get"),
    "get-tls": Call("get " + TLS + "/file"),
    "get-http2": Call("get " + TWO + "/file"),
    "get-twice": Call("fetch " + TLS + "/get {https}/{run}/file {https}/{run}/gzip", parted=True),
    "parallel": Call("fetch -Z " + TWO + "/get {http2}/{run}/get {http2}/{run}/get"),
    "head": Call("head {http}/{run}/file"),
    "gzip": Call("get {http}/{run}/gzip"),
    "redirect": Call("get {http}/{run}/found"),
    "retry": Call("get {http}/{run}/flaky --retry 2 --retry-delay 0.01"),
    "digest": Call("get {http}/{run}/digest -u ann:secret --digest"),
    "bearer": Call("get " + TLS + "/private --bearer secret"),
    "post": Call("post {http}/{run}/echo --json {{\"a\":1}}"),
    "post-tls": Call("post " + TLS + "/echo --data-binary @body --retry 1 --retry-delay 0.01", files={"body": FILE}),
    "post-http2": Call("post " + TWO + "/echo --data-binary @body --retry 1 --retry-delay 0.01", files={"body": FILE}),
    "post-moved": Call("post {http}/{run}/moved -d a=1"),
    "put": Call("fetch {http}/{run}/echo -T body", files={"body": FILE}),
    "form": Call("fetch " + TLS + "/echo -F name=Ann -F file=@body", files={"body": FILE}),
    "save": Call("fetch " + TLS + "/file -o out", **SAVED),
    "download": Call("fetch " + TLS + "/file --download out", **SAVED),
    "resume": Call("fetch {http}/{run}/file -C - -o out", **SAVED),
    "segments": Call("fetch " + TLS + "/file -C - --segments 3 --download out", **SAVED),
    "cookies": Call("get {http}/{run}/cookie -b jar -c jar", again=True),
    "cache": Call("fetch --cache cache {http}/{run}/cached {http}/{run}/cached", again=True, parted=True),
    "revalidate": Call("fetch --cache cache {http}/{run}/stale {http}/{run}/stale", again=True, parted=True),
    "etag": Call("fetch {http}/{run}/get --etag-save etag -o out", outcomes={"out": [None, TEXT]}, again=True),
    "pin": Call("get --pin localhost={pin} " + TLS + "/get"),
    "pin-refused": Call("get --pin localhost={other_pin} " + TLS + "/get --retry 2 --retry-delay 0.01", refused=True),
    "trust-refused": Call("post {http2}/{run}/echo -d a=1 --retry 2 --retry-delay 0.01", refused=True),
    "pages": Call("fetch {http}/{run}/pages/1 --paginate"),
    "events": Call("events {http}/{run}/events"),
    "batch": Call("batch --concurrency 4", input=LINES.encode(), batch=True),
    "ws": Call("ws ws://127.0.0.1:{port}/{run}/ws --wait 0.05", input=b"one\ntwo\nthree\n"),
    "ws-tls": Call("ws --cacert {ca} wss://localhost:{tls_port}/{run}/ws --deflate --wait 0.05",
                   input=b"one\n" + b"x" * 5000 + b"\n"),
    "connect": Call("connect {echo}", input=b"hello\n"),
    "connect-tls": Call("connect --tls --cacert {ca} {tls_echo}", input=b"hello\n"),
    "gemini": Call("gemini --known-hosts hosts {gemini}", again=True),
    "pins": Call("pins --cacert {ca} localhost:{tls_port}"),
    "har": Call("get {http}/{run}/get --har har -v", again=True),
    "token": Call("torture-calls token {http}/{run}"),
    "upload": Call("torture-calls upload {http}/{run}", files={"body": FILE}, upload=True, repeats=("uploads",)),
    "doctor": Call("doctor", free=True),
}
