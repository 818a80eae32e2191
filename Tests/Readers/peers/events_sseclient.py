# SPDX-License-Identifier: Apache-2.0
"""Events, read by sseclient-py."""
import frames
import sseclient


def read(_, data):
    events = sseclient.SSEClient(iter([data])).events()
    # Each has its own identifier: the caller keeps the latest.
    return {"events": [[frames.utf8(event.event), frames.utf8(event.data)] for event in events]}


if __name__ == "__main__":
    frames.run(read)
