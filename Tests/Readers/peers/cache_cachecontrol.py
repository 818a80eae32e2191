# SPDX-License-Identifier: Apache-2.0
"""Cache-Control, read by CacheControl."""
import cache_flags
import frames
from cachecontrol.controller import CacheController

CONTROLLER = CacheController()
KNOWN = ("must-revalidate", "no-cache", "no-store", "only-if-cached", "private", "proxy-revalidate", "public")


def read(_, data):
    control = CONTROLLER.parse_cache_control({"cache-control": data.decode("utf-8", "surrogateescape")})
    return cache_flags.result(set(control), {name: control.get(name) for name in ("max-age", "s-maxage", "min-fresh")}, KNOWN)


if __name__ == "__main__":
    frames.run(read)
