# SPDX-License-Identifier: Apache-2.0
"""Cache-Control, read by requests-cache."""
import cache_flags
import frames
from requests_cache.policy.directives import CacheDirectives

KNOWN = ("immutable", "must-revalidate", "no-cache", "no-store", "only-if-cached")
NUMBERS = ("max-age", "min-fresh", "stale-if-error", "stale-while-revalidate")


def read(_, data):
    control = CacheDirectives.from_headers({"Cache-Control": data.decode("utf-8", "surrogateescape")})
    value = lambda name: getattr(control, name.replace("-", "_"))  # noqa: E731
    return cache_flags.result({name for name in KNOWN if value(name)}, {name: value(name) for name in NUMBERS}, KNOWN)


if __name__ == "__main__":
    frames.run(read)
