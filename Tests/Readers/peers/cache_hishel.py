# SPDX-License-Identifier: Apache-2.0
"""Cache-Control, read by hishel."""
import cache_flags
import frames
from hishel._core._headers import parse_cache_control

NUMBERS = ("max-age", "s-maxage", "min-fresh", "stale-if-error", "stale-while-revalidate")


def read(_, data):
    control = parse_cache_control(data.decode("utf-8", "surrogateescape"))
    value = lambda name: getattr(control, name.replace("-", "_"))  # noqa: E731
    # A list of fields is no False, even if it is empty.
    names = {name for name in cache_flags.FLAGS if value(name) is not False}
    return cache_flags.result(names, {name: value(name) for name in NUMBERS}, cache_flags.FLAGS)


if __name__ == "__main__":
    frames.run(read)
