# SPDX-License-Identifier: Apache-2.0
"""Cookies, read by Python's http.cookiejar."""
import http.cookiejar

import frames

JAR = http.cookiejar.CookieJar()
JAR._now = 0


def read(_, data):
    attributes = http.cookiejar.parse_ns_headers([data.decode("utf-8", "surrogateescape")])
    (name, value, standard, rest), = JAR._normalized_cookie_tuples(attributes)
    has_age = any(key.lower() == "max-age" for key, _ in attributes[0][1:])
    # A cookie without a name is one whose name is its value.
    expires, domain, path = standard.get("expires"), standard.get("domain"), standard.get("path")
    others = {key.lower(): text for key, text in rest.items()}
    expires = None if expires in (None, http.cookiejar.Absent) else int(expires)
    return {
        "name": frames.text(name or ""),
        "value": frames.text(value or ""),
        "expires": None if has_age else expires,
        "age": max(0, expires) if has_age and expires is not None else None,
        "domain": frames.text(domain).removeprefix(".") if isinstance(domain, str) else None,
        "path": frames.text(path) if isinstance(path, str) and path.startswith("/") else None,
        "secure": bool(standard.get("secure")),
        "httponly": "httponly" in others
    }


if __name__ == "__main__":
    frames.run(read)
