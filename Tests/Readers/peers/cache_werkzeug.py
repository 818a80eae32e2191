# SPDX-License-Identifier: Apache-2.0
"""Cache-Control, read by werkzeug."""
import cache_flags
import frames
from werkzeug.datastructures import ResponseCacheControl
from werkzeug.http import parse_cache_control_header


def read(_, data):
    control = parse_cache_control_header(data.decode("utf-8", "surrogateescape"), cls=ResponseCacheControl)
    numbers = {
        name: getattr(control, name.replace("-", "_"))
        for name in ("max-age", "s-maxage", "stale-while-revalidate", "stale-if-error")
    }
    return cache_flags.result(set(control), numbers, cache_flags.FLAGS)


if __name__ == "__main__":
    frames.run(read)
