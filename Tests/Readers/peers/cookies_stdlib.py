# SPDX-License-Identifier: Apache-2.0
"""Cookies, read by Python's http.cookies."""
import http.cookies

import frames


def read(_, data):
    cookies = http.cookies.SimpleCookie(data.decode("utf-8", "surrogateescape"))
    if not cookies:
        raise ValueError("no cookie")
    name, cookie = next(iter(cookies.items()))
    age, domain, path, mode = cookie["max-age"], cookie["domain"], cookie["path"], cookie["samesite"].lower()
    return {
        "name": frames.text(name),
        "value": frames.text(cookie.coded_value),
        "age": frames.whole(age) if age != "" else None,
        "domain": frames.text(domain).removeprefix(".") or None,
        "path": frames.text(path) if path.startswith("/") else None,
        "secure": bool(cookie["secure"]),
        "httponly": bool(cookie["httponly"]),
        "samesite": mode if mode in ("lax", "strict", "none") else None
    }


if __name__ == "__main__":
    frames.run(read)
