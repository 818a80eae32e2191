# SPDX-License-Identifier: Apache-2.0
"""Cookies, read by aiohttp."""
import frames
from aiohttp._cookie_helpers import parse_set_cookie_headers
from aiohttp.cookiejar import CookieJar


def read(_, data):
    (name, cookie), = parse_set_cookie_headers([data.decode("utf-8", "surrogateescape")])
    age, expires = cookie["max-age"], cookie["expires"] and CookieJar._parse_date(cookie["expires"])
    domain, path = cookie["domain"], cookie["path"]
    return {
        "name": frames.text(name),
        "value": frames.text(cookie.coded_value),
        "expires": int(expires.timestamp()) if hasattr(expires, "timestamp") else expires or None,
        "age": frames.whole(age) if age != "" else None,
        "domain": frames.text(domain).removeprefix(".") or None,
        "path": frames.text(path) if path.startswith("/") else None,
        "secure": bool(cookie["secure"]),
        "httponly": bool(cookie["httponly"])
    }


if __name__ == "__main__":
    frames.run(read)
