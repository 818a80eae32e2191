# SPDX-License-Identifier: Apache-2.0
"""The answers of the servers, and the requests that they have seen."""
import collections
import gzip
import hashlib
import json

FILE = b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(6000))
TEXT = b'{"name": "Ann", "city": "Lisboa"}\n'
SEEN = collections.Counter()
UPLOADS = collections.defaultdict(bytes)


def answer(method, path, fields, body):
    """Returns status, fields and body. The first part of a path is the run's name, which no answer mentions."""
    _, run, name, *rest = path.split("/")
    SEEN[run, method, name] += 1
    count = SEEN[run, method, name]
    etag = {"ETag": '"1"', "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT"}
    match name.partition("?")[0]:
        case "echo":
            # Each form has another boundary.
            body = body.replace(fields.get("content-type", "").partition("boundary=")[2].strip('"').encode() or b"-", b"-")
            return 200, {}, b"%d bytes: %s\n" % (len(body), hashlib.sha256(body).hexdigest().encode())
        case "file":
            start, _, end = fields.get("range", "bytes=0-").removeprefix("bytes=").partition("-")
            if "range" not in fields:
                return 200, etag, FILE
            part = FILE[int(start):int(end or len(FILE)) + 1]
            return 206, etag | {"Content-Range": f"bytes {start}-{int(start) + len(part) - 1}/{len(FILE)}"}, part
        case "gzip":
            return 200, {"Content-Encoding": "gzip"}, gzip.compress(FILE + TEXT, mtime=0)
        case "moved":
            return 307, {"Location": f"/{run}/echo"}, b""
        case "found":
            return 302, {"Location": f"/{run}/get"}, b""
        case "flaky" if count == 1:
            return 503, {"Retry-After": "0"}, b""
        case "digest" if "authorization" not in fields:
            return 401, {"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'}, b""
        case "private" if fields.get("authorization") != "Bearer secret":
            return 401, {"WWW-Authenticate": "Bearer"}, b""
        case "uploads" if method == "POST":
            return 201, {"Location": f"/{run}/uploads", "Tus-Resumable": "1.0.0"}, b""
        case "uploads":
            if method == "PATCH" and int(fields["upload-offset"]) != len(UPLOADS[run]):
                return 409, {}, b""
            UPLOADS[run] += body
            return 204, {"Upload-Offset": str(len(UPLOADS[run])), "Upload-Length": str(len(FILE)), "Tus-Resumable": "1.0.0"}, b""
        case "token":
            return 200, {}, json.dumps({"access_token": "secret", "token_type": "Bearer", "expires_in": 3600}).encode()
        case "cookie":
            return 200, {"Set-Cookie": "seen=1; Path=/; Expires=Tue, 01 Feb 2033 10:00:00 GMT"}, TEXT
        case "cached":
            if fields.get("if-none-match") == '"1"':
                return 304, etag | {"Cache-Control": "max-age=1000"}, b""
            return 200, etag | {"Cache-Control": "max-age=1000"}, TEXT
        case "stale":
            if fields.get("if-none-match") == '"1"':
                return 304, etag, b""
            return 200, etag | {"Cache-Control": "max-age=0"}, TEXT
        case "pages":
            number = int(rest[0])
            following = {"Link": f'</{run}/pages/{number + 1}>; rel="next"'} if number < 3 else {}
            return 200, following | {"Content-Type": "application/json"}, b"[%d]\n" % number
        case "events":
            lines = "retry: 1\n" + "".join(f"id: {number}\ndata: event {number}\n\n" for number in range(3))
            return (204, {}, b"") if "last-event-id" in fields else (200, {"Content-Type": "text/event-stream"}, lines.encode())
    return 200, etag | {"Content-Type": "application/json"}, TEXT
