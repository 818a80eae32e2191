# SPDX-License-Identifier: Apache-2.0
"""A server that takes every connection and never answers. Prints its port; runs until it is ended."""
from __future__ import annotations

import asyncio


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, backlog=16384)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve())
