# SPDX-License-Identifier: Apache-2.0
"""The canonical form of Cache-Control."""
FLAGS = ("immutable", "must-revalidate", "must-understand", "no-cache", "no-store", "only-if-cached", "private",
         "proxy-revalidate", "public")


def result(names, numbers, known):
    """Those of the flags that the reader knows, and its numbers, capped as RFC 9111 §1.2.2 allows."""
    flags = sorted(name for name in names if name in known)
    return {
        "flags": flags,
        "known": list(known)
    } | {
        name: min(value, 1 << 31) if isinstance(value, int) else value
        for name, value in numbers.items()
    }
